// The cornerstone of checking by prefill: token by token with a cache, in any batch, the logits of every
// place are those of the whole sequence at once, bit for bit; and one changed token is found. More prompts on
// the engine: tests/work/infer-engine.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { numbersFrom } from "../builder/samples.test-kit.ts";
import { Trial } from "../models/training.test-kit.ts";
import { forwardProgram } from "./forward-program.ts";
import { type Generation, placesOf } from "./generate-program.ts";
import { drawnPrompts, generated, MINI, modelOf, prefiller } from "./tiny-runs.test-kit.ts";

const SHAPE = { sequences: 4, batch: 2, prompt: 4, fresh: 3, weights: "i16" } as const;
const HOT = { kind: "seeded", temperature: 3 } as const;

function setUp(family: keyof typeof MINI, change: Partial<Generation> = {}) {
	const architecture = MINI[family];
	const of: Generation = { architecture, sampling: HOT, ...SHAPE, ...change };
	const model = modelOf(architecture);
	const prompts = drawnPrompts(numbersFrom(5), of.sequences, of.prompt, architecture.vocabulary);
	return { of, model, prompts, ...generated(of, model, prompts) };
}

for (const family of ["gpt2", "llama", "qwen2"] as const)
	for (const weights of family === "llama" ? (["i8", "i16"] as const) : (["i16"] as const))
		test(`${family} ${weights}: token by token gives the logits of the whole sequence, bit for bit`, () => {
			const { of, model, prompts, tokens, logits } = setUp(family, { weights });
			const places = placesOf(of);
			const { vocabulary } = of.architecture;
			const whole = prompts.map((prompt, n) =>
				[...prompt, ...tokens.subarray(n * of.fresh, (n + 1) * of.fresh)].slice(0, -1),
			);
			// Another batch, another order, a longer context.
			const context = places + 3;
			const { program, given } = forwardProgram(of.architecture, weights, { batch: 4, context });
			const order = [2, 0, 3, 1];
			const trial = new Trial({
				program,
				given: given(
					model,
					order.map((n) => whole[n]!),
				),
			});
			trial.machine.runSegment();
			const all = trial.tensor("logits") as Int32Array;
			for (const [row, n] of order.entries()) {
				const count = whole[n]!.length * vocabulary;
				const forced = all.subarray(row * context * vocabulary, row * context * vocabulary + count);
				const stepwise = logits.subarray(n * places * vocabulary, n * places * vocabulary + count);
				assert.deepEqual(forced, stepwise);
			}
			assert.deepEqual(prefiller(of, model, prompts)(tokens), tokens);
		});

test("greedy: each token has the largest logit, the first of equals; sampled ones do not always", () => {
	for (const sampling of [{ kind: "greedy" }, HOT] as const) {
		const { of, prompts, tokens, logits } = setUp("llama", { sampling });
		const { vocabulary } = of.architecture;
		const largest = Int32Array.from(tokens, (_, i) => {
			const [n, g] = [Math.floor(i / of.fresh), i % of.fresh];
			const row = (n * placesOf(of) + prompts[n]!.length - 1 + g) * vocabulary;
			const values = logits.subarray(row, row + vocabulary);
			return values.indexOf(values.reduce((a, b) => Math.max(a, b)));
		});
		assert.equal(
			sampling.kind === "greedy",
			tokens.every((token, i) => token === largest[i]),
		);
	}
});

test("attack: one token is changed after the run; prefill names its place, and says what belonged there", () => {
	const { of, model, prompts, tokens } = setUp("llama");
	const rightOf = prefiller(of, model, prompts);
	for (const i of [0, 5, 11]) {
		const said = Int32Array.from(tokens);
		said[i] = (tokens[i]! + 1) % of.architecture.vocabulary;
		const right = rightOf(said);
		// What comes before it in its sequence, and all other sequences, stand as they are.
		assert.equal(
			right.findIndex((value, at) => value !== said[at]),
			i,
		);
		assert.equal(right[i], tokens[i]);
	}
});

test("the batch does not matter: alone, in twos and in fours the same tokens", () => {
	const runs = [2, 1, 4].map((batch) => setUp("qwen2", { batch }));
	for (const { tokens, logits } of runs.slice(1)) {
		assert.deepEqual(tokens, runs[0]!.tokens);
		assert.deepEqual(logits, runs[0]!.logits);
	}
});
