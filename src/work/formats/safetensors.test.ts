// safetensors: what is written is read; every way in which a file can be false is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";

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

const REFUSED: readonly [string, Uint8Array][] = [
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
	["another type", file({ a: entry(0, 8, [4], "F16") })],
	["a negative axis", file({ a: entry(0, 8, [-2]) })],
	["half an axis", file({ a: entry(0, 8, [0.5, 4]) })],
	["nine axes", file({ a: entry(0, 4, Array(9).fill(1)) }, 4)],
	["axes beyond any memory", file({ a: entry(0, 8, [2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1]) })],
	["a shape of other size", file({ a: entry(0, 8, [3]) })],
	["one offset", file({ a: { ...entry(0, 8), data_offsets: [0] } })],
	["offsets that go back", file({ a: entry(8, 0, [2]) })],
	["a place outside", file({ a: entry(0, 12) })],
	["a place far outside", file({ a: entry(2 ** 52, 2 ** 52 + 8) })],
	["overlapping tensors", file({ a: entry(0, 8), b: entry(4, 12) }, 12)],
	["two names for the same bytes", file({ a: entry(0, 8), b: entry(0, 8) })],
	["a gap between tensors", file({ a: entry(0, 4), b: entry(8, 12) }, 12)],
	["a gap before the first", file({ a: entry(4, 8) })],
	["bytes after the last", file({ a: entry(0, 4) })],
	["NaN", file({ a: entry(0, 8) }, floats(1, Number.NaN))],
	["infinity", file({ a: entry(0, 8) }, floats(Number.NEGATIVE_INFINITY, 1))],
	["a name with an escape", file({ "a\u001b[2J": entry(0, 8) })],
	["an empty name", file({ "": entry(0, 8) })],
	["a very long name", file({ ["a".repeat(300)]: entry(0, 8) })],
];
for (const [what, bytes] of REFUSED)
	test(`refused: ${what}`, () => {
		assert.throws(
			() => readSafetensors(bytes, "x.safetensors"),
			(error) =>
				error instanceof AssayError && error.code === "WEIGHTS_FILE" && error.message.startsWith("x.safetensors: "),
		);
	});
