// Lanes of the scalar recurrences against vectors/, bit for bit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex, concatBytes } from "../bytes/bytes.ts";
import { leafHash, merkleRoot } from "../hash/merkle.ts";
import type { FmaPrecision } from "../maths/precision.ts";
import { fromHex, vectorRows } from "../vectors.test-kit.ts";
import { laneBytes } from "./recurrence.ts";

const rows = vectorRows<{ precision: FmaPrecision; seed: string; lane: number; steps: number; bits: string }>(
	"recurrence",
);
const littleEndian = (bits: string) => bits.match(/../g)!.reverse().join("");

test("lanes end in the bits of the vectors", () => {
	for (const { precision, seed, lane, steps, bits } of rows)
		assert.equal(bytesToHex(laneBytes(precision, fromHex(seed), lane, steps)), littleEndian(bits));
});

test("another lane, seed or number of steps ends in other bits", () => {
	for (const { precision, seed, lane, steps, bits } of rows.filter((row) => row.steps === 512)) {
		const other = fromHex(seed);
		other[7]! ^= 128;
		assert.notEqual(bytesToHex(laneBytes(precision, other, lane, steps)), littleEndian(bits));
		assert.notEqual(bytesToHex(laneBytes(precision, fromHex(seed), lane ^ 1, steps)), littleEndian(bits));
		assert.notEqual(bytesToHex(laneBytes(precision, fromHex(seed), lane, steps + 512)), littleEndian(bits));
	}
});

test("a whole round has the root of the vectors", () => {
	for (const row of vectorRows<{ precision: FmaPrecision; lanes: number; steps: number; seed: string; root: string }>(
		"fma-round",
	)) {
		const lanes = Array.from({ length: row.lanes }, (_, lane) =>
			laneBytes(row.precision, fromHex(row.seed), lane, row.steps),
		);
		const bytes = concatBytes(...lanes);
		const leaves = Array.from({ length: bytes.length / 1024 }, (_, i) =>
			leafHash(bytes.subarray(1024 * i, 1024 * i + 1024)),
		);
		assert.equal(bytesToHex(merkleRoot(leaves)), row.root);
	}
});
