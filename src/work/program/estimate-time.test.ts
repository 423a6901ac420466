// The guess of a step's time: near what was measured where there is a measurement, and it grows with each of
// its parts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression } from "../builder/expression.ts";
import { buildWorkload } from "../workloads/build-workload.ts";
import { readJob } from "../workloads/read-job.ts";
import { type CardRates, estimateStep } from "./estimate-time.ts";

/** docs/profiles.md. */
const H200: CardRates = { int8OpsPerS: 1.979e15, int32OpsPerS: 33.5e12, bytesPerS: 4.8e12 };

test("a training step of a GPT 4x256 on an H200: within a factor of two of the 11.8 ms that were measured", async () => {
	const job = {
		workload: "train",
		model: { kind: "gpt", layers: 4, width: 256, heads: 4, context: 128, vocabulary: 256 },
		data: { generated: 1000 },
		optimizer: { kind: "adamw" },
		batch: 256,
		steps: 1,
		seed: `0x${"00".repeat(32)}`,
	};
	const { program } = await buildWorkload(readJob(job), () => new Uint8Array());
	const { all, products } = estimateStep(program, H200);
	assert.ok(all > 11.8e-3 / 2 && all < 11.8e-3 * 2, `${all}`);
	assert.ok(products > 0.1 * all && products < 0.9 * all);
});

function program(size: number, more: (x: Expression) => Expression, k = 1) {
	const b = buildProgram({ k });
	const s = b.tensor("state", "s", "i32", [size], 0, 1000);
	b.step.map([size], (i) => more(at(s, i!)).clamp(0, 1000), { to: s });
	return b.program();
}

test("more elements, dearer instructions, slower memory cost more; longer segments hash less", () => {
	const of = (...args: Parameters<typeof program>) => estimateStep(program(...args), H200);
	const [plain, wide] = [of(1 << 20, (x) => x.add(1)), of(1 << 24, (x) => x.add(1))];
	assert.ok(wide.others > 15 * plain.others);
	assert.ok(
		of(1 << 20, (x) =>
			x
				.add(7)
				.isqrt()
				.add(x.rdiv(x.add(1))),
		).others >
			2 * plain.others,
	);
	const slower = estimateStep(
		program(1 << 20, (x) => x.add(1)),
		{ ...H200, bytesPerS: 1e11 },
	);
	assert.ok(slower.others > 10 * plain.others);
	assert.ok(plain.hashing > 7 * of(1 << 20, (x) => x.add(1), 8).hashing);
});
