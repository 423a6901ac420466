// The end of a claimed part of a zk job, kept by its worker until it is paid: what its segments end with is
// listed for provers, the trees of points of its last state are posted, whoever demands their nodes is
// answered, and when they stand and the proofs have come to the same commitments, the claim is concluded.
// docs/zk.md §12. What is next follows from the chain, so that a restart changes nothing.
import type { ListedEnds, PostedNode, PostedTree, ZkOrder } from "../../chain/contracts/zk-jobs.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { EscrowTermsText } from "../../protocol/network/job-offer.ts";
import type { Elements } from "../../work/operators/tensor-type.ts";
import { planByHash } from "../../work/plan/proving-plan.ts";
import type { Program } from "../../work/program/shapes.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import { nodeOf, treeOf } from "./chain-forms.ts";
import { makeTrees, type Trees } from "./make-trees.ts";
import type { PowersFor } from "./powers.ts";
import type { Demand, ProofChain } from "./proof-chain.ts";

export interface ClaimedEnd {
	readonly job: bigint;
	readonly part: number;
	/** As the escrow counts. */
	readonly attempt: number;
	readonly terms: EscrowTermsText;
	readonly claim: Hex;
	/** The part's last segment and one. */
	readonly segment: number;
	readonly program: Program;
	/** What is listed of it; no points: none of its segments has steps. */
	readonly ends: ListedEnds;
	/** Every state tensor that it ends with, in the program's order. */
	readonly weights: readonly Elements[];
}

interface KeptEnd {
	readonly order: ZkOrder;
	readonly tree: PostedTree;
	readonly levels: Trees;
}

/** Levels that one answer goes down. */
const FAN_BITS = 4;

const same = (a: PostedNode, b: PostedNode): boolean => a.hash === b.hash && a.x === b.x && a.y === b.y;

/** The nodes below one that was demanded; null: it is none of these trees. */
export function nodesBelow(levels: KeptEnd["levels"], node: PostedNode): readonly PostedNode[] | null {
	for (const tree of levels)
		for (let level = tree.length - 1; level > 0; level--) {
			const at = tree[level]!.findIndex((one) => same(nodeOf(one), node));
			if (at < 0) continue;
			const down = Math.min(FAN_BITS, level);
			return tree[level - down]!.slice(at * 2 ** down, (at + 1) * 2 ** down).map(nodeOf);
		}
	return null;
}

export function createEndKeeper(chain: ProofChain, powersFor: PowersFor) {
	const kept = new Map<string, KeptEnd>();
	const nameOf = ({ job, part, attempt }: ClaimedEnd): string => `${job}/${part}/${attempt}`;

	async function orderedOf({ job }: ClaimedEnd): Promise<ZkOrder> {
		const order = await chain.order(job);
		if (order === null) throw new AssayError("JOB_METHOD", "nothing was ordered");
		return order;
	}

	async function keptEnd(of: ClaimedEnd): Promise<KeptEnd> {
		const known = kept.get(nameOf(of));
		if (known !== undefined) return known;
		const order = await orderedOf(of);
		const plan = planByHash(of.program, hexToBytes(order.plan.slice(2), 32)!);
		if (plan === null) throw new AssayError("JOB_METHOD", "nothing that can be proven was ordered");
		const levels = await makeTrees({ plan, weights: of.weights, powers: powersFor(plan.chunkBits) });
		const state = { job: of.job, plan: order.plan, segment: of.segment, roots: of.weights.map(tensorRoot) };
		const made = { order, levels, tree: treeOf(of.program, state, levels) };
		kept.set(nameOf(of), made);
		return made;
	}

	/**
	 * ATTACK: an answer is waited for until it is deep in the chain, some minutes. One after the other, a dozen
	 * demands of one block would be more than their clock allows, and an honest tree would fall. So all go out
	 * at once, and one that the chain does not take keeps none back.
	 */
	async function answerAll({ tree, levels }: KeptEnd): Promise<number> {
		const demands: readonly Demand[] = await chain.demands(tree);
		const sent = await Promise.allSettled(
			demands.flatMap((demand) => {
				const nodes = nodesBelow(levels, demand.node);
				return nodes === null ? [] : [chain.answer(tree, demand, nodes)];
			}),
		);
		const failed = sent.find((one) => one.status === "rejected");
		if (failed !== undefined) throw failed.reason;
		return sent.length;
	}

	return {
		/** One step on: what was done, in words; null: wait. Throws CHAIN_…, SRS_…. */
		async keep(of: ClaimedEnd): Promise<string | null> {
			if (of.ends.points !== "0x" && !(await chain.isListed(of.job, of.part, of.attempt))) {
				await chain.list(of.terms, await orderedOf(of), of.part, of.ends);
				return "what its segments end with is listed";
			}
			const end = await keptEnd(of);
			const state = await chain.stateOf(end.tree);
			if (state === "none") {
				await chain.post(end.tree);
				return "trees of its end are posted";
			}
			if (state === "open") {
				const answered = await answerAll(end);
				return answered === 0 ? null : `${answered} demands of its trees are answered`;
			}
			if (state === "fallen") return null;
			if (await chain.isProven(of.job, of.part, of.attempt)) {
				await chain.settle(of.terms, of.part).catch(untilLater);
				return null;
			}
			const proven = await chain.provenEnd(of.job, of.part);
			if (proven === null || proven !== (await chain.pointsOf(end.tree))) return null;
			await chain.conclude({ terms: of.terms, order: end.order, part: of.part, claim: of.claim }, end.tree);
			await chain.settle(of.terms, of.part).catch(untilLater);
			return "its segments are proven, and so is its claim";
		},
		/** The bond of its trees, once the claim is over. */
		async takeBack(of: ClaimedEnd): Promise<void> {
			const { tree } = await keptEnd(of);
			if ((await chain.stateOf(tree)) !== "standing") return;
			await chain.takeBack(tree);
			kept.delete(nameOf(of));
		},
	};
}

/** Parts are paid in their order, and anybody may have done it. */
function untilLater(error: unknown): void {
	if (!(error instanceof AssayError) || error.code !== "CHAIN_REFUSED") throw error;
}
