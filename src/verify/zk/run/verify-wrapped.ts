// `verifyWrapped`: a run proof whose sums are not shown, but proven to hold by Groth16, docs/zk.md §13. What
// is left to check are the commitments: as many points, one opening, and four pairings, however many steps a
// segment has. A key is for one plan and one number of segments.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { bigOf, bytesOf, POINTS, R, wordsOf } from "../../../protocol/maths/bn254.ts";
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import { GROTH16_BYTES, verifyGroth16 } from "../../receipts/groth16.ts";
import { NUMBERS } from "../field.ts";
import { inconclusive, invalid } from "../refused.ts";
import { tauOf } from "../srs.ts";
import { type SegmentStatement, statementHash } from "../statement.ts";
import { proofSizes } from "../verify-segment.ts";
import type { RunClaim, RunTold } from "./check-run.ts";
import { saysNoWeights } from "./no-weights.ts";
import { commitmentsOf, LINE_BYTES, opened, type ReadRun, type RunVerdict, toldOf, unfollowed } from "./verify-run.ts";
import { listAt, seenList } from "./wrap-circuit.ts";

/**
 * Public numbers of the circuit: the digest, x, and the list at x. `claimed`: what wrappedClaim made; with
 * the statements it fixes the list.
 */
export function wrapInputs(
	statements: readonly SegmentStatement[],
	told: RunTold<bigint>,
	claim: RunClaim<bigint>,
	claimed: Uint8Array,
): readonly [bigint, bigint, bigint] {
	const x = bigOf(keccak(utf8ToBytes("assay/zk/wrap/2"), ...statements.map(statementHash), claimed)) % R;
	return [claim.digest, x, listAt(NUMBERS, seenList(told, claim), x)];
}

/**
 * Of a wrapped proof all but Groth16's and the opening: commitments of each segment, those of the mask and of
 * S; how often each but the last counts; η, t, a, b, the digest.
 */
export const wrappedClaim = (
	{ proven, mask, cross }: Pick<ReadRun, "proven" | "mask" | "cross">,
	{ weights, eta, t, a, b, digest }: RunClaim<bigint>,
): Uint8Array => concatBytes(...proven, mask, cross, ...[...weights.flat(), eta, t, a, b, digest].map(bytesOf));

/** `key`: as verifyGroth16 has it. Of a key whose secrets somebody knows nothing follows. */
export function verifyWrapped(
	plan: ZkPlan,
	statements: readonly SegmentStatement[],
	proof: Uint8Array,
	{ key, isDevAllowed }: { readonly key: readonly string[]; readonly isDevAllowed: boolean },
): RunVerdict {
	const gap = unfollowed(plan, statements);
	if (gap !== null) return gap;
	if (statements.some((one) => saysNoWeights(plan, one)))
		return invalid("PROOF_STATEMENT", "a commitment to weights is the point at infinity, which stands for zeros alone");
	const tau = tauOf(statements[0]!.srs, { isDevAllowed });
	if ("code" in tau) return inconclusive(tau.code, tau.detail);
	const own = 64 * proofSizes(plan).points;
	const chunks = plan.groups.reduce((sum, one) => sum + one.chunks, 0);
	const scalars = statements.length * chunks + 1 + 5;
	const middle = statements.length * own + 2 * 64;
	const end = middle + 32 * scalars;
	const bytes = end + GROTH16_BYTES + LINE_BYTES;
	if (proof.length !== bytes) return invalid("PROOF_FORM", `it has ${proof.length} bytes; such proofs have ${bytes}`);
	const parts = statements.map((_, i) => proof.subarray(i * own, (i + 1) * own));
	const masks = { mask: proof.subarray(middle - 128, middle - 64), cross: proof.subarray(middle - 64, middle) };
	const points = commitmentsOf(statements, parts, masks);
	if (typeof points === "string") return invalid("PROOF_FORM", POINTS[points]);
	const numbers = wordsOf(proof.subarray(middle, end));
	if (numbers.some((one) => one >= R)) return invalid("PROOF_FORM", POINTS.spelling);
	const [eta, t, a, b, digest] = numbers.slice(-5) as [bigint, bigint, bigint, bigint, bigint];
	const weights = points.slice(0, -1).map((list, i) => numbers.slice(i * chunks, i * chunks + list.length));
	const claim: RunClaim<bigint> = { weights, eta, t, a, b, digest };
	const inputs = wrapInputs(statements, toldOf(plan, statements, parts, masks), claim, proof.subarray(0, end));
	const found = verifyGroth16(key, proof.subarray(end, end + GROTH16_BYTES), inputs);
	if (found === "spelling" || found === "nowhere") return invalid("PROOF_FORM", POINTS[found]);
	if (found === "false") return invalid("PROOF_CLAIMS", "the proof of the sums is false, or of other ones");
	return opened({ points, opening: proof.subarray(end + GROTH16_BYTES) }, claim, tau);
}
