// Which plan of a program is proven on a chain, docs/zk.md §12, and what its proofs cost. Pure. Not here: how
// a plan is compiled.
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import type { Program } from "../program/shapes.ts";
import { compilePlan, isPlain, planHash, type ZkPlan } from "./compile-plan.ts";
import { type Unprovable, unprovable } from "./provable.ts";

/** As many powers of tau as the contracts have ids for: 2^14. */
const MOST_CHUNK_BITS = 14;
/** Each is 7,500 gas and 64 bytes of a transaction. */
const MOST_COMMITMENTS = 256;
/**
 * docs/zk.md: 19 G multiplications for 23 M values, one of them worth 2^15 int8 operations by what one card
 * does of both in a second.
 */
const OPS_A_VALUE = 830 * 2 ** 15;

/** Plans of docs/zk.md §14. */
const CPU_ONLY =
	"it has convolutions or softmax: assay job prove makes such proofs on a CPU and assay verify takes them, but no contract does";

const commitmentsOf = ({ groups }: Pick<ZkPlan, "groups">): number =>
	groups.reduce((sum, { chunks }) => sum + chunks, 0);

/**
 * Null: each of a job's segments, segment 0 counted, has a proof.
 * ATTACK: a customer whose job goes on after the last epoch, or whose last segment does, has its worker train
 * for nothing: the end is there for all to see, and nobody can prove it.
 */
export function segmentsFault({ epochs, rowBits, batch, steps }: ZkPlan, segments: number): string | null {
	const most = 1 + (epochs * 2 ** rowBits) / (batch * steps);
	return segments <= most ? null : `its ${epochs} epochs have ${most} segments, and it is to have ${segments}`;
}

/** The one that customers order of jobs with so many segments. */
export function provingPlan(program: Program, segments = 1): ZkPlan | Unprovable {
	const whole = compilePlan(program);
	if ("code" in whole) return whole;
	const fault = segmentsFault(whole, segments);
	if (fault !== null) return unprovable(fault);
	if (!isPlain(whole)) return unprovable(CPU_ONLY);
	const plan = compilePlan(program, Math.min(whole.chunkBits, MOST_CHUNK_BITS));
	if ("code" in plan || commitmentsOf(plan) <= MOST_COMMITMENTS) return plan;
	return unprovable(
		`a segment has ${commitmentsOf(plan)} commitments of 2^${plan.chunkBits} values, ${MOST_COMMITMENTS} fit into a transaction: make its model, batch or segments smaller`,
	);
}

/** The plan of a program that somebody ordered by its hash; null: none of this program. */
export function planByHash(program: Program, hash: Uint8Array): ZkPlan | null {
	for (let bits = MOST_CHUNK_BITS; bits >= 4; bits -= 2) {
		const plan = compilePlan(program, bits);
		if (!("code" in plan) && equalBytes(planHash(plan), hash)) return plan;
	}
	return null;
}

/** What a segment's proof is worth, in int8 operations. */
export const proofOps = (plan: ZkPlan): number => OPS_A_VALUE * commitmentsOf(plan) * 2 ** plan.chunkBits;
