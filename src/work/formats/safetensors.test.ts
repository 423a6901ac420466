// safetensors: what is written is read; every way in which a file can be false is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { heldFile, openSafetensors, readSafetensors, writeSafetensors } from "./safetensors.ts";

const TENSORS = [
	{ name: "h.0.weight", dims: [2, 3], values: Float32Array.of(1, -2, 0.5, 3e-9, 0, 7) },
	{ name: "bias", dims: [2], values: Float32Array.of(-1, 4) },
	{ name: "one", dims: [], values: Float32Array.of(9) },
];
/** {"a": float32 [[1, 2]]}, put together by hand. */
const KNOWN =
	"38000000000000007b2261223a7b226474797065223a22463332222c227368617065223a5b312c325d2c22646174615f6f666673657473223a5b302c385d7d7d" +
	"0000803f00000040";

test("what is written is read, and so is another writer's file", () => {
	assert.deepEqual(readSafetensors(writeSafetensors(TENSORS), "x"), TENSORS);
	const bytes = Uint8Array.from(Buffer.from(KNOWN, "hex"));
	assert.deepEqual(readSafetensors(bytes, "x"), [{ name: "a", dims: [1, 2], values: Float32Array.of(1, 2) }]);
	assert.deepEqual(writeSafetensors(readSafetensors(bytes, "x")), bytes);
});

/** A file of this header and so many bytes. */
function file(header: unknown, body: number | Uint8Array = 8, length?: bigint): Uint8Array {
	const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
	const bytes = new Uint8Array(8 + text.length + (typeof body === "number" ? body : body.length));
	new DataView(bytes.buffer).setBigUint64(0, length ?? BigInt(text.length), true);
	bytes.set(text, 8);
	if (typeof body !== "number") bytes.set(body, 8 + text.length);
	return bytes;
}
const entry = (begin: number, end: number, shape: readonly unknown[] = [(end - begin) / 4], dtype = "F32") => ({
	dtype,
	shape,
	data_offsets: [begin, end],
});
const floats = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

test("a second key for metadata is left alone", () => {
	assert.equal(readSafetensors(file({ __metadata__: { format: "pt" }, a: entry(0, 8) }), "x").length, 1);
});

test("every type that is read, with its smallest and its largest numbers", () => {
	const read = (dtype: string, of: ArrayBufferView, count: number) => {
		const bytes = new Uint8Array(of.buffer, of.byteOffset, of.byteLength);
		return [...readSafetensors(file({ a: entry(0, bytes.length, [count], dtype) }, bytes), "x")[0]!.values];
	};
	assert.deepEqual(read("F16", Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000), 5), [
		1,
		-2,
		2 ** -24,
		65_504,
		-0,
	]);
	assert.deepEqual(read("BF16", Uint16Array.of(0x3f80, 0xc040, 0x0001), 3), [1, -3, 2 ** -133]);
	assert.deepEqual(read("F64", Float64Array.of(0.1, -3), 2), [Math.fround(0.1), -3]);
	assert.deepEqual(read("I8", Int8Array.of(-128, 127), 2), [-128, 127]);
	assert.deepEqual(read("U8", Uint8Array.of(0, 255), 2), [0, 255]);
	assert.deepEqual(read("I16", Int16Array.of(-32_768, 32_767), 2), [-32_768, 32_767]);
	assert.deepEqual(read("I32", Int32Array.of(-(2 ** 31), 2 ** 24 - 1), 2), [-(2 ** 31), 2 ** 24 - 1]);
	assert.deepEqual(read("I64", BigInt64Array.of(-5n, 1n << 40n), 2), [-5, 2 ** 40]);
});

test("bfloat16 is written to the nearest, and read again as it is", () => {
	const values = Float32Array.of(1, -0.1, Math.PI, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 0);
	const [back] = readSafetensors(writeSafetensors([{ name: "a", dims: [6], values }], "BF16"), "x");
	assert.deepEqual([...back!.values], [1, -0.10009765625, 3.140625, 1, 1 + 2 ** -6, 0]);
	assert.deepEqual(readSafetensors(writeSafetensors([back!], "BF16"), "x"), [back]);
});

test("bytes that lie anywhere in a Buffer, whose slice copies nothing", () => {
	for (const type of ["F32", "BF16"] as const) {
		const bytes = writeSafetensors(TENSORS, type);
		for (const shift of [0, 1, 2, 5]) {
			const held = Buffer.concat([Buffer.alloc(64 + shift), bytes, Buffer.alloc(9)]);
			const read = readSafetensors(held.subarray(64 + shift, 64 + shift + bytes.length), "x");
			assert.deepEqual(read, readSafetensors(bytes, "x"));
			held.fill(0xff);
			assert.deepEqual(read, readSafetensors(bytes, "x"));
		}
	}
});

test("a header that is longer than its file is seen before it is read", () => {
	const bytes = file({ a: entry(0, 8) }, 8, 1000n);
	const read = (begin: number, end: number) => {
		assert.ok(end <= bytes.length);
		return bytes.subarray(begin, end);
	};
	assert.throws(() => openSafetensors({ name: "x", size: bytes.length, read }), /x: ends in its header/);
});

test("only what is asked for is read, and a tensor without numbers may stand anywhere", () => {
	const bytes = file({ a: entry(0, 4), none: entry(4, 4, [0, 3]), b: entry(4, 8) }, floats(1, Number.NaN));
	const reads: number[] = [];
	const opened = openSafetensors({
		...heldFile("x", bytes),
		read: (begin, end) => {
			reads.push(end - begin);
			return bytes.subarray(begin, end);
		},
	});
	const [a, none, b] = opened.entries;
	assert.deepEqual([[...opened.values(a!)], [...opened.values(none!)]], [[1], []]);
	assert.deepEqual(reads, [8, bytes.length - 16, 4, 0]);
	assert.throws(() => opened.values(b!), /element 0 of b is not a finite/);
});

const REFUSED: readonly [string, Uint8Array, string?][] = [
	["nothing", new Uint8Array(0)],
	["less than a length", new Uint8Array(7)],
	["a header longer than the file", file({ a: entry(0, 8) }, 8, 1000n)],
	["a header of 2^63 bytes", file({ a: entry(0, 8) }, 8, 2n ** 63n)],
	["no JSON", file("{a")],
	["bytes that are no text", file({ a: entry(0, 8) }).map((byte, i) => (i === 10 ? 0xff : byte))],
	["a list", file("[]")],
	["null", file("null")],
	["a tensor that is no object", file({ a: 1 })],
	["a surplus field", file({ a: { ...entry(0, 8), more: 1 } })],
	["a type that nobody knows", file({ a: entry(0, 8, [4], "F17") }), "WEIGHTS_TYPE"],
	["a type that is not read", file({ a: entry(0, 8, [8], "BOOL") }), "WEIGHTS_TYPE"],
	["a type of other size", file({ a: entry(0, 8, [2], "F16") }), "WEIGHTS_LAYOUT"],
	[
		"a name that stands twice",
		file('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'),
	],
	["a shape that stands twice", file('{"a":{"dtype":"F32","shape":[8],"shape":[2],"data_offsets":[0,8]}}')],
	["a million brackets", file("[".repeat(1_000_000))],
	["a million brackets around nothing", file(`{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`)],
	["a mark before the header", file(`\ufeff${JSON.stringify({ a: entry(0, 8) })}`)],
	["a negative axis", file({ a: entry(0, 8, [-2]) })],
	["half an axis", file({ a: entry(0, 8, [0.5, 4]) })],
	["nine axes", file({ a: entry(0, 4, Array(9).fill(1)) }, 4)],
	["axes beyond any memory", file({ a: entry(0, 8, [2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1]) }), "WEIGHTS_LAYOUT"],
	["a shape of other size", file({ a: entry(0, 8, [3]) }), "WEIGHTS_LAYOUT"],
	["one offset", file({ a: { ...entry(0, 8), data_offsets: [0] } }), "WEIGHTS_LAYOUT"],
	["offsets that go back", file({ a: entry(8, 0, [2]) }), "WEIGHTS_LAYOUT"],
	["a place outside", file({ a: entry(0, 12) }), "WEIGHTS_LAYOUT"],
	["a place far outside", file({ a: entry(2 ** 52, 2 ** 52 + 8) }), "WEIGHTS_LAYOUT"],
	["overlapping tensors", file({ a: entry(0, 8), b: entry(4, 12) }, 12), "WEIGHTS_LAYOUT"],
	["two names for the same bytes", file({ a: entry(0, 8), b: entry(0, 8) }), "WEIGHTS_LAYOUT"],
	["a gap between tensors", file({ a: entry(0, 4), b: entry(8, 12) }, 12), "WEIGHTS_LAYOUT"],
	["a gap before the first", file({ a: entry(4, 8) }), "WEIGHTS_LAYOUT"],
	["bytes after the last", file({ a: entry(0, 4) }), "WEIGHTS_LAYOUT"],
	["NaN", file({ a: entry(0, 8) }, floats(1, Number.NaN)), "WEIGHTS_NUMBER"],
	["infinity", file({ a: entry(0, 8) }, floats(Number.NEGATIVE_INFINITY, 1)), "WEIGHTS_NUMBER"],
	["half NaN", file({ a: entry(0, 8, [4], "F16") }, Uint8Array.of(0, 0, 0, 0, 0, 0, 1, 0x7c)), "WEIGHTS_NUMBER"],
	["half infinity", file({ a: entry(0, 8, [4], "F16") }, Uint8Array.of(0, 0x7c, 0, 0, 0, 0, 0, 0)), "WEIGHTS_NUMBER"],
	["bfloat NaN", file({ a: entry(0, 8, [4], "BF16") }, Uint8Array.of(0, 0, 0xc0, 0xff, 0, 0, 0, 0)), "WEIGHTS_NUMBER"],
	[
		"a double beyond float32",
		file({ a: entry(0, 8, [1], "F64") }, new Uint8Array(Float64Array.of(1e39).buffer)),
		"WEIGHTS_NUMBER",
	],
	["a name with an escape", file({ "a\u001b[2J": entry(0, 8) })],
	["an empty name", file({ "": entry(0, 8) })],
	["a very long name", file({ ["a".repeat(300)]: entry(0, 8) })],
];
for (const [what, bytes, code = "WEIGHTS_FILE"] of REFUSED)
	test(`refused: ${what}`, () => {
		assert.throws(
			() => readSafetensors(bytes, "x.safetensors"),
			(error) => error instanceof AssayError && error.code === code && error.message.startsWith("x.safetensors: "),
		);
	});
