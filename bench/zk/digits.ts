// Trains an MLP of ten million parameters on drawn digits by exact SGD (docs/training.md §6) on this
// machine's first GPU, proves every segment of the run there (docs/zk.md), verifies the chain of proofs as
// anybody would, and compares how well it reads digits with a float32 twin (digits.py). Over powers of a
// known τ, since no longer list of real ones is at hand.
//   node bench/zk/digits.ts FOLDER [steps, 1024 unless told]     prints JSON; writes FOLDER/segment-N.proof
//     and what digits.py reads
//   environment: BRIGHTEST (what a white pixel is: 0.25), SHIFT (11)
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../../src/engine/client/create-engine-client.ts";
import type { WorkSession } from "../../src/engine/client/work-session.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { bindByEngine } from "../../src/provider/proofs/bind-by-engine.ts";
import { proveStated } from "../../src/provider/proofs/prove-segment.ts";
import { encodeProofFile, type OpenedProof, openProofFile } from "../../src/verify/zk/proof-file.ts";
import { rowOrder } from "../../src/verify/zk/segment-run.ts";
import { DEV_POWERS } from "../../src/verify/zk/srs.ts";
import { gapBetween } from "../../src/verify/zk/statement.ts";
import { exactMlpProgram } from "../../src/work/models/exact-mlp.ts";
import { elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { stateHashOf } from "../../src/work/trace/commitments.ts";
import { digitPictures, SIDE } from "./digit-pictures.ts";

const SIZES = [SIDE * SIDE, ...new Array<number>(10).fill(1024), 10];
const ROWS = 8192;
const TESTED = 2048;
const [BATCH, K] = [64, 32];
/** Of the brightest pixel; the rate on the summed error is 2^-shift. */
const BRIGHTEST = Number(process.env.BRIGHTEST ?? 0.25);
const SHIFT = Number(process.env.SHIFT ?? 11);
const SEED = new Uint8Array(32).fill(7);
const CHUNK_BITS = 22;
const [folder, wanted] = [process.argv[2]!, Number(process.argv[3] ?? 1024)];
const segments = wanted / K;

const median = (list: readonly number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
const now = () => performance.now();
const note = (text: string) => process.stderr.write(`${text}\n`);

/** At 2^11, as programs take them. */
function samples(first: number, count: number) {
	const { pixels, labels } = digitPictures(first, count);
	return {
		features: Int16Array.from(pixels, (one) => Math.round((one * BRIGHTEST * 2048) / 255)),
		labels: Int16Array.from(labels),
	};
}

interface State {
	readonly hash: string;
	readonly weights: readonly Uint8Array[];
}

interface Engine {
	readonly client: EngineClient;
	readonly device: number;
	readonly name: string;
}

async function startEngine(): Promise<Engine> {
	const { clockUs, randomBytes } = realEnvironment();
	const { path: command } = await findEngine(hostPlatform());
	const link = await createLocalLink({ command, args: ["--no-disk", "--work"], env: process.env });
	const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 60_000, randomBytes });
	const { devices } = await client.hello({ deadlineMs: 60_000 });
	const device = Math.max(
		0,
		devices.findIndex(({ kind }) => kind === "gpu"),
	);
	return { client, device, name: devices[device]!.name };
}

const train = samples(0, ROWS);
const model = exactMlpProgram(
	SIZES,
	{ batch: BATCH, steps: wanted, k: K, seed: SEED, order: "cube" },
	SHIFT,
	train,
	64,
);
const { program } = model;
const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
if ("code" in plan) throw new Error(JSON.stringify(plan));
const stateTensors = program.tensors.flatMap(({ kind, dims }, i) =>
	kind === "state" ? [{ i, bytes: 8 * dims.reduce((a, b) => a * b, 1) }] : [],
);

/**
 * The run, all of it at once and then segment by segment with the states between; features' and labels'
 * roots.
 */
async function trained(session: WorkSession) {
	const roots: Record<string, string> = {};
	for (const [name, elements] of Object.entries(model.given)) {
		const tensor = program.tensors.findIndex((one) => one.name === name);
		await session.write(tensor, elementsToBytes(elements));
		roots[name] = bytesToHex(await session.root(tensor));
	}
	await session.run({ first: 0, count: 1 });
	const started = now();
	await session.run({ first: 1, count: segments });
	const msAStep = (now() - started) / wanted;
	await session.seed(SEED);
	const states: State[] = [];
	for (let segment = 0; segment <= segments; segment++) {
		let hash = "";
		await session.run({
			...{ first: segment, count: 1 },
			onSegment: ({ stateRoots, resultRoots }) => {
				hash = bytesToHex(stateHashOf(program, segment + 1, stateRoots, resultRoots));
			},
		});
		const weights: Uint8Array[] = [];
		for (const { i, bytes } of stateTensors) weights.push(await session.fetch(i, 0, bytes));
		states.push({ hash, weights });
	}
	return { roots, states, msAStep };
}

/** Which rows a step sees. */
function rowsOf(step: number): number[] {
	const { places, mask, first } = rowOrder(plan, SEED, step);
	return Array.from({ length: BATCH }, (_, i) =>
		places.reduce((row, place, j) => row + ((((first + i) >> place) & 1) ^ ((mask >> j) & 1)) * 2 ** j, 0),
	);
}

/** What digits.py reads. */
function writeFor(python: string, states: readonly State[]): void {
	const put = (name: string, ...parts: readonly Uint8Array[]) =>
		writeFileSync(join(python, name), Buffer.concat(parts));
	const test = samples(ROWS, TESTED);
	const order = Array.from({ length: wanted }, (_, step) => rowsOf(step)).flat();
	put("job.json", Buffer.from(JSON.stringify({ sizes: SIZES, batch: BATCH, shift: SHIFT })));
	put("order.bin", elementsToBytes(Int32Array.from(order)));
	for (const [name, { features, labels }] of Object.entries({ train, test })) {
		put(`${name}.features`, elementsToBytes(features));
		put(`${name}.labels`, Uint8Array.from(labels));
	}
	put("first.bin", ...states[0]!.weights);
	put("last.bin", ...states.at(-1)!.weights);
}

/** Every segment; the time of each, from its weights to its proof. */
async function proveAll({ client, device }: Engine, { roots, states }: Awaited<ReturnType<typeof trained>>) {
	const entering = elementsToBytes(enteringOf(plan, train.features));
	const labels = elementsToBytes(Int32Array.from(train.labels));
	const files: Uint8Array[] = [];
	const ms: number[] = [];
	let bytes = 0;
	for (let segment = 1; segment <= segments; segment++) {
		const [before, after] = [states[segment - 1]!, states[segment]!];
		const started = now();
		const made = await proveStated(
			{
				...{ plan, seed: SEED, segment, chainId: 0n, job: 0n },
				roots: {
					...{ features: roots.features!, labels: roots.labels! },
					...{ stateBefore: before.hash, stateAfter: after.hash },
				},
				given: { entering, labels, weights: before.weights },
			},
			{ open: (proof) => client.openProof(proof), device, powers: DEV_POWERS },
		);
		ms.push(now() - started);
		bytes = made!.proof.length;
		const file = encodeProofFile(program, plan.chunkBits, made!);
		writeFileSync(join(folder, `segment-${segment}.proof`), file);
		files.push(file);
		note(`segment ${segment}: ${ms.at(-1)!.toFixed(0)} ms`);
	}
	return { files, ms, bytes };
}

/** One after the other, on one thread. */
function verifyAll(files: readonly Uint8Array[]) {
	const opened: OpenedProof[] = [];
	const ms: number[] = [];
	for (const [i, file] of files.entries()) {
		const started = now();
		const proof = openProofFile(file, { isDevAllowed: true });
		if (proof.status !== "valid") throw new Error(`segment ${i + 1}: ${proof.code}, ${proof.detail}`);
		const gap = i === 0 ? null : gapBetween(opened.at(-1)!.statement, proof.statement);
		if (gap !== null) throw new Error(`segment ${i + 1}: ${gap.code}, ${gap.detail}`);
		opened.push(proof);
		ms.push(now() - started);
	}
	return { opened, ms };
}

const sum = (list: readonly number[]) => list.reduce((a, b) => a + b, 0);
const round = (ms: number) => Math.round(10 * ms) / 10;

mkdirSync(folder, { recursive: true });
const engine = await startEngine();
try {
	const session = await engine.client.openWork({ device: engine.device, program: encodeProgram(program), seed: SEED });
	const run = await trained(session);
	await session.release();
	note(`trained: ${run.msAStep.toFixed(3)} ms a step without proof`);
	writeFor(folder, run.states);
	const proven = await proveAll(engine, run);
	const verified = verifyAll(proven.files);
	const held = {
		data: [elementsToBytes(train.features), elementsToBytes(train.labels)] as const,
		before: run.states[0]!.weights,
		after: run.states.at(-1)!.weights,
	};
	const at = {
		open: (work: Parameters<EngineClient["openWork"]>[0]) => engine.client.openWork(work),
		device: engine.device,
	};
	const started = now();
	const faults = [
		await bindByEngine(verified.opened[0]!, { data: held.data, before: held.before }, at),
		await bindByEngine(verified.opened.at(-1)!, { after: held.after }, at),
	];
	const boundMs = now() - started;
	if (faults.some((fault) => fault !== null)) throw new Error(JSON.stringify(faults));
	const python = spawnSync("python3", [fileURLToPath(new URL("digits.py", import.meta.url)), folder], {
		encoding: "utf8",
	});
	const figures = {
		...{
			figure: "digits",
			device: engine.name,
			sizes: SIZES,
			steps: wanted,
			batch: BATCH,
			shift: SHIFT,
			chunkBits: CHUNK_BITS,
		},
		parameters: stateTensors.reduce((all, { bytes }) => all + bytes / 8, 0),
		"step ms without proof": Math.round(1000 * run.msAStep) / 1000,
		"proven ms": round(sum(proven.ms)),
		"segment ms": round(median(proven.ms)),
		"ms a step": round(sum(proven.ms) / wanted),
		"proof bytes": proven.bytes,
		"file bytes": proven.files[0]!.length,
		"chain verified ms": round(sum(verified.ms)),
		"a proof verified ms": round(median(verified.ms)),
		"bytes compared ms": round(boundMs),
		accuracy: python.status === 0 ? JSON.parse(python.stdout) : python.stderr.slice(-400),
	};
	process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
	await engine.client.close();
}
