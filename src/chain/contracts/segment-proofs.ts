// SegmentProofs.sol: optimistic jobs whose disputes are settled by one zk proof, docs/zk.md §15. Not here:
// what proofs and lists are made of.
import { encodeAbiParameters, getAbiItem, type Hex } from "viem";
import { segmentProofsAbi } from "../abi/segment-proofs-abi.ts";
import type { Call } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents } from "./contracts.ts";
import type { AccusedCase } from "./disputes.ts";
import type { JobTerms } from "./job-escrow.ts";
import type { ContractLeaf, ZkOrder } from "./zk-jobs.ts";

type Addressed = Pick<Contracts, "addresses">;

/** Before the job is funded. */
export const orderDisputesCall = (contracts: Addressed, terms: JobTerms, order: ZkOrder): Call =>
	callOf(contracts, "segmentProofs", "order", terms, order);

/** What was ordered of a job; null: nothing. */
export async function readDisputeOrder(contracts: Contracts, job: bigint): Promise<ZkOrder | null> {
	const [found] = await readEvents(contracts, "segmentProofs", "Ordered", { job });
	return found?.args.order ?? null;
}

/** Of a claim with a list: the proof of a segment. */
export async function demandProofCall(contracts: Contracts, job: bigint, segment: number): Promise<Call> {
	const value = await read(contracts, "segmentProofs", "deposit");
	return { ...callOf(contracts, "segmentProofs", "demand", job, BigInt(segment)), value };
}

/** What was said of a claim, by its book; null: nothing. */
export async function readSaidList(contracts: Contracts, job: bigint, book: Hex): Promise<readonly Hex[] | null> {
	const [found] = await readEvents(contracts, "segmentProofs", "Said", { job, book });
	return found?.args.list ?? null;
}

/** Segments whose proof somebody demanded and nobody has brought, with the last moment for each. */
export async function readDemanded(
	contracts: Contracts,
	job: bigint,
	book: Hex,
): Promise<readonly { readonly segment: number; readonly deadlineS: number }[]> {
	const open = [];
	for (const { args } of await readEvents(contracts, "segmentProofs", "Demanded", { job, book }))
		if (!(await read(contracts, "segmentProofs", "isLinked", book, args.segment)))
			open.push({ segment: Number(args.segment), deadlineS: args.deadline });
	return open;
}

/** The job's number in the statements of proofs about its segments. */
export const readProofJob = (contracts: Contracts, job: bigint): Promise<bigint> =>
	read(contracts, "segmentProofs", "proofJob", job);

interface ShownWeight {
	readonly place: bigint;
	readonly value: bigint;
	readonly states: Hex;
	readonly results: Hex;
	readonly shown: ContractLeaf["shown"];
}

/** What is shown of a segment. */
export type ShownProof = { readonly ordered: ZkOrder } & (
	| {
			readonly kind: "segment";
			readonly list: readonly Hex[];
			readonly points: Hex;
			readonly proof: Hex;
			/** Where it ends elsewhere than the list says. */
			readonly bare?: Hex;
	  }
	| {
			readonly kind: "weight";
			readonly list: readonly Hex[];
			readonly points: Hex;
			readonly proof: Hex;
			readonly weight: ShownWeight;
	  }
	| { readonly kind: "silence" }
);

const KINDS = { segment: 0, weight: 1, silence: 2 } as const;
const ZERO: Hex = `0x${"00".repeat(32)}`;
const NO_WEIGHT: ShownWeight = { place: 0n, value: 0n, states: ZERO, results: ZERO, shown: [] };
const [, ORDER] = getAbiItem({ abi: segmentProofsAbi, name: "order" }).inputs;
const SHOWN = {
	type: "tuple",
	components: [
		{ name: "kind", type: "uint8" },
		{ ...ORDER, name: "ordered" },
		{ name: "list", type: "bytes32[]" },
		{ name: "points", type: "bytes" },
		{ name: "proof", type: "bytes" },
		{ name: "bare", type: "bytes" },
		{
			...{ name: "weight", type: "tuple" },
			components: [
				{ name: "place", type: "uint256" },
				{ name: "value", type: "uint256" },
				{ name: "states", type: "bytes32" },
				{ name: "results", type: "bytes32" },
				{
					...{ name: "shown", type: "tuple[]" },
					components: [
						{ name: "leaf", type: "bytes" },
						{ name: "path", type: "bytes32[]" },
						{ name: "rootPath", type: "bytes32[]" },
					],
				},
			],
		},
	],
} as const;

const NOTHING = { list: [], points: "0x", proof: "0x", bare: "0x", weight: NO_WEIGHT } as const;

/** S before and after the segment in the claim's list, with their paths. */
export interface ListedStates {
	readonly states: readonly [Hex, Hex];
	readonly paths: readonly [readonly Hex[], readonly Hex[]];
}

/** Clears the segment of the case, or convicts. Whoever wants the accuser's share has announced it. */
export function proveSegmentCall(
	contracts: Addressed,
	salt: Hex,
	accused: AccusedCase,
	{ states, paths }: ListedStates,
	shown: ShownProof,
): Call {
	const proof = encodeAbiParameters([SHOWN], [{ ...NOTHING, ...shown, kind: KINDS[shown.kind] }]);
	return callOf(contracts, "disputes", "proveSegment", salt, accused, 0n, states, paths, proof);
}
