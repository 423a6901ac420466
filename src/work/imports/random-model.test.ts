// Generated models: every tensor of the list, the same floats every time, of sizes that a network keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { modelTensors, parameterCount } from "./architecture.ts";
import { randomModel } from "./random-model.ts";
import { TINY } from "./tiny-models.ts";

const SEED = new Uint8Array(32).fill(7);

for (const [name, architecture] of Object.entries(TINY))
	test(`${name}: every tensor has its shape and a spread; another seed, other numbers`, () => {
		const model = randomModel(architecture, SEED);
		const other = randomModel(architecture, new Uint8Array(32).fill(8));
		let count = 0;
		for (const { name: tensor, dims } of modelTensors(architecture)) {
			const { values, dims: own } = model.tensor(tensor);
			assert.deepEqual(own, dims);
			assert.deepEqual(values, model.tensor(tensor).values);
			assert.notDeepEqual(values, other.tensor(tensor).values);
			const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
			assert.ok(Math.abs(mean - (/norm\.weight$/i.test(tensor) ? 1 : 0)) < 0.2, `${tensor} has mean ${mean}`);
			count += values.length;
		}
		assert.equal(count, parameterCount(architecture));
		assert.throws(() => model.tensor("layers.99.q.weight"), RangeError);
	});

test("a tied head is the embedding; one of its own is not", () => {
	const tied = randomModel({ ...TINY.llama, isTied: true }, SEED);
	assert.deepEqual(tied.tensor("head.weight"), tied.tensor("embed.tokens"));
	const own = randomModel({ ...TINY.llama, isTied: false }, SEED);
	assert.notDeepEqual(own.tensor("head.weight").values, own.tensor("embed.tokens").values);
});
