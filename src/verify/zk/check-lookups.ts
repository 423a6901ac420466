// The first sum of a segment's proof, docs/zk.md §5: every value that must lie in a table does, and every
// helper is what it is said to be. It ends in one value for each kind of column, of all links at one point;
// among them z and q, which are committed nowhere.
import { biasedLinks, type ColumnName, unitBits, unitsOf, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { SOFTMAX_VALUES, softmaxFaults } from "./check-softmax.ts";
import { type Fault, fractionFault, ListValues, Lookups } from "./lookup-values.ts";
import { cornerOf, eqsAt, innerProduct, powers, tableAt, unshift } from "./scalars.ts";
import { KIND, type SegmentRun } from "./segment-run.ts";
import { listBits, reduceSum, reduceZeros } from "./sumcheck.ts";

type Point<F> = readonly F[];

/** What the sum leaves open: z, q and the weights at the end, each Σ among·(a link's own at its point). */
export interface LookupEnds<F> {
	readonly among: readonly F[];
	/** By link: of z and q, and of its weights. */
	readonly units: readonly Point<F>[];
	readonly weights: readonly Point<F>[];
	readonly z: F;
	readonly q: F;
	readonly after: F;
}

const DEGREE = 6;
const lookupVariables = ({ stepBits, batchBits, links, tables }: ZkPlan): number =>
	Math.max(
		...links.map((one) => stepBits + batchBits + unitBits(one)),
		...links.map(({ inputBits, outputBits }) => inputBits + outputBits),
		...tables.map(({ bits }) => bits),
	);

const lookupListBits = ({ links, tables }: ZkPlan): number => listBits(Math.max(links.length, tables.length));

/**
 * Rounds over the cube and over the list, and a value for each kind of column; with one link some have no
 * member.
 */
export const lookupScalars = (plan: ZkPlan): number =>
	(DEGREE - 1) * lookupVariables(plan) + DEGREE * lookupListBits(plan) + lookupValues(plan);

const lookupValues = ({ links, isSoftmax }: ZkPlan): number =>
	(links.length === 1 ? 12 : 20) + (isSoftmax ? SOFTMAX_VALUES : 0);

/** Null: the sum is false. */
export function checkLookups<F>(run: SegmentRun<F>, alpha: F, beta: F): LookupEnds<F> | null {
	const { plan, field, dialogue } = run;
	const rho = run.draw(lookupVariables(plan));
	const gamma = dialogue.challenge();
	const cube = reduceZeros(dialogue, { kind: KIND.lookupRound, rho, degree: DEGREE - 1 });
	const { point, claim } = reduceSum(dialogue, {
		...{ kind: KIND.lookupRound, rounds: lookupListBits(plan), degree: DEGREE, claim: cube.claim },
	});
	const among = eqsAt(field, point);
	const places = plan.stepBits + plan.batchBits;
	const units = plan.links.map((one) => cube.joint.end(places + unitBits(one)));
	const weights = plan.links.map(({ inputBits, outputBits }) => cube.joint.end(inputBits + outputBits));
	const values = new ListValues(run, among, lookupValues(plan));
	const lookups = new Lookups(run, alpha, beta);
	const { faults, z, q } = unitFaults(run, lookups, values, among, units);
	faults.push(biasFault(run, lookups, values, cube.joint.end(places)));
	const { fault, after } = weightFault(run, lookups, values, weights);
	faults.push(
		fault,
		tableFault(run, lookups, values, among, (size) => cube.joint.end(size)),
	);
	if (plan.isSoftmax) faults.push(...softmaxFaults(run, lookups, values, among, units.at(-1)!, cube.joint.end(places)));
	claimHelperSum(run);
	// Kinds of faults: forth, back, loss, bias, weight, table; then those of softmax.
	const gammas = powers(field, gamma, faults.length * among.length);
	const shares = faults.map(({ of, is }, kind) => {
		const factors = of.map((one) => field.times(gammas[kind * among.length + one]!, among[one]!));
		return field.times(field.sum(factors), is);
	});
	return field.areSame(field.sum(shares), claim) ? { among, units, weights, z, q, after } : null;
}

const numbersTo = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

/** Rounding and relu of z, rounding of q, the range of the last link's gradients. */
function unitFaults<F>(
	run: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	among: readonly F[],
	units: readonly Point<F>[],
): { readonly faults: Fault<F>[]; readonly z: F; readonly q: F } {
	const { plan, field } = run;
	const { scale, lowBits } = plan;
	const last = plan.links.length - 1;
	const [all, inner] = [numbersTo(last + 1), numbersTo(last)];
	const unit = (link: number): Point<F> => units[link]!;
	const h = values.claimed("h", all, unit);
	const a = values.claimed("a", inner, unit);
	const m = values.claimed("m", inner, unit);
	const low = values.claimed("low", all, unit);
	const helper = values.claimed("helper", all, unit);
	const z = values.next(all);
	const half = field.of(1n << BigInt(scale - 1));
	// What rounding lost, less its lower bits.
	const highOf = (sum: F, rounded: F, lower: F): F =>
		field.scaled(field.less(sum, field.sum([field.scaled(rounded, 1n << BigInt(scale)), lower])), unshift(lowBits));
	const high = highOf(field.sum([z, half]), h, low);
	// Units are looked up with their relu; those of the last link have none.
	const tag = field.sum(
		all.map((one) => field.scaled(among[one]!, lookups.tagOf(one === last ? "signed" : "relu", plan.h))),
	);
	const forth = [lookups.range(lowBits, low), lookups.range(scale - lowBits, high), lookups.part(tag, [h, a, m])];

	const d = values.claimed("d", inner, unit);
	const lowBack = values.claimed("lowBack", inner, unit);
	const helperBack = values.claimed("helperBack", inner, unit);
	const q = values.next(inner);
	const highBack = highOf(field.times(m, field.sum([q, half])), d, lowBack);
	const back = [lookups.signed(plan.d, d), lookups.range(lowBits, lowBack), lookups.range(scale - lowBits, highBack)];

	const lossD = values.claimed("d", [last], unit);
	const lossHelper = values.claimed("helperBack", [last], unit);
	if (!plan.isSoftmax) claimLoss(run, units[last]!);
	const faults = [
		{ of: all, is: fractionFault(field, helper, forth) },
		{ of: inner, is: fractionFault(field, helperBack, back) },
		{ of: [last], is: fractionFault(field, lossHelper, [lookups.signed(plan.d, lossD)]) },
	];
	return { faults, z, q };
}

/**
 * d = (h - y)·2^(gradient - activation) of the last link is linear: at a random point it holds only if it
 * does everywhere.
 */
function claimLoss<F>(run: SegmentRun<F>, point: Point<F>): void {
	const { activation, gradient, stepBits, batchBits, links } = run.plan;
	const [last, places] = [links.length - 1, stepBits + batchBits];
	const { of } = run.field;
	run.claim(of(0n), [
		run.at("h", last, point, of(1n)),
		run.at("d", last, point, of(-unshift(gradient - activation))),
		run.classes(point.slice(0, places), point.slice(places), of(-1n)),
	]);
}

/** What enters the next link in its last column is not clamped either. */
function biasFault<F>(
	{ plan, field }: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	places: Point<F>,
): Fault<F> {
	const inner = biasedLinks(plan.links);
	const corner = (link: number): Point<F> => {
		const own = plan.links[link]!;
		return [...places, ...cornerOf(field, unitsOf(own) - 1, unitBits(own))];
	};
	const last = values.claimed("a", inner, corner);
	const biasHelper = values.claimed("biasHelper", inner, () => places);
	const entering = lookups.signed(plan.h, field.sum([last, field.of(1n << BigInt(plan.activation))]));
	return { of: inner, is: fractionFault(field, biasHelper, [entering]) };
}

/** Weights at the segment's end in three limbs, the highest of which is computed. */
function weightFault<F>(
	{ plan, field }: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	weights: readonly Point<F>[],
): { readonly fault: Fault<F>; readonly after: F } {
	const all = numbersTo(plan.links.length);
	const weight = (link: number): Point<F> => weights[link]!;
	const after = values.claimed("after", all, weight);
	const limb0 = values.claimed("limb0", all, weight);
	const limb1 = values.claimed("limb1", all, weight);
	const weightHelper = values.claimed("weightHelper", all, weight);
	const [bits0, bits1, bits2] = plan.limbs;
	const offset = field.of(1n << BigInt(bits0 + bits1 + bits2 - 1));
	const lower = field.sum([limb0, field.scaled(limb1, 1n << BigInt(bits0))]);
	const limb2 = field.scaled(field.less(field.sum([after, offset]), lower), unshift(bits0 + bits1));
	const limbs = [lookups.range(bits0, limb0), lookups.range(bits1, limb1), lookups.range(bits2, limb2)];
	return { fault: { of: all, is: fractionFault(field, weightHelper, limbs) }, after };
}

function tableFault<F>(
	{ plan: { tables }, field }: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	among: readonly F[],
	end: (variables: number) => Point<F>,
): Fault<F> {
	const all = numbersTo(tables.length);
	const own = (table: number): Point<F> => end(tables[table]!.bits);
	const multiplicity = values.claimed("multiplicity", all, own);
	const tableHelper = values.claimed("tableHelper", all, own);
	const rows = all.map((one) => lookups.part(field.of(BigInt(one + 1)), tableAt(field, tables[one]!, own(one))));
	const row = innerProduct(field, rows, among);
	return { of: all, is: field.less(field.times(tableHelper, row), multiplicity) };
}

const HALF = unshift(1);
const HELPERS: readonly ColumnName[] = [
	...(["helper", "helperBack", "biasHelper", "weightHelper", "tableHelper"] as const),
	...(["scoreHelper", "inverseHelper", "remainderHelper", "restHelper"] as const),
];

/**
 * Σ of all helpers = Σ of the tables' helpers. A block's sum is 2^bits times its value in the middle of the
 * cube.
 */
function claimHelperSum<F>(run: SegmentRun<F>): void {
	const { of } = run.field;
	const helpers = run.plan.blocks.filter(({ column }) => HELPERS.includes(column));
	run.claim(
		of(0n),
		helpers.map(({ column, of: member, bits }) => {
			const count = 1n << BigInt(bits);
			const middle = new Array<F>(bits).fill(of(HALF));
			return run.at(column, member, middle, of(column === "tableHelper" ? -count : count));
		}),
	);
}
