// Jobs on the real engine: the states of the reference; killed (the command or its engine) at random moments
// the same claim; a liar whose engine is real but whose answers are falsified is convicted, and `assay job
// diff` and `assay verify` say so.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../src/engine/client/create-engine-client.ts";
import type { OpenWorkSession, WorkSession } from "../src/engine/client/work-session.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { runJob } from "../src/provider/jobs/run-job.ts";
import { TOY_SEED, toyRun, toyWorkload } from "../src/provider/jobs/toy-run.test-kit.ts";
import { openRunFolder, readRunFolder } from "../src/store/runs/run-folder.ts";
import { diffRuns } from "../src/validator/jobs/diff-runs.ts";
import { openRun } from "../src/validator/jobs/open-run.ts";
import { mixedSample, mlpSample, numbersFrom } from "../src/work/builder/samples.test-kit.ts";
import { writeNpy } from "../src/work/formats/write-npy.ts";
import { loraSample } from "../src/work/models/decoder/lora-sample.test-kit.ts";
import { bytesToElements, elementCount, elementsToBytes } from "../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import type { Program } from "../src/work/program/shapes.ts";
import { tensorTree } from "../src/work/trace/tensor-tree.ts";
import { isDeep } from "./fuzz.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-engine-jobs-"));
const main = join(import.meta.dirname, "../src/cli/main.ts");
let enginePath = "";
const clients: EngineClient[] = [];
before(async () => {
	enginePath = (await findEngine(hostPlatform())).path;
});
after(async () => {
	for (const one of clients) await one.close();
	rmSync(scratch, { recursive: true, force: true });
});

async function engineFor(storePath: string): Promise<OpenWorkSession> {
	const { clockUs, randomBytes } = realEnvironment();
	const link = await createLocalLink({ command: enginePath, args: ["--store", storePath], env: process.env });
	const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 600_000, randomBytes });
	clients.push(client);
	const device = (await client.hello({ deadlineMs: 600_000 })).devices.findIndex(({ kind }) => kind === "cpu");
	return (work) => client.openWork({ ...work, device });
}

async function engineRun(
	path: string,
	sample: ReturnType<typeof mlpSample>,
	falsify?: (open: OpenWorkSession) => OpenWorkSession,
) {
	const folder = await openRunFolder(path);
	try {
		const open = await engineFor(folder.storePath);
		const workload = toyWorkload(sample, 4);
		const usual = { folder, jobText: "{}\n", workload, device: 0, diskBytes: 1 << 30, nowMs: () => 0 };
		await runJob({ ...usual, open: falsify?.(open) ?? open });
	} finally {
		await folder.close();
	}
	const run = await openRun(readRunFolder(path));
	return { run, open: await engineFor(run.storePath) };
}

/**
 * A session of a real engine whose writer of one state tensor gave another element in the last step of a
 * segment.
 */
function falsified(open: OpenWorkSession, program: Program, segment: number, tensor: number): OpenWorkSession {
	const { type, dims } = program.tensors[tensor]!;
	const op = program.step.findIndex(({ target }) => target === tensor);
	const size = elementCount(dims) * { i8: 1, i16: 2, i32: 4, i64: 8 }[type];
	const states = program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [i] : []));
	return async (work) => {
		const session = await open(work);
		let changed: Uint8Array | null = null;
		const change = async (): Promise<Uint8Array> => {
			const bytes = await session.fetch(tensor, 0, size);
			bytes[0]! ^= 1;
			changed = bytes;
			return bytes;
		};
		const treeNow = () => tensorTree(bytesToElements(changed!, type, elementCount(dims))!);
		const fake: Partial<WorkSession> = {
			async run({ first, count, onSegment, ...rest }) {
				for (let at = first; at < first + count; at++) {
					let told: Parameters<NonNullable<typeof onSegment>>[0] | null = null;
					await session.run({ ...rest, first: at, count: 1, onSegment: (done) => (told = done) });
					let done = told!;
					if (at === segment) {
						const all: Uint8Array[] = [];
						for (const i of states) {
							const one = program.tensors[i]!;
							const bytes = elementCount(one.dims) * { i8: 1, i16: 2, i32: 4, i64: 8 }[one.type];
							all.push(i === tensor ? await change() : await session.fetch(i, 0, bytes));
						}
						for (const [n, i] of states.entries()) await session.write(i, all[n]!);
						done = { ...done, stateRoots: done.stateRoots.with(states.indexOf(tensor), treeNow().root) };
					}
					onSegment?.(done);
				}
			},
			async trace(at, onOp) {
				const roots: [number, number, Uint8Array][] = [];
				await session.trace(at, (...one) => roots.push(one));
				if (at === segment) await change();
				for (const [step, number, root] of roots)
					onOp(step, number, at === segment && step === program.k - 1 && number === op ? treeNow().root : root);
			},
			async ask(at, places) {
				const shown = await session.ask(at, places);
				const isLie = at.segment === segment && at.step === program.k - 1 && at.op === op;
				if (!isLie) return shown;
				const tree = treeNow();
				return shown.map((one, i) =>
					places[i]!.of === "output" ? { bytes: tree.leaf(places[i]!.leaf), path: tree.path(places[i]!.leaf) } : one,
				);
			},
		};
		const rest = Object.fromEntries(
			(["write", "root", "load", "save", "fetch", "release"] as const).map((name) => [
				name,
				(session[name] as (...args: unknown[]) => unknown).bind(session),
			]),
		);
		return { plan: session.plan, ...rest, ...fake } as WorkSession;
	};
}

test("runs on the engine end in the claims of the reference", async () => {
	for (const [name, sample] of [
		["mlp", mlpSample()],
		["mixed", mixedSample(3)],
		["lora-llama", loraSample("llama")],
		["lora-gpt2", loraSample("gpt2")],
	] as const) {
		const { run } = await engineRun(join(scratch, name), sample);
		await toyRun(join(scratch, `${name}-toy`), { sample, segments: 4 });
		const file = "claim.json";
		assert.equal(readFileSync(join(run.path, file), "utf8"), readFileSync(join(scratch, `${name}-toy`, file), "utf8"));
	}
});

test("a real engine whose answers are falsified is convicted; the files say so alone", async () => {
	const sample = mlpSample();
	const { program } = sample;
	const honest = await engineRun(join(scratch, "honest"), sample);
	const tensor = program.tensors.findIndex(({ name }) => name === "w2");
	const falsify = (open: OpenWorkSession) => falsified(open, program, 3, tensor);
	const liar = await engineRun(join(scratch, "liar"), sample, falsify);
	const { accused } = await diffRuns({ a: honest, b: { ...liar, open: falsify(liar.open) }, device: 0 });
	assert.deepEqual(
		accused.map(({ side, why, verdict }) => [side, why, verdict?.kind, verdict?.segment, verdict?.element]),
		[["b", "", "element", 3, 0]],
	);
	// By their folders alone: the liar's engine is right again, its claim and the state that it kept are not.
	const said = await assay(
		"job",
		"diff",
		honest.run.path,
		liar.run.path,
		"--json",
		"--out",
		join(scratch, "liar.fraud"),
	);
	assert.equal(said.code, 1, said.err);
	const found = JSON.parse(said.out);
	const { side, verdict } = found.accused[0];
	assert.deepEqual([found.segment, side, verdict.kind, verdict.element], [3, "b", "element", 0]);
	const judged = await assay("verify", join(scratch, "liar.fraud"), "--claim", bytesToHex(liar.run.hash));
	assert.equal(judged.code, 0);
	assert.match(judged.out, /^FRAUD PROVEN/);
	const checked = await assay("job", "check", liar.run.path, "--sample", "5", "--json");
	assert.equal(checked.code, 1);
	assert.equal(JSON.parse(checked.out).wrong.segment, 3);
	const clean = await assay("job", "check", honest.run.path, "--sample", "5", "--seed", "07".repeat(32), "--json");
	assert.deepEqual([clean.code, JSON.parse(clean.out).checked, JSON.parse(clean.out).wrong], [0, 5, null]);
});

async function assay(...args: string[]) {
	const child = spawn(process.execPath, [main, ...args], { cwd: scratch, env: { ...process.env, NO_COLOR: "1" } });
	const said = { out: "", err: "" };
	child.stdout.on("data", (chunk) => (said.out += chunk));
	child.stderr.on("data", (chunk) => (said.err += chunk));
	const [code] = await once(child, "close");
	return { code, ...said };
}

/** The job of a sample as a file, with its arrays. */
function jobFile(segments: number): string {
	const { program, given } = mlpSample();
	writeFileSync(join(scratch, "mlp.bin"), encodeProgram(program));
	const inputs: Record<string, string> = {};
	for (const { name, type, dims, kind } of program.tensors) {
		if (kind !== "input") continue;
		writeFileSync(join(scratch, `${name}.npy`), writeNpy(type, dims, elementsToBytes(given[name]!)));
		inputs[name] = `${name}.npy`;
	}
	const path = join(scratch, "job.json");
	const seed = `0x${bytesToHex(TOY_SEED)}`;
	writeFileSync(path, JSON.stringify({ workload: "program", program: "mlp.bin", inputs, segments, seed }));
	return path;
}

/** Engines are children of the command. */
function childOf(pid: number): number | null {
	for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one)))
		try {
			const [, parent] = /^\d+ \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, "utf8")) ?? [];
			if (Number(parent) === pid && readFileSync(`/proc/${name}/comm`, "utf8").startsWith("assay")) return Number(name);
		} catch {
			// It ended meanwhile.
		}
	return null;
}

test("killed at random moments, the command or its engine, a job ends with the claim of one that was not", async () => {
	const segments = 300;
	const job = jobFile(segments);
	const whole = await assay("job", "run", job, "--out", "whole.run", "--json");
	assert.equal(whole.code, 0, whole.err);
	const reference = join(scratch, "reference");
	await toyRun(reference, { sample: mlpSample(), segments });
	const path = join(scratch, "killed.run");
	const journal = join(path, "journal.jsonl");
	const sizeNow = () => (existsSync(journal) ? readFileSync(journal).length : 0);
	const draw = numbersFrom(8);
	const rounds = isDeep ? 20 : 4;
	let kills = 0;
	for (let round = 0; round < rounds || kills === 0; round++) {
		const child = spawn(process.execPath, [main, "job", "run", job, "--out", path, "--json"], {
			cwd: scratch,
			stdio: "ignore",
		});
		const ended = once(child, "exit");
		const until = sizeNow() + draw(30_000);
		while (child.exitCode === null && sizeNow() < until) await new Promise((resolve) => setTimeout(resolve, 1));
		const engine = round % 2 === 0 ? null : childOf(child.pid!);
		if (child.exitCode === null) kills += 1;
		// It was done before we looked: there is nothing left to be killed at.
		else rmSync(path, { recursive: true });
		try {
			process.kill(engine ?? child.pid!, "SIGKILL");
		} catch {
			// It was done already.
		}
		await ended;
	}
	const end = await assay("job", "run", job, "--out", path, "--json");
	assert.equal(end.code, 0, end.err);
	for (const file of ["claim.json", "states.bin"])
		for (const other of ["whole.run", "reference"])
			assert.deepEqual(readFileSync(join(path, file)), readFileSync(join(scratch, other, file)), `${file} of ${other}`);
});

test("a folder in use, of another job, and a copy with one cut tensor: each its code and hint", async () => {
	const job = jobFile(300);
	const path = join(scratch, "killed.run");
	const taken = await openRunFolder(path);
	const busy = await assay("job", "run", job, "--out", path);
	assert.deepEqual([busy.code, /RUN_BUSY\]\n {2}\S/.test(busy.err)], [75, true], busy.err);
	await taken.close();
	const other = await assay("job", "run", job, "--out", path, "--steps", "9");
	assert.match(other.err, /RUN_OTHER\]\n {2}\S/);
	const copy = join(scratch, "copy.run");
	cpSync(path, copy, { recursive: true });
	const last = JSON.parse(
		readFileSync(join(copy, "journal.jsonl"), "utf8")
			.trim()
			.split("\n")
			.findLast((line) => line.includes('"segment"'))!,
	);
	for (const name of readdirSync(join(copy, "store")))
		if (!last.state.includes(name)) writeFileSync(join(copy, "store", name), "cut");
	const cut = await assay("job", "check", copy, "--sample", "301");
	assert.match(cut.err, /(TENSOR_SIZE|BLOB_CUT)\]\n {2}\S/);
	assert.equal((await assay("job", "check", join(scratch, "absent"))).code, 66);
	assert.equal((await assay("job", "run", join(scratch, "absent.json"))).code, 66);
});
