// Runs a workload of one's own in a folder, docs/jobs.md §1: a part (run-part.ts) that is the whole job, with
// the files that the customer takes home. Not here: what is computed (src/work/workloads/), how it is shown
// (the CLI), how it is checked (src/validator/jobs/).
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { writeNpy } from "../../work/formats/write-npy.ts";
import { bytesToElements, type Elements, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { NO_JOB } from "../../work/runs/claim-file.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import { type FetchTensor, numbersOf, type RunEnd, type RunPart, runPart } from "./run-part.ts";

export interface RunJob
	extends Pick<RunPart, "folder" | "open" | "device" | "diskBytes" | "nowMs" | "signal" | "onEvent"> {
	/** The job file, as it is kept beside the run. */
	readonly jobText: string;
	readonly workload: Workload;
	/** The files that the job names, kept beside the run so that a check can build the workload again. */
	readonly data?: ReadonlyMap<string, Uint8Array>;
}

/** What the customer takes home, or sees before the end. */
async function writeFiles({ folder, workload }: RunJob, fetch: FetchTensor, files: Workload["files"]): Promise<void> {
	const { tensors } = workload.program;
	const named = new Map<string, Elements>();
	for (const name of new Set(files.flatMap((file) => file.tensors))) {
		const i = tensors.findIndex((tensor) => tensor.name === name);
		const { type, dims } = tensors[i]!;
		named.set(name, bytesToElements(await fetch(i), type, elementCount(dims))!);
	}
	for (const { name, make } of files) await folder.write(name, await make((tensor) => named.get(tensor)!));
}

async function writeOutcome(job: RunJob, fetch: FetchTensor): Promise<void> {
	const { program, files } = job.workload;
	for (const i of numbersOf(program, "result")) {
		const { name, type, dims } = program.tensors[i]!;
		await job.folder.write(`results/${name}.npy`, writeNpy(type, dims, await fetch(i)));
	}
	await writeFiles(job, fetch, files);
}

/** Throws AssayError; what was saved before stays. */
export function runJob(job: RunJob): Promise<RunEnd> {
	const { folder, jobText, workload, open, device, diskBytes, nowMs, signal, onEvent } = job;
	const { program, seed, segments, metrics, given, files } = workload;
	const tensors = numbersOf(program, "constant", "input");
	const bytesOfTensor = (i: number) => elementsToBytes(given[program.tensors[i]!.name]!);
	const previews = files.filter(({ isPreview }) => isPreview);
	return runPart({
		...{ folder, program, seed, of: NO_JOB, first: 0, count: segments + 1, begin: null, metrics },
		...{ open, device, diskBytes, nowMs, ...(signal && { signal }), ...(onEvent && { onEvent }) },
		async give(session) {
			for (const i of tensors) await session.write(i, bytesOfTensor(i));
			const roots = new Map<number, Uint8Array>();
			for (const i of tensors) roots.set(i, await session.root(i));
			return roots;
		},
		async begun(roots) {
			await folder.write("job.json", jobText);
			for (const [name, bytes] of job.data ?? []) await folder.putData(name, bytes);
			for (const [i, root] of roots) await folder.putBlob(bytesToHex(root), bytesOfTensor(i));
		},
		saved: (fetch) => writeFiles(job, fetch, previews),
		done: (fetch) => writeOutcome(job, fetch),
	});
}
