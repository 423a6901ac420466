// The circuit of a wrapped run as engines read it (engine/src/zk/groth16/circuit.hpp): the checks of a
// segment, once, to be taken so many times, then those of the fold. Recorded whole, as wrapCircuit does, a
// circuit of 64 segments would have a hundred million terms.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf } from "../../../protocol/maths/bn254.ts";
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import { checkFold, checkPart, type PartLeft } from "./check-run.ts";
import type { Circuit, Constraint, Wires } from "./circuit.ts";
import { beginCircuit } from "./wrap-circuit.ts";

const MAGIC = 0x31637261;

/** Wires from `first` on, up to the next one's, are `more` further in each further copy. */
interface Step {
	readonly first: number;
	readonly more: number;
}

const moved = (wires: Wires, steps: readonly Step[], copy: number): Wires =>
	new Map(
		[...wires].map(([wire, by]) => [wire + copy * (steps.filter(({ first }) => first <= wire).at(-1)?.more ?? 0), by]),
	);

/** Little-endian. */
function wordBytes(words: readonly number[]): Uint8Array {
	const bytes = new Uint8Array(4 * words.length);
	const view = new DataView(bytes.buffer);
	for (const [i, one] of words.entries()) view.setUint32(4 * i, one, true);
	return bytes;
}

/** First wire and how many, of wires that follow each other. */
function rangesOf(wires: readonly number[]): number[] {
	const list: number[] = [];
	for (const wire of wires) {
		if (list.length > 0 && list.at(-2)! + list.at(-1)! === wire) list[list.length - 1]!++;
		else list.push(wire, 1);
	}
	return list;
}

/** `numberOf`: of a coefficient. */
function sectionWords(
	copies: number,
	steps: readonly Step[],
	constraints: readonly Constraint[],
	numberOf: (by: bigint) => number,
): number[] {
	const words = [copies, constraints.length, steps.length, ...steps.flatMap(({ first, more }) => [first, more])];
	// Who makes a wire has it as its c.
	const sums = constraints.map(({ a, b, c, product }) => [a, b, product === null ? c : (new Map() as Wires)] as const);
	for (const [i, list] of sums.entries()) words.push(...list.map(({ size }) => size), constraints[i]!.product ?? 0);
	for (const list of sums) for (const sum of list) for (const [wire, by] of sum) words.push(wire, numberOf(by));
	return words;
}

/** A circuit as bytes, and the sizes that a key of it has. */
export interface FlatCircuit {
	readonly bytes: Uint8Array;
	readonly inputs: number;
	readonly wires: number;
	/** 2^log2 values of its polynomials: constraints, inputs and 1. */
	readonly log2: number;
}

/** `sections`: how often each is taken, with which steps, and its constraints. */
function flatOf(
	{ inputs, wires, secrets }: Pick<Circuit, "inputs" | "wires" | "secrets">,
	sections: readonly (readonly [copies: number, steps: readonly Step[], constraints: readonly Constraint[]])[],
): FlatCircuit {
	const coefficients = new Map<bigint, number>();
	const numberOf = (by: bigint) => coefficients.get(by) ?? coefficients.set(by, coefficients.size).size - 1;
	const words = sections.map(([copies, steps, constraints]) => sectionWords(copies, steps, constraints, numberOf));
	const ranges = rangesOf(secrets);
	const head = [MAGIC, inputs, wires, coefficients.size, ranges.length / 2, sections.length];
	const numbers = [...coefficients.keys()].map(bytesOf);
	const all = sections.reduce((sum, [copies, , { length }]) => sum + copies * length, 0);
	return {
		bytes: concatBytes(wordBytes(head), ...numbers, wordBytes(ranges), ...words.map(wordBytes)),
		...{ inputs, wires, log2: Math.ceil(Math.log2(all + inputs + 1)) },
	};
}

/** Any circuit, as it was recorded. */
export const plainFlat = (circuit: Circuit): FlatCircuit => flatOf(circuit, [[1, [], circuit.constraints]]);

/** Of the same wires and constraints as wrapCircuit's. */
export function flatCircuit(plan: ZkPlan, segments: number): FlatCircuit {
	const { circuit, told, close } = beginCircuit(plan, segments);
	const [firstTold] = [...told.segments[0]!.statement[0]!.keys()] as [number];
	const { wires: first, secrets } = circuit;
	const known = secrets.length;
	const part = checkPart(circuit.field, plan, told.segments[0]!, circuit.secret)!;
	const more = circuit.wires - first;
	const steps = [
		{ first: firstTold, more: (first - firstTold - told.mask.length - told.cross.length) / segments },
		{ first, more },
	];
	const checks = circuit.constraints.length;
	const own = secrets.slice(known);
	const others = Array.from({ length: segments - 1 }, (_, i) => own.map((wire) => wire + (i + 1) * more));
	circuit.leaveOut((segments - 1) * more, others.flat());
	const parts = Array.from({ length: segments }, (_, copy): PartLeft<Wires> => {
		const there = (one: Wires) => moved(one, steps, copy);
		const { among, point, value, digest } = part;
		return { among: among.map(there), point: point.map(there), value: there(value), digest: there(digest) };
	});
	close(checkFold(circuit.field, plan, parts, told, circuit.secret)!);
	return flatOf(circuit, [
		[segments, steps, circuit.constraints.slice(0, checks)],
		[1, [], circuit.constraints.slice(checks)],
	]);
}
