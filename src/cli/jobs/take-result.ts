// `assay job result ID`: fetches what a job ended with and writes the files that a run here delivers, and
// what `assay job check` needs of a run: all but the states between. Nothing is taken on a validator's word:
// every tensor is hashed, the roots fold to the last state of the last claim, each part begins where the one
// before ended, and the claim is recomputed.
import { resolve } from "node:path";
import { fetchBlob } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import { createPatience } from "../../api/patience.ts";
import type { Job } from "../../api/types.ts";
import { checkedClaim, resultFiles, resultJournal } from "../../market/jobs/check-result.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8, concatBytes, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { holdsRun, openRunFolder, readRunFolder } from "../../store/runs/run-folder.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { claimText, readClaim } from "../../work/runs/claim-file.ts";
import { isFetchedHead, readJournal } from "../../work/runs/journal.ts";
import { claimHash } from "../../work/trace/commitments.ts";
import type { CliIo } from "../command.ts";
import { workloadWithData } from "../run-job-file.ts";
import { bookedJob } from "./job-book.ts";

/** Where a job's result goes. By its number, so that no run and no other job is replaced. */
export const resultPath = (io: Pick<CliIo, "cwd">, { id, spec }: Pick<Job, "id" | "spec">, out: string | undefined) =>
	resolve(io.cwd, out ?? `${spec.title.replace(/[^A-Za-z0-9._-]/g, "-") || "job"}-${id.slice(0, 12)}.run`);

const other = (path: string, what: string): AssayError => codedError("RUN_OTHER", `${path} holds ${what}`);

/** Before anything is paid for: a new job's result has a folder of its own. Throws RUN_OTHER. */
export async function requireFreshFolder(path: string): Promise<void> {
	if (await holdsRun(path)) throw other(path, "a run already");
}

/** Nothing, or an earlier copy of this very result. Throws RUN_OTHER. */
async function requireOwnFolder(path: string, id: string): Promise<void> {
	if (!(await holdsRun(path))) return;
	const folder = readRunFolder(path);
	const [claim, states] = [await folder.read("claim.json"), await folder.read("states.bin")];
	if (claim === null || states === null) {
		// A copy that was not written to its end has an empty journal, or the one line of a result.
		const journal = readJournal(bytesToUtf8((await folder.read("journal.jsonl")) ?? new Uint8Array()) ?? "");
		if (journal === null || isFetchedHead(journal.head)) return;
		throw other(path, "a run that is not finished");
	}
	if (readClaim(claim, states).claim.job !== BigInt(`0x${id}`)) throw other(path, "another run or result");
}

export interface TakenResult {
	readonly folder: string;
	/** What the job delivers: not what a check needs beside it. */
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

/** Throws JOB_RESULT_WRONG, BLOB_WRONG, JOB_RESULT_EXPIRED, RUN_OTHER, RUN_BUSY. */
export async function takeResult(
	api: ApiClient,
	job: Job,
	io: Pick<CliIo, "cwd" | "env">,
	out: string | undefined,
): Promise<TakenResult> {
	const { id, spec } = job;
	const result = await createPatience().until(() => api.getJobResult({ params: { id } }));
	const fetch = (blob: { readonly root: string; readonly size: number }) => fetchBlob(api, blob, { job: id });
	const program = orThrow(openProgram(await fetch(spec.program))).program;
	const { claim, states, earlier } = await checkedClaim(job, program, result, fetch);
	const bytes = new Map<number, Uint8Array>();
	for (const { tensor, root, size } of [...result.state, ...result.results])
		bytes.set(tensor, await fetch({ root, size }));
	const booked = await bookedJob(io, id);
	const built = booked && (await sameWorkload(booked, program));
	const path = resultPath(io, job, out);
	await requireOwnFolder(path, id);
	const made = await resultFiles(program, built?.workload ?? null, bytes);
	const folder = await openRunFolder(path);
	try {
		if (booked !== null) await folder.write("job.json", booked.text);
		for (const [name, content] of built?.data ?? []) await folder.putData(name, content);
		for (const [name, content] of made) await folder.write(name, content);
		for (const { tensor, root } of [...result.state, ...result.results]) await folder.putBlob(root, bytes.get(tensor)!);
		await folder.write("program.bin", encodeProgram(program));
		await folder.write("journal.jsonl", resultJournal(job, program, result, claim));
		if (earlier.length > 0) await folder.write("earlier-states.bin", concatBytes(...earlier));
		await folder.write("states.bin", concatBytes(...states));
		await folder.write("claim.json", claimText(claim, hexToBytes(spec.seed, 32)!));
	} finally {
		await folder.close();
	}
	const hash = bytesToHex(claimHash(claim));
	const { parts } = result;
	return {
		...{ folder: path, files: made.map(([name]) => name) },
		...{ claim: hash, state: bytesToHex(states.at(-1)!), isWhole: built !== null },
		...{ parts: parts.length, ofParts: job.offer.terms.parts },
	};
}

/** Built again from the job file; null where the file or its data are gone or have changed. */
async function sameWorkload(
	{ path, text }: { readonly path: string; readonly text: string },
	program: Program,
): Promise<Awaited<ReturnType<typeof workloadWithData>> | null> {
	try {
		const built = await workloadWithData(path, JSON.parse(text));
		return equalBytes(programRoot(built.workload.program), programRoot(program)) ? built : null;
	} catch (error) {
		if (error instanceof AssayError || error instanceof SyntaxError) return null;
		throw error;
	}
}
