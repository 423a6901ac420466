// The examples: each is started as a user would, and what it writes runs as a job and gives what its first
// line says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { workloadOf } from "../src/cli/run-job-file.ts";
import { Trial } from "../src/work/models/training.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-examples-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const EXAMPLES = join(import.meta.dirname, "../examples/programs");

/** Runs it to its end on the plain machine. */
async function ran(name: string): Promise<Trial> {
	const folder = join(scratch, name);
	const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLES, `${name}.ts`), folder]);
	const path = join(folder, "job.json");
	assert.ok(stdout.includes(`assay job run ${path}`));
	const work = await workloadOf(path, JSON.parse(readFileSync(path, "utf8")));
	const trial = new Trial(work, work.seed);
	for (let i = 0; i < work.segments; i++) trial.machine.runSegment();
	return trial;
}
const numbers = (trial: Trial, name: string) => Array.from(trial.tensor(name), Number);

test("a stencil blurs: what is left of the differences is small, the mean stays", async () => {
	const field = numbers(await ran("stencil"), "field");
	const mean = field.reduce((a, n) => a + n, 0) / field.length;
	assert.ok(Math.abs(mean / 2 ** 19 - 1) < 0.05);
	assert.ok(Math.max(...field) - Math.min(...field) < 0.2 * mean);
});

test("a histogram counts all of its numbers, each in its bin; its text form is the committed one", async () => {
	const trial = await ran("histogram");
	const bins = numbers(trial, "bins");
	const values = numbers(trial, "values");
	assert.deepEqual(
		bins,
		Array.from({ length: 16 }, (_, bin) => values.filter((value) => value >> 6 === bin).length),
	);
	assert.equal(
		readFileSync(join(scratch, "histogram/program.txt"), "utf8"),
		readFileSync(join(EXAMPLES, "histogram.txt"), "utf8"),
	);
});

test("a regression finds the line", async () => {
	const trial = await ran("regression");
	const found = [...trial.floats("w", 2 ** 16)].map((weight) => Math.round(100 * weight) / 100);
	assert.deepEqual(found, [2, -1, 0.5, 3]);
	assert.ok(numbers(trial, "loss")[0]! < 256);
});

test("the Mandelbrot set: the heart stays for ever, the corner leaves at once, above and below are alike", async () => {
	const turns = numbers(await ran("mandelbrot"), "turns");
	const pixel = (x: number, y: number) => turns[Math.round(((y + 1) / 2) * 64) * 96 + Math.round(((x + 2) / 3) * 96)];
	assert.equal(pixel(-0.1, 0), 100);
	assert.equal(pixel(-1, 0), 100);
	assert.ok(pixel(-2, -1)! < 4 && pixel(0.9, 0.9)! < 4);
	assert.equal(pixel(-0.5, 0.5), pixel(-0.5, -0.5));
});

test("a power of a matrix is the product of its factors", async () => {
	const trial = await ran("matrix-power");
	const m = numbers(trial, "m");
	let power = Array.from({ length: 1024 }, (_, i) => Number(i % 33 === 0));
	for (let n = 0; n < 32; n++)
		power = power.map((_, i) => {
			let sum = 0;
			for (let k = 0; k < 32; k++) sum += power[32 * Math.floor(i / 32) + k]! * m[32 * k + (i % 32)]!;
			return sum % 65_521;
		});
	assert.deepEqual(numbers(trial, "power"), power);
});
