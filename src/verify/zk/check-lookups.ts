// The first sum of a segment's proof, docs/zk.md §5: every value that must lie in a table does, and every helper is what it is said to be. It ends in one value for each kind of
// column, of all links at one point; among them z and q, which are committed nowhere.
import type { ColumnName, ZkPlan } from "../../work/plan/compile-plan.ts";
import { eqsOf } from "../../work/trace/evaluate-tensor.ts";
import { cornerOf, mod, powers, tableAt, unshift } from "./scalars.ts";
import { KIND, type SegmentRun } from "./segment-run.ts";
import { listBits, reduceSum, reduceZeros } from "./sumcheck.ts";

type Point = readonly bigint[];

/** What the sum leaves open: z, q and the weights at the end, each Σ among·(a link's own at its point). */
export interface LookupEnds {
	readonly among: readonly bigint[];
	/** By link: of z and q, and of its weights. */
	readonly units: readonly Point[];
	readonly weights: readonly Point[];
	readonly z: bigint;
	readonly q: bigint;
	readonly after: bigint;
}

const DEGREE = 6;
/** Of faults: forth, back, loss, bias, weight, table. */
const KINDS = 6;

const lookupVariables = ({ stepBits, batchBits, links, tables }: ZkPlan): number =>
	Math.max(
		...links.map(({ outputBits }) => stepBits + batchBits + outputBits),
		...links.map(({ inputBits, outputBits }) => inputBits + outputBits),
		...tables.map(({ bits }) => bits),
	);

const lookupListBits = ({ links, tables }: ZkPlan): number => listBits(Math.max(links.length, tables.length));

/** Rounds over the cube and over the list, and a value for each kind of column; with one link some have no member. */
export const lookupScalars = (plan: ZkPlan): number =>
	(DEGREE - 1) * lookupVariables(plan) + DEGREE * lookupListBits(plan) + lookupValues(plan);

const lookupValues = ({ links }: ZkPlan): number => (links.length === 1 ? 12 : 20);

/** helper = Σ 1/part over the parts, as a product that must be 0. */
function fractionFault(helper: bigint, parts: readonly bigint[]): bigint {
	const product = (list: readonly bigint[]) => list.reduce((all, one) => mod(all * one), 1n);
	const others = parts.map((_, i) => product(parts.toSpliced(i, 1)));
	return mod(helper * product(parts) - others.reduce((sum, one) => sum + one, 0n));
}

class Lookups {
	readonly #plan: ZkPlan;
	readonly #alpha: bigint;
	readonly #betas: readonly bigint[];

	constructor(plan: ZkPlan, alpha: bigint, beta: bigint) {
		this.#plan = plan;
		this.#alpha = alpha;
		this.#betas = powers(beta, 4);
	}

	/** α less the fingerprint of a row: the table's number from 1 on, then up to three values. */
	part(tag: bigint, values: readonly bigint[]): bigint {
		return mod(this.#alpha - values.reduce((sum, one, i) => sum + one * this.#betas[i + 1]!, tag));
	}

	range(bits: number, value: bigint): bigint {
		return this.part(this.tagOf("range", bits), [value]);
	}

	signed(bits: number, value: bigint): bigint {
		return this.part(this.tagOf("signed", bits), [value]);
	}

	tagOf(kind: string, bits: number): bigint {
		return BigInt(this.#plan.tables.findIndex((one) => one.kind === kind && one.bits === bits) + 1);
	}
}

/** Values of lists, where the sum over the list ended: Σ among·(each member's own, where its sum over the cube ended). */
class ListValues {
	readonly #run: SegmentRun;
	readonly #among: readonly bigint[];
	readonly #values: Iterator<bigint>;

	constructor(run: SegmentRun, among: readonly bigint[]) {
		[this.#run, this.#among] = [run, among];
		this.#values = run.reader.message(KIND.lookupValues, lookupValues(run.plan))[Symbol.iterator]();
	}

	/** A list without members has no value in the proof. */
	next(of: readonly number[]): bigint {
		return of.length === 0 ? 0n : this.#values.next().value!;
	}

	/** Of a committed column. */
	claimed(column: ColumnName, of: readonly number[], at: (member: number) => Point): bigint {
		const value = this.next(of);
		if (of.length > 0)
			this.#run.claim(
				value,
				of.map((one) => this.#run.at(column, one, at(one), this.#among[one]!)),
			);
		return value;
	}
}

/** Null: the sum is false. */
export function checkLookups(run: SegmentRun, alpha: bigint, beta: bigint): LookupEnds | null {
	const { plan, transcript, reader } = run;
	const rho = run.draw(lookupVariables(plan));
	const gamma = transcript.challenge();
	const cube = reduceZeros(transcript, reader, { kind: KIND.lookupRound, rho, degree: DEGREE - 1 });
	const { point, claim } = reduceSum(transcript, reader, {
		...{ kind: KIND.lookupRound, rounds: lookupListBits(plan), degree: DEGREE, claim: cube.claim },
	});
	const among = eqsOf(point);
	const places = plan.stepBits + plan.batchBits;
	const units = plan.links.map(({ outputBits }) => cube.joint.end(places + outputBits));
	const weights = plan.links.map(({ inputBits, outputBits }) => cube.joint.end(inputBits + outputBits));
	const values = new ListValues(run, among);
	const lookups = new Lookups(plan, alpha, beta);
	const { faults, z, q } = unitFaults(run, lookups, values, among, units);
	faults.push(biasFault(run, lookups, values, cube.joint.end(places)));
	const { fault, after } = weightFault(plan, lookups, values, weights);
	faults.push(
		fault,
		tableFault(run, lookups, values, among, (size) => cube.joint.end(size)),
	);
	claimHelperSum(run);
	const gammas = powers(gamma, KINDS * among.length);
	let sum = 0n;
	for (const [kind, { of, is }] of faults.entries())
		for (const one of of) sum = mod(sum + gammas[kind * among.length + one]! * mod(among[one]! * is));
	return sum === claim ? { among, units, weights, z, q, after } : null;
}

/** What must be 0, of these links or tables. */
interface Fault {
	readonly of: readonly number[];
	readonly is: bigint;
}

const numbersTo = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

/** Rounding and relu of z, rounding of q, the range of the last link's gradients. */
function unitFaults(
	run: SegmentRun,
	lookups: Lookups,
	values: ListValues,
	among: readonly bigint[],
	units: readonly Point[],
): { readonly faults: Fault[]; readonly z: bigint; readonly q: bigint } {
	const { plan } = run;
	const { scale, lowBits } = plan;
	const last = plan.links.length - 1;
	const [all, inner] = [numbersTo(last + 1), numbersTo(last)];
	const unit = (link: number): Point => units[link]!;
	const h = values.claimed("h", all, unit);
	const a = values.claimed("a", inner, unit);
	const m = values.claimed("m", inner, unit);
	const low = values.claimed("low", all, unit);
	const helper = values.claimed("helper", all, unit);
	const z = values.next(all);
	const half = 1n << BigInt(scale - 1);
	const shift = unshift(lowBits);
	// What rounding lost, less its lower bits.
	const high = mod((z + half - (h << BigInt(scale)) - low) * shift);
	// Units are looked up with their relu; those of the last link have none.
	const tag = inner.reduce(
		(sum, one) => sum + among[one]! * lookups.tagOf("relu", plan.h),
		among[last]! * lookups.tagOf("signed", plan.h),
	);
	const forth = [lookups.range(lowBits, low), lookups.range(scale - lowBits, high), lookups.part(tag, [h, a, m])];

	const d = values.claimed("d", inner, unit);
	const lowBack = values.claimed("lowBack", inner, unit);
	const helperBack = values.claimed("helperBack", inner, unit);
	const q = values.next(inner);
	const highBack = mod((m * (q + half) - (d << BigInt(scale)) - lowBack) * shift);
	const back = [lookups.signed(plan.d, d), lookups.range(lowBits, lowBack), lookups.range(scale - lowBits, highBack)];

	const lossD = values.claimed("d", [last], unit);
	const lossHelper = values.claimed("helperBack", [last], unit);
	claimLoss(run, units[last]!);
	const faults = [
		{ of: all, is: fractionFault(helper, forth) },
		{ of: inner, is: fractionFault(helperBack, back) },
		{ of: [last], is: fractionFault(lossHelper, [lookups.signed(plan.d, lossD)]) },
	];
	return { faults, z, q };
}

/** d = (h - y)·2^(gradient - activation) of the last link is linear: at a random point it holds only if it does everywhere. */
function claimLoss(run: SegmentRun, point: Point): void {
	const { activation, gradient, stepBits, batchBits, links } = run.plan;
	const [last, places] = [links.length - 1, stepBits + batchBits];
	run.claim(0n, [
		run.at("h", last, point, 1n),
		run.at("d", last, point, mod(-unshift(gradient - activation))),
		run.classes(point.slice(0, places), point.slice(places), mod(-1n)),
	]);
}

/** What enters the next link in its last column is not clamped either. */
function biasFault({ plan }: SegmentRun, lookups: Lookups, values: ListValues, places: Point): Fault {
	const inner = numbersTo(plan.links.length - 1);
	const corner = (link: number): Point => {
		const { outputs, outputBits } = plan.links[link]!;
		return [...places, ...cornerOf(outputs - 1, outputBits)];
	};
	const last = values.claimed("a", inner, corner);
	const biasHelper = values.claimed("biasHelper", inner, () => places);
	const entering = lookups.signed(plan.h, mod(last + (1n << BigInt(plan.activation))));
	return { of: inner, is: fractionFault(biasHelper, [entering]) };
}

/** Weights at the segment's end in three limbs, the highest of which is computed. */
function weightFault(
	plan: ZkPlan,
	lookups: Lookups,
	values: ListValues,
	weights: readonly Point[],
): { readonly fault: Fault; readonly after: bigint } {
	const all = numbersTo(plan.links.length);
	const weight = (link: number): Point => weights[link]!;
	const after = values.claimed("after", all, weight);
	const limb0 = values.claimed("limb0", all, weight);
	const limb1 = values.claimed("limb1", all, weight);
	const weightHelper = values.claimed("weightHelper", all, weight);
	const [bits0, bits1, bits2] = plan.limbs;
	const offset = 1n << BigInt(bits0 + bits1 + bits2 - 1);
	const limb2 = mod((after + offset - limb0 - (limb1 << BigInt(bits0))) * unshift(bits0 + bits1));
	const limbs = [lookups.range(bits0, limb0), lookups.range(bits1, limb1), lookups.range(bits2, limb2)];
	return { fault: { of: all, is: fractionFault(weightHelper, limbs) }, after };
}

function tableFault(
	{ plan: { tables } }: SegmentRun,
	lookups: Lookups,
	values: ListValues,
	among: readonly bigint[],
	end: (variables: number) => Point,
): Fault {
	const all = numbersTo(tables.length);
	const own = (table: number): Point => end(tables[table]!.bits);
	const multiplicity = values.claimed("multiplicity", all, own);
	const tableHelper = values.claimed("tableHelper", all, own);
	const row = all.reduce(
		(sum, one) => mod(sum + among[one]! * lookups.part(BigInt(one + 1), tableAt(tables[one]!, own(one)))),
		0n,
	);
	return { of: all, is: mod(tableHelper * row - multiplicity) };
}

const HALF = unshift(1);
const HELPERS: readonly ColumnName[] = ["helper", "helperBack", "biasHelper", "weightHelper", "tableHelper"];

/** Σ of all helpers = Σ of the tables' helpers. A block's sum is 2^bits times its value in the middle of the cube. */
function claimHelperSum(run: SegmentRun): void {
	const helpers = run.plan.blocks.filter(({ column }) => HELPERS.includes(column));
	run.claim(
		0n,
		helpers.map(({ column, of, bits }) => {
			const count = 1n << BigInt(bits);
			return run.at(column, of, new Array<bigint>(bits).fill(HALF), column === "tableHelper" ? mod(-count) : count);
		}),
	);
}
