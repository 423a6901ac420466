// ZkJobs.sol and TwinPosts.sol: jobs that are paid by proof, and the trees of points that their claims end
// with. docs/zk.md §12.
import {
	type ContractFunctionArgs,
	decodeFunctionData,
	encodeAbiParameters,
	getAbiItem,
	type Hex,
	keccak256,
} from "viem";
import { twinPostsAbi } from "../abi/twin-posts-abi.ts";
import { zkJobsAbi } from "../abi/zk-jobs-abi.ts";
import type { Call } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents, readPending } from "./contracts.ts";
import type { JobTerms } from "./job-escrow.ts";

type Addressed = Pick<Contracts, "addresses">;

/** What a customer says is to be proven of its job. */
export type ZkOrder = ContractFunctionArgs<typeof zkJobsAbi, "nonpayable", "order">[1];
/** One segment with its proof. */
export type ZkSegment = ContractFunctionArgs<typeof zkJobsAbi, "nonpayable", "submit">[2];
/** The trees under the commitments to a state's weights. */
export type PostedTree = ContractFunctionArgs<typeof twinPostsAbi, "payable", "post">[0];
/** A leaf of such a tree, with what it is of. */
export type ContractLeaf = ContractFunctionArgs<typeof twinPostsAbi, "nonpayable", "proveLeaf">[4];
export type PostedNode = PostedTree["tops"][number];

/** Compiles a plan once for everybody. `words`: planWords. */
export const registerPlanCall = (contracts: Addressed, words: Hex): Call =>
	callOf(contracts, "zkPlans", "register", words);

export const orderProofsCall = (contracts: Addressed, terms: JobTerms, order: ZkOrder): Call =>
	callOf(contracts, "zkJobs", "order", terms, order);

/** Segments with steps of a part: those before `end`. */
export function provableSegments({ segments, parts }: JobTerms, part: number): { first: number; end: number } {
	const each = Math.ceil(Number(segments) / parts);
	return { first: Math.max(1, part * each), end: Math.min(Number(segments), (part + 1) * each) };
}

export const partOfSegment = ({ segments, parts }: JobTerms, segment: number): number =>
	Math.floor(segment / Math.ceil(Number(segments) / parts));

/** What a worker lists of its part (segment-ends.ts). */
export interface ListedEnds {
	/** The commitments to the weights after each of its segments with steps, 64 bytes each. */
	readonly points: Hex;
	/** They are of weights and of nothing else. */
	readonly bare: Hex;
}

/** By the part's worker. */
export const listEndsCall = (
	contracts: Addressed,
	terms: JobTerms,
	order: ZkOrder,
	part: number,
	{ points, bare }: ListedEnds,
): Call => callOf(contracts, "zkJobs", "list", terms, order, part, points, bare);

/** What the worker of an attempt has listed; null: nothing. */
export async function readZkList(
	contracts: Contracts,
	job: bigint,
	part: number,
	attempt: number,
): Promise<readonly Hex[] | null> {
	const found = await readEvents(contracts, "zkJobs", "Listed", { job, part });
	const ends = found.find(({ args }) => args.attempt === attempt)?.args.ends;
	return ends === undefined ? null : (ends.slice(2).match(/.{64}/g) ?? []).map((one): Hex => `0x${one}`);
}

/** `path`: from what the segment ends with to the root of its part's list. */
export const submitProofCall = (
	contracts: Addressed,
	terms: JobTerms,
	order: ZkOrder,
	segment: ZkSegment,
	path: readonly Hex[],
): Call => callOf(contracts, "zkJobs", "submit", terms, order, segment, path);

export interface ClaimedEnd {
	readonly part: number;
	/** The claim's hash. */
	readonly claim: Hex;
	readonly poster: Hex;
	readonly tree: PostedTree;
}

export const concludeCall = (contracts: Addressed, terms: JobTerms, order: ZkOrder, end: ClaimedEnd): Call =>
	callOf(contracts, "zkJobs", "conclude", terms, order, end.part, end.claim, end.poster, end.tree);

/** The job's number in the statements of this account's proofs. */
export const readProverJob = (contracts: Contracts, job: bigint, prover: Hex): Promise<bigint> =>
	read(contracts, "zkJobs", "proverJob", job, prover);

/** What a transaction submitted; null: it is no call of `submit`. */
export async function readSubmitted(
	{ client, addresses }: Contracts,
	hash: Hex,
): Promise<{ readonly terms: JobTerms; readonly order: ZkOrder; readonly segment: ZkSegment } | null> {
	const { to, input } = await client.viem.getTransaction({ hash });
	if (to?.toLowerCase() !== addresses.zkJobs.toLowerCase()) return null;
	const call = decodeFunctionData({ abi: zkJobsAbi, data: input });
	if (call.functionName !== "submit") return null;
	const [terms, order, segment] = call.args;
	return { terms, order, segment };
}

/** What was ordered of a job; null: nothing. */
export async function readZkOrder(contracts: Contracts, job: bigint): Promise<ZkOrder | null> {
	const [found] = await readEvents(contracts, "zkJobs", "Ordered", { job });
	return found?.args.order ?? null;
}

/** Pays up to so many waiting proofs that the head has come to, of one part. */
export const advanceCall = (contracts: Addressed, terms: JobTerms, most: number): Call =>
	callOf(contracts, "zkJobs", "advance", terms, BigInt(most));

export interface ZkHead {
	/**
	 * The next segment that is not proven and paid; the number of segments: all are. 0: the job was not
	 * ordered.
	 */
	readonly next: number;
	/** keccak256 of the commitments to the weights before it, as the chain keeps it: `shortPoints`. */
	readonly points: Hex;
}

/** The first 28 bytes of a hash of commitments. */
export const shortPoints = (points: Hex): Hex => `0x${points.slice(2, 58)}`;

export async function readZkHead(contracts: Contracts, job: bigint): Promise<ZkHead> {
	const { next, points } = await read(contracts, "zkJobs", "headOf", job);
	return { next: Number(next), points };
}

/** Whether a proof from these commitments waits for the head. */
export async function isProofWaiting(
	contracts: Contracts,
	job: bigint,
	segment: number,
	before: Hex,
): Promise<boolean> {
	const { prover } = await read(contracts, "zkJobs", "waitingAt", job, BigInt(segment), shortPoints(before));
	return BigInt(prover) !== 0n;
}

/**
 * The commitments before a segment (`shortPoints`), as proofs lead to it from the head; null: they do not, or
 * it is paid already.
 */
export async function readPointsBefore(contracts: Contracts, job: bigint, segment: number): Promise<Hex | null> {
	let { next, points } = await readZkHead(contracts, job);
	for (; next < segment; next++) {
		const { prover, after_ } = await read(contracts, "zkJobs", "waitingAt", job, BigInt(next), points);
		if (BigInt(prover) === 0n) return null;
		points = shortPoints(after_);
	}
	return next === segment ? points : null;
}

const TREE = getAbiItem({ abi: twinPostsAbi, name: "numberOf" }).inputs;

export const postNumber = (poster: Hex, tree: PostedTree): Hex => keccak256(encodeAbiParameters(TREE, [poster, tree]));

export const readTwinParams = (contracts: Contracts) => read(contracts, "twinPosts", "params");

/** `bond`: of the contract's parameters. */
export const postTreeCall = (contracts: Addressed, tree: PostedTree, bond: bigint): Call => ({
	...callOf(contracts, "twinPosts", "post", tree),
	value: bond,
});

export const demandCall = (
	contracts: Addressed,
	{ poster, tree }: Pick<ClaimedEnd, "poster" | "tree">,
	chunk: number,
	deposit: bigint,
): Call => ({ ...callOf(contracts, "twinPosts", "demand", poster, tree, BigInt(chunk)), value: deposit });

export const answerDemandCall = (
	contracts: Addressed,
	post: Hex,
	challenger: Hex,
	node: PostedNode,
	nodes: readonly PostedNode[],
): Call => callOf(contracts, "twinPosts", "answer", post, challenger, node, nodes);

/** Whether nobody brought it down, and nobody can any more. */
export const isTreeStanding = (contracts: Contracts, post: Hex): Promise<boolean> =>
	readPending(contracts, "twinPosts", "isStanding", post);
