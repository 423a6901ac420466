// Renders and simulations on the engine's two kinds of devices in one run: the samples' claims on both; then
// larger jobs, timed on the CPU with all its cores and on the first GPU, whose roots must be the same. A time
// is that of a whole segment, roots included.
//   node bench/pictures.ts RESULT.json          environment: ENGINE (path), ONLY (a part of the names),
//     PROGRAMS (a folder: programs with what they are given, for the engine's `bench program FILE…`; nothing
//     is run), DEVICES (gpu,cpu)
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { workloadOf } from "../src/cli/run-job-file.ts";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { elementsToBytes } from "../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import { stateHashOf } from "../src/work/trace/commitments.ts";
import type { Workload } from "../src/work/workloads/workload.ts";
import { runOn, sampleClaims, sampleWorkload } from "../tests/samples.test-kit.ts";

const SAMPLES = join(import.meta.dirname, "../samples");
const [result = ""] = process.argv.slice(2);
const { ENGINE = "", ONLY = "", PROGRAMS, DEVICES = "gpu,cpu" } = process.env;
if (result === "" || ENGINE === "") throw new Error("usage: ENGINE=PATH node bench/pictures.ts RESULT.json");

const seed = `0x${"01".repeat(32)}`;
const grid = (kind: string, side: number, steps: number, more: object = {}) => ({
	...{ workload: "simulate", kind, size: [side, side], steps: 1000 * steps, stepsPerSegment: steps, seed },
	...more,
});
const scene = (name: string, bounces: number) => ({
	...{ workload: "render", scene: `scenes/${name}.json`, size: [1280, 720], passes: 1000, bounces, seed },
});
const option = { style: "asian", side: "call", spot: 100, strike: 105, volatility: 0.25, years: 1, dates: 12 };

/** By name: a job at a size that fills a large GPU, and what a segment of it counts. */
const JOBS: Readonly<Record<string, { readonly job: object; readonly units: number; readonly unit: string }>> = {
	heat: { job: grid("heat", 4096, 32), units: 32 * 4096 ** 2, unit: "cell steps" },
	wave: { job: grid("wave", 4096, 32, { edge: "zero" }), units: 32 * 4096 ** 2, unit: "cell steps" },
	"gray-scott": { job: grid("gray-scott", 4096, 16), units: 16 * 4096 ** 2, unit: "cell steps" },
	life: { job: grid("life", 8192, 16), units: 16 * 8192 ** 2, unit: "cell steps" },
	nbody: {
		job: { workload: "simulate", kind: "nbody", bodies: 4096, steps: 2000, stepsPerSegment: 2, seed },
		...{ units: 2 * 4096 ** 2, unit: "pairs" },
	},
	pricing: {
		job: { workload: "simulate", kind: "pricing", ...option, paths: 2 ** 20, steps: 8000, stepsPerSegment: 16, seed },
		...{ units: 16 * 2 ** 20, unit: "paths" },
	},
	"render-cornell": { job: scene("cornell", 5), units: 1280 * 720, unit: "paths" },
	"render-vase": { job: scene("vase", 5), units: 1280 * 720, unit: "paths" },
	"render-spheres": { job: scene("spheres", 5), units: 1280 * 720, unit: "paths" },
};
const chosen = Object.entries(JOBS).filter(([name]) => name.includes(ONLY));
const workOf = (job: object): Promise<Workload> => workloadOf(join(SAMPLES, "bench.json"), job);

if (PROGRAMS !== undefined) {
	mkdirSync(PROGRAMS, { recursive: true });
	for (const [name, { job }] of chosen) {
		const { program, given } = await workOf(job);
		writeFileSync(join(PROGRAMS, `${name}.bin`), encodeProgram(program));
		const all = program.tensors.filter(({ kind }) => kind === "constant" || kind === "input");
		writeFileSync(
			join(PROGRAMS, `${name}.bin.given`),
			Buffer.concat(all.map((one) => elementsToBytes(given[one.name]!))),
		);
		console.log(`${name}: ${program.step.length} ops a step, ${program.k} steps a segment`);
	}
	process.exit(0);
}

const { clockUs, randomBytes } = realEnvironment();
const link = await createLocalLink({ command: resolve(ENGINE), args: ["--work", "--no-disk"], env: process.env });
const engine = await createEngineClient(link, { clockUs, readyDeadlineMs: 60_000, randomBytes });
const { devices } = await engine.hello({ deadlineMs: 60_000 });
const kinds = DEVICES.split(",").filter((kind) => devices.some((device) => device.kind === kind));
const numberOf = (kind: string) => devices.findIndex((device) => device.kind === kind);

interface Timed {
	/** Of each segment after the first. */
	readonly ms: readonly number[];
	/** State after segment 2. */
	readonly root: string;
}

async function time(work: Workload, device: number, segments: number): Promise<Timed> {
	const { program, given } = work;
	const session = await engine.openWork({ device, program: encodeProgram(program), seed: work.seed });
	for (const [i, { kind, name }] of program.tensors.entries())
		if (kind === "constant" || kind === "input") await session.write(i, elementsToBytes(given[name]!));
	const at: number[] = [];
	let root = "";
	await session.run({
		first: 0,
		count: segments + 2,
		onSegment: ({ segment, stateRoots, resultRoots }) => {
			at.push(performance.now());
			if (segment === 2) root = bytesToHex(stateHashOf(program, 3, stateRoots, resultRoots));
		},
	});
	await session.release();
	return { ms: at.slice(2).map((end, i) => end - at[i + 1]!), root };
}

const median = (of: readonly number[]): number => of.toSorted((a, b) => a - b)[of.length >> 1]!;
const figures: Record<string, unknown> = {};
const save = () => writeFileSync(result, `${JSON.stringify({ devices, figures }, null, "\t")}\n`);

const wanted = /^(render|heat|wave|gray|life|nbody|pricing)/;
for (const [name, known] of Object.entries(sampleClaims())) {
	if (known === null || !wanted.test(name) || !name.includes(ONLY)) continue;
	const work = await sampleWorkload(name, known.steps);
	for (const kind of kinds) {
		const { claim } = await runOn((open) => engine.openWork({ ...open, device: numberOf(kind) }), work);
		figures[`${name} on ${kind}`] = claim === known.claim ? "its claim" : `ANOTHER CLAIM ${claim}`;
	}
}
save();
console.log(figures);

for (const [name, { job, units, unit }] of chosen) {
	const work = await workOf(job);
	const found: Record<string, Timed> = {};
	for (const kind of kinds) found[kind] = await time(work, numberOf(kind), kind === "cpu" ? 1 : 20);
	const { cpu, gpu } = found;
	const ms = Object.fromEntries(Object.entries(found).map(([kind, timed]) => [kind, median(timed.ms)]));
	const isSame = new Set(Object.values(found).map(({ root }) => root)).size === 1;
	const times = cpu && gpu && ms.cpu! / ms.gpu!;
	figures[name] = { job, ms, all: found, isSame, times, unit, perSecond: units / (1e-3 * (ms.gpu ?? ms.cpu!)) };
	save();
	const shown = Object.entries(ms).map(([kind, one]) => `${kind} ${one.toFixed(3)} ms`);
	console.log(
		`${name}: ${shown.join(", ")} a segment${times === undefined ? "" : `, ${times.toFixed(1)}x`}, ${isSame ? "same roots" : "ROOTS DIFFER"}`,
	);
}
await engine.close();
