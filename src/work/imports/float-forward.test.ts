// The plain forward pass gives PyTorch's numbers: a generated model of each family, written by
// write-model.ts, was loaded by transformers 5.18 and run in float64 by PyTorch 2.13 (rotary angles are
// float32 there). What is imported means what it means elsewhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { floatForward } from "./float-forward.test-kit.ts";
import { randomModel } from "./random-model.ts";
import { TINY } from "./tiny-models.ts";

const TOKENS = [...new TextEncoder().encode("Hello world"), 0, 255];
/**
 * The first four numbers of the last token, two of the first, and the sum of all sizes: of the logits, for
 * bert of the last hidden state.
 */
const TORCH = {
	gpt2: [-5.620538, -9.593656, -1.898725, -0.43774, 9.178688, -13.039664, 21_553.6451],
	llama: [-1.95374, 0.506808, 4.975411, 10.548307, -9.990666, -8.164755, 22_412.3592],
	qwen2: [-4.315086, -2.425796, 5.022394, -3.238857, 2.233575, 5.032933, 21_647.7556],
	bert: [0.447777, -1.007759, -0.927435, 0.735909, 0.565243, -0.376579, 672.7752],
} as const;

for (const [family, expected] of Object.entries(TORCH) as [keyof typeof TORCH, readonly number[]][])
	test(`${family}: PyTorch's numbers`, () => {
		const { logits, hidden } = floatForward(randomModel(TINY[family], new Uint8Array(32).fill(7)), TOKENS);
		const rows = family === "bert" ? hidden : logits;
		const sum = rows.reduce((all, row) => all + row.reduce((a, b) => a + Math.abs(b), 0), 0);
		const found = [...rows.at(-1)!.slice(0, 4), ...rows[0]!.slice(0, 2), sum];
		found.forEach((value, i) => {
			assert.ok(Math.abs(value - expected[i]!) < (i === 6 ? 0.01 : 1e-5), `${i}: ${value}, PyTorch ${expected[i]}`);
		});
	});
