// The curve of a sustained run and its ratio of last to best tenth.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RootRecord } from "../../protocol/probe/records.ts";
import { sustainedRatioPpm, throughputCurve } from "./throughput-curve.ts";

const SPEC = { m: 128, n: 512, k: 128 };
const ROUND_OPS = 2 * 128 * 512 * 128;
const SENT = 5_000;

/** Roots after these gaps. */
function rootsAfter(gapsUs: readonly number[]): RootRecord[] {
	let atUs = SENT;
	return gapsUs.map((gap, index) => {
		atUs += gap;
		return { index, atUs, root: new Uint8Array(32) };
	});
}

const times = (count: number, gapUs: number) => Array.from({ length: count }, () => gapUs);

test("a steady run is flat, whatever the rounds' length", () => {
	for (const [count, gapUs] of [
		[100, 100_000],
		[7, 1_500_000],
		[3_000, 3_333],
	] as const) {
		const roots = rootsAfter(times(count, gapUs));
		const curve = throughputCurve(SPEC, SENT, roots);
		assert.equal(curve.length, Math.floor((count * gapUs) / 1e6));
		for (const { opsPerS } of curve) assert.ok(Math.abs(opsPerS / (ROUND_OPS / (gapUs / 1e6)) - 1) < 1e-4);
		assert.ok(Math.abs(sustainedRatioPpm(SPEC, SENT, roots) - 1_000_000) <= 1);
	}
});

test("a card that slows down to half shows it", () => {
	const roots = rootsAfter([...times(50, 100_000), ...times(25, 200_000)]);
	const curve = throughputCurve(SPEC, SENT, roots);
	assert.equal(curve.length, 10);
	assert.equal(curve[0]!.opsPerS, 10 * ROUND_OPS);
	assert.equal(curve[9]!.opsPerS, 5 * ROUND_OPS);
	assert.equal(sustainedRatioPpm(SPEC, SENT, roots), 500_000);
});

test("a slow start is not throttling, a fast end is no more than all", () => {
	assert.equal(sustainedRatioPpm(SPEC, SENT, rootsAfter([1_000_000, ...times(90, 100_000)])), 1_000_000);
});

test("the same work in any second: points sum up to all rounds", () => {
	const roots = rootsAfter([12_345, 999_999, 1, 1, 1_987_654, 3_000_000]);
	const curve = throughputCurve(SPEC, SENT, roots);
	const done = curve.reduce((sum, { opsPerS }) => sum + opsPerS, 0);
	assert.ok(done <= 6 * ROUND_OPS && done > 5 * ROUND_OPS);
});

test("nothing, one root, roots in one instant", () => {
	assert.deepEqual(throughputCurve(SPEC, SENT, []), []);
	assert.deepEqual(throughputCurve(SPEC, SENT, rootsAfter([0])), []);
	assert.deepEqual(throughputCurve(SPEC, SENT, rootsAfter([500_000])), [{ endUs: 500_000, opsPerS: 2 * ROUND_OPS }]);
	assert.equal(throughputCurve(SPEC, SENT, rootsAfter([500_000, 0, 0])).at(-1)!.opsPerS, 6 * ROUND_OPS);
	assert.equal(sustainedRatioPpm(SPEC, SENT, rootsAfter([1, 0, 0])), 1_000_000);
});
