// What exact training costs in accuracy: a job runs on the engine, the same model with the same first weights
// and the same batches in PyTorch's float32 (bench/training.py), and the losses are compared, means of 20
// steps. Needs PyTorch; a GPU for more than tiny sizes.
//   node bench/training.ts RESULT.json JOB.json…      environment: ENGINE (path), DEVICE (gpu), WORK (a
//     folder), PYTHON (python3; none: skip)
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import type { WorkSession } from "../src/engine/client/work-session.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { AssayError } from "../src/protocol/assay-error.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { orderTable } from "../src/work/models/order.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
} from "../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import { stateHashOf } from "../src/work/trace/commitments.ts";
import { buildWorkload } from "../src/work/workloads/build-workload.ts";
import { readJob } from "../src/work/workloads/read-job.ts";
import { generatedImages } from "../src/work/workloads/train/generated-data.ts";
import type { TrainSpec } from "../src/work/workloads/train/train-spec.ts";
import type { Workload } from "../src/work/workloads/workload.ts";

/** A GPT, adapters of a model in the folder `base`, or a CNN. */
type Spec = TrainSpec<{
	readonly kind: string;
	readonly context?: number;
	readonly base?: string;
	readonly input?: readonly [number, number, number];
}>;

const MEAN_OF = 20;
const PIECE = 1 << 26;
const here = dirname(fileURLToPath(import.meta.url));
const { ENGINE, DEVICE = "gpu", WORK = mkdtempSync(join(tmpdir(), "training-")), PYTHON = "python3" } = process.env;

interface Curve {
	readonly losses: readonly number[];
	readonly msPerStep: number;
}
interface OurCurve extends Curve {
	/** S after the last segment: the same on every machine. */
	readonly stateHash: string;
}

async function fetchTensor(session: WorkSession, { program }: Workload, name: string): Promise<Elements> {
	const number = program.tensors.findIndex((tensor) => tensor.name === name);
	const { type, dims } = program.tensors[number]!;
	const bytes = new Uint8Array(elementCount(dims) * bytesOf(type));
	for (let at = 0; at < bytes.length; at += PIECE)
		bytes.set(await session.fetch(number, at, Math.min(PIECE, bytes.length - at)), at);
	return bytesToElements(bytes, type, elementCount(dims))!;
}

async function writeWeights(path: string, session: WorkSession, work: Workload): Promise<void> {
	const [weights] = work.files;
	const tensors = new Map<string, Elements>();
	for (const tensor of weights!.tensors) tensors.set(tensor, await fetchTensor(session, work, tensor));
	writeFileSync(path, await weights!.make((name) => tensors.get(name)!));
}

/** Gives the number of windows. */
function writeTokens(folder: string, { given }: Workload, context: number): number {
	writeFileSync(join(folder, "tokens.bin"), elementsToBytes(Int32Array.from(given.tokens as Int32Array)));
	return (given.tokens!.length - 1) / context;
}

/** Pictures that are generated, and as many that the run does not see. Gives the number of the first. */
function writeImages(folder: string, { given }: Workload, { model, seed }: Spec): number {
	const [channels, height, width] = model.input!;
	const n = given.labels!.length;
	const classes = 1 + Array.from(given.labels as Int16Array).reduce((a, b) => Math.max(a, b));
	const { pixels, labels } = generatedImages(seed, 2 * n, { channels, height, width }, classes);
	writeFileSync(join(folder, "images.bin"), elementsToBytes(pixels));
	writeFileSync(join(folder, "labels.bin"), elementsToBytes(Int32Array.from(labels)));
	return n;
}

/** What PyTorch needs: the weights after init, the data, and which samples each step sees. */
async function writeTwin(folder: string, session: WorkSession, work: Workload, spec: Spec, base: string) {
	const { model, batch, steps, seed, optimizer } = spec;
	const [weights] = work.files;
	await writeWeights(join(folder, weights!.name), session, work);
	const n = model.kind === "cnn" ? writeImages(folder, work, spec) : writeTokens(folder, work, model.context!);
	const table = orderTable("affine", seed, n, Math.ceil((steps * batch) / n));
	const samples = Int32Array.from({ length: steps * batch }, (_, c) => {
		const epoch = Math.floor(c / n);
		return Number((BigInt(table[2 * epoch]!) * BigInt(c - epoch * n) + BigInt(table[2 * epoch + 1]!)) % BigInt(n));
	});
	writeFileSync(join(folder, "samples.bin"), elementsToBytes(samples));
	writeFileSync(
		join(folder, "job.json"),
		JSON.stringify({ model, optimizer, batch, steps, weights: weights!.name, base }),
	);
}

async function runOurs(folder: string, work: Workload, spec: Spec, base: string): Promise<OurCurve> {
	const link = await createLocalLink({ command: resolve(ENGINE!), args: ["--work"], env: process.env });
	const client = await createEngineClient(link, {
		clockUs: () => Math.round(performance.now() * 1000),
		randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
		readyDeadlineMs: 60_000,
	});
	try {
		const { devices } = await client.hello({ deadlineMs: 60_000 });
		const device = devices.findIndex(({ kind }) => kind === DEVICE);
		const session = await client.openWork({ device, program: encodeProgram(work.program), seed: work.seed });
		for (const [number, { name }] of work.program.tensors.entries())
			if (work.given[name]) await session.write(number, elementsToBytes(work.given[name]));
		await session.run({ first: 0, count: 1 });
		await writeTwin(folder, session, work, spec, base);
		const [metric] = work.metrics;
		const number = work.program.tensors.findIndex(({ name }) => name === metric!.name);
		const losses: number[] = [];
		let stateHash = "";
		const start = performance.now();
		await session.run({
			first: 1,
			count: work.segments,
			onMetric: ({ tensor, bytes }) => {
				if (tensor === number) losses.push(metric!.read(bytesToElements(bytes, "i64", 1)!));
			},
			onSegment: ({ segment, stateRoots, resultRoots }) => {
				stateHash = bytesToHex(stateHashOf(work.program, segment + 1, stateRoots, resultRoots));
			},
		});
		const msPerStep = (performance.now() - start) / losses.length;
		if (spec.model.kind === "cnn") await writeWeights(join(folder, "trained.safetensors"), session, work);
		await session.release();
		return { losses, msPerStep, stateHash };
	} finally {
		await client.close();
	}
}

/** Means of 20 steps, ours and the float's, and the largest relative difference of two. */
function compare(ours: readonly number[], float: readonly number[]) {
	const means = (all: readonly number[]) =>
		Array.from({ length: Math.floor(all.length / MEAN_OF) }, (_, i) => {
			const part = all.slice(i * MEAN_OF, (i + 1) * MEAN_OF);
			return part.reduce((sum, loss) => sum + loss, 0) / part.length;
		});
	const [a, b] = [means(ours), means(float)];
	const differences = a.map((mean, i) => mean / b[i]! - 1);
	return { ours: a, float: b, differences, largest: Math.max(...differences.map(Math.abs)) };
}

async function trial(job: string): Promise<object> {
	const folder = join(WORK, basename(job, ".json"));
	mkdirSync(folder, { recursive: true });
	const spec = readJob(JSON.parse(readFileSync(job, "utf8"))) as Spec;
	const { kind, context, input } = spec.model;
	const isKnown = kind === "cnn" ? input !== undefined && spec.data.generated !== undefined : context !== undefined;
	if (spec.workload !== "train" || !["gpt", "lora", "cnn"].includes(kind) || !isKnown)
		throw new Error(`${job} trains no GPT, no adapters with a context, and no CNN on generated pictures`);
	const work = await buildWorkload(spec, (name) => {
		const path = join(dirname(job), name);
		if (!existsSync(path)) throw new AssayError("FILE_UNREADABLE", path);
		return new Uint8Array(readFileSync(path));
	});
	const ours = await runOurs(folder, work, spec, resolve(dirname(job), spec.model.base ?? ""));
	const { model, optimizer, batch, steps } = spec;
	const head = { job: basename(job), model, optimizer, batch, steps, stateHash: ours.stateHash };
	const last = ours.losses.slice(-MEAN_OF).reduce((sum, loss) => sum + loss, 0) / MEAN_OF;
	console.error(
		`${head.job}: ${ours.msPerStep.toFixed(1)} ms a step, loss ${ours.losses[0]!.toFixed(4)} → ${last.toFixed(4)}`,
	);
	if (PYTHON === "none") return { ...head, ours };
	const python = spawnSync(PYTHON, [join(here, "training.py"), folder], { stdio: ["ignore", "inherit", "inherit"] });
	if (python.status !== 0) return { ...head, ours, float: null };
	const float = JSON.parse(readFileSync(join(folder, "float.json"), "utf8")) as Curve & {
		readonly machine: string;
		readonly noisy?: readonly number[];
		/** Of pictures that neither run saw: with our weights, with the float's. */
		readonly accuracy?: { readonly ours: number; readonly float: number };
	};
	const compared = compare(ours.losses, float.losses);
	const spread = float.noisy === undefined ? null : compare(float.noisy, float.losses).largest;
	if (spread !== null) console.error(`${head.job}: float32 from weights off by 10⁻⁴: ${(100 * spread).toFixed(3)} %`);
	console.error(`${head.job}: within ${(100 * compared.largest).toFixed(3)} % of float32, means of ${MEAN_OF} steps`);
	const { accuracy } = float;
	if (accuracy) console.error(`${head.job}: accuracy ${accuracy.ours}, float32 ${accuracy.float}, on unseen pictures`);
	return {
		...head,
		machine: float.machine,
		...(accuracy && { accuracy }),
		spreadOfFloat32: spread,
		msPerStep: { ours: ours.msPerStep, float32: float.msPerStep },
		...compared,
	};
}

const [result, ...jobs] = process.argv.slice(2);
if (result === undefined || jobs.length === 0 || ENGINE === undefined)
	throw new Error("ENGINE=… training.ts RESULT JOB…");
const rows: object[] = [];
for (const job of jobs) {
	rows.push(await trial(job));
	writeFileSync(result, `${JSON.stringify({ commit: process.env.COMMIT ?? "unknown", trials: rows }, null, "\t")}\n`);
}
