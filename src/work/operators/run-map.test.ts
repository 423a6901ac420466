// Whole tensors, block by block, give what the definition gives element by element.
import assert from "node:assert/strict";
import { test } from "node:test";
import { philoxKey } from "../../protocol/hash/philox.ts";
import { mixedSample, mlpSample, settlingSample } from "../builder/samples.test-kit.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine } from "../program/run-program.ts";
import { findElement } from "../trace/element.ts";
import { tensorTree } from "../trace/tensor-tree.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 3 * i);

test("maps of three samples, every element", () => {
	let elements = 0;
	for (const { program, given } of [mlpSample(), mixedSample(9), settlingSample()]) {
		const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
		for (let segment = 0; segment < 3; segment++)
			machine.runSegment(({ op, step, inputs, output }) => {
				if (op.operator !== "map") return;
				const moment = { segment, step, k: program.k, key: philoxKey(SEED) };
				const trees = inputs.map((one) => tensorTree(one));
				for (let e = 0; e < output.length; e++) {
					const { value } = findElement(op, e, moment, (operand, leaf) => trees[operand]!.leaf(leaf));
					assert.equal(BigInt(output[e]!), value);
					elements += 1;
				}
			});
	}
	assert.ok(elements > 4000, String(elements));
});
