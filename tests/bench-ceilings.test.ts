// What the bench puts figures beside: kernels of the same machine, then the data sheet, then earlier runs;
// nothing where nothing is known.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Ceiling, ceilingsOf, type Known } from "../bench/ceilings.ts";
import { PROFILES } from "../src/verify/hardware/identify/profiles.ts";
import { toyDevice } from "./toy/toy-claim.ts";

const H200 = PROFILES.find(({ id }) => id === "H200")!;
const NOTHING: Known = { kernels: [], earlier: [], profile: null, machine: ["NVIDIA H200"] };
const KNOWN: Known = {
	...NOTHING,
	kernels: [
		{
			machine: "NVIDIA H200",
			copyGbytesPerS: 4300,
			vendor: [
				{ precision: "fp16", tops: 720 },
				{ precision: "fp16", tops: 730 },
			],
			figures: [
				{ figure: "gemm_kernel", precision: "fp16", value: 733 },
				{ figure: "gemm_round", precision: "fp16", value: 9999 },
				{ figure: "fma_kernel", precision: "fp32", value: 30 },
			],
		},
	],
	profile: H200,
};
const card = { ...toyDevice("gpu", 0), name: "NVIDIA H200", memoryBytes: 1000 };
const of = (name: string, known: Known, device = card) => ceilingsOf({ device: 0, name }, device, known);
const texts = (ceilings: readonly Ceiling[]) => ceilings.map((c) => `${c.of} ${c.value}`);

test("a card whose kernels were measured", () => {
	assert.deepEqual(texts(of("gemm.fp16", KNOWN)), [
		"bare kernel 733000000000000",
		"cuBLAS 730000000000000",
		`data sheet of H200 ${H200.rates.fp16}`,
	]);
	assert.deepEqual(texts(of("gemm.fp16.alone", KNOWN)).slice(0, 1), ["bare kernel 733000000000000"]);
	assert.equal(of("fma.fp32", KNOWN)[0]?.value, 60e12);
	assert.equal(of("memory.bandwidth", KNOWN)[0]?.value, 4.3e12);
	assert.deepEqual(texts(of("memory.resident", KNOWN)), ["claimed 1000"]);
});

test("another card's kernels are no ceiling; the data sheet of what it proved to be is", () => {
	const other = { ...card, name: "NVIDIA H100" };
	assert.deepEqual(texts(of("gemm.fp16", KNOWN, other)), [`data sheet of H200 ${H200.rates.fp16}`]);
	assert.deepEqual(of("gemm.fp16", { ...KNOWN, profile: null }, other), []);
});

test("CPUs and disks: the best kept of the same machine; shares have no ceiling", () => {
	const figures = [{ device: 0, name: "gemm.int8", median: 5 }];
	const known: Known = {
		...KNOWN,
		machine: ["Toy processor", "Toy disk"],
		earlier: [
			{ machine: ["Toy processor"], figures },
			{ machine: ["Toy processor"], figures: [{ ...figures[0]!, median: 7 }] },
			{ machine: ["Another"], figures: [{ ...figures[0]!, median: 99 }] },
		],
	};
	const cpu = toyDevice("cpu", 0);
	assert.deepEqual(texts(of("gemm.int8", known, cpu as typeof card)), ["best kept earlier 7"]);
	assert.deepEqual(of("fma.fp32", known, cpu as typeof card), []);
	assert.deepEqual(of("scaling.int8", known, cpu as typeof card), []);
	assert.deepEqual(of("memory.resident", known, cpu as typeof card), []);
});
