// A run of a small sample on toy sessions whose store is the run's folder, for tests here and in
// src/validator/jobs/. Started as a program (FOLDER SEGMENTS) it is a process that a test can kill.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cheat, type Distort, toyWork } from "../../engine/client/toy-work-session.test-kit.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { openRunFolder } from "../../store/runs/run-folder.ts";
import { mixedSample, mlpSample, type Sample } from "../../work/builder/samples.test-kit.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import { type RunJob, runJob } from "./run-job.ts";
import type { RunEnd, RunEvent } from "./run-part.ts";

export const TOY_SEED = Uint8Array.from({ length: 32 }, (_, i) => 7 * i + 1);

export const TOY_SAMPLES: Readonly<Record<string, () => Sample>> = {
	mlp: mlpSample,
	mixed: mixedSample,
	"few turns": () => mixedSample(3),
};

/** What the engine's store is to an engine: tensors by root, in a folder. */
class FolderStore extends Map<string, Uint8Array> {
	readonly path: string;

	constructor(path: string) {
		super();
		this.path = path;
	}

	override get(root: string): Uint8Array | undefined {
		try {
			return readFileSync(join(this.path, root));
		} catch {
			return undefined;
		}
	}

	override set(root: string, bytes: Uint8Array): this {
		writeFileSync(join(this.path, "draft"), bytes);
		renameSync(join(this.path, "draft"), join(this.path, root));
		return this;
	}

	override delete(root: string): boolean {
		rmSync(join(this.path, root), { force: true });
		return true;
	}
}

/** Sessions with a folder's store. */
export const toyOpener = (storePath: string, cheat?: Cheat | Distort): OpenWorkSession =>
	toyWork({ cheat, store: new FolderStore(storePath) });

export function toyWorkload({ program, given }: Sample, segments: number): Workload {
	const metrics = program.tensors
		.filter(({ kind }) => kind === "metric")
		.map(({ name }) => ({
			name,
			label: name,
			unit: "",
			read: (elements: ArrayLike<number | bigint>) => Number(elements[0]!),
		}));
	return { program, seed: TOY_SEED, given, segments, metrics, files: [] };
}

export interface ToyRun extends Partial<Pick<RunJob, "diskBytes" | "signal" | "nowMs">> {
	readonly sample: Sample;
	readonly segments: number;
	readonly cheat?: Cheat;
	readonly onEvent?: (event: RunEvent) => void;
}

export async function toyRun(path: string, { sample, segments, cheat, ...more }: ToyRun): Promise<RunEnd> {
	const folder = await openRunFolder(path);
	try {
		const open = toyOpener(folder.storePath, cheat);
		const workload = toyWorkload(sample, segments);
		const usual = { folder, jobText: "{}\n", workload, open, device: 0, diskBytes: 1 << 30, nowMs: () => 0 };
		return await runJob({ ...usual, ...more });
	} finally {
		await folder.close();
	}
}

if (process.argv[1] === import.meta.filename) {
	const [, , path = "", segments = ""] = process.argv;
	await toyRun(path, { sample: mlpSample(), segments: Number(segments) });
}
