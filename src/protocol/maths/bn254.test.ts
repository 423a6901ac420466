// vectors/bn254.json, which the engine reads too, against the arithmetic that verifiers use.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pippenger } from "@noble/curves/abstract/curve.js";
import { bn254 } from "@noble/curves/bn254.js";
import { bytesToHex } from "../bytes/bytes.ts";
import { keccak } from "../hash/keccak-tree.ts";
import { fromHex, vectorRows } from "../vectors.test-kit.ts";
import { bytesOf, type G1, g1Of, g2Of, sumOfMultiples, times, wordsOf } from "./bn254.ts";

type Bn254Row = Readonly<Record<string, string>>;
const ROWS = vectorRows<Bn254Row>("bn254");
const word = (hex: string | undefined) => BigInt(`0x${hex}`);

test("numbers", () => {
	const rows = ROWS.filter(({ kind }) => kind === "scalar" || kind === "coordinate");
	assert.ok(rows.length >= 90);
	for (const { kind, a, b, ...found } of rows) {
		const field = kind === "scalar" ? bn254.fields.Fr : bn254.fields.Fp;
		const [x, y] = [word(a), word(b)];
		assert.equal(word(found.sum), field.add(x, y));
		assert.equal(word(found.difference), field.sub(x, y));
		assert.equal(word(found.product), field.mul(x, y));
		assert.equal(word(found.inverse), x === 0n ? 0n : field.inv(x));
	}
});

test("sums of points, one by one, by buckets and by common doublings", () => {
	for (const row of ROWS.filter(({ kind }) => kind === "msm")) {
		const coordinates = wordsOf(fromHex(row.points!));
		const scalars = wordsOf(fromHex(row.scalars!));
		const points = scalars.map((_, i) => g1Of(coordinates[2 * i]!, coordinates[2 * i + 1]!) as G1);
		const sum = pippenger(bn254.G1.Point, points, scalars);
		const [x, y] = sum.is0() ? [0n, 0n] : [sum.toAffine().x, sum.toAffine().y];
		assert.equal(bytesToHex(bytesOf(x)) + bytesToHex(bytesOf(y)), row.sum, row.name);
		assert.ok(sumOfMultiples(points, scalars).equals(sum), row.name);
		if (points.length > 10) continue;
		const slow = points.reduce((all, point, i) => all.add(times(point, scalars[i]!)), bn254.G1.Point.ZERO);
		assert.ok(slow.equals(sum), row.name);
	}
});

test("keccak256", () => {
	for (const { a, sum } of ROWS.filter(({ kind }) => kind === "keccak"))
		assert.equal(bytesToHex(keccak(fromHex(a!))), sum);
});

test("whatever is no point is said to be none", () => {
	for (const [x, y] of [
		[1n, 0n],
		[0n, 1n],
		[1n, 1n],
	] as const)
		assert.equal(g1Of(x, y), "nowhere");
	assert.equal(g1Of(1n, bn254.fields.Fp.ORDER), "spelling");
	assert.equal(g2Of(1n, 1n, 0n, 0n), "nowhere");
	assert.equal((g1Of(0n, 0n) as G1).is0(), true);
});
