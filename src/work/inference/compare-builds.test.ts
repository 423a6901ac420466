// The report's numbers on cases that are known by hand, and on the builds of a generated model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareLogits, signalToNoiseDb } from "./compare-builds.ts";

const near = (a: number | null, b: number) =>
	assert.ok(a !== null && Math.abs(a - b) < 1e-12 * Math.max(1, Math.abs(b)), `${a}, ${b}`);

test("signal to noise: a tenth off is 20 dB, nothing off is infinite", () => {
	near(signalToNoiseDb(Float64Array.of(3, -4), Float64Array.of(3.3, -4.4)), 20);
	near(signalToNoiseDb(Float64Array.of(1, 0), Float64Array.of(0, 0)), 0);
	assert.equal(signalToNoiseDb(Float64Array.of(1, 2), Float64Array.of(1, 2)), Number.POSITIVE_INFINITY);
});

test("even odds have a perplexity of their number; the same logits agree, whatever is added to all", () => {
	const flat = new Float64Array(8);
	const report = compareLogits(
		flat,
		flat.map(() => 7),
		4,
		Int32Array.of(1, 3),
	);
	near(report.perplexity, 4);
	near(report.top1, 1);
	near(report.kl, 0);
});

test("known odds: 3 to 1 against even ones", () => {
	const wide = Float64Array.of(Math.log(3), 0);
	const report = compareLogits(wide, Float64Array.of(0, 0), 2, Int32Array.of(0));
	near(report.perplexity, 2);
	near(report.kl, 0.75 * Math.log(1.5) + 0.25 * Math.log(0.5));
	const own = compareLogits(wide, wide, 2, Int32Array.of(0));
	near(own.perplexity, 4 / 3);
	near(own.kl, 0);
});

test("another favourite is no agreement; places without a next token do not count", () => {
	const wide = Float64Array.of(1, 0, 1, 0, 5, 9);
	const other = Float64Array.of(0, 1, 1, 0, 9, 5);
	near(compareLogits(wide, other, 2, Int32Array.of(0, 1, -1)).top1, 0.5);
	near(compareLogits(wide, other, 2, Int32Array.of(-1, 1, -1)).top1, 1);
	assert.deepEqual(compareLogits(wide, other, 2, Int32Array.of(-1, -1, -1)), { perplexity: null, top1: 1, kl: 0 });
});

test("logits far beyond what exp holds are no trouble", () => {
	const wide = Float64Array.of(5000, -5000, 0);
	const report = compareLogits(wide, wide, 3, Int32Array.of(0));
	near(report.perplexity, 1);
	near(report.kl, 0);
});
