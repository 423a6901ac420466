// Each device counts by itself, and by the least that was proven of each of its figures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { provenDevices } from "./proven-devices.ts";

const NAMES = ["memory.resident", "gemm.int8", "memory.bandwidth"] as const;
const proved = (device: number, ...values: readonly number[]) =>
	values.map((value, i) => ({ device, name: NAMES[i]!, value }));
const facts = (device: number, memoryBytes: number, int8OpsPerS: number, bytesPerS: number, int32OpsPerS = 0) => ({
	...{ device, memoryBytes, int8OpsPerS, bytesPerS, int32OpsPerS },
});
const GPU = { device: 0, kind: "gpu" };
const CPU = { device: 2, kind: "cpu" };

test("every GPU and CPU that proved its speed, the fastest first, each by its own least figures", () => {
	const devices = [GPU, { device: 1, kind: "gpu" }, CPU, { device: 3, kind: "disk" }];
	const figures = [0, 1, 2, 3].flatMap((n) => proved(n, 10 * (n + 1), 100 * (n + 1), 1000 * (n + 1)));
	const all = [facts(2, 30, 300, 3000), facts(1, 20, 200, 2000), facts(0, 10, 100, 1000)];
	assert.deepEqual(provenDevices(figures, devices), all);
	assert.deepEqual(provenDevices(figures.toReversed(), devices.toReversed()), all);
	assert.deepEqual(provenDevices(figures, [CPU]), [facts(2, 30, 300, 3000)]);
	assert.deepEqual(provenDevices([...figures, ...proved(1, 21, 150, 1900)], devices)[1], facts(1, 20, 150, 1900));
	const alike = [0, 1].flatMap((n) => proved(n, 1, 1, 1));
	assert.deepEqual(
		provenDevices(alike, devices).map(({ device }) => device),
		[0, 1],
	);
});

test("32-bit operations: the proven ones, else half of what fp32 did, else none", () => {
	const of = (...named: readonly (readonly [string, number])[]) =>
		provenDevices([...proved(0, 10, 100, 1000), ...named.map(([name, value]) => ({ device: 0, name, value }))], [GPU]);
	assert.deepEqual(of(["fma.int32", 7], ["fma.fp32", 90]), [facts(0, 10, 100, 1000, 7)]);
	assert.deepEqual(of(["fma.int32", 7], ["fma.int32", 6]), [facts(0, 10, 100, 1000, 6)]);
	assert.deepEqual(of(["fma.fp32", 91]), [facts(0, 10, 100, 1000, 45)]);
	assert.deepEqual(of(), [facts(0, 10, 100, 1000)]);
});

test("what proved no speed does not work; what proved no memory has none", () => {
	assert.deepEqual(provenDevices([], [GPU]), []);
	assert.deepEqual(provenDevices(proved(0, 10, 100), [GPU]), []);
	assert.deepEqual(provenDevices(proved(0, 10, 0, 5), [GPU]), []);
	assert.deepEqual(provenDevices(proved(0, 10, 5, 0), [GPU]), []);
	assert.deepEqual(provenDevices(proved(0, 10, 1, 1), [GPU]), [facts(0, 10, 1, 1)]);
	assert.deepEqual(provenDevices(proved(0, 10, 5, 5).slice(1), [GPU]), [facts(0, 0, 5, 5)]);
	assert.deepEqual(provenDevices([...proved(0, 9), ...proved(2, 1, 1, 1)], [GPU, CPU]), [facts(2, 1, 1, 1)]);
	assert.deepEqual(provenDevices(proved(0, 1, 1, 1), []), []);
});
