// Models from files: what was written is read, whatever the prefix, the shards and the number types; every
// way in which files do not fit is refused with the tensor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { type FloatTensor, heldFile, readSafetensors, writeSafetensors } from "../formats/safetensors.ts";
import { type Architecture, type ImportedModel, modelTensors } from "./architecture.ts";
import { jobModel } from "./open-model.ts";
import { randomModel } from "./random-model.ts";
import { writeConfig } from "./read-config.ts";
import { readModel } from "./read-model.ts";
import { TINY } from "./tiny-models.ts";
import { configText, modelParts } from "./write-model.ts";

const SEED = new Uint8Array(32).fill(3);
const SMALL = { width: 8, heads: 2, kvHeads: 2, headWidth: 4, hidden: 12, vocabulary: 16, context: 8 };
const small = (family: keyof typeof TINY): Architecture => ({ ...TINY[family], ...SMALL });
const bytesOf = (model: ImportedModel, type: "F32" | "BF16" = "F32") => concatBytes(...modelParts(model, type));
const tensorsOf = (model: ImportedModel): FloatTensor[] => readSafetensors(bytesOf(model), "x");
const fromTensors = (architecture: Architecture, tensors: readonly FloatTensor[]) =>
	readModel({
		config: writeConfig(architecture),
		shards: [heldFile("model.safetensors", writeSafetensors(tensors))],
	});

function assertSame(a: ImportedModel, b: ImportedModel): void {
	assert.deepEqual(a.architecture, b.architecture);
	for (const { name } of modelTensors(a.architecture)) assert.deepEqual(a.tensor(name), b.tensor(name), name);
	assert.deepEqual(a.tensor("head.weight"), b.tensor("head.weight"));
}

for (const family of ["gpt2", "llama", "qwen2", "bert"] as const) {
	const model = randomModel(small(family), SEED);
	const tensors = tensorsOf(model);

	test(`${family}: what was written is read, with the family's prefix and without`, () => {
		assertSame(fromTensors(model.architecture, tensors), model);
		const bare = tensors.map((one) => ({ ...one, name: one.name.replace(/^(transformer|model|bert)\./, "") }));
		assert.notDeepEqual(bare[0]!.name, tensors[0]!.name);
		assertSame(fromTensors(model.architecture, bare), model);
	});

	test(`${family}: each tensor is missed, each shape is looked at`, () => {
		for (const { name } of tensors) {
			const others = tensors.filter((one) => one.name !== name);
			assert.throws(() => fromTensors(model.architecture, others), { code: "MODEL_TENSOR_MISSING" });
			const shaped = tensors.map((one) =>
				one.name === name
					? {
							...one,
							dims: [...one.dims.slice(0, -1), one.dims.at(-1)! - 1],
							values: one.values.slice(one.values.length / one.dims.at(-1)!),
						}
					: one,
			);
			assert.throws(
				() => fromTensors(model.architecture, shaped),
				(error) => error instanceof AssayError && error.code === "MODEL_TENSOR_SHAPE" && error.message.includes(name),
			);
		}
	});

	test(`${family}: a surplus tensor is refused by name, buffers of other programs are not`, () => {
		const extra = (name: string): FloatTensor => ({ name, dims: [2], values: Float32Array.of(1, 2) });
		for (const name of ["layers.0.lora_A.weight", `${tensors[0]!.name}_scale`, "score.weight"])
			assert.throws(
				() => fromTensors(model.architecture, [...tensors, extra(name)]),
				(error) => error instanceof AssayError && error.code === "MODEL_TENSOR_SURPLUS" && error.message.includes(name),
			);
		const buffers = {
			gpt2: "transformer.h.0.attn.bias",
			llama: "model.layers.1.self_attn.rotary_emb.inv_freq",
			qwen2: "model.layers.1.self_attn.rotary_emb.inv_freq",
			bert: "cls.predictions.transform.dense.weight",
		};
		const read = fromTensors(model.architecture, [...tensors, extra(buffers[family])]);
		assert.deepEqual(read.unused, [buffers[family]]);
		assertSame(read, model);
	});
}

test("GPT-2's weights are turned and its q, k, v are told apart", () => {
	const model = randomModel(small("gpt2"), SEED);
	const qkv = tensorsOf(model).find(({ name }) => name === "transformer.h.1.attn.c_attn.weight")!;
	assert.deepEqual(qkv.dims, [8, 24]);
	const k = model.tensor("layers.1.k.weight");
	for (let o = 0; o < 8; o++) for (let i = 0; i < 8; i++) assert.equal(k.values[o * 8 + i], qkv.values[i * 24 + 8 + o]);
});

test("the first bert's names of norms are known", () => {
	const model = randomModel(small("bert"), SEED);
	const old = tensorsOf(model).map((one) => ({
		...one,
		name: one.name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
	}));
	assertSame(fromTensors(model.architecture, old), model);
});

test("a tied head may be in the file if it is the embedding, and not otherwise", () => {
	const model = randomModel(small("llama"), SEED);
	const tokens = tensorsOf(model)[0]!;
	const withHead = (values: Float32Array) => [...tensorsOf(model), { ...tokens, name: "lm_head.weight", values }];
	assertSame(fromTensors(model.architecture, withHead(tokens.values)), model);
	assert.throws(() => fromTensors(model.architecture, withHead(tokens.values.map((x) => -x))), {
		code: "MODEL_TENSOR_SURPLUS",
	});
	const untied = randomModel({ ...model.architecture, isTied: false }, SEED);
	assertSame(fromTensors(untied.architecture, tensorsOf(untied)), untied);
});

test("NaN and numbers that no weight has are refused with tensor and place, when the tensor is read", () => {
	const { architecture, ...rest } = randomModel(small("llama"), SEED);
	const tensors = tensorsOf({ architecture, ...rest });
	for (const bad of [Number.NaN, Number.NEGATIVE_INFINITY, 40_000]) {
		const harmed = tensors.map((one) =>
			one.name === "model.layers.1.mlp.up_proj.weight" ? { ...one, values: one.values.with(5, bad) } : one,
		);
		const read = fromTensors(architecture, harmed);
		read.tensor("layers.0.up.weight");
		assert.throws(
			() => read.tensor("layers.1.up.weight"),
			(error) =>
				error instanceof AssayError &&
				error.code === "WEIGHTS_NUMBER" &&
				/element 5 of model\.layers\.1\.mlp\.up_proj\.weight/.test(error.message),
		);
	}
});

test("two files without an index must not have the same tensor", () => {
	const { architecture } = randomModel(small("llama"), SEED);
	const tensors = tensorsOf(randomModel(architecture, SEED));
	const shard = (name: string, of: readonly FloatTensor[]) => heldFile(name, writeSafetensors(of));
	const read = (second: readonly FloatTensor[]) =>
		readModel({ config: writeConfig(architecture), shards: [shard("a", tensors.slice(2)), shard("b", second)] });
	assertSame(read(tensors.slice(0, 2)), randomModel(architecture, SEED));
	assert.throws(() => read(tensors.slice(0, 3)), { code: "MODEL_SHARDS" });
});

/** A folder of files by name, as a job names them. */
const folderOf = (files: Readonly<Record<string, Uint8Array | string>>) =>
	jobModel("some/model/", (path) => {
		const file = files[path.replace(/^some\/model\//, "")];
		if (file === undefined) throw new AssayError("FILE_UNREADABLE", `cannot read ${path}`);
		return typeof file === "string" ? new TextEncoder().encode(file) : file;
	});

/** Half of the tensors in each file. */
function sharded(model: ImportedModel) {
	const tensors = tensorsOf(model);
	const file = (i: number) => `model-0000${i + 1}-of-00002.safetensors`;
	const of = (i: number) => tensors.filter((_, at) => at % 2 === i);
	const weight_map = Object.fromEntries(tensors.map(({ name }, at) => [name, file(at % 2)]));
	return { files: [0, 1].map((i) => [file(i), of(i)] as const), weight_map };
}

test("shards are put together by their index", async () => {
	const model = randomModel(small("qwen2"), SEED);
	const { files, weight_map } = sharded(model);
	const shards = Object.fromEntries(files.map(([name, tensors]) => [name, writeSafetensors(tensors)]));
	const folder = { "config.json": configText(model), ...shards };
	const index = (map: unknown, more = {}) => JSON.stringify({ metadata: { total_size: 1 }, weight_map: map, ...more });
	const open = (map: unknown, over = {}) =>
		folderOf({ ...folder, "model.safetensors.index.json": index(map), ...over });
	assertSame(await open(weight_map), model);
	const [[first, tensors], [second, others]] = files as [(typeof files)[0], (typeof files)[0]];
	const name = tensors[0]!.name;
	const refused: readonly [string, Promise<unknown>][] = [
		["a tensor in another shard than the index says", open({ ...weight_map, [name]: second })],
		["a tensor that no shard has", open({ ...weight_map, "model.more.weight": first })],
		["a tensor that the index does not name", open(Object.fromEntries(Object.entries(weight_map).slice(1)))],
		["a tensor in two shards", open(weight_map, { [second]: writeSafetensors([...others, tensors[0]!]) })],
		["a path out of the folder", open({ ...weight_map, [name]: "../secret.safetensors" })],
		["a path into another", open({ ...weight_map, [name]: "/etc/passwd" })],
		["a number", open({ ...weight_map, [name]: 7 })],
		["no map", open(null)],
		["an empty map", open({})],
		["a map that is a list", open([first])],
		["no JSON", folderOf({ ...folder, "model.safetensors.index.json": "{" })],
		[
			"a field that stands twice",
			folderOf({ ...folder, "model.safetensors.index.json": '{"weight_map":{},"weight_map":{}}' }),
		],
	];
	for (const [what, opened] of refused) await assert.rejects(opened, { code: "MODEL_SHARDS" }, what);
	const { [second]: _, ...cut } = folder as Record<string, Uint8Array | string>;
	await assert.rejects(folderOf({ ...cut, "model.safetensors.index.json": index(weight_map) }), {
		code: "FILE_UNREADABLE",
	});
});

test("a folder without config.json, with a broken one, or without weights", async () => {
	const model = randomModel(small("llama"), SEED);
	const weights = { "model.safetensors": bytesOf(model) };
	assertSame(await folderOf({ ...weights, "config.json": configText(model) }), model);
	await assert.rejects(folderOf(weights), { code: "MODEL_CONFIG" });
	for (const text of ["", "{", "[]", "\ufffe", configText(model).replace("{", '{"hidden_size": 3,')])
		await assert.rejects(folderOf({ ...weights, "config.json": text }), { code: "MODEL_CONFIG" }, text);
	await assert.rejects(folderOf({ "config.json": configText(model) }), { code: "FILE_UNREADABLE" });
});

test("bfloat16 and float16 files are read, and a BF16 file is half the size", () => {
	const model = randomModel(small("gpt2"), SEED);
	const bytes = bytesOf(model, "BF16");
	const read = readModel({ config: writeConfig(model.architecture), shards: [heldFile("m", bytes)] });
	assert.deepEqual(read.types, { BF16: modelTensors(model.architecture).length });
	const [a, b] = [read.tensor("layers.0.k.weight").values, model.tensor("layers.0.k.weight").values];
	for (let i = 0; i < a.length; i++) assert.ok(Math.abs(a[i]! - b[i]!) <= Math.abs(b[i]!) * 2 ** -8);
});
