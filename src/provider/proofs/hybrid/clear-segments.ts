// Ends games about a claim by the proofs of its segments, docs/zk.md §15, where its owner wants that: the
// order is compared with program and data, the job is run again, its list is said with the first proof. Where
// that cannot be, because nobody ordered, something else was ordered or a value left its range, the questions
// are answered as ever. Not here: which segment is asked about.
import { join } from "node:path";
import { jobTermsFromText } from "../../../chain/contracts/job-terms-text.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { EscrowTermsText } from "../../../protocol/network/job-offer.ts";
import { planByHash } from "../../../work/plan/proving-plan.ts";
import { inputOf, makeOrder, orderFault, type ProofEngine, type WorkToProve } from "../order.ts";
import type { PowersFor } from "../powers.ts";
import { rerunStates } from "../rerun-states.ts";
import type { DisputeChain } from "./dispute-chain.ts";
import { commitmentsOf, listOf, proveDisputed } from "./run-in-dispute.ts";
import { segmentCase } from "./segment-case.ts";

/** A claim of an optimistic job of one part. */
export interface DisputedClaim extends Pick<WorkToProve, "program" | "seed" | "given"> {
	readonly job: bigint;
	/** As the escrow counts. */
	readonly attempt: number;
	readonly terms: EscrowTermsText;
	readonly resultRoot: Uint8Array;
	/** S of every segment, and that of the end. */
	readonly states: readonly Uint8Array[];
	/** Where states that are run again may lie. */
	readonly folder: string;
}

interface ClearMeans {
	readonly chain: DisputeChain;
	readonly powersFor: PowersFor;
	/** An engine with what the claim's run was given, for one proof. */
	readonly withEngine: <T>(claim: DisputedClaim, act: (engine: ProofEngine) => Promise<T>) => Promise<T>;
	readonly tell: (detail: string) => void;
}

export function createClearer({ chain, powersFor, withEngine, tell }: ClearMeans) {
	const lists = new Map<string, readonly Hex[]>();
	/** Claims that have no proof: told once. */
	const without = new Set<string>();
	const nameOf = ({ job, attempt }: DisputedClaim): string => `${job}/${attempt}`;

	/**
	 * The gas that it took. Throws JOB_METHOD where there is nothing to prove, TENSOR_RANGE where a value left
	 * its range.
	 */
	async function prove(claim: DisputedClaim, segment: number, engine: ProofEngine): Promise<number> {
		const { job, program, seed, given, states } = claim;
		const order = (await chain.order(job))!;
		const plan = planByHash(program, hexToBytes(order.plan.slice(2), 32)!);
		if (plan === null) throw new AssayError("JOB_METHOD", "the plan that was ordered is none of its program");
		const powers = powersFor(plan.chunkBits);
		const work = { program, plan, seed, given };
		const fault = orderFault(order, await makeOrder(work, engine, powers));
		if (fault !== null) throw new AssayError("JOB_METHOD", `its customer ordered something else: ${fault}`);
		const rerun = rerunStates(work, engine, join(claim.folder, "proofs"), null);
		try {
			const run = {
				...{ program, plan, seed, order, segments: states.length - 1 },
				...{ features: await inputOf(work, "features"), labels: await inputOf(work, "labels") },
				weightsBefore: rerun.weightsBefore,
			};
			const by = { open: engine.openProof, device: engine.device, powers };
			const list = lists.get(nameOf(claim)) ?? listOf(await commitmentsOf(by, run));
			// ATTACK: a machine that errs would say a list that its own claim contradicts, and lose its bond by it.
			for (let n = 1; n < states.length; n++)
				if ((await rerun.stateBefore(n)) !== bytesToHex(states[n]!))
					throw new AssayError("RUN_UNSTEADY", `run again, the state before segment ${n} is another than was claimed`);
			lists.set(nameOf(claim), list);
			const two = [states[segment]!, states[segment + 1]!] as const;
			const named = { chainId: chain.chainId, job: await chain.proofJob(job) };
			const made = await proveDisputed(by, run, segment, {
				...named,
				states: [bytesToHex(two[0]), bytesToHex(two[1])],
			});
			const { accused, listed } = segmentCase({ ...claim, terms: jobTermsFromText(claim.terms) }, segment);
			return await chain.clear(accused, listed, { kind: "segment", ordered: order, list, ...made! });
		} finally {
			await rerun.close();
		}
	}

	return {
		/** True: the segment is proven on chain, now or before, and nobody need answer about it. */
		async clear(claim: DisputedClaim, segment: number): Promise<boolean> {
			const { job, attempt } = claim;
			if (segment === 0 || without.has(nameOf(claim)) || (await chain.order(job)) === null) return false;
			if (await chain.isCleared(job, attempt, segment)) return true;
			try {
				const gas = await withEngine(claim, (engine) => prove(claim, segment, engine));
				tell(`segment ${segment} is proven on chain, for ${gas} gas`);
				return true;
			} catch (error) {
				// Another time may do: the chain cannot be reached, or the engine is gone. What has no proof never
				// has one.
				if (!(error instanceof AssayError && NEVER.has(error.code))) throw error;
				without.add(nameOf(claim));
				tell(`its segments are not proven, questions are answered: ${error.message}`);
				return false;
			}
		},
		/** Segments of a list whose proof is demanded. */
		async clearDemanded(claim: DisputedClaim): Promise<void> {
			for (const segment of await chain.demanded(claim.job, claim.attempt)) await this.clear(claim, segment);
		},
		collect: () => chain.collect(),
	};
}

const NEVER: ReadonlySet<string> = new Set(["JOB_METHOD", "TENSOR_RANGE", "SRS_MISSING", "SRS_UNKNOWN"]);
