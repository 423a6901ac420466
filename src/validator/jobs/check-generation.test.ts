// Generated text checked by prefill, on toy sessions: honest runs agree; each lie of a runner is found and
// named, also one that the rest of its text follows from. The same on the engine, with more prompts:
// tests/work/infer-engine.test.ts.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Cheat } from "../../engine/client/toy-work-session.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { runJob } from "../../provider/jobs/run-job.ts";
import { TOY_SEED, toyOpener } from "../../provider/jobs/toy-run.test-kit.ts";
import { openRunFolder, readRunFolder } from "../../store/runs/run-folder.ts";
import { type Generation, generateProgram } from "../../work/inference/generate-program.ts";
import { promptElements } from "../../work/inference/sequences.ts";
import { MINI, modelOf } from "../../work/inference/tiny-runs.test-kit.ts";
import type { Program } from "../../work/program/shapes.ts";
import { textFiles } from "../../work/workloads/infer/infer-files.ts";
import { checkGeneration } from "./check-generation.ts";
import { openRun } from "./open-run.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-generation-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;

const OF: Generation = {
	architecture: { ...MINI.llama, layers: 1 },
	...{ weights: "i16", sampling: { kind: "seeded", temperature: 2 }, sequences: 4, batch: 2, prompt: 3, fresh: 3 },
};
const PROMPTS = [[1, 2, 3], [4], [5, 6], [7, 8, 9]];

const opOf = ({ tensors, step }: Program, target: string): number =>
	step.findIndex((op) => op.target !== null && tensors[op.target]!.name === target);

/** A run's folder; with `cheat` the runner's machine lies once and goes on from there. */
async function generate(of: Generation = OF, cheat?: (program: Program) => Cheat): Promise<string> {
	const path = join(scratch, `run${folders++}`);
	const { program, constants, weights } = generateProgram(of);
	const given = { ...constants, ...weights(modelOf(of.architecture)), ...promptElements(of, PROMPTS) };
	const files = textFiles(of, PROMPTS);
	const workload = { program, given, seed: TOY_SEED, segments: of.sequences / of.batch, metrics: [], files };
	const folder = await openRunFolder(path);
	try {
		const open = toyOpener(folder.storePath, cheat?.(program));
		await runJob({
			...{ folder, jobText: "{}\n", workload, open, device: 0, diskBytes: 1 << 30, nowMs: () => 0 },
		});
	} finally {
		await folder.close();
	}
	return path;
}

async function check(path: string, batches = 9) {
	const folder = readRunFolder(path);
	const run = await openRun(folder);
	const file = (await folder.read("generation.json"))!;
	const open = toyOpener(run.storePath);
	return checkGeneration({ run, file, open, device: 0, batches, draw: () => 0 });
}

const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;

for (const sampling of [OF.sampling, { kind: "greedy" }] as const)
	test(`${sampling.kind}: an honest run agrees, every token of it; of one batch, its tokens`, async () => {
		const path = await generate({ ...OF, sampling });
		const found = await check(path);
		assert.deepEqual([found.wrong, found.wrongSegment, found.tokens, found.checked], [null, null, 12, [0, 1]]);
		assert.ok(found.costShare < 1);
		assert.deepEqual((await check(path, 1)).checked, [0]);
		const lines = readFileSync(join(path, "text.jsonl"), "utf8").trim().split("\n");
		assert.equal(lines.length, PROMPTS.length);
	});

test("attack: one token is another than the model gives, and the text goes on from it; it is found and named", async () => {
	const path = await generate(OF, (program) => ({ segment: 2, step: 2, op: opOf(program, "next"), element: 1 }));
	const { wrong, wrongSegment, checked } = await check(path);
	assert.equal(wrongSegment, null);
	assert.deepEqual([wrong?.sequence, wrong?.place, checked], [3, 0, [0, 1]]);
	const tokens = JSON.parse(readFileSync(join(path, "text.jsonl"), "utf8").trim().split("\n")[3]!).tokens;
	assert.equal(tokens[0], wrong!.said);
	assert.notEqual(wrong!.said, wrong!.right);
	// Who draws the other batch sees nothing: that is what the share says.
	assert.equal((await check(path, 1)).wrong, null);
	assert.equal((await check(path, 1)).caughtShare(0.5), 0.5);
});

test("attack: a token of an earlier batch is changed in the last segment; the state between gives it away", async () => {
	const path = await generate(OF, (program) => ({ segment: 2, step: 4, op: opOf(program, "tokens"), element: 1 }));
	const { wrongSegment, checked } = await check(path);
	assert.equal(wrongSegment?.segment, 1);
	assert.deepEqual(checked, []);
});

test("attack: noise that favours a token is no noise of the seed", async () => {
	const path = await generate(OF, (program) => ({
		...{ segment: 0, step: 0, op: program.init.findIndex(({ target }) => target !== null), element: 4, value: 5n },
	}));
	assert.equal((await check(path)).wrongSegment?.segment, 0);
});

test("attack: generation.json of another program, of none, and of one that fits nothing", async () => {
	const path = await generate();
	const file = join(path, "generation.json");
	const right = readFileSync(file, "utf8");
	const wrong: readonly (readonly [string, string])[] = [
		[right.replace('"temperature": 2', '"temperature": 3'), "CLAIM_ROOT"],
		[right.replace('"isTied": false', '"isTied": true'), "CLAIM_ROOT"],
		[right.replace('"batch": 2', '"batch": 3'), "CLAIM_MALFORMED"],
		[right.replace('"fresh": 3', '"fresh": 65536'), "CLAIM_MALFORMED"],
		[right.replace('"kvHeads": 1', '"kvHeads": 3'), "CLAIM_MALFORMED"],
		[right.slice(0, -9), "CLAIM_MALFORMED"],
		["x".repeat(70_000), "CLAIM_MALFORMED"],
	];
	for (const [text, code] of wrong) {
		writeFileSync(file, text);
		await assert.rejects(check(path), isCode(code), text.slice(0, 40));
	}
});
