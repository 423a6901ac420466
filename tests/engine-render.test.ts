// Pictures on the real engine: the first pass of each sample is that of the plain machine; a tracer in
// doubles, which shares no code with the program, sees the same mean colours in every part of the picture.
// The samples' claims are compared in samples.test.ts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { numbersFrom, settlingSample } from "../src/work/builder/samples.test-kit.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
} from "../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import { orThrow } from "../src/work/program/fault.ts";
import { sealProgram } from "../src/work/program/open-program.ts";
import { createMachine } from "../src/work/program/run-program.ts";
import { floatTraced } from "../src/work/render/float-tracer.test-kit.ts";
import { ONE } from "../src/work/render/numbers.ts";
import { readMeshes } from "../src/work/render/read-meshes.ts";
import { readScene } from "../src/work/render/read-scene.ts";
import { buildWorkload } from "../src/work/workloads/build-workload.ts";
import { readJob } from "../src/work/workloads/read-job.ts";
import type { Workload } from "../src/work/workloads/workload.ts";
import { cpuEngine } from "./samples.test-kit.ts";

const samples = join(import.meta.dirname, "../samples");
const sample = (name: string): Uint8Array => readFileSync(join(samples, name));
const json = (name: string) => JSON.parse(sample(name).toString()) as Record<string, unknown>;

let engine: Awaited<ReturnType<typeof cpuEngine>>;
before(async () => {
	engine = await cpuEngine();
});
after(() => engine.close());

/** State and result by name after all passes. */
async function onEngine({ program, seed, given, segments }: Workload): Promise<{ tensor: (name: string) => Elements }> {
	const session = await engine.open({ device: 0, program: encodeProgram(program), seed });
	for (const [i, { name }] of program.tensors.entries())
		if (given[name] !== undefined) await session.write(i, elementsToBytes(given[name]));
	await session.run({ first: 0, count: segments + 1 });
	const found = new Map<string, Elements>();
	for (const [i, { name, kind, type, dims }] of program.tensors.entries())
		if (kind === "state" || kind === "result")
			found.set(
				name,
				bytesToElements(await session.fetch(i, 0, elementCount(dims) * bytesOf(type)), type, elementCount(dims))!,
			);
	await session.release();
	return { tensor: (name) => found.get(name)! };
}

test("loops that come to rest, and those that only seem to, end alike on the engine and the plain machine", async () => {
	const { program, given } = settlingSample();
	const seed = new Uint8Array(32);
	const { tensor } = await onEngine({ program, given, seed, segments: 1, metrics: [], files: [] });
	const machine = createMachine(orThrow(sealProgram(program)), seed, given);
	machine.runSegment();
	machine.runSegment();
	for (const [i, { name, kind }] of program.tensors.entries())
		if (kind === "result") assert.deepEqual(tensor(name), machine.tensors[i], name);
});

for (const name of ["render-cornell.json", "render-vase.json", "render-spheres.json"])
	test(`${name}: the plain machine's first pass is the engine's, and its files are made`, async () => {
		const workload = await buildWorkload(readJob({ ...json(name), passes: 1 }), sample);
		const { tensor } = await onEngine(workload);
		const machine = createMachine(orThrow(sealProgram(workload.program)), workload.seed, workload.given);
		machine.runSegment();
		machine.runSegment();
		for (const [i, one] of workload.program.tensors.entries())
			if (one.kind === "state" || one.kind === "result")
				assert.deepEqual(tensor(one.name), machine.tensors[i], one.name);
		const made = await Promise.all(workload.files.map((file) => file.make(tensor)));
		assert.deepEqual(
			made.map((bytes) => String.fromCharCode(...bytes.subarray(1, 4))),
			["PNG", "?RA"],
		);
	});

/** Mean light of square parts of a picture, by colour. */
function parts(
	light: (pixel: number, channel: number) => number,
	width: number,
	height: number,
	side: number,
): number[] {
	const means: number[] = [];
	for (let top = 0; top < height; top += side)
		for (let left = 0; left < width; left += side)
			for (let channel = 0; channel < 3; channel++) {
				let sum = 0;
				for (let i = 0; i < side * side; i++)
					sum += light((top + Math.floor(i / side)) * width + left + (i % side), channel);
				means.push(sum / side / side);
			}
	return means;
}

/** Turned meshes belong to other tests: the tracer in doubles does not turn them. */
const unturned = (scene: string): Uint8Array =>
	new TextEncoder().encode(scene.replace(/"rotate": \[[^\]]*\]/, '"rotate": [0, 0, 0]'));

/** Largest and mean of |a − b|, each by what there is. */
function difference(a: readonly number[], b: readonly number[]): { most: number; mean: number } {
	const off = a.map((one, i) => Math.abs(one - b[i]!) / (0.1 + b[i]!));
	return { most: Math.max(...off), mean: off.reduce((sum, one) => sum + one, 0) / off.length };
}

// With 1,500 and 600 passes the means of the whole pictures are within 0.2 % and 0.03 %, those of parts
// within 3.1 % and 1.6 %: what is left is noise.
for (const [name, passes, limit] of [
	["cornell", 160, { most: 0.12, mean: 0.04 }],
	["spheres", 48, { most: 0.06, mean: 0.015 }],
] as const)
	test(`a tracer in doubles sees the same colours: ${name}`, async () => {
		const [width, height, bounces] = [24, 24, 5];
		const scene = unturned(sample(`scenes/${name}.json`).toString());
		const job = readJob({
			...json(`render-${name}.json`),
			size: [width, height],
			passes,
			bounces,
			passesPerSegment: passes,
		});
		const workload = await buildWorkload(job, (file) => (file.endsWith(`${name}.json`) ? scene : sample(file)));
		const sums = (await onEngine(workload)).tensor("sums");
		const own = parts((i, channel) => Number(sums[channel * width * height + i]!) / ONE / passes, width, height, 6);
		const read = readScene(scene);
		const files = await readMeshes(read, `scenes/${name}.json`, sample);
		const draw = numbersFrom(1);
		const random = () => draw(2 ** 32) / 2 ** 32;
		const traced = floatTraced(read, files, { width, height, passes, bounces }, random);
		const theirs = parts((i, channel) => traced[3 * i + channel]!, width, height, 6);
		const { most, mean } = difference(own, theirs);
		assert.ok(most < limit.most && mean < limit.mean, `${most}, ${mean}`);
		// Another part's colours are others.
		assert.ok(difference([...own.slice(3), ...own.slice(0, 3)], theirs).mean > 2 * limit.mean);
	});
