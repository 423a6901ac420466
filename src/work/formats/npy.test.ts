// Array files: what NumPy writes is read; a changed header, a cut file and numbers that are none are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { npyBytes } from "./arrays.test-kit.ts";
import { readNpy } from "./npy.ts";

const bytesOf = (array: { readonly buffer: ArrayBuffer }) => new Uint8Array(array.buffer);
/** numpy.save of numpy.arange(6, dtype="<i4").reshape(2, 3), as NumPy 2.4 writes it. */
const KNOWN =
	"934e554d5059010076007b276465736372273a20273c6934272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c2033292c207d202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a" +
	"000000000100000002000000030000000400000005000000";

test("a file of NumPy is read, and ours is the same", () => {
	const bytes = Uint8Array.from(Buffer.from(KNOWN, "hex"));
	const { dims, type, values } = readNpy(bytes, "x.npy");
	assert.deepEqual([dims, type, [...values]], [[2, 3], "i32", [0, 1, 2, 3, 4, 5]]);
	assert.deepEqual(npyBytes("<i4", [2, 3], bytesOf(Int32Array.of(0, 1, 2, 3, 4, 5))), bytes);
});

test("every type gives its numbers", () => {
	const all: readonly [string, { buffer: ArrayBuffer }, (number | bigint)[]][] = [
		["|i1", Int8Array.of(-128, 127), [-128, 127]],
		["|u1", Uint8Array.of(0, 255), [0, 255]],
		["<i2", Int16Array.of(-32768, 1), [-32768, 1]],
		["<u2", Uint16Array.of(65535, 1), [65535, 1]],
		["<i4", Int32Array.of(-(2 ** 31), 1), [-(2 ** 31), 1]],
		["<u4", Uint32Array.of(2 ** 32 - 1, 1), [2 ** 32 - 1, 1]],
		["<i8", BigInt64Array.of(-(2n ** 63n), 1n), [-(2n ** 63n), 1n]],
		["<f4", Float32Array.of(0.5, -3), [0.5, -3]],
		["<f8", Float64Array.of(0.1, -3), [0.1, -3]],
	];
	for (const [descr, array, wanted] of all)
		assert.deepEqual([...readNpy(npyBytes(descr, [2], bytesOf(array)), "x").values], wanted);
});

const good = npyBytes("<f4", [3], bytesOf(Float32Array.of(1, 2, 3)));
const changed = (at: number, byte: number) => good.map((old, i) => (i === at ? byte : old));
const header = (text: string) => {
	const bytes = new TextEncoder().encode(text);
	return Uint8Array.from([...good.subarray(0, 8), bytes.length & 255, bytes.length >> 8, ...bytes]);
};
const REFUSED: readonly [string, Uint8Array][] = [
	["another magic", changed(0, 0)],
	["version 9", changed(6, 9)],
	["a header of 60,000 bytes", changed(9, 0xea)],
	["cut in the magic", good.subarray(0, 5)],
	["cut in the header", good.subarray(0, 40)],
	["cut in the numbers", good.subarray(0, good.length - 1)],
	["surplus bytes", Uint8Array.from([...good, 0])],
	["NaN", npyBytes("<f4", [1], bytesOf(Float32Array.of(Number.NaN)))],
	["infinity", npyBytes("<f8", [1], bytesOf(Float64Array.of(Number.POSITIVE_INFINITY)))],
	["big-endian", npyBytes(">i4", [1], new Uint8Array(4))],
	["objects", npyBytes("|O8", [1], new Uint8Array(8))],
	["Fortran order", header("{'descr': '<i4', 'fortran_order': True, 'shape': (1,), }\n")],
	["a huge shape", header("{'descr': '|i1', 'fortran_order': False, 'shape': (4294967295, 4294967295), }\n")],
	["a negative shape", header("{'descr': '|i1', 'fortran_order': False, 'shape': (-1,), }\n")],
	["code in the header", header("{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,), }\n")],
];
for (const [what, bytes] of REFUSED)
	test(`refused: ${what}`, () => {
		assert.throws(
			() => readNpy(bytes, "x.npy"),
			(error) => error instanceof AssayError && error.code === "DATA_FORMAT" && error.message.startsWith("x.npy"),
		);
	});
