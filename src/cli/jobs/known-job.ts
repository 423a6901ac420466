// The workload of a run that lies in a folder, built again from its job file: what its files are made by,
// and its inputs where the folder has them not. The job file is the user's own (--job FILE), or the
// folder's; what it names lies beside the user's, in the folder's data/, or where the job was handed in. It
// counts only if it gives the claim's program and inputs.
import { resolve } from "node:path";
import { pieceRoot } from "../../platform/blob-tree.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { RunReader } from "../../store/runs/run-folder.ts";
import type { OpenedRun } from "../../validator/jobs/open-run.ts";
import { elementsAsBytes } from "../../work/operators/tensor-type.ts";
import { programRoot } from "../../work/program/open-program.ts";
import { inputsHashOf } from "../../work/trace/commitments.ts";
import { buildWorkload } from "../../work/workloads/build-workload.ts";
import { readJob } from "../../work/workloads/read-job.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import type { CliIo } from "../command.ts";
import { fileOfJob, parsedJob, workloadOf } from "../run-job-file.ts";
import { bookedJob } from "./job-book.ts";

export interface JobValues {
	readonly job: string | undefined;
	readonly steps: number | undefined;
}

export interface KnownRun {
	/** Its blobs are also those that the workload gives. */
	readonly run: OpenedRun;
	readonly workload: Workload | null;
	/** Why there is no workload; empty when there is one. */
	readonly why: string;
	/** Whether the workload was built from the folder's own job.json. */
	readonly isFolderJob: boolean;
}

/** By the folder's own job.json. Throws AssayError, SyntaxError. */
async function ofFolder(run: OpenedRun, folder: RunReader, io: Pick<CliIo, "env">): Promise<Workload> {
	const text = await folder.read("job.json");
	if (text === null)
		throw new AssayError("FILE_UNREADABLE", "the folder has no job.json", { hint: codes.RUN_FILE_UNCOMPARED.hint });
	const { job } = run.claim;
	const booked = job === 0n ? null : await bookedJob(io, job.toString(16).padStart(64, "0"));
	// A stranger's job file names no files of this machine: only one that the user handed in does.
	const isOwn = booked !== null && booked.text === bytesToUtf8(text);
	return buildWorkload(readJob(JSON.parse(bytesToUtf8(text) ?? "")), async (name) => {
		const held = await folder.data(name);
		if (held !== null) return held;
		if (isOwn) return fileOfJob(booked.path, name);
		throw new AssayError("FILE_UNREADABLE", `the folder has no data of the job: ${name.slice(0, 200)}`, {
			hint: codes.RUN_FILE_UNCOMPARED.hint,
		});
	});
}

/** Its tensors by root, if it is the claim's work; null if it is other work. */
async function tensorsOf({ claim }: OpenedRun, { program, seed, given }: Workload) {
	if (!equalBytes(programRoot(program), claim.program)) return null;
	const tensors = new Map<string, Uint8Array>();
	const inputRoots: Uint8Array[] = [];
	for (const { kind, name, root } of program.tensors) {
		if (kind !== "constant" && kind !== "input") continue;
		const bytes = elementsAsBytes(given[name]!);
		if (kind === "input") inputRoots.push(await pieceRoot(bytes));
		tensors.set(bytesToHex(kind === "input" ? inputRoots.at(-1)! : root!), bytes);
	}
	return equalBytes(inputsHashOf(program, seed, inputRoots), claim.inputs) ? tensors : null;
}

/** Throws what is wrong with --job; what is wrong with the folder's own job file is said in `why`. */
export async function knownRun(run: OpenedRun, folder: RunReader, values: JobValues, io: CliIo): Promise<KnownRun> {
	const nothing = (why: string): KnownRun => ({ run, workload: null, why, isFolderJob: false });
	let workload: Workload;
	if (values.job !== undefined) {
		const path = resolve(io.cwd, values.job);
		workload = await workloadOf(path, parsedJob(path, values.steps).json, io);
	} else {
		try {
			workload = await ofFolder(run, folder, io);
		} catch (error) {
			if (!(error instanceof AssayError || error instanceof SyntaxError)) throw error;
			return nothing(`the job cannot be built here: ${error.message}`);
		}
	}
	const tensors = await tensorsOf(run, workload);
	if (tensors !== null)
		return {
			...{ workload, why: "", isFolderJob: values.job === undefined },
			run: { ...run, readBlob: async (root) => (await run.readBlob(root)) ?? tensors.get(root) ?? null },
		};
	if (values.job === undefined)
		return nothing(
			"job.json gives another program or other inputs than the claim has: it was changed, or another version of assay ran it",
		);
	throw new AssayError("RUN_OTHER", `${values.job} gives another program or other inputs than the run's claim has`, {
		hint: "Give the job file that the run was made from, with --steps where it was run so.",
	});
}
