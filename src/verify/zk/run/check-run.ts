// A run proof's checks, docs/zk.md §13: those of each of its segments, then their claims about commitments
// folded into one. Over numbers, by who verifies the proof as it is, and over wires, for the circuit of its
// wrapped form. All that a contract must see of it goes through `told`, in its order.
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import type { Field } from "../field.ts";
import { crossValues } from "../opening.ts";
import { cornerOf, eqAt, innerProduct, powers } from "../scalars.ts";
import { KIND as SEGMENT_KIND, SegmentRun } from "../segment-run.ts";
import { type Dialogue, reduceSum } from "../sumcheck.ts";
import { checkSums } from "../verify-segment.ts";
import { createPoseidonDialogue } from "./poseidon-dialogue.ts";

/** Messages that a segment alone does not have. */
const KIND = {
	segment: 32,
	digests: 33,
	foldRound: 34,
	foldValues: 35,
	nonce: 36,
	mask: 37,
	cross: 38,
	crossValues: 39,
} as const;

/** What a verifier knows of a segment before it reads the proof's scalars. */
export interface SegmentTold<F> {
	/** Halves of its statement's hash. */
	readonly statement: readonly F[];
	/** How rows stand in the batch, see rowMatrix. */
	readonly order: readonly F[];
	/** Halves of the coordinates of the commitments of values, and of helpers. */
	readonly values: readonly F[];
	readonly helpers: readonly F[];
}

/** What it knows of a run. */
export interface RunTold<F> {
	readonly segments: readonly SegmentTold<F>[];
	/** Halves of the coordinates of the commitments to the mask, and to S. */
	readonly mask: readonly F[];
	readonly cross: readonly F[];
}

export interface RunClaim<F> {
	/** By segment and commitment, then of the mask: how often it counts. */
	readonly weights: readonly (readonly F[])[];
	/** And how often S's. */
	readonly eta: F;
	/** Their sum is a + b·X where X² - t·X + 1 is 0. */
	readonly t: F;
	readonly a: F;
	readonly b: F;
	/** Of everything that was said. */
	readonly digest: F;
}

/** A point of rows is a matrix times a point of (step, place) and one more column. */
function rowsBy<F>(field: Field<F>, { rowBits, stepBits, batchBits }: ZkPlan, order: readonly F[]) {
	const columns = stepBits + batchBits + 1;
	return (place: readonly F[]): F[] =>
		Array.from({ length: rowBits }, (_, i) => {
			const row = order.slice(i * columns, (i + 1) * columns);
			return field.sum([row.at(-1)!, innerProduct(field, place, row)]);
		});
}

/** What a segment leaves to the fold. */
export interface PartLeft<F> {
	/** By commitment: how often it counts. */
	readonly among: readonly F[];
	readonly point: readonly F[];
	readonly value: F;
	readonly digest: F;
}

/**
 * `next`: the proof's scalars, one after the other. Null: the proof is false; in a circuit it never is, since
 * what must hold is a constraint.
 */
export function checkRun<F>(field: Field<F>, plan: ZkPlan, told: RunTold<F>, next: () => F): RunClaim<F> | null {
	const left: PartLeft<F>[] = [];
	for (const segment of told.segments) {
		const part = checkPart(field, plan, segment, next);
		if (part === null) return null;
		left.push(part);
	}
	return checkFold(field, plan, left, told, next);
}

/** One segment; null as of checkRun. */
export function checkPart<F>(
	field: Field<F>,
	plan: ZkPlan,
	{ statement, order, values, helpers }: SegmentTold<F>,
	next: () => F,
): PartLeft<F> | null {
	const dialogue = createPoseidonDialogue(field, next);
	dialogue.absorb(KIND.segment, [...statement, ...order]);
	dialogue.absorb(SEGMENT_KIND.values, values);
	const [alpha, beta] = [dialogue.challenge(), dialogue.challenge()];
	dialogue.absorb(SEGMENT_KIND.helpers, helpers);
	// Nobody who guesses what was proven can guess this: so what follows is no check of a guess.
	dialogue.message(KIND.nonce, 1);
	const sums = checkSums(new SegmentRun(plan, dialogue, rowsBy(field, plan, order)), alpha, beta);
	if ("code" in sums) return null;
	const { chunkPoint, point, value } = sums.left;
	const chunks = plan.groups.flatMap(({ firstChunk, chunks: count }) =>
		Array.from({ length: count }, (_, i) => firstChunk + i),
	);
	const among = chunks.map((one) => eqAt(field, cornerOf(field, one, chunkPoint.length), chunkPoint));
	return { among, point, value, digest: dialogue.digest() };
}

/** What all of them leave, as one claim; null as of checkRun. */
export function checkFold<F>(
	field: Field<F>,
	plan: ZkPlan,
	left: readonly PartLeft<F>[],
	{ mask, cross }: Pick<RunTold<F>, "mask" | "cross">,
	next: () => F,
): RunClaim<F> | null {
	const dialogue = createPoseidonDialogue(field, next);
	dialogue.absorb(
		KIND.digests,
		left.map(({ digest }) => digest),
	);
	dialogue.absorb(KIND.mask, mask);
	const lambdas = powers(field, dialogue.challenge(), left.length);
	const values = left.map(({ value }) => value);
	const { point, claim } = reduceSum(dialogue, {
		...{ kind: KIND.foldRound, rounds: plan.chunkBits, degree: 2, claim: innerProduct(field, values, lambdas) },
	});
	// The last one is the mask's, of which nothing is claimed.
	const there = dialogue.message(KIND.foldValues, left.length + 1);
	const kernels = left.map((one, i) => field.times(lambdas[i]!, eqAt(field, one.point, point)));
	if (!field.areSame(innerProduct(field, kernels, there.slice(0, -1)), claim)) return null;
	const nus = powers(field, dialogue.challenge(), there.length);
	dialogue.absorb(KIND.cross, cross);
	const opened = checkCross(dialogue, point, innerProduct(field, there, nus), next);
	if (opened === null) return null;
	return {
		weights: [...left.map(({ among }, i) => among.map((one) => field.times(one, nus[i]!))), [nus.at(-1)!]],
		...{ ...opened, digest: dialogue.digest() },
	};
}

/** The opening of docs/zk.md §3 up to what is left about commitments; null as of checkRun. */
function checkCross<F>(
	dialogue: Dialogue<F>,
	point: readonly F[],
	value: F,
	next: () => F,
): Pick<RunClaim<F>, "eta" | "t" | "a" | "b"> | null {
	const { field } = dialogue;
	const r = dialogue.challenge();
	const values = dialogue.message(KIND.crossValues, 3) as readonly [F, F, F];
	const eta = dialogue.challenge();
	// Circuits have no division: the prover says what it comes to, and products show it.
	const [back, b] = [next(), next()];
	if (!field.areSame(field.times(r, back), field.of(1n))) return null;
	const [there, other] = crossValues(field, { point, value }, { r, back, eta }, values);
	if (!field.areSame(field.times(b, field.less(r, back)), field.less(there, other))) return null;
	return { eta, t: field.sum([r, back]), a: field.less(there, field.times(b, r)), b };
}
