// The validator's own engine with what a re-run needs: blobs of the job in a folder that is its store, a
// limit of time, and both gone afterwards.
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ReadBlob } from "../../../engine/client/load-tensor.ts";
import type { OpenWorkSession } from "../../../engine/client/work-session.ts";
import { makeFolder } from "../../../platform/durable-file.ts";
import { isRunning, markOwnProcess } from "../../../platform/living-process.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { peakBytes } from "../../../work/program/peak-bytes.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { type ClaimAtHand, type EvidenceMeans, holderOfJob } from "./claim-at-hand.ts";

/** Segments of a part, counted from its own first. */
export interface PartWindow {
	readonly first: number;
	readonly count: number;
}

/** Thrown inside: this validator cannot run it. */
export class Unable extends Error {}

/** What an engine of one's own runs on: the blobs that it was given lie in its store. */
interface OwnRun {
	readonly open: OpenWorkSession;
	readonly device: number;
	readonly readBlob: ReadBlob;
}

interface HeldBlob extends BlobName {
	readonly holder: string;
}

/**
 * One's own engine with these blobs in its store, gone when `act` ends. Throws Unable, what engines throw.
 */
export async function withOwnEngine<T>(
	{ engine, blobs, scratch }: EvidenceMeans,
	held: readonly HeldBlob[],
	mostMs: number,
	act: (own: OwnRun) => Promise<T>,
): Promise<T> {
	if (engine === null) throw new Unable("this validator has no engine of its own");
	await makeFolder(scratch);
	const { pid, startTicks } = await markOwnProcess();
	const folder = await mkdtemp(join(scratch, `rerun-${pid}-${startTicks}-`));
	let timer: NodeJS.Timeout | undefined;
	try {
		for (const { holder, root, size } of held) {
			const path = join(folder, root);
			await blobs.linkTo(holder, { root, size }, path);
			// An engine started by root goes on as a user of its own. All folders above are this validator's alone.
			await chmod(path, 0o644);
		}
		const started = await engine.start(folder);
		try {
			const late = new Promise<never>((_, reject) => {
				timer = setTimeout(() => reject(new Unable(`it takes longer than ${mostMs} ms`)), mostMs);
			});
			// Who waits no longer closes the engine: what it still says is heard by nobody.
			const acting = act({
				...{ open: started.open, device: started.device },
				readBlob: (root) => readFile(join(folder, root)).catch(() => null),
			});
			acting.catch(() => {});
			return await Promise.race([acting, late]);
		} finally {
			await started.close();
		}
	} finally {
		clearTimeout(timer);
		await rm(folder, { recursive: true, force: true });
	}
}

/**
 * At the start: folders of processes that were killed. Their links would keep blobs on disk that nobody
 * holds.
 */
export async function clearReruns(scratch: string): Promise<void> {
	for (const name of await readdir(scratch).catch(() => [])) {
		const [, pid, startTicks] = /^rerun-(\d+)-(\d*)-/.exec(name) ?? [];
		if (startTicks !== undefined && !(await isRunning({ pid: Number(pid), startTicks })))
			await rm(join(scratch, name), { recursive: true, force: true });
	}
}

/** Constants and inputs of the job. */
export const givenOf = ({ spec, job }: ClaimAtHand): HeldBlob[] =>
	spec.given.map(({ root, size }) => ({ root, size, holder: holderOfJob(job) }));

/** Throws Unable. */
export function mustBeSmall({ engine }: EvidenceMeans, program: Program): void {
	if (engine === null) throw new Unable("this validator has no engine of its own");
	const peak = peakBytes(program);
	if (peak > engine.mostBytes) throw new Unable(`the program takes ${peak} bytes, ${engine.mostBytes} are allowed`);
}
