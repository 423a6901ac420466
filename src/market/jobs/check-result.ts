// What a job ended with, looked at before anybody uses it: nothing is taken on a validator's word. The roots
// fold to the last state of the last claim, each part begins where the one before ended, and the claim is
// recomputed. Pure: the command line and pages ask the same.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { JobRecord } from "../../protocol/network/job.ts";
import type { JobOffer } from "../../protocol/network/job-offer.ts";
import type { BlobName, JobSpec } from "../../protocol/network/job-spec.ts";
import { writeNpy } from "../../work/formats/write-npy.ts";
import { bytesToElements, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import { programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { headLine } from "../../work/runs/journal.ts";
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
import { partRange } from "./job-rules.ts";

type TensorBlob = BlobName & { readonly tensor: number };

/** Which blobs hold it, as a validator says. */
export interface NamedResult {
	readonly parts: readonly { readonly part: number; readonly claim: string; readonly states: BlobName }[];
	readonly state: readonly TensorBlob[];
	readonly results: readonly TensorBlob[];
}

export interface EndedJob {
	readonly id: string;
	readonly spec: JobSpec;
	readonly offer: JobOffer;
	readonly record: JobRecord;
}

function wrong(what: string): AssayError {
	return new AssayError("JOB_RESULT_WRONG", `the result is not what was claimed: ${what}`, {
		hint: codes.JOB_RESULT_WRONG.hint,
	});
}

/** All parts in order, or those before the first that was given back. */
function mustBeWhole({ parts }: NamedResult, { parts: recorded }: JobRecord): void {
	const isWhole = parts.length === recorded.length || recorded[parts.length]?.state === "refunded";
	if (parts.length === 0 || !isWhole) throw wrong(`${parts.length} of ${recorded.length} parts`);
	if (parts.some(({ part }, i) => part !== i)) throw wrong("its parts are not in order");
}

/**
 * Throws JOB_RESULT_WRONG. The last part's claim and its states, after every part's list was held against the
 * one before; and the states before those.
 */
export async function checkedClaim(
	{ id, spec, offer, record }: EndedJob,
	program: Program,
	result: NamedResult,
	bytesOf: (blob: BlobName) => Promise<Uint8Array>,
): Promise<{
	readonly claim: JobClaim;
	readonly states: readonly Uint8Array[];
	readonly earlier: readonly Uint8Array[];
}> {
	const { terms, escrow } = offer;
	if (bytesToHex(programRoot(program)) !== terms.program) throw wrong("the program");
	mustBeWhole(result, record);
	let end = firstState(program);
	let states: Uint8Array[] = [];
	const earlier: Uint8Array[] = [];
	for (const { part, states: blob } of result.parts) {
		for (const state of states.slice(0, -1)) earlier.push(state);
		const { count } = partRange(terms, part);
		const list = await bytesOf(blob);
		if (list.length !== 32 * (count + 1)) throw wrong(`the list of states of part ${part + 1}`);
		states = Array.from({ length: count + 1 }, (_, i) => list.slice(32 * i, 32 * (i + 1)));
		if (!equalBytes(states[0]!, end)) throw wrong(`part ${part + 1} does not begin where the one before ended`);
		end = states.at(-1)!;
	}
	const rootsOf = (named: readonly TensorBlob[]) => named.map(({ root }) => hexToBytes(root, 32)!);
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
	return { claim, states, earlier };
}

/** The one line of a fetched result's journal: what the claim's inputs are, and what its last state is of. */
export function resultJournal(
	{ spec }: EndedJob,
	program: Program,
	{ state, results }: NamedResult,
	claim: JobClaim,
): string {
	const inputs = spec.given.filter(({ tensor }) => program.tensors[tensor]?.kind === "input");
	const end = claim.first + claim.segments;
	return headLine({
		...{ program: bytesToHex(claim.program), inputs: bytesToHex(claim.inputs), seed: spec.seed },
		...{ inputRoots: inputs.map(({ root }) => root), first: end, last: end - 1 },
		begin: { state: state.map(({ root }) => root), results: results.map(({ root }) => root) },
	});
}

/** As a run here writes them; without the workload all tensors as plain arrays. */
export async function resultFiles(
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
