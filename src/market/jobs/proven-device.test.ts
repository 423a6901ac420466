// The device that works is the fastest GPU, else the fastest CPU, and counts by the least that was proven of
// each figure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { provenDevice } from "./proven-device.ts";

const NAMES = ["memory.resident", "gemm.int8", "memory.bandwidth"] as const;
const proved = (device: number, ...values: readonly number[]) =>
	values.map((value, i) => ({ device, name: NAMES[i]!, value }));
const facts = (memoryBytes: number, int8OpsPerS: number, bytesPerS: number) => ({
	memoryBytes,
	int8OpsPerS,
	bytesPerS,
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
