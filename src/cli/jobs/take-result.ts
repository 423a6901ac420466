// `assay job result ID`: fetches what a job ended with and writes the same files as a run here leaves.
// Nothing is taken on a validator's word: every tensor is hashed, the roots fold to the last state of the
// last claim, each part begins where the one before ended, and the claim is recomputed.
import { resolve } from "node:path";
import { fetchBlob } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import type { Job } from "../../api/types.ts";
import { checkedClaim, resultFiles } from "../../market/jobs/check-result.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { claimText } from "../../work/runs/claim-file.ts";
import { claimHash } from "../../work/trace/commitments.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import type { CliIo } from "../command.ts";
import { workloadOf } from "../run-job-file.ts";
import { bookedJob } from "./job-book.ts";

export interface TakenResult {
	readonly folder: string;
	readonly files: readonly string[];
	/** The last part's claim. */
	readonly claim: string;
	/** The tree over the last state of the job: the same on every machine. */
	readonly state: string;
	/** Of the job's parts, so many: the others were given back. */
	readonly parts: number;
	readonly ofParts: number;
	/** False: the job file is not here or has changed, so only plain arrays were written. */
	readonly isWhole: boolean;
}

/** Throws JOB_RESULT_WRONG, BLOB_WRONG, JOB_RESULT_EXPIRED. */
export async function takeResult(
	api: ApiClient,
	job: Job,
	io: Pick<CliIo, "cwd" | "env">,
	out: string | undefined,
): Promise<TakenResult> {
	const { id, spec } = job;
	const result = await api.getJobResult({ params: { id } });
	const fetch = (blob: { readonly root: string; readonly size: number }) => fetchBlob(api, blob, { job: id });
	const program = orThrow(openProgram(await fetch(spec.program))).program;
	const { claim, states } = await checkedClaim(job, program, result, fetch);
	const bytes = new Map<number, Uint8Array>();
	for (const { tensor, root, size } of [...result.state, ...result.results])
		bytes.set(tensor, await fetch({ root, size }));
	const booked = await bookedJob(io, id);
	const workload = booked && (await sameWorkload(booked, program));
	const folder = resolve(io.cwd, out ?? `${spec.title.replace(/[^A-Za-z0-9._-]/g, "-") || "job"}.run`);
	const files: string[] = [];
	const write = async (name: string, content: Uint8Array | string): Promise<void> => {
		await writeDurably(resolve(folder, name), content, { mode: 0o644 });
		files.push(name);
	};
	if (booked !== null) await write("job.json", booked.text);
	for (const [name, content] of await resultFiles(program, workload, bytes)) await write(name, content);
	await write("states.bin", concatBytes(...states));
	await write("claim.json", claimText(claim, hexToBytes(spec.seed, 32)!));
	const hash = bytesToHex(claimHash(claim));
	const { parts } = result;
	return {
		...{ folder, files, claim: hash, state: bytesToHex(states.at(-1)!), isWhole: workload !== null },
		...{ parts: parts.length, ofParts: job.offer.terms.parts },
	};
}

/** Built again from the job file; null where the file or its data are gone or have changed. */
async function sameWorkload(
	{ path, text }: { readonly path: string; readonly text: string },
	program: Program,
): Promise<Workload | null> {
	try {
		const workload = await workloadOf(path, JSON.parse(text));
		return equalBytes(programRoot(workload.program), programRoot(program)) ? workload : null;
	} catch (error) {
		if (error instanceof AssayError || error instanceof SyntaxError) return null;
		throw error;
	}
}
