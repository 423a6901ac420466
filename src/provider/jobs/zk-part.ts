// A part of a job that is paid by proof, at its worker: before its bond is locked, that what its customer
// ordered is what this program and these data are; when it is run, what its segments end with; after the
// claim, what the trees of its end are made of. docs/zk.md §12. Not here: the proofs and the trees themselves
// (src/provider/proofs/).
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8, concatBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import type { RunReader } from "../../store/runs/run-folder.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { bytesOf, bytesToElements, elementCount } from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { planByHash, segmentsFault } from "../../work/plan/proving-plan.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram } from "../../work/program/open-program.ts";
import type { Program, Tensor } from "../../work/program/shapes.ts";
import { readJournal } from "../../work/runs/journal.ts";
import type { ClaimedEnd } from "../proofs/keep-end.ts";
import { makeOrder, orderFault, type WorkToProve } from "../proofs/order.ts";
import type { PowersFor } from "../proofs/powers.ts";
import type { ProofChain } from "../proofs/proof-chain.ts";
import { segmentEnds } from "../proofs/segment-ends.ts";
import { declined } from "./check-offer.ts";
import type { PartOffer } from "./job-desk.ts";
import type { JobEngine } from "./job-engine.ts";
import type { PartEntry } from "./part-book.ts";

/** Beside the run: what its segments end with, 64 bytes each, and what shows that they are bare. */
export const ENDS_FILE = "ends.bin";
/** Of the latter. */
const BARE_BYTES = 224;

export const isByProofs = ({ terms }: Pick<PartOffer, "terms">): boolean => methodOf(terms.method).driver === "proofs";

/** A blob of a run's store has the root of a tensor, and may have another length: docs/jobs.md §2. */
export async function tensorBytes(read: RunReader["blob"], { type, dims }: Tensor, root: string): Promise<Uint8Array> {
	const bytes = new Uint8Array(elementCount(dims) * bytesOf(type));
	const found = await read(root);
	if (found === null) throw new AssayError("BLOB_MISSING", `${root} is not in the run's store`);
	bytes.set(found.subarray(0, bytes.length));
	return bytes;
}

export interface ZkMeans {
	readonly zk: ProofChain;
	readonly engine: JobEngine;
	readonly powersFor: PowersFor;
	readonly read: RunReader["blob"];
}

const workOf = ({ spec }: PartOffer, program: Program, plan: ZkPlan, read: RunReader["blob"]): WorkToProve => ({
	...{ program, plan, seed: hexToBytes(spec.seed, 32)! },
	given: (tensor: number) =>
		tensorBytes(read, program.tensors[tensor]!, spec.given.find((one) => one.tensor === tensor)!.root),
});

/**
 * Throws JOB_DECLINED where another plan, other data or another start were ordered: nobody could prove such a
 * job, and nobody would be paid.
 */
export async function mustBeOrdered(offer: PartOffer, program: Program, by: ZkMeans): Promise<void> {
	const { id } = offer;
	const { openProof } = by.engine;
	if (openProof === undefined) throw declined("this host's engine makes no commitments");
	const ordered = await by.zk.order(BigInt(`0x${id}`));
	if (ordered === null) throw declined("its customer has not said on chain what is to be proven");
	const plan = planByHash(program, hexToBytes(ordered.plan.slice(2), 32)!);
	if (plan === null) throw declined("the plan that its customer ordered is none of its program");
	const tooMany = segmentsFault(plan, offer.spec.segments);
	if (tooMany !== null) throw declined(`nobody can prove all of it: ${tooMany}`);
	const work = workOf(offer, program, plan, by.read);
	const own = await makeOrder(work, { ...by.engine, openProof }, by.powersFor(plan.chunkBits));
	const fault = orderFault(ordered, own);
	if (fault !== null) throw declined(`its customer ordered something else: ${fault}`);
}

/**
 * What the part's segments end with, as its worker lists them (ENDS_FILE): run again from the part's begin,
 * on the engine that trained it.
 */
export async function listedEnds(offer: PartOffer, program: Program, by: ZkMeans): Promise<Uint8Array> {
	const { id, first, count, begin } = offer;
	const { openProof } = by.engine;
	const ordered = await by.zk.order(BigInt(`0x${id}`));
	const plan = ordered && planByHash(program, hexToBytes(ordered.plan.slice(2), 32)!);
	if (plan === null || openProof === undefined)
		throw new AssayError("JOB_METHOD", "nothing that can be proven was ordered");
	const states = program.tensors.filter(({ kind }) => kind === "state");
	const begun = begin && (await Promise.all(states.map((one, i) => tensorBytes(by.read, one, begin.state[i]!.root))));
	const { points, bare } = await segmentEnds(
		workOf(offer, program, plan, by.read),
		{ first, end: first + count, begin: begun },
		{ ...by.engine, openProof },
		by.powersFor(plan.chunkBits),
	);
	return concatBytes(points, bare);
}

/** Null: it is no claim of a zk job. */
export async function claimedEndOf({ page, path }: PartEntry): Promise<ClaimedEnd | null> {
	const { offer, claim } = page;
	if (!isByProofs(offer) || claim === null || offer.escrow === null || offer.assignment === null) return null;
	const { program } = orThrow(openProgram(new Uint8Array(await readFile(join(path, "program.bin")))));
	const journal = readJournal(bytesToUtf8(new Uint8Array(await readFile(join(path, "journal.jsonl")))) ?? "")!;
	const roots = journal.segments.at(-1)!.state;
	const states = program.tensors.filter(({ kind }) => kind === "state");
	const read: RunReader["blob"] = async (root) => new Uint8Array(await readFile(join(path, "store", root)));
	const bytes = new Uint8Array(await readFile(join(path, ENDS_FILE)));
	const split = Math.max(0, bytes.length - BARE_BYTES);
	const ends = { points: toHex(bytes.subarray(0, split)), bare: toHex(bytes.subarray(split)) };
	const weights = [];
	for (const [i, tensor] of states.entries()) {
		const bytes = await tensorBytes(read, tensor, roots[i]!);
		weights.push(bytesToElements(bytes, tensor.type, elementCount(tensor.dims))!);
	}
	return {
		...{ job: BigInt(`0x${offer.id}`), part: offer.part, attempt: offer.assignment.attempt },
		...{ terms: offer.escrow.terms, claim: `0x${claim}`, segment: offer.first + offer.count, program, ends, weights },
	};
}
