// Inference on the real engine. Decoded token by token = teacher-forced, logits bit for bit, on random
// prompts of every decoder family (1,000 in the deep tier); the engine's logits are those of the plain
// machine; generated text is checked by prefill, also without noise, and one changed token is found wherever
// it stands.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { OpenWorkSession } from "../../src/engine/client/work-session.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { runJob } from "../../src/provider/jobs/run-job.ts";
import { openRunFolder, readRunFolder } from "../../src/store/runs/run-folder.ts";
import { checkGeneration } from "../../src/validator/jobs/check-generation.ts";
import { openRun } from "../../src/validator/jobs/open-run.ts";
import { forwardProgram } from "../../src/work/inference/forward-program.ts";
import {
	type Generation,
	generateProgram,
	placesOf,
	prefillProgram,
} from "../../src/work/inference/generate-program.ts";
import { KNOWN } from "../../src/work/inference/known-shapes.test-kit.ts";
import { promptElements } from "../../src/work/inference/sequences.ts";
import { drawnPrompts, generated, MINI, modelOf } from "../../src/work/inference/tiny-runs.test-kit.ts";
import { SEED, Trial } from "../../src/work/models/training.test-kit.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
} from "../../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { sealProgram } from "../../src/work/program/open-program.ts";
import type { Program } from "../../src/work/program/shapes.ts";
import { textFiles } from "../../src/work/workloads/infer/infer-files.ts";
import { quickNumbers } from "../../vectors/work-programs.ts";
import { isDeep, scaled, seed as testSeed } from "../fuzz.test-kit.ts";
import { cpuEngine } from "../samples.test-kit.ts";

const HOT = { kind: "seeded", temperature: 2 } as const;
/** Deep runs draw others every time; ASSAY_SEED brings them back. */
const drawing = (text: string) => quickNumbers(isDeep ? `${text} ${testSeed}` : text);

const scratch = mkdtempSync(join(tmpdir(), "assay-infer-"));
let engine: Awaited<ReturnType<typeof cpuEngine>>;
before(async () => {
	engine = await cpuEngine();
});
after(async () => {
	await engine.close();
	rmSync(scratch, { recursive: true, force: true });
});

/** Runs so many segments after segment 0 and gives a tensor. */
async function outcome(
	open: OpenWorkSession,
	program: Program,
	given: Readonly<Record<string, Elements>>,
	segments: number,
	...names: readonly string[]
): Promise<Int32Array[]> {
	const session = await open({ device: 0, program: encodeProgram(program), seed: SEED });
	try {
		for (const [i, { kind, name }] of program.tensors.entries())
			if (kind === "constant" || kind === "input") await session.write(i, elementsToBytes(given[name]!));
		await session.run({ first: 0, count: segments + 1 });
		const found: Int32Array[] = [];
		for (const name of names) {
			const i = program.tensors.findIndex((tensor) => tensor.name === name);
			const { type, dims } = program.tensors[i]!;
			const bytes = await session.fetch(i, 0, elementCount(dims) * bytesOf(type));
			found.push(bytesToElements(bytes, type, elementCount(dims)) as Int32Array);
		}
		return found;
	} finally {
		await session.release();
	}
}

for (const [family, architecture] of Object.entries(MINI))
	test(`${family}: decoded token by token is teacher-forced, bit for bit, on random prompts`, async () => {
		const draw = drawing(`prompts of ${family}`);
		const batch = 7;
		const sequences = Math.ceil(scaled(42) / 3 / batch) * batch;
		const of: Generation = { architecture, weights: "i16", sampling: HOT, sequences, batch, prompt: 9, fresh: 6 };
		const model = modelOf(architecture, 1 + draw(200));
		const prompts = drawnPrompts(draw, sequences, of.prompt, architecture.vocabulary);
		const made = generateProgram(of, true);
		const given = { ...made.constants, ...made.weights(model), ...promptElements(of, prompts) };
		const [tokens, logits] = await outcome(engine.open, made.program, given, sequences / batch, "tokens", "logits");
		const whole = prompts.map((prompt, n) => [...prompt, ...tokens!.subarray(n * 6, n * 6 + 5)]);
		const places = placesOf(of);
		const row = places * architecture.vocabulary;
		// In other batches, in the opposite order.
		const forced = forwardProgram(architecture, "i16", { batch: 5, context: places });
		for (let first = 0; first < sequences; first += 5) {
			const chosen = Array.from({ length: Math.min(5, sequences - first) }, (_, i) => sequences - 1 - first - i);
			const all = forced.given(
				model,
				chosen.map((n) => whole[n]!),
			);
			const [found] = await outcome(engine.open, forced.program, all, 1, "logits");
			for (const [i, n] of chosen.entries()) {
				const count = whole[n]!.length * architecture.vocabulary;
				assert.deepEqual(
					found!.subarray(i * row, i * row + count),
					logits!.subarray(n * row, n * row + count),
					`${family}, prompt ${n}, ASSAY_SEED=${testSeed}`,
				);
			}
		}
		const check = prefillProgram(of);
		const said = { ...check.constants, ...given, tokens: tokens! };
		const [right] = await outcome(engine.open, check.program, said, 1, "right");
		assert.deepEqual(right, tokens!.subarray(0, batch * of.fresh));
	});

test("the engine's logits are those of the plain machine, also of i8 and wide builds", async () => {
	const architecture = MINI.qwen2;
	const model = modelOf(architecture);
	for (const weights of ["i8", "wide"] as const) {
		const { program, given } = forwardProgram(architecture, weights, { batch: 2, context: 5 });
		const all = given(model, [[1, 2, 3, 4, 5], [9]]);
		const trial = new Trial({ program, given: all });
		trial.machine.runSegment();
		const [logits] = await outcome(engine.open, program, all, 1, "logits");
		assert.deepEqual(logits, trial.tensor("logits"));
	}
});

test("whole shapes of known models: both checkers take them and the engine plans them; one interval too small, and both name its op", async () => {
	for (const [name, architecture] of Object.entries(KNOWN)) {
		if (architecture.family === "bert") continue;
		const of = { architecture, weights: "i8" as const, sampling: HOT, sequences: 4, batch: 2, prompt: 16, fresh: 16 };
		const { program } = prefillProgram(of);
		const open = (one: Program) => engine.open({ device: 0, program: encodeProgram(one), seed: SEED });
		const session = await open(program);
		assert.equal(session.plan.stepOps, program.step.length);
		assert.ok(session.plan.peakBytes < 2 ** 30, `${name} takes ${session.plan.peakBytes} bytes`);
		await session.release();
		const at = program.step.length - 9;
		const op = program.step[at]!;
		const narrow = { ...program, step: program.step.with(at, { ...op, output: { ...op.output, hi: op.output.lo } }) };
		const here = sealProgram(narrow);
		assert.ok(!here.ok && here.fault.op === at, name);
		await assert.rejects(open(narrow), (error) => error instanceof AssayError && error.code === here.fault.code);
	}
});

for (const sampling of [HOT, { kind: "greedy" }] as const)
	test(`${sampling.kind}: a run on the engine is checked by prefill on the engine, batches in any order`, async () => {
		const architecture = MINI.llama;
		const of: Generation = { architecture, weights: "i8", sampling, sequences: 6, batch: 2, prompt: 3, fresh: 3 };
		const prompts = drawnPrompts(drawing("run"), 6, 3, architecture.vocabulary);
		const made = generateProgram(of);
		const model = modelOf(architecture);
		const given = { ...made.constants, ...made.weights(model), ...promptElements(of, prompts) };
		const workload = { ...made, given, seed: SEED, segments: 3, metrics: [], files: textFiles(of, prompts) };
		const folder = await openRunFolder(join(scratch, sampling.kind));
		const own = await cpuEngine(folder.storePath);
		try {
			await runJob({
				...{ folder, jobText: "{}\n", workload, open: own.open, device: 0, diskBytes: 1 << 30, nowMs: () => 0 },
			});
			const reader = readRunFolder(folder.path);
			const run = await openRun(reader);
			const file = (await reader.read("generation.json"))!;
			for (const batches of [3, 1]) {
				const draw = (below: number) => below - 1;
				const found = await checkGeneration({ run, file, open: own.open, device: 0, batches, draw });
				assert.deepEqual([found.wrong, found.wrongSegment], [null, null]);
				assert.deepEqual(found.checked, batches === 1 ? [2] : [0, 1, 2]);
			}
		} finally {
			await own.close();
			await folder.close();
		}
		const [tokens] = await outcome(engine.open, made.program, given, 3, "tokens");
		assert.deepEqual(tokens, generated(of, model, prompts).tokens);
	});
