// A circuit: checks as products of sums of wires (R1CS), recorded by running them once over wires. Every wire
// but the inputs is a product, so that whoever has the inputs has them all. Not here: proofs of it
// (engine/src/zk/groth16/).
import { mod } from "../../../protocol/maths/bn254.ts";
import type { Field } from "../field.ts";

/** A sum of wires, each a known number of times; wire 0 is 1. */
export type Wires = ReadonlyMap<number, bigint>;

/** a·b = c. `product`: the wire that the constraint makes; null: it is a check. */
export interface Constraint {
	readonly a: Wires;
	readonly b: Wires;
	readonly c: Wires;
	readonly product: number | null;
}

export interface Circuit {
	readonly field: Field<Wires>;
	/** All public ones before the others. */
	input(): Wires;
	secret(): Wires;
	/**
	 * So many wires are left to others, with the constraints that make them; `given`: those of them that are
	 * secrets.
	 */
	leaveOut(count: number, given: readonly number[]): void;
	readonly inputs: number;
	readonly wires: number;
	/** Their wires, in their order. */
	readonly secrets: readonly number[];
	readonly constraints: readonly Constraint[];
	/** Numbers of all wires, from those of the inputs and of the secrets in their order. */
	valuesOf(inputs: readonly bigint[], secrets: readonly bigint[]): bigint[];
}

const ONE: Wires = new Map([[0, 1n]]);

function added(list: readonly (readonly [Wires, bigint])[]): Wires {
	const sum = new Map<number, bigint>();
	for (const [wires, by] of list)
		for (const [wire, factor] of wires) sum.set(wire, (sum.get(wire) ?? 0n) + factor * by);
	for (const [wire, factor] of sum) {
		const reduced = mod(factor);
		if (reduced === 0n) sum.delete(wire);
		else sum.set(wire, reduced);
	}
	return sum;
}

/** The number that it is whatever the wires have; null: it is none. */
function constantOf(wires: Wires): bigint | null {
	if (wires.size === 0) return 0n;
	return wires.size === 1 ? (wires.get(0) ?? null) : null;
}

export function createCircuit(): Circuit {
	const constraints: Constraint[] = [];
	const secrets: number[] = [];
	let [wires, inputs] = [1, 0];
	const take = (): Wires => new Map([[wires++, 1n]]);
	const scaled = (a: Wires, by: bigint): Wires => added([[a, by]]);
	const field: Field<Wires> = {
		of: (value) => scaled(ONE, value),
		sum: (list) => added(list.map((one) => [one, 1n])),
		less: (a, b) =>
			added([
				[a, 1n],
				[b, -1n],
			]),
		scaled,
		linear: (list, by, more) => added([[ONE, more], ...list.map((one, i) => [one, by[i]!] as const)]),
		times(a, b) {
			const [x, y] = [constantOf(a), constantOf(b)];
			if (x !== null) return scaled(b, x);
			if (y !== null) return scaled(a, y);
			const product = wires;
			const c = take();
			constraints.push({ a, b, c, product });
			return c;
		},
		areSame(a, b) {
			constraints.push({ a, b: ONE, c: b, product: null });
			return true;
		},
	};
	return {
		...{ field, constraints, secrets },
		input() {
			if (wires !== inputs + 1) throw new Error("inputs come first");
			inputs++;
			return take();
		},
		secret() {
			secrets.push(wires);
			return take();
		},
		leaveOut(count, given) {
			wires += count;
			for (const wire of given) secrets.push(wire);
		},
		get inputs() {
			return inputs;
		},
		get wires() {
			return wires;
		},
		valuesOf(publicOnes, secretOnes) {
			if (publicOnes.length !== inputs || secretOnes.length !== secrets.length) throw new Error("other inputs");
			const values = new Array<bigint>(wires).fill(0n);
			for (const [i, value] of [1n, ...publicOnes].entries()) values[i] = value;
			for (const [i, value] of secretOnes.entries()) values[secrets[i]!] = value;
			for (const { a, b, product } of constraints)
				if (product !== null) values[product] = mod(numberOf(a, values) * numberOf(b, values));
			return values;
		},
	};
}

function numberOf(wires: Wires, values: readonly bigint[]): bigint {
	let sum = 0n;
	// Most wires count once.
	for (const [wire, factor] of wires) sum += factor === 1n ? values[wire]! : factor * values[wire]!;
	return mod(sum);
}

/** The first constraint that does not hold; -1: all do. */
export const firstFalse = ({ constraints }: Pick<Circuit, "constraints">, values: readonly bigint[]): number =>
	constraints.findIndex(({ a, b, c }) => mod(numberOf(a, values) * numberOf(b, values)) !== numberOf(c, values));
