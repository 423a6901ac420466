// A prover of jobs that are paid by proof, docs/zk.md §12: looks on chain for segments that nobody has
// proven, runs each again from the weights before it, proves it under its own name and is paid when the job's
// head comes there. Nothing is reserved: several provers begin at different places, and whoever stops is
// missed by nobody. Not here: where program, data and weights come from.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { type JobTerms, jobIdOf } from "../../chain/contracts/job-escrow.ts";
import {
	isProofWaiting,
	readPointsBefore,
	readProverJob,
	readZkHead,
	shortPoints,
	submitProofCall,
	type ZkOrder,
} from "../../chain/contracts/zk-jobs.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { OpenProveSession } from "../../engine/client/open-prove-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { fromHex, type Hex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import type { SegmentStatement } from "../../verify/zk/statement.ts";
import { type Elements, elementsToBytes } from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { enteringOf } from "../../work/plan/entering.ts";
import { pointsHash, segmentOf } from "./chain-forms.ts";
import { proveStated } from "./prove-segment.ts";
import { type Lists, readLists } from "./segment-ends.ts";

export interface ProvableJob {
	readonly terms: JobTerms;
	readonly order: ZkOrder;
	readonly plan: ZkPlan;
	readonly features: Elements;
	readonly labels: Elements;
	/**
	 * Every state tensor before a segment, in the program's order: run again, from the start or from a state
	 * that a worker claimed.
	 */
	weightsBefore(segment: number): Promise<readonly Elements[]>;
	/** S_segment, 64 hex digits: told to the proof for whoever compares bytes. */
	stateBefore(segment: number): Promise<string>;
	/** Absent: everything was run from the start. */
	readonly claimed?: {
		/** Whether the state before a segment rests on what a worker claimed. */
		isClaimed(segment: number): boolean;
		/** What was claimed is false: the next state is run from the start. */
		distrust(): Promise<void>;
	};
}

export interface ProverMeans {
	readonly contracts: Contracts;
	readonly account: ChainAccount;
	readonly open: OpenProveSession;
	readonly device: number;
	readonly powers: ProverPowers;
	/** Ends it between two rounds of a proof. */
	readonly signal: AbortSignal;
	readonly onEvent: (event: ProverEvent) => void;
}

export interface ProverEvent {
	readonly segment: number;
	/**
	 * taken: somebody else was first. misled: what a worker's state leads to is not what is listed, or nothing;
	 * the segment is run from the start. unlisted: nor is what the start leads to, so that nobody is paid for
	 * what is right. unprovable: a value of it leaves its range, so that neither it nor what follows is ever
	 * paid.
	 */
	readonly state: "proving" | "proven" | "taken" | "misled" | "unlisted" | "unprovable";
}

/** Segments ahead of the head among which a prover chooses. */
const WINDOW = 32;
/**
 * Proofs from commitments that are listed and that no proof has come to: what a worker's false list can cost
 * in gas, once an attempt.
 */
const MOST_AT_STAKE = 4;

/** Each prover has an order of its own, so that two seldom work at the same. */
export function ownOrder(prover: Hex, job: bigint, from: number, end: number): number[] {
	const rank = (segment: number) => bytesToHex(keccak(utf8ToBytes(`${prover.toLowerCase()} ${job} ${segment}`)));
	const ranks = new Map(Array.from({ length: end - from }, (_, i) => [from + i, rank(from + i)]));
	return [...ranks.keys()].toSorted((a, b) => (ranks.get(a)! < ranks.get(b)! ? -1 : 1));
}

/**
 * Paid already, or waiting for the head. By commitments: a proof from other weights keeps nobody from proving
 * the right one.
 */
async function isTaken({ contracts }: ProverMeans, terms: JobTerms, segment: number, before: readonly string[]) {
	const job = jobIdOf(terms);
	const { next } = await readZkHead(contracts, job);
	return segment < next || (await isProofWaiting(contracts, job, segment, pointsHash(before)));
}

interface Outcome {
	readonly state: Exclude<ProverEvent["state"], "proving">;
	/** It rests on listed commitments that no proof has come to. */
	readonly isAtStake: boolean;
}

/** What is to be done when the commitments are there; null: prove. */
async function outcomeOf(
	means: ProverMeans,
	{ terms, claimed }: ProvableJob,
	segment: number,
	lists: Lists,
	{ pointsBefore, pointsAfter }: SegmentStatement,
): Promise<Pick<Outcome, "isAtStake"> & { readonly state: Outcome["state"] | null }> {
	const before = pointsHash(pointsBefore);
	// ATTACK: a list of other commitments, from which its worker alone can go on.
	if (lists.after(segment - 1) !== before || lists.after(segment) !== pointsHash(pointsAfter))
		return { state: claimed?.isClaimed(segment) ? "misled" : "unlisted", isAtStake: false };
	if (await isTaken(means, terms, segment, pointsBefore)) return { state: "taken", isAtStake: false };
	return {
		state: null,
		isAtStake: (await readPointsBefore(means.contracts, jobIdOf(terms), segment)) !== shortPoints(before),
	};
}

/** Null: it was stopped. */
async function proveOne(means: ProverMeans, of: ProvableJob, segment: number): Promise<Outcome | null> {
	const { contracts, account, open, device, powers, signal } = means;
	const { terms, order, plan } = of;
	const job = jobIdOf(terms);
	const weights = await of.weightsBefore(segment);
	const lists = await readLists(contracts, terms, order);
	let found: Awaited<ReturnType<typeof outcomeOf>> = { state: null, isAtStake: false };
	const made = await proveStated(
		{
			...{ plan, seed: fromHex(terms.seed, 32), segment, chainId: BigInt(contracts.addresses.chainId) },
			job: await readProverJob(contracts, job, account.address),
			roots: {
				...{ features: order.features.slice(2), labels: order.labels.slice(2) },
				...{ stateBefore: await of.stateBefore(segment), stateAfter: await of.stateBefore(segment + 1) },
			},
			given: {
				entering: elementsToBytes(enteringOf(plan, of.features)),
				labels: elementsToBytes(Int32Array.from(of.labels, Number)),
				weights: weights.map(elementsToBytes),
			},
		},
		{
			...{ open, device, powers, signal },
			mayProve: async (statement: SegmentStatement) => {
				found = await outcomeOf(means, of, segment, lists, statement);
				return found.state === null;
			},
		},
	);
	const { state, isAtStake } = found;
	if (made === null) return state && { state, isAtStake };
	if (signal.aborted) return null;
	try {
		const proven = segmentOf(made.statement, made.proof);
		const call = submitProofCall(contracts, terms, order, proven, lists.path(segment));
		await sendGuarded(contracts.client, account, call);
		return { state: "proven", isAtStake };
	} catch (error) {
		// Somebody was first, between the last look and the block.
		const isRefused = error instanceof AssayError && error.code === "CHAIN_REFUSED";
		if (isRefused && (await isTaken(means, terms, segment, made.statement.pointsBefore)))
			return { state: "taken", isAtStake: false };
		throw error;
	}
}

/**
 * ATTACK: weights that no run leads to, from a worker who wants its job unproven; or data that make a run
 * leave its ranges, from a customer who wants its training for nothing. The first is told apart by one's own
 * run; of the second nothing is tried again.
 */
async function proveIfPossible(means: ProverMeans, of: ProvableJob, segment: number, isTrusting: boolean) {
	try {
		return await proveOne(means, of, segment);
	} catch (error) {
		if (!(error instanceof AssayError) || error.code !== "TENSOR_RANGE") throw error;
		return { state: isTrusting ? ("misled" as const) : ("unprovable" as const), isAtStake: false };
	}
}

/**
 * The next segment, of those in one's own order. Whoever has enough at stake takes the first one, whose
 * weights proofs lead to.
 */
function nextOf(left: ReadonlySet<number>, head: number, mayStake: boolean): number {
	const all = [...left];
	const near = mayStake ? all.find((segment) => segment < head + WINDOW) : undefined;
	return near ?? all.reduce((least, one) => Math.min(least, one));
}

/**
 * All segments before `end` that nobody has proven. False: it was stopped, or a list is not of what comes
 * out. Throws CHAIN_REFUSED where weights or data are not those that were ordered.
 */
export async function proveJobSegments(means: ProverMeans, of: ProvableJob, end: number): Promise<boolean> {
	const job = jobIdOf(of.terms);
	const { next } = await readZkHead(means.contracts, job);
	const left = new Set(ownOrder(means.account.address, job, next, end));
	const atStake = new Set<number>();
	let isTrusting = of.claimed !== undefined;
	for (;;) {
		if (means.signal.aborted) return false;
		// The head may have gone by meanwhile.
		const head = (await readZkHead(means.contracts, job)).next;
		for (const set of [left, atStake]) for (const segment of set) if (segment < head) set.delete(segment);
		if (left.size === 0) return true;
		const segment = nextOf(left, head, atStake.size < MOST_AT_STAKE);
		means.onEvent({ segment, state: "proving" });
		const done: Outcome | null = await proveIfPossible(means, of, segment, isTrusting);
		if (done === null) return false;
		means.onEvent({ segment, state: done.state });
		if (done.state === "unlisted") return false;
		if (done.state === "misled") {
			isTrusting = false;
			await of.claimed!.distrust();
			continue;
		}
		if (done.state === "unprovable") for (const one of left) if (one > segment) left.delete(one);
		if (done.isAtStake) atStake.add(segment);
		left.delete(segment);
	}
}
