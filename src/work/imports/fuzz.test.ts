// Changed files: 2,000 in every run, 100,000 in the deep tier. The loader gives a model or an AssayError,
// never anything else, and a model that it gives has every tensor in its shape.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, isDeep, scaled, seed } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { type Architecture, modelTensors } from "./architecture.ts";
import { jobModel } from "./open-model.ts";
import { randomModel } from "./random-model.ts";
import { TINY } from "./tiny-models.ts";
import { configText, modelParts } from "./write-model.ts";

const RUNS = isDeep ? 100_000 : scaled(2000);
const SMALL = { layers: 1, width: 4, heads: 2, kvHeads: 1, headWidth: 2, hidden: 3, vocabulary: 5, context: 4 };
const WORDS = [
	"0",
	"-1",
	"1e99",
	"4294967296",
	"9007199254740993",
	"null",
	'"F16"',
	'"F64"',
	"[]",
	"{}",
	"true",
	"2",
	"3",
	"8",
	'"\\u0000"',
	"1.5",
];

const encode = (text: string) => new TextEncoder().encode(text);

/** The three kinds of file of a model, in one family after the other. */
const BASES = (["gpt2", "llama", "qwen2", "bert"] as const).map((family) => {
	const kvHeads = family === "gpt2" || family === "bert" ? SMALL.heads : SMALL.kvHeads;
	const model = randomModel({ ...TINY[family], ...SMALL, kvHeads } as Architecture, new Uint8Array(8));
	const weights = concatBytes(...modelParts(model, family === "llama" ? "BF16" : "F32"));
	const length = new DataView(weights.buffer).getUint32(0, true);
	const header = JSON.parse(new TextDecoder().decode(weights.subarray(8, 8 + length)));
	const weight_map = Object.fromEntries(Object.keys(header).map((name) => [name, "model.safetensors"]));
	return {
		...{ "config.json": encode(configText(model)), "model.safetensors": weights },
		"model.safetensors.index.json": encode(JSON.stringify({ metadata: {}, weight_map })),
	};
});
type FileName = "config.json" | "model.safetensors" | "model.safetensors.index.json";

interface Change {
	readonly kind: "flip" | "cut" | "insert" | "number" | "swap" | "length";
	readonly at: number;
	readonly value: number;
}

/** In a safetensors file most changes hit the header: that is where lies are. */
function changed(bytes: Uint8Array, { kind, at, value }: Change, isWeights: boolean): Uint8Array {
	const head = isWeights ? 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) : bytes.length;
	const place = Math.floor(at * (at < 0.9 ? Math.min(head, bytes.length) : bytes.length));
	const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
	if (kind === "cut") return concatBytes(before, after.subarray(value % 64));
	if (kind === "insert") return concatBytes(before, Uint8Array.of(value, value >> 8), after);
	if (kind === "flip") return bytes.with(Math.min(place, bytes.length - 1), value & 255);
	if (kind === "length" && isWeights)
		return concatBytes(Uint8Array.of(value, value >> 8, value >> 16), bytes.subarray(3));
	if (kind === "swap") return concatBytes(after, before);
	// A number of the header becomes something else, and the header's length fits again.
	const text = new TextDecoder().decode(bytes.subarray(isWeights ? 8 : 0, head));
	const numbers = [...text.matchAll(/\d+(\.\d+)?|"[FBI]+\d+"|true|false/g)];
	const one = numbers[Math.floor(at * numbers.length)];
	if (one === undefined) return bytes;
	const word = WORDS[value % WORDS.length]!;
	const json = encode(text.slice(0, one.index) + word + text.slice(one.index + one[0].length));
	if (!isWeights) return json;
	const size = new Uint8Array(8);
	new DataView(size.buffer).setUint32(0, json.length, true);
	return concatBytes(size, json, bytes.subarray(head));
}

const change = fc.record({
	kind: fc.constantFrom<Change["kind"][]>("flip", "cut", "insert", "number", "number", "swap", "length"),
	// Not fc.double, which is near 0 most of the time.
	at: fc.nat(999_999).map((x) => x / 1e6),
	value: fc.nat(),
});
const file = fc.constantFrom<FileName[]>(
	"config.json",
	"model.safetensors",
	"model.safetensors",
	"model.safetensors.index.json",
);
const cases = fc.record({
	base: fc.nat(BASES.length - 1),
	file,
	isSharded: fc.boolean(),
	changes: fc.array(change, { minLength: 1, maxLength: 2 }),
});

type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never;

test(`${RUNS} changed files of models: a model or a refusal`, async () => {
	const ends = new Map<string, number>();
	const end = (code: string) => ends.set(code, (ends.get(code) ?? 0) + 1);
	const run = async ({ base, file: name, isSharded, changes }: Case) => {
		const files: Record<FileName, Uint8Array> = { ...BASES[base]! };
		for (const one of changes) files[name] = changed(files[name], one, name === "model.safetensors");
		try {
			const model = await jobModel("m", (path) => {
				const found = files[path.slice(2) as FileName];
				if (found === undefined || (path.endsWith("index.json") && !isSharded))
					throw new AssayError("FILE_UNREADABLE", path);
				return found;
			});
			for (const { name: tensor, dims } of modelTensors(model.architecture)) {
				const { values } = model.tensor(tensor);
				assert.equal(
					values.length,
					dims.reduce((product, dim) => product * dim, 1),
				);
				assert.ok(values.every(Number.isFinite));
			}
			end("read");
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			assert.notEqual(error.code, "");
			end(error.code);
		}
	};
	await fc.assert(fc.asyncProperty(cases, run), { numRuns: RUNS, seed });
	// The changes reach every check, not only the first one.
	if (RUNS >= 2000)
		for (const code of [
			...["read", "WEIGHTS_FILE", "WEIGHTS_LAYOUT", "WEIGHTS_TYPE", "WEIGHTS_NUMBER", "MODEL_CONFIG", "MODEL_SHARDS"],
			...["MODEL_ARCHITECTURE", "MODEL_TENSOR_MISSING", "MODEL_TENSOR_SHAPE"],
		])
			assert.ok((ends.get(code) ?? 0) > 0, `no change led to ${code}: ${JSON.stringify([...ends])}`);
});
