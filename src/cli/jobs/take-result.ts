// `assay job result ID`: fetches what a job ended with and writes the same files as a run here leaves. Nothing is taken on a validator's word: every tensor
// is hashed, the roots fold to the last state of the last claim, each part begins where the one before ended, and the claim is recomputed.
import { resolve } from "node:path";
import { fetchBlob } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import type { Job, JobResult } from "../../api/types.ts";
import { partRange } from "../../market/jobs/job-rules.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { writeNpy } from "../../work/formats/write-npy.ts";
import { bytesToElements, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { claimText } from "../../work/runs/claim-file.ts";
import {
	claimHash,
	firstState,
	inputsHashOf,
	type JobClaim,
	resultRootOf,
	segmentTree,
	stateHashOf,
} from "../../work/trace/commitments.ts";
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

function wrong(what: string): AssayError {
	return new AssayError("JOB_RESULT_WRONG", `the result is not what was claimed: ${what}`, {
		hint: codes.JOB_RESULT_WRONG.hint,
	});
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
	for (const [name, content] of await filesOf(program, workload, bytes)) await write(name, content);
	await write("states.bin", concatBytes(...states));
	await write("claim.json", claimText(claim, hexToBytes(spec.seed, 32)!));
	const hash = bytesToHex(claimHash(claim));
	const { parts } = result;
	return {
		...{ folder, files, claim: hash, state: bytesToHex(states.at(-1)!), isWhole: workload !== null },
		...{ parts: parts.length, ofParts: job.offer.terms.parts },
	};
}

/** All parts in order, or those before the first that was given back. */
function mustBeWhole({ parts }: JobResult, { parts: recorded }: Job["record"]): void {
	const isWhole = parts.length === recorded.length || recorded[parts.length]?.state === "refunded";
	if (parts.length === 0 || !isWhole) throw wrong(`${parts.length} of ${recorded.length} parts`);
	if (parts.some(({ part }, i) => part !== i)) throw wrong("its parts are not in order");
}

/** The last part's claim and its states, after every part's list was held against the one before. */
async function checkedClaim(
	{ id, spec, offer, record }: Job,
	program: Program,
	result: JobResult,
	fetch: (blob: { readonly root: string; readonly size: number }) => Promise<Uint8Array>,
): Promise<{ readonly claim: JobClaim; readonly states: readonly Uint8Array[] }> {
	const { terms, escrow } = offer;
	if (bytesToHex(programRoot(program)) !== terms.program) throw wrong("the program");
	mustBeWhole(result, record);
	let end = firstState(program);
	let states: Uint8Array[] = [];
	for (const { part, states: blob } of result.parts) {
		const { count } = partRange(terms, part);
		const list = await fetch(blob);
		if (list.length !== 32 * (count + 1)) throw wrong(`the list of states of part ${part + 1}`);
		states = Array.from({ length: count + 1 }, (_, i) => list.slice(32 * i, 32 * (i + 1)));
		if (!equalBytes(states[0]!, end)) throw wrong(`part ${part + 1} does not begin where the one before ended`);
		end = states.at(-1)!;
	}
	const rootsOf = (named: JobResult["state"]) => named.map(({ root }) => hexToBytes(root, 32)!);
	const [state, results] = [rootsOf(result.state), rootsOf(result.results)];
	for (const [kind, named] of [
		["state", result.state],
		["result", result.results],
	] as const) {
		const wanted = program.tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));
		if (named.length !== wanted.length || named.some(({ tensor }, i) => tensor !== wanted[i]))
			throw wrong(`its ${kind} tensors`);
	}
	const { part, claim: said } = result.parts.at(-1)!;
	const { first, count } = partRange(terms, part);
	if (!equalBytes(stateHashOf(program, first + count, state, results), end)) throw wrong("the last state");
	const inputs = spec.given
		.filter(({ tensor }) => program.tensors[tensor]?.kind === "input")
		.map(({ root }) => hexToBytes(root, 32)!);
	const claim: JobClaim = {
		chainId: BigInt(escrow?.chainId ?? 0),
		escrow: escrow === null ? new Uint8Array(20) : hexToBytes(escrow.contract.slice(2).toLowerCase(), 20)!,
		...{ job: BigInt(`0x${id}`), part, program: hexToBytes(terms.program, 32)!, first, segments: count },
		inputs: inputsHashOf(program, hexToBytes(spec.seed, 32)!, inputs),
		segmentRoot: segmentTree(states).root,
		resultRoot: resultRootOf(program, results),
	};
	const hash = bytesToHex(claimHash(claim));
	if (hash !== said || record.parts[part]?.claim !== hash) throw wrong("the claim");
	return { claim, states };
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

/** As a run here writes them; without the workload all tensors as plain arrays. */
async function filesOf(
	{ tensors }: Program,
	workload: Workload | null,
	bytes: ReadonlyMap<number, Uint8Array>,
): Promise<readonly (readonly [string, Uint8Array])[]> {
	const made: (readonly [string, Uint8Array])[] = [];
	for (const [i, { name, kind, type, dims }] of tensors.entries()) {
		const held = bytes.get(i);
		if (held === undefined) continue;
		if (held.length !== elementCount(dims) * 2 ** ["i8", "i16", "i32", "i64"].indexOf(type))
			throw wrong(`${name} has ${held.length} bytes`);
		if (kind === "result") made.push([`results/${name}.npy`, writeNpy(type, dims, held)]);
		else if (workload === null) made.push([`state/${name}.npy`, writeNpy(type, dims, held)]);
	}
	const elements = (name: string): Elements => {
		const i = tensors.findIndex((tensor) => tensor.name === name);
		const { type, dims } = tensors[i]!;
		return bytesToElements(bytes.get(i)!, type, elementCount(dims))!;
	};
	for (const { name, make } of workload?.files ?? []) made.push([name, await make(elements)]);
	return made;
}
