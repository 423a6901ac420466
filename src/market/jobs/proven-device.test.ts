// The device that works is the fastest GPU, else the fastest CPU, and counts by the least that was proven of
// each figure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { provenDevice } from "./proven-device.ts";

const NAMES = ["memory.resident", "gemm.int8", "memory.bandwidth"] as const;
const proved = (device: number, ...values: readonly number[]) =>
	values.map((value, i) => ({ device, name: NAMES[i]!, value }));
const facts = (memoryBytes: number, int8OpsPerS: number, bytesPerS: number, int32OpsPerS = 0) => ({
	memoryBytes,
	int8OpsPerS,
	bytesPerS,
	int32OpsPerS,
});
const GPU = { device: 0, kind: "gpu" };
const CPU = { device: 2, kind: "cpu" };

test("a GPU before a CPU, the faster one of two, each by its own least figures", () => {
	const devices = [GPU, { device: 1, kind: "gpu" }, CPU];
	const figures = [...proved(0, 10, 100, 1000), ...proved(1, 20, 200, 2000), ...proved(2, 30, 300, 3000)];
	assert.deepEqual(provenDevice(figures, devices), facts(20, 200, 2000));
	assert.deepEqual(provenDevice(figures.toReversed(), devices.toReversed()), facts(20, 200, 2000));
	assert.deepEqual(provenDevice(figures, [CPU]), facts(30, 300, 3000));
	assert.deepEqual(provenDevice([...figures, ...proved(1, 21, 150, 1900)], devices), facts(20, 150, 1900));
});

test("32-bit operations: the proven ones, else half of what fp32 did, else none", () => {
	const of = (...named: readonly (readonly [string, number])[]) =>
		provenDevice([...proved(0, 10, 100, 1000), ...named.map(([name, value]) => ({ device: 0, name, value }))], [GPU]);
	assert.deepEqual(of(["fma.int32", 7], ["fma.fp32", 90]), facts(10, 100, 1000, 7));
	assert.deepEqual(of(["fma.int32", 7], ["fma.int32", 6]), facts(10, 100, 1000, 6));
	assert.deepEqual(of(["fma.fp32", 91]), facts(10, 100, 1000, 45));
	assert.deepEqual(of(), facts(10, 100, 1000, 0));
});

test("who proved no speed does not work; who proved no memory has none", () => {
	assert.equal(provenDevice([], [GPU]), null);
	assert.equal(provenDevice(proved(0, 10, 100), [GPU]), null);
	assert.equal(provenDevice(proved(0, 10, 0, 5), [GPU]), null);
	assert.equal(provenDevice(proved(0, 10, 5, 0), [GPU]), null);
	assert.deepEqual(provenDevice(proved(0, 10, 1, 1), [GPU]), facts(10, 1, 1));
	assert.deepEqual(provenDevice(proved(0, 10, 5, 5).slice(1), [GPU]), facts(0, 5, 5));
	assert.deepEqual(provenDevice([...proved(0, 9), ...proved(2, 1, 1, 1)], [GPU, CPU]), facts(1, 1, 1));
	assert.equal(provenDevice(proved(0, 1, 1, 1), []), null);
});
