// A prover of jobs that are paid by proof, docs/zk.md §12: looks on chain for segments that nobody has proven, runs each again from the weights before it, proves it under its own name and is paid
// when the job's head comes there. Nothing is reserved: several provers begin at different places, and whoever stops is missed by nobody. Not here: where program, data and weights come from.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { type JobTerms, jobIdOf } from "../../chain/contracts/job-escrow.ts";
import {
	isProofWaiting,
	readProverJob,
	readZkHead,
	submitProofCall,
	type ZkOrder,
} from "../../chain/contracts/zk-jobs.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { OpenProveSession } from "../../engine/client/open-prove-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { fromHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import type { SegmentStatement } from "../../verify/zk/statement.ts";
import { type Elements, elementsToBytes } from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { enteringOf } from "../../work/plan/entering.ts";
import { pointsHash, segmentOf } from "./chain-forms.ts";
import { proveStated } from "./prove-segment.ts";

export interface ProvableJob {
	readonly terms: JobTerms;
	readonly order: ZkOrder;
	readonly plan: ZkPlan;
	readonly features: Elements;
	readonly labels: Elements;
	/** Every state tensor before a segment, in the program's order: from a checkpoint, or run again. */
	weightsBefore(segment: number): Promise<readonly Elements[]>;
	/** S_segment, 64 hex digits: told to the proof for whoever compares bytes. */
	stateBefore(segment: number): Promise<string>;
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
	/** taken: somebody else was first. */
	readonly state: "proving" | "proven" | "taken";
}

/** Each prover has an order of its own, so that two seldom work at the same. */
function ownOrder({ account }: ProverMeans, job: bigint, from: number, end: number): number[] {
	const rank = (segment: number) =>
		bytesToHex(keccak(utf8ToBytes(`${account.address.toLowerCase()} ${job} ${segment}`)));
	const ranks = new Map(Array.from({ length: end - from }, (_, i) => [from + i, rank(from + i)]));
	return [...ranks.keys()].toSorted((a, b) => (ranks.get(a)! < ranks.get(b)! ? -1 : 1));
}

/** Paid already, or waiting for the head. By commitments: a proof from other weights keeps nobody from proving the right one. */
async function isTaken({ contracts }: ProverMeans, job: bigint, segment: number, before: readonly string[]) {
	const { next } = await readZkHead(contracts, job);
	return segment < next || (await isProofWaiting(contracts, job, segment, pointsHash(before)));
}

/** Null: it was stopped. */
async function proveOne(means: ProverMeans, of: ProvableJob, segment: number): Promise<"proven" | "taken" | null> {
	const { contracts, account, open, device, powers, signal } = means;
	const { terms, order, plan } = of;
	const job = jobIdOf(terms);
	const weights = await of.weightsBefore(segment);
	let isLate = false;
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
			mayProve: async ({ pointsBefore }: SegmentStatement) => {
				isLate = await isTaken(means, job, segment, pointsBefore);
				return !isLate;
			},
		},
	);
	if (made === null) return isLate ? "taken" : null;
	if (signal.aborted) return null;
	try {
		const call = submitProofCall(contracts, terms, order, segmentOf(made.statement, made.proof));
		await sendCall(contracts.client, account, call);
		return "proven";
	} catch (error) {
		// Somebody was first, between the last look and the block.
		const isRefused = error instanceof AssayError && error.code === "CHAIN_REFUSED";
		if (isRefused && (await isTaken(means, job, segment, made.statement.pointsBefore))) return "taken";
		throw error;
	}
}

/** All segments before `end` that nobody has proven. False: it was stopped. Throws CHAIN_REFUSED where weights or data are not those that were ordered. */
export async function proveJobSegments(means: ProverMeans, of: ProvableJob, end: number): Promise<boolean> {
	const job = jobIdOf(of.terms);
	const { next } = await readZkHead(means.contracts, job);
	for (const segment of ownOrder(means, job, next, end)) {
		if (means.signal.aborted) return false;
		// The head may have gone by meanwhile.
		if (segment < (await readZkHead(means.contracts, job)).next) continue;
		means.onEvent({ segment, state: "proving" });
		const state = await proveOne(means, of, segment);
		if (state === null) return false;
		means.onEvent({ segment, state });
	}
	return true;
}
