// How busy a job keeps its host: a LoRA job on a generated model goes the whole road of the network on this
// machine (upload, quote, escrow, draw, fetch, run, claim, check, pay), and the engine's share of the running
// state is measured. With a GPU also by the driver's own figure of its use.
//   node bench/job-busy.ts [--steps N] [--tiny]      writes bench/results/network-job-busy-<date>.json
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomModel } from "../src/work/imports/random-model.ts";
import { TINY } from "../src/work/imports/tiny-models.ts";
import { configText, modelParts } from "../src/work/imports/write-model.ts";
import { KNOWN } from "../src/work/inference/known-shapes.test-kit.ts";
import { writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: { steps: { type: "string", default: "700" }, tiny: { type: "boolean", default: false } },
});
const root = fileURLToPath(new URL("../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "assay-busy-"));
const env = { ...process.env, ASSAY_HOME: join(folder, "home"), COLUMNS: "200" };
const assay = (...args: string[]) => [join(root, "bin/assay.mjs"), ...args];

async function writeJob(): Promise<string> {
	const architecture = values.tiny ? TINY.gpt2 : KNOWN["GPT-2 124M"]!;
	const model = randomModel(architecture, new Uint8Array(32).fill(7));
	mkdirSync(join(folder, "model"));
	writeFileSync(join(folder, "model/config.json"), configText(model));
	const file = createWriteStream(join(folder, "model/model.safetensors"));
	for (const part of modelParts(model, "BF16"))
		if (!file.write(part)) await new Promise<void>((resolve) => file.once("drain", () => resolve()));
	await new Promise<void>((resolve) => file.end(() => resolve()));
	const context = values.tiny ? 32 : 1024;
	const job = {
		workload: "train",
		model: { kind: "lora", base: "model/", rank: 8, alpha: 16, targets: ["qkv"], context },
		data: { generated: 400_000 },
		optimizer: { kind: "adamw", rate: 0.001, warmup: 20 },
		batch: values.tiny ? 4 : 16,
		steps: Number(values.steps),
		seed: `0x${"0".repeat(63)}1`,
	};
	writeFileSync(join(folder, "job.json"), JSON.stringify(job));
	return join(folder, "job.json");
}

/** Percent of the time in which the GPU had work, five times a second; none without a GPU. */
function watchGpu() {
	const seen: { readonly atMs: number; readonly percent: number }[] = [];
	const args = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"];
	const child: ChildProcess = spawn("nvidia-smi", args, { stdio: ["ignore", "pipe", "ignore"] });
	child.on("error", () => {});
	child.stdout?.on("data", (text: Buffer) => {
		for (const line of String(text).split("\n"))
			if (line.trim() !== "") seen.push({ atMs: Date.now(), percent: Number(line) });
	});
	return { seen, stop: () => child.kill() };
}

interface JobEvent {
	readonly kind: string;
	readonly atMs: number;
	readonly detail: Record<string, unknown>;
}

function share(events: readonly JobEvent[], gpu: ReturnType<typeof watchGpu>["seen"]) {
	const at = (kind: string) => events.find((event) => event.kind === `job.${kind}`)?.atMs ?? Number.NaN;
	const [from, to] = [at("running"), at("stored")];
	const inside = gpu.filter(({ atMs }) => atMs > from && atMs < to);
	const mean = inside.reduce((sum, { percent }) => sum + percent, 0) / inside.length;
	const since = (kind: string) => Number(((at(kind) - events[0]!.atMs) / 1000).toFixed(1));
	const kinds = ["drawn", "offered", "running", "stored", "claimed", "checked", "paid", "over"];
	return {
		runningS: Number(((to - from) / 1000).toFixed(1)),
		gpuBusyPercent: inside.length === 0 ? null : Number(mean.toFixed(1)),
		samples: inside.length,
		secondsFromSubmission: Object.fromEntries(kinds.map((kind) => [kind, since(kind)])),
	};
}

const job = await writeJob();
const up = spawn(process.execPath, assay("up", "--port", "0", "--no-rent", "--providers", "1"), {
	env,
	stdio: ["ignore", "inherit", "inherit"],
});
const gpu = watchGpu();
try {
	const submit = ["job", "submit", job, "--method", "sampled:1", "--yes", "--json", "--out", join(folder, "out")];
	let done = { status: 1, stdout: "" };
	for (let turn = 0; turn < 30 && done.status !== 0; turn++) {
		await new Promise((resolve) => setTimeout(resolve, 3000));
		done = await run(submit);
		console.log("submit", done.status, done.stdout.slice(0, 300));
	}
	const { rows } = JSON.parse((await run(["job", "list", "--json"])).stdout) as { rows: { id: string }[] };
	const logs = (await run(["job", "logs", rows[0]!.id, "--json"])).stdout.trim().split("\n");
	const events = logs.map((line) => JSON.parse(line) as JobEvent);
	const driver = spawnSync("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], {
		encoding: "utf8",
	});
	const result = {
		model: values.tiny ? "tiny" : "GPT-2 124M",
		steps: Number(values.steps),
		gpu: driver.stdout?.trim() ?? null,
		...share(events, gpu.seen),
	};
	console.log(JSON.stringify(result, null, "\t"));
	console.log(writeNetworkResult("job-busy", result));
} finally {
	gpu.stop();
	up.kill("SIGINT");
	await new Promise((resolve) => up.once("exit", resolve));
	rmSync(folder, { recursive: true, force: true });
}

/** Not synchronous: the GPU is watched meanwhile. */
function run(args: readonly string[]): Promise<{ status: number; stdout: string }> {
	const child = spawn(process.execPath, assay(...args), { env, cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
	let stdout = "";
	child.stdout.on("data", (text: Buffer) => {
		stdout += String(text);
	});
	return new Promise((resolve) => child.once("exit", (status) => resolve({ status: status ?? 1, stdout })));
}
