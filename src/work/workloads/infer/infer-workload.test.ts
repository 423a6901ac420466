// Inference as a job: what its file may say, prompts of every form, and what comes home.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { npyBytes } from "../../formats/arrays.test-kit.ts";
import { readNpy } from "../../formats/npy.ts";
import type { Architecture } from "../../imports/architecture.ts";
import { floatForward } from "../../imports/float-forward.test-kit.ts";
import { TINY } from "../../imports/tiny-models.ts";
import { configText, modelParts } from "../../imports/write-model.ts";
import { modelOf } from "../../inference/tiny-runs.test-kit.ts";
import { orThrow } from "../../program/fault.ts";
import { sealProgram } from "../../program/open-program.ts";
import { createMachine } from "../../program/run-program.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";
import type { Workload } from "../workload.ts";

const SEED = `0x${"01".repeat(32)}`;
const SMALL = { layers: 1, width: 16, heads: 2, headWidth: 8, hidden: 16, context: 24 };
const LLAMA: Architecture = { ...TINY.llama, ...SMALL, kvHeads: 1 };
const BERT: Architecture = { ...TINY.bert, ...SMALL, kvHeads: 2 };
const bytes = (text: string) => new TextEncoder().encode(text);

function build(job: Readonly<Record<string, unknown>>, prompts: Uint8Array | string, of: Architecture = LLAMA) {
	const model = modelOf(of);
	const held: Readonly<Record<string, Uint8Array>> = {
		"m/config.json": bytes(configText(model)),
		"m/model.safetensors": concatBytes(...modelParts(model, "F32")),
		p: typeof prompts === "string" ? bytes(prompts) : prompts,
	};
	const spec = readJob({ workload: "infer", model: "m/", prompts: { tokens: "p" }, seed: SEED, ...job });
	return buildWorkload(spec, (name) => {
		const found = held[name];
		if (found === undefined) throw new AssayError("FILE_UNREADABLE", name, { hint: "" });
		return found;
	});
}

async function filesOf(workload: Workload): Promise<Record<string, Uint8Array>> {
	const { program, seed, given, segments, files } = workload;
	const machine = createMachine(orThrow(sealProgram(program)), seed, given);
	for (let i = 0; i <= segments; i++) machine.runSegment();
	const tensor = (name: string) => machine.tensors[program.tensors.findIndex((one) => one.name === name)]!;
	const made = await Promise.all(files.map(async (file) => [file.name, await file.make(tensor)] as const));
	return Object.fromEntries(made);
}

const isCode = (code: string, part: string) => (error: unknown) =>
	error instanceof AssayError && error.code === code && error.message.includes(part);

test("text: lines of prompts go on; all batches, without what fills up the last", async () => {
	const job = { prompts: { text: "p" }, new: 3, batch: 2, sampling: { kind: "seeded", temperature: 2 } };
	const workload = await build(job, "ab\n\ncdé\nx\r\n");
	assert.equal(workload.segments, 2);
	const files = await filesOf(workload);
	const lines = new TextDecoder().decode(files["text.jsonl"]).trim().split("\n");
	const read = lines.map((line) => JSON.parse(line));
	assert.deepEqual(
		read.map(({ sequence, prompt }) => [sequence, prompt]),
		[
			[0, "ab"],
			[1, "cdé"],
			[2, "x"],
		],
	);
	const { dims, values } = readNpy(files["tokens.npy"]!, "tokens.npy");
	assert.deepEqual([[...dims], [...values]], [[3, 3], read.flatMap(({ tokens }) => tokens)]);
	assert.match(new TextDecoder().decode(files["preview.txt"]), /^ab/);
});

test("logits and embeddings are those of the model in doubles, of every family and pooling", async () => {
	const prompts = [[1, 2, 3], [200], [7, 8]];
	const text = prompts.map((one) => JSON.stringify(one)).join("\n");
	const near = (found: Uint8Array, wanted: readonly (readonly number[])[], row: number) => {
		const { values } = readNpy(found, "found");
		for (const [n, one] of wanted.entries())
			for (const [i, value] of one.entries())
				assert.ok(
					Math.abs(Number(values[n * row + i]) - value) < 2e-3,
					`${n} ${i}: ${values[n * row + i]} is not ${value}`,
				);
	};
	const floats = (of: Architecture) => prompts.map((one) => floatForward(modelOf(of), one));
	const { "logits.npy": logits } = await filesOf(await build({ output: "logits", batch: 2 }, text));
	near(
		logits!,
		floats(LLAMA).map((one) => one.logits.flatMap((row) => [...row])),
		3 * 256,
	);
	for (const family of [LLAMA, BERT])
		for (const pooling of family === BERT ? (["mean", "first"] as const) : (["mean", "last"] as const)) {
			const { "embeddings.npy": found } = await filesOf(
				await build({ output: "embeddings", pooling, batch: 2 }, text, family),
			);
			const pool = (rows: readonly Float64Array[]) =>
				pooling === "mean"
					? Array.from(rows[0]!, (_, c) => rows.reduce((sum, row) => sum + row[c]!, 0) / rows.length)
					: [...rows.at(pooling === "first" ? 0 : -1)!];
			near(
				found!,
				floats(family).map(({ hidden }) => pool(hidden)),
				16,
			);
		}
});

test("prompts: JSON lines, an array with what fills up, and one file of numbers are the same", async () => {
	const array = npyBytes("<i4", [2, 3], new Uint8Array(Int32Array.from([5, 6, 7, 9, -1, -1]).buffer));
	const [lines, rows] = await Promise.all([build({ new: 4 }, "[5,6,7]\n[9]\n"), build({ new: 4 }, array)]);
	assert.deepEqual(lines.given.prompts, rows.given.prompts);
	assert.deepEqual(lines.given.lengths, Int32Array.of(3, 1));
	const one = await build({ new: 4 }, new Uint8Array(Uint16Array.of(5, 6, 7).buffer));
	assert.deepEqual(one.given.prompts, Int32Array.of(5, 6, 7));
});

test("refused: what does not fit together, with field or file", async () => {
	const wrong: readonly (readonly [Readonly<Record<string, unknown>>, Uint8Array | string, string, string])[] = [
		[{ prompts: { tokens: "p", text: "p" } }, "[1]", "JOB_FIELD", "prompts"],
		[{ prompts: {} }, "[1]", "JOB_FIELD", "prompts"],
		[{ output: "logits", new: 3 }, "[1]", "JOB_FIELD", "new"],
		[{ pooling: "mean" }, "[1]", "JOB_FIELD", "pooling"],
		[{ sampling: { kind: "seeded", temperature: 0 } }, "[1]", "JOB_FIELD", "temperature"],
		[{ weights: "wide" }, "[1]", "JOB_FIELD", "weights"],
		[{ new: 24 }, "[1,2]", "JOB_FIELD", "new"],
		[{}, "", "DATA_SHORT", "p"],
		[{}, "[1]\n[]\n", "DATA_SHORT", "prompt 1"],
		[{}, "[1]\n[256]\n", "DATA_RANGE", "256"],
		[{}, '[1,"2"]', "DATA_FORMAT", "line 1"],
		[{}, "[1,2", "DATA_FORMAT", "line 1"],
		[{}, "x", "DATA_CUT", "p"],
		[{ prompts: { text: "p" } }, Uint8Array.of(0xff, 0x41), "DATA_FORMAT", "UTF-8"],
		[{ model: "none/" }, "[1]", "MODEL_CONFIG", "config.json"],
	];
	for (const [job, prompts, code, part] of wrong)
		await assert.rejects(async () => build(job, prompts), isCode(code, part), JSON.stringify(job));
	await assert.rejects(build({}, "[1]", BERT), isCode("JOB_FIELD", "output"));
	const large = { ...LLAMA, vocabulary: 300 };
	await assert.rejects(build({ prompts: { text: "p" } }, "a", large), isCode("JOB_FIELD", "prompts.text"));
});
