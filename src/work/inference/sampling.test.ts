// Sampled tokens come as often as the softmax says, at every temperature, and noise of different places is
// not alike. The same seed draws the same tokens: what is here is decided, not luck.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { at, view } from "../builder/expression.ts";
import { Trial } from "../models/training.test-kit.ts";
import { type Net, numbersOf } from "./numbers.ts";
import { drawsOf, type Sampling, sampled } from "./sampling.ts";
import { MINI } from "./tiny-runs.test-kit.ts";

const ROWS = 6000;
const LOGITS = [0, 1, 2, 3, -1, 0.5, 3, -20];

/** A token for each of many rows with the same logits. */
function drawn(sampling: Sampling): number[] {
	const b = buildProgram();
	const net: Net = { b, s: b.step, given: {}, of: MINI.llama, numbers: numbersOf("i16"), batch: ROWS, places: 1 };
	const logits = b.tensor("input", "logits", "i32", [LOGITS.length], -(2 ** 31), 2 ** 31 - 1);
	const rows = b.step.map([ROWS, LOGITS.length], (_, c) => at(logits, c!));
	const draws = drawsOf(net, sampling, ROWS, 1);
	const noise = draws && view(draws, ROWS);
	const tokens = b.tensor("result", "tokens", "i32", [ROWS], 0, LOGITS.length - 1);
	const found = sampled(net, sampling, rows, noise && ((r) => at(noise, r)));
	b.step.map([ROWS], (r) => at(found, r!), { to: tokens });
	const given = { ...net.given, logits: Int32Array.from(LOGITS, (x) => Math.round(x * 65_536)) };
	const trial = new Trial({ program: b.program(), given });
	trial.machine.runSegment();
	return Array.from(trial.tensor("tokens"), Number);
}

for (const temperature of [0.5, 1, 3])
	test(`temperature ${temperature}: tokens come as often as the softmax says`, () => {
		const tokens = drawn({ kind: "seeded", temperature });
		const weights = LOGITS.map((x) => Math.exp(x / temperature));
		const sum = weights.reduce((a, x) => a + x, 0);
		for (const [token, weight] of weights.entries()) {
			const share = weight / sum;
			const found = tokens.filter((one) => one === token).length;
			const deviation = Math.sqrt(ROWS * share * (1 - share));
			assert.ok(Math.abs(found - ROWS * share) < 4 * deviation + 1, `${token}: ${found} of ${ROWS * share}`);
		}
		// Neighbouring rows are as independent as they look: how often two in a row are alike.
		const alike = tokens.filter((one, i) => i > 0 && one === tokens[i - 1]).length;
		const wanted = weights.reduce((a, x) => a + (x / sum) ** 2, 0) * ROWS;
		assert.ok(Math.abs(alike - wanted) < 5 * Math.sqrt(wanted), `${alike} of ${wanted}`);
	});

test("greedy: the first of the largest, always", () => {
	assert.deepEqual(new Set(drawn({ kind: "greedy" })), new Set([3]));
});
