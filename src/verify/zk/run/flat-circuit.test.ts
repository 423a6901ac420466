// The circuit as engines read it has the wires, secrets and constraints of the one that is recorded whole.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bigOf } from "../../../protocol/maths/bn254.ts";
import type { Wires } from "./circuit.ts";
import { flatCircuit } from "./flat-circuit.ts";
import { PLAN, SEGMENTS } from "./run.test-kit.ts";
import { wrapCircuit } from "./wrap-circuit.ts";

/** All copies of all sections. */
function expanded(bytes: Uint8Array) {
	const view = new DataView(bytes.buffer, bytes.byteOffset);
	let at = 0;
	const word = () => view.getUint32(4 * at++, true);
	const words = (count: number) => Array.from({ length: count }, word);
	const [, inputs, wires, coefficients, ranges, sections] = words(6) as [
		number,
		number,
		number,
		number,
		number,
		number,
	];
	const numbers = Array.from({ length: coefficients }, (_, i) =>
		bigOf(bytes.subarray(4 * at + 32 * i, 4 * at + 32 * i + 32)),
	);
	at += 8 * coefficients;
	const secrets = Array.from({ length: ranges }, () => words(2)).flatMap(([first, count]) =>
		Array.from({ length: count! }, (_, i) => first! + i),
	);
	const constraints = Array.from({ length: sections }, () => {
		const [copies, count, stepCount] = words(3) as [number, number, number];
		const steps = Array.from({ length: stepCount }, () => words(2));
		const heads = Array.from({ length: count }, () => words(4));
		const terms = heads.map((head) => head.slice(0, 3).map((size) => Array.from({ length: size }, () => words(2))));
		return Array.from({ length: copies }, (_, copy) => {
			const there = (wire: number) => wire + copy * (steps.filter(([first]) => first! <= wire).at(-1)?.[1] ?? 0);
			return heads.map(([, , , product], i) => {
				const [a, b, c] = terms[i]!.map(
					(list): Wires => new Map(list.map(([wire, by]) => [there(wire!), numbers[by!]!])),
				);
				const made = product === 0 ? null : there(product!);
				return { a: a!, b: b!, c: made === null ? c! : new Map([[made, 1n]]), product: made };
			});
		}).flat();
	}).flat();
	assert.equal(4 * at, bytes.length);
	return { inputs, wires, secrets, constraints };
}

test("one segment's checks, taken twice, and the fold: the circuit of two segments", () => {
	const whole = wrapCircuit(PLAN, SEGMENTS);
	const flat = expanded(flatCircuit(PLAN, SEGMENTS).bytes);
	assert.equal(flat.inputs, whole.inputs);
	assert.equal(flat.wires, whole.wires);
	assert.deepEqual(flat.secrets, whole.secrets);
	assert.equal(flat.constraints.length, whole.constraints.length);
	for (const [i, one] of whole.constraints.entries()) assert.deepEqual(flat.constraints[i], one, `${i}`);
});
