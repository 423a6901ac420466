// The first sum of a segment's proof, docs/zk.md §5: every value that must lie in a table does, and every helper is what it is said to be. It ends in values of all
// columns at one point each, among them z and q, which are committed nowhere.
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { cornerOf, eqAt, mod, powers, tableAt, unshift } from "./scalars.ts";
import { KIND, type SegmentRun } from "./segment-run.ts";
import { reduceSum } from "./sumcheck.ts";

/** What the sum leaves open about one link: values of z and q at `point`, and of the weights at the end at `weightPoint`. */
export interface LinkEnd {
	readonly point: readonly bigint[];
	readonly z: bigint;
	/** Null for the last link. */
	readonly q: bigint | null;
	readonly weightPoint: readonly bigint[];
	readonly after: bigint;
}

const DEGREE = 6;

export const lookupVariables = ({ stepBits, batchBits, links, tables }: ZkPlan): number =>
	Math.max(
		...links.map(({ outputBits }) => stepBits + batchBits + outputBits),
		...links.map(({ inputBits, outputBits }) => inputBits + outputBits),
		...tables.map(({ bits }) => bits),
	);

export const lookupValueCount = ({ links, tables }: ZkPlan): number => 16 * links.length - 6 + 2 * tables.length;

/** helper = Σ 1/part over the parts, as a product that must be 0. */
function fractionFault(helper: bigint, parts: readonly bigint[]): bigint {
	const product = (list: readonly bigint[]) => list.reduce((all, one) => mod(all * one), 1n);
	const others = parts.map((_, i) => product(parts.toSpliced(i, 1)));
	return mod(helper * product(parts) - others.reduce((sum, one) => sum + one, 0n));
}

/** What must be 0 at every corner, and a helper of which the sum over all corners counts. */
interface Term {
	readonly variables: number;
	readonly fault: bigint;
	readonly helper: bigint;
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

	/** α less the fingerprint of a row: the table's number, then up to three values. */
	part(table: number, values: readonly bigint[]): bigint {
		const print = values.reduce((sum, one, i) => sum + one * this.#betas[i + 1]!, BigInt(table + 1));
		return mod(this.#alpha - print);
	}

	range(bits: number, value: bigint): bigint {
		return this.part(this.#numberOf("range", bits), [value]);
	}

	signed(bits: number, value: bigint): bigint {
		return this.part(this.#numberOf("signed", bits), [value]);
	}

	relu(h: bigint, a: bigint, m: bigint): bigint {
		return this.part(this.#numberOf("relu", this.#plan.h), [h, a, m]);
	}

	#numberOf(kind: string, bits: number): number {
		return this.#plan.tables.findIndex((one) => one.kind === kind && one.bits === bits);
	}
}

/** Null: the sum is false. */
export function checkLookups(run: SegmentRun, alpha: bigint, beta: bigint): readonly LinkEnd[] | null {
	const { plan, transcript, reader } = run;
	const variables = lookupVariables(plan);
	const rho = run.draw(variables);
	const gamma = transcript.challenge();
	const { joint, claim } = reduceSum(transcript, reader, {
		...{ kind: KIND.lookupRound, rounds: variables, degree: DEGREE, claim: 0n },
	});
	const values = reader.message(KIND.lookupValues, lookupValueCount(plan))[Symbol.iterator]();
	const next = (): bigint => values.next().value!;
	const lookups = new Lookups(plan, alpha, beta);
	const terms: Term[] = [];
	const end = (size: number) => joint.end(size);
	const ends = plan.links.map((_, link) => linkTerms(run, lookups, link, next, end, terms));
	for (const [of, table] of plan.tables.entries()) {
		const point = end(table.bits);
		const [multiplicity, helper] = [next(), next()];
		run.claim("multiplicity", of, point, multiplicity);
		run.claim("tableHelper", of, point, helper);
		const fault = mod(helper * lookups.part(of, tableAt(table, point)) - multiplicity);
		terms.push({ variables: table.bits, fault, helper: -helper });
	}
	const gammas = powers(gamma, terms.length + 1);
	let sum = 0n;
	for (const [i, { variables: own, fault, helper }] of terms.entries()) {
		const zero = eqAt(rho.slice(variables - own), end(own)) * fault;
		sum = mod(sum + joint.share(own) * mod(gammas[i]! * zero + gammas[terms.length]! * helper));
	}
	return sum === claim ? ends : null;
}

/** Reads the values of one link, claims them of its columns, and adds what must be 0. */
function linkTerms(
	run: SegmentRun,
	lookups: Lookups,
	link: number,
	next: () => bigint,
	end: (variables: number) => readonly bigint[],
	terms: Term[],
): LinkEnd {
	const { plan } = run;
	const { scale, lowBits, activation, gradient, stepBits, batchBits } = plan;
	const { outputs, outputBits, inputBits } = plan.links[link]!;
	const isLast = link === plan.links.length - 1;
	const places = stepBits + batchBits;
	const point = end(places + outputBits);
	const claimed = (column: Parameters<SegmentRun["claim"]>[0], at: readonly bigint[]): bigint => {
		const value = next();
		run.claim(column, link, at, value);
		return value;
	};
	const h = claimed("h", point);
	const [a, m] = isLast ? [0n, 0n] : [claimed("a", point), claimed("m", point)];
	const d = claimed("d", point);
	const low = claimed("low", point);
	const lowBack = isLast ? 0n : claimed("lowBack", point);
	const [helper, helperBack] = [claimed("helper", point), claimed("helperBack", point)];
	const z = next();
	const q = isLast ? null : next();

	const half = 1n << BigInt(scale - 1);
	const shift = unshift(lowBits);
	// What rounding lost, less its lower bits.
	const high = mod((z + half - (h << BigInt(scale)) - low) * shift);
	const value = isLast ? lookups.signed(plan.h, h) : lookups.relu(h, a, m);
	const forth = [lookups.range(lowBits, low), lookups.range(scale - lowBits, high), value];
	terms.push({ variables: point.length, fault: fractionFault(helper, forth), helper });
	const back = [lookups.signed(plan.d, d)];
	if (q !== null) {
		const highBack = mod((m * (q + half) - (d << BigInt(scale)) - lowBack) * shift);
		back.push(lookups.range(lowBits, lowBack), lookups.range(scale - lowBits, highBack));
	} else {
		// d = (h - y)·2^(gradient - activation) is linear: at a random point it holds only if it does everywhere.
		const y = mod(h - d * unshift(gradient - activation));
		run.claimClasses(point.slice(0, places), point.slice(places), y);
	}
	terms.push({ variables: point.length, fault: fractionFault(helperBack, back), helper: helperBack });
	if (!isLast) {
		// What enters the next link in its last column is not clamped either.
		const there = end(places);
		const last = claimed("a", [...there, ...cornerOf(outputs - 1, outputBits)]);
		const biasHelper = claimed("biasHelper", there);
		const entering = lookups.signed(plan.h, mod(last + (1n << BigInt(activation))));
		terms.push({ variables: places, fault: fractionFault(biasHelper, [entering]), helper: biasHelper });
	}
	const weightPoint = end(inputBits + outputBits);
	const [after, limb0, limb1] = (["after", "limb0", "limb1"] as const).map((name) => claimed(name, weightPoint)) as [
		bigint,
		bigint,
		bigint,
	];
	const weightHelper = claimed("weightHelper", weightPoint);
	const [bits0, bits1, bits2] = plan.limbs;
	const offset = 1n << BigInt(bits0 + bits1 + bits2 - 1);
	const limb2 = mod((after + offset - limb0 - (limb1 << BigInt(bits0))) * unshift(bits0 + bits1));
	const limbs = [lookups.range(bits0, limb0), lookups.range(bits1, limb1), lookups.range(bits2, limb2)];
	terms.push({ variables: weightPoint.length, fault: fractionFault(weightHelper, limbs), helper: weightHelper });
	return { point, z, q, weightPoint, after };
}
