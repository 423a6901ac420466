// `assay model`: a folder is looked at, written again, and its tokenizer used; what does not fit is refused
// with its code.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { modelTensors } from "../../work/imports/architecture.ts";
import { byteTokenizer } from "../../work/imports/byte-tokenizer.test-kit.ts";
import { randomModel } from "../../work/imports/random-model.ts";
import { TINY } from "../../work/imports/tiny-models.ts";
import { configText, modelParts } from "../../work/imports/write-model.ts";
import type { CliIo } from "../command.ts";
import { modelCommand } from "../commands/model.ts";
import { openModelFolder } from "./model-folder.ts";
import { openTokenizer } from "./tokenizer.ts";

const home = mkdtempSync(join(tmpdir(), "assay-models-"));
after(() => rmSync(home, { recursive: true, force: true }));
const SEED = new Uint8Array(32).fill(7);
const model = randomModel(TINY.llama, SEED);
const base = join(home, "base");
mkdirSync(base);
writeFileSync(join(base, "config.json"), configText(model));
writeFileSync(join(base, "model.safetensors"), concatBytes(...modelParts(model, "F32")));
writeFileSync(join(base, "tokenizer.json"), JSON.stringify(byteTokenizer(256)));

/** A copy of the base with one thing changed. */
function folderWith(name: string, change: (folder: string) => void): string {
	const folder = join(home, name);
	cpSync(base, folder, { recursive: true });
	change(folder);
	return folder;
}

async function run(...args: string[]): Promise<{ code: number; out: string }> {
	let out = "";
	const stream = { write: (text: string) => (out += text), isTTY: false };
	const io = { out: stream, err: stream, env: {}, cwd: home, interrupted: new AbortController().signal };
	return { code: await modelCommand.run(args, io as unknown as CliIo), out };
}

test("a model is looked at: architecture, sizes, rounding, tokenizer", async () => {
	const { code, out } = await run("import", base);
	assert.equal(code, 0);
	assert.match(
		out,
		/MAY RUN {2}llama: 2 layers of width 64, 4 heads \(2 of keys and values\), 256 tokens, context 128/,
	);
	assert.match(out, /90,432 numbers in 20 tensors/);
	assert.match(out, /256 tokens\n/);
	const json = JSON.parse((await run("import", base, "--json")).out);
	assert.deepEqual([json.verdict, json.parameters, json.tensors.length, json.tokenizer], ["may run", 90_432, 20, 256]);
	for (const { i8Db, i16Db } of json.tensors.filter((one: { dims: number[] }) => one.dims.length === 2))
		assert.ok(i8Db > 35 && i16Db > 80 && i16Db < 110, `${i8Db}, ${i16Db}`);
});

test("written again it is the same model; rounded to i8 it is what jobs compute with, and rounding it again changes nothing", async () => {
	const same = join(home, "same");
	assert.equal((await run("import", base, "--out", same)).code, 0);
	assert.deepEqual(readFileSync(join(same, "model.safetensors")), readFileSync(join(base, "model.safetensors")));
	const [once, twice] = [join(home, "once"), join(home, "twice")];
	await run("import", base, "--out", once, "--weights", "i8");
	await run("import", once, "--out", twice, "--weights", "i8");
	const file = (folder: string) => readFileSync(join(folder, "model.safetensors"));
	assert.notDeepEqual(file(once), file(base));
	assert.deepEqual(file(twice), file(once));
	assert.match((await run("import", once)).out, /as i8 .*nothing is rounded/);
	await assert.rejects(run("import", base, "--out", same), { code: "FILE_UNWRITABLE" });
});

test("refused, with exit code 1: a file that was cut, another config, a tokenizer of another model", async () => {
	const cases: readonly [string, (folder: string) => void][] = [
		["WEIGHTS_LAYOUT", (folder) => truncateSync(join(folder, "model.safetensors"), 100_000)],
		["WEIGHTS_FILE", (folder) => truncateSync(join(folder, "model.safetensors"), 100)],
		["MODEL_CONFIG", (folder) => writeFileSync(join(folder, "config.json"), "{")],
		[
			"MODEL_TENSOR_SHAPE",
			(folder) =>
				writeFileSync(join(folder, "config.json"), configText(randomModel({ ...TINY.llama, hidden: 129 }, SEED))),
		],
		[
			"MODEL_TENSOR_MISSING",
			(folder) =>
				writeFileSync(join(folder, "config.json"), configText(randomModel({ ...TINY.llama, layers: 3 }, SEED))),
		],
		[
			"MODEL_TENSOR_SURPLUS",
			(folder) =>
				writeFileSync(join(folder, "config.json"), configText(randomModel({ ...TINY.llama, layers: 1 }, SEED))),
		],
		["MODEL_ARCHITECTURE", (folder) => writeFileSync(join(folder, "config.json"), '{"model_type": "mamba"}')],
		["TOKENIZER_OTHER", (folder) => writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(byteTokenizer(257)))],
		["TOKENIZER_OTHER", (folder) => writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(byteTokenizer(200)))],
		["TOKENIZER_FILE", (folder) => writeFileSync(join(folder, "tokenizer.json"), "{}")],
		["TOKENIZER_FILE", (folder) => writeFileSync(join(folder, "tokenizer.json"), "\ufffd{")],
	];
	for (const [i, [expected, change]] of cases.entries()) {
		const { code, out } = await run("import", folderWith(`wrong${i}`, change), "--json");
		const { verdict, code: found, hint } = JSON.parse(out);
		assert.deepEqual([code, verdict, found], [1, "refused", expected]);
		assert.notEqual(hint, "");
	}
	await assert.rejects(
		run(
			"import",
			folderWith("bare", (folder) => rmSync(join(folder, "model.safetensors"))),
		),
		{
			code: "FILE_UNREADABLE",
		},
	);
});

test("text becomes token ids and text again, byte by byte", async () => {
	const text = "In the beginning ☃ wörld\n\n  \u0000tail";
	writeFileSync(join(home, "text.txt"), text);
	const { out } = await run("tokens", base, join(home, "text.txt"), "--json");
	const { tokens, bytesPerToken, file } = JSON.parse(out);
	const bytes = Buffer.from(text);
	assert.deepEqual([tokens, bytesPerToken], [bytes.length, 2]);
	assert.deepEqual([...new Uint16Array(new Uint8Array(readFileSync(file)).buffer)], [...bytes]);
	assert.equal(JSON.parse((await run("text", base, file, "--json")).out).text, text);
	writeFileSync(join(home, "far.tokens"), Uint8Array.of(0, 1));
	await assert.rejects(run("text", base, join(home, "far.tokens")), { code: "DATA_RANGE" });
	const none = folderWith("none", (folder) => rmSync(join(folder, "tokenizer.json")));
	await assert.rejects(run("tokens", none, join(home, "text.txt")), { code: "TOKENIZER_FILE" });
	writeFileSync(join(home, "no-text"), Uint8Array.of(0xff, 0xfe));
	await assert.rejects(run("tokens", base, join(home, "no-text")), { code: "DATA_FORMAT" });
});

test("numbers are read from the file where they are asked for, and the file is given back", async () => {
	const local = await openModelFolder(base);
	for (const { name } of modelTensors(TINY.llama)) assert.deepEqual(local.model.tensor(name), model.tensor(name));
	local.close();
	assert.throws(() => local.model.tensor("embed.tokens"), /EBADF/);
});

test("changed tokenizers: one that works within the model's tokens, or a refusal", async () => {
	const text = JSON.stringify(byteTokenizer(256));
	const words = ["null", "-1", "1e9", '""', "[]", "{}", '"BPE"', "true", "0.5"];
	const cases = fc.record({ at: fc.nat(999_999), word: fc.constantFrom(...words), isCut: fc.boolean() });
	await fc.assert(
		fc.asyncProperty(cases, async ({ at, word, isCut }) => {
			const values = [...text.matchAll(/(?<=:)("[^"]*"|\d+|true|false|null|\[\])/g)];
			const { index, 0: old } = values[at % values.length]!;
			const changed = isCut
				? text.slice(0, index) + text.slice(index + 1 + (at % 40))
				: text.slice(0, index) + word + text.slice(index + old.length);
			try {
				const tokenizer = await openTokenizer(new TextEncoder().encode(changed), 256);
				const ids = tokenizer.encode("Hello, world");
				assert.ok(ids.every((id) => id >= 0 && id < 256));
				tokenizer.decode(ids);
			} catch (error) {
				if (!(error instanceof AssayError)) throw error;
			}
		}),
		// The example cuts a token out of the vocabulary: it has no id then.
		{ numRuns: scaled(200), examples: [[{ at: 436_752, word: "null", isCut: true }]] },
	);
});
