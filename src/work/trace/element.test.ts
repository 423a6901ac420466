// Elements computed from the leaves that findElement asks for are those of the run; no leaf is asked for that
// the element does not read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { philoxKey } from "../../protocol/hash/philox.ts";
import { mixedSample, mlpSample, type Sample } from "../builder/samples.test-kit.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine } from "../program/run-program.ts";
import { findElement, type LeafPlace } from "./element.ts";
import { traceSegment } from "./run-trace.ts";
import { tensorTree } from "./tensor-tree.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 3 * i);

/** How often leaves were asked for, and the value in the end. */
function asked(sample: Sample, visit: (op: string, rounds: number, leaves: number) => void): void {
	const machine = createMachine(orThrow(sealProgram(sample.program)), SEED, sample.given);
	for (const phase of ["init", "step"] as const) {
		const segment = machine.next;
		traceSegment(machine, ({ step, op: number }, inputs, output) => {
			const op = sample.program[phase][number]!;
			const moment = { segment, step, k: sample.program.k, key: philoxKey(SEED) };
			for (const element of new Set([0, output.length >> 1, output.length - 1])) {
				const leaves = new Map<string, Uint8Array>();
				const name = ({ operand, leaf }: LeafPlace) => `${operand}/${leaf}`;
				let rounds = 0;
				for (;;) {
					const { value, missing } = findElement(
						op,
						element,
						moment,
						(operand, leaf) => leaves.get(name({ operand, leaf })) ?? null,
					);
					if (missing.length === 0) {
						assert.equal(value, BigInt(output[element]!), `op ${number} of ${phase}, element ${element}`);
						break;
					}
					assert.equal(value, null);
					rounds += 1;
					for (const place of missing) {
						assert.ok(!leaves.has(name(place)), "asked twice");
						leaves.set(name(place), tensorTree(inputs[place.operand]!).leaf(place.leaf));
					}
				}
				visit(op.operator, rounds, leaves.size);
			}
		});
	}
}

for (const [name, sample] of [
	["MLP", mlpSample()],
	["every operator", mixedSample(5)],
] as const)
	test(`${name}: elements from leaves are those of the run`, () => {
		let sums = 0;
		asked(sample, (operator, rounds) => {
			if (operator === "map") return;
			sums += 1;
			assert.equal(rounds, 1);
		});
		assert.ok(sums > 0);
	});

test("a changed leaf gives another element", () => {
	const { program, given } = mlpSample();
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	machine.runSegment();
	const number = program.step.findIndex(({ operator }) => operator === "matmul");
	traceSegment(machine, ({ op, step }, inputs, output) => {
		if (op !== number || step !== 0) return;
		const moment = { segment: 1, step, k: program.k, key: philoxKey(SEED) };
		const known = (operand: number, leaf: number) => {
			const bytes = tensorTree(inputs[operand]!).leaf(leaf);
			if (operand === 1) bytes[0]! ^= 1;
			return bytes;
		};
		assert.notEqual(findElement(program.step[number]!, 0, moment, known).value, BigInt(output[0]!));
	});
});
