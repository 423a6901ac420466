// Exact programs on the real engine, over its frames: the suite of all sessions, its store through kill -9
// and full disks, its memory and its sandbox. Raw hostile frames are engine/test/frames_test.cpp's and
// frame_fuzz.cpp's.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { dialOptions, NO_HANDLERS, random, startDoor } from "../src/engine/agent/agent.test-kit.ts";
import { dialAgent } from "../src/engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../src/engine/client/create-engine-client.ts";
import type { OpenWorkSession, WorkSession } from "../src/engine/client/work-session.ts";
import { SEED, workSessionSuite } from "../src/engine/client/work-session-suite.test-kit.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { EngineLender } from "../src/provider/lend-engine.ts";
import { buildProgram } from "../src/work/builder/build-program.ts";
import { at } from "../src/work/builder/expression.ts";
import { mlpSample } from "../src/work/builder/samples.test-kit.ts";
import { encodeProgram } from "../src/work/program/encode.ts";

interface Running {
	readonly engine: EngineClient;
	readonly pid: number;
	readonly open: OpenWorkSession;
}

async function startEngine(args: readonly string[], command?: string): Promise<Running> {
	const path = command ?? (await findEngine(hostPlatform())).path;
	let pid = 0;
	const link = await createLocalLink({
		command: path,
		args: ["--no-disk", "--threads", "2", ...args],
		env: process.env,
		onSpawn: (started) => {
			pid = started;
		},
	});
	const engine = await createEngineClient(link, {
		clockUs: () => performance.now() * 1000,
		readyDeadlineMs: 600_000,
		randomBytes: random,
	});
	const { devices } = await engine.hello({ deadlineMs: 600_000 });
	const device = devices.findIndex(({ kind }) => kind === "cpu");
	return { engine, pid, open: (work) => engine.openWork({ ...work, device }) };
}

function makeStore(t?: TestContext): string {
	const store = mkdtempSync(join(tmpdir(), "assay-store-"));
	t?.after(() => rmSync(store, { recursive: true, force: true }));
	return store;
}

workSessionSuite("engine", async () => {
	const store = makeStore();
	const { engine, open } = await startEngine(["--store", store]);
	return {
		open,
		put: (root, bytes) => writeFileSync(join(store, bytesToHex(root)), bytes),
		async close() {
			await engine.close();
			rmSync(store, { recursive: true });
		},
	};
});

/** State of so many i64, which every step changes everywhere. */
function counterProgram(elements: number, states = 1): Uint8Array {
	const b = buildProgram({ k: 1 });
	for (let i = 0; i < states; i++) {
		const kept = b.tensor("state", `kept${i}`, "i64", [elements], -(2n ** 40n), 2n ** 40n);
		b.step.map([elements], (j) => at(kept, j).add(j.value()).add(1).clamp(kept.lo, kept.hi), { to: kept });
	}
	return encodeProgram(b.program());
}

const openCounter = (open: OpenWorkSession, elements: number, states = 1): Promise<WorkSession> =>
	open({ device: 0, program: counterProgram(elements, states), seed: SEED });

const unfinished = (store: string) => readdirSync(store).filter((name) => name.startsWith(".saving-"));
const finished = (store: string) => readdirSync(store).filter((name) => !name.startsWith(".saving-"));

test("an engine that was killed while it saved leaves whole blobs, and the next one sweeps the rest", async (t) => {
	const store = makeStore(t);
	const states = 8;
	const elements = 1 << 18;
	const first = await startEngine(["--store", store]);
	const session = await openCounter(first.open, elements, states);
	const roots: Uint8Array[] = [];
	await session.run({
		first: 0,
		count: 2,
		onSegment: ({ stateRoots }) => roots.splice(0, roots.length, ...stateRoots),
	});
	const saving = session.save().catch((error: { code: string }) => error.code);
	// All states are alike, so one file stands for all: the second SAVE meets it whole, or not at all.
	while (unfinished(store).length + finished(store).length === 0) await new Promise((resolve) => setImmediate(resolve));
	process.kill(first.pid, "SIGKILL");
	await saving;
	await first.engine.close();
	for (const name of finished(store)) {
		assert.equal(name, bytesToHex(roots[0]!));
		assert.equal(readFileSync(join(store, name)).length, 8 * elements);
	}
	const second = await startEngine(["--store", store]);
	t.after(() => second.engine.close());
	assert.deepEqual(unfinished(store), []);
	const again = await openCounter(second.open, elements, states);
	await again.run({ first: 0, count: 2, saveEvery: 2 });
	assert.deepEqual(finished(store), [bytesToHex(roots[0]!)]);
	const third = await openCounter(second.open, elements, states);
	for (let i = 0; i < states; i++) await third.load(i, roots[i]!);
	assert.deepEqual(await third.root(0), roots[0]);
});

/** Whether none of its threads runs any more: a signal takes effect a moment after it was sent. */
const isStopped = (pid: number): boolean =>
	readdirSync(`/proc/${pid}/task`).every((thread) =>
		/\) [Tt] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")),
	);

test("what another engine is writing is not swept", async (t) => {
	const store = makeStore(t);
	const first = await startEngine(["--store", store]);
	t.after(() => first.engine.close());
	const session = await openCounter(first.open, 1 << 21);
	let saving: Promise<void> = Promise.resolve();
	// Caught while it writes; one that was too fast writes once more.
	for (let segment = 0; unfinished(store).length === 0; segment++) {
		await session.run({ first: segment, count: 1 });
		let isSaved = false;
		saving = session.save().finally(() => {
			isSaved = true;
		});
		while (!isSaved && unfinished(store).length === 0) await new Promise((resolve) => setImmediate(resolve));
		if (isSaved) continue;
		process.kill(first.pid, "SIGSTOP");
		while (!isStopped(first.pid)) await new Promise((resolve) => setImmediate(resolve));
		if (unfinished(store).length > 0) break;
		// It was done before it stopped.
		process.kill(first.pid, "SIGCONT");
		await saving;
	}
	const writing = unfinished(store);
	const second = await startEngine(["--store", store]);
	await second.engine.close();
	assert.deepEqual(unfinished(store), writing);
	process.kill(first.pid, "SIGCONT");
	await saving;
	assert.deepEqual(unfinished(store), []);
});

test("a disk that fills while saving: a clear error, nothing half, and the run goes on", async (t) => {
	const store = makeStore(t);
	const { path } = await findEngine(hostPlatform());
	// A limit on the size of files stands for a full disk: it needs no rights and no disk.
	const limited = join(makeStore(t), "limited");
	writeFileSync(limited, `#!/bin/sh\nulimit -f 64\nexec ${path} "$@"\n`);
	chmodSync(limited, 0o755);
	const { engine, open } = await startEngine(["--store", store], limited);
	t.after(() => engine.close());
	const session = await openCounter(open, 1 << 15);
	await session.run({ first: 0, count: 2 });
	await assert.rejects(session.save(), { code: "BLOB_DISK_FULL" });
	assert.deepEqual(readdirSync(store), []);
	const told: boolean[] = [];
	const onSegment = ({ saved }: { readonly saved: boolean }) => told.push(saved);
	await assert.rejects(session.run({ first: 2, count: 4, saveEvery: 2, onSegment }), { code: "BLOB_DISK_FULL" });
	assert.deepEqual(told, [false, false]);
	assert.deepEqual(readdirSync(store), []);
	await session.run({ first: 4, count: 1, onSegment });
	assert.deepEqual(told, [false, false, false]);
	const small = await openCounter(open, 100);
	await small.run({ first: 0, count: 2, saveEvery: 2, onSegment });
	assert.equal(told.at(-1), true);
	assert.equal(readdirSync(store).length, 1);
});

test("the store is that folder alone: no names outside it, no links, nothing without --store", async (t) => {
	const store = makeStore(t);
	const { engine, open } = await startEngine(["--store", store]);
	t.after(() => engine.close());
	const session = await openCounter(open, 128);
	await session.run({ first: 0, count: 1, saveEvery: 1 });
	const [name] = readdirSync(store);
	const root = await session.root(0);
	assert.equal(name, bytesToHex(root));
	const outside = join(makeStore(t), "outside");
	writeFileSync(outside, readFileSync(join(store, name!)));
	rmSync(join(store, name!));
	symlinkSync(outside, join(store, name!));
	await assert.rejects(session.load(0, root), { code: "BLOB_DISK_FAILED" });
	const without = await startEngine(["--work"]);
	t.after(() => without.engine.close());
	const other = await openCounter(without.open, 128);
	for (const act of [
		() => other.save(),
		() => other.load(0, root),
		() => other.run({ first: 0, count: 1, saveEvery: 1 }),
	])
		await assert.rejects(act(), { code: "ENGINE_REFUSED" });
	await other.run({ first: 0, count: 1 });
});

test("an engine that answers strangers runs no programs", async (t) => {
	const { engine, open } = await startEngine([]);
	t.after(() => engine.close());
	const { program } = mlpSample();
	await assert.rejects(open({ device: 0, program: encodeProgram(program), seed: SEED }), { code: "ENGINE_REFUSED" });
});

test("a validator on an agent link opens no session of a program, whatever options the owner gives its engine", async (t) => {
	const { path } = await findEngine(hostPlatform());
	const lender = new EngineLender(
		{
			engine: { command: path, args: ["--no-disk", "--work", "--store", makeStore(t)] },
			env: process.env,
			limits: { memoryBytes: 1e9, minutes: 3 },
			disk: null,
			clockUs: () => performance.now() * 1000,
			randomBytes: random,
			onEvent: () => {},
		},
		() => false,
	);
	const door = await startDoor();
	const near = await dialAgent(dialOptions(door.url, { handlers: { ...NO_HANDLERS, open: (o) => lender.lend(o) } }));
	const far = await door.next();
	const link = await far.openLink({ probe: "0f".repeat(16), limits: { memoryBytes: 1e9, minutes: 3 } });
	const engine = await createEngineClient(link, {
		clockUs: () => performance.now() * 1000,
		readyDeadlineMs: 600_000,
		randomBytes: random,
	});
	const program = encodeProgram(mlpSample().program);
	await assert.rejects(engine.openWork({ device: 0, program, seed: SEED }), {
		code: "ENGINE_REFUSED",
		message: /no programs/,
	});
	assert.ok((await engine.ping({ deadlineMs: 600_000 })) > 0);
	await engine.close();
	await near.close();
	await door.stop();
});

test("a program that does not fit is refused before anything runs, one that fits takes what its plan says", async (t) => {
	const { engine, pid, open } = await startEngine(["--work"]);
	t.after(() => engine.close());
	const status = (field: string) =>
		1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
	await assert.rejects(openCounter(open, 2 ** 31 - 1, 64), {
		code: "DEVICE_NO_ROOM",
		message: /needs \d+ bytes, \d+ are free/,
	});
	const before = status("VmRSS");
	assert.ok(before < 200e6);
	const elements = 3 << 20;
	const session = await openCounter(open, elements, 2);
	await session.run({ first: 0, count: 3 });
	await session.trace(3, () => {});
	const took = status("VmHWM") - before;
	assert.equal(session.plan.stateBytes, 16 * elements);
	t.diagnostic(`plan ${session.plan.peakBytes}, took ${took}`);
	// Within 5 %, and what an engine needs for itself.
	assert.ok(took < 1.05 * session.plan.peakBytes + 8e6 && took > 0.95 * session.plan.peakBytes);
	await session.release();
	assert.ok(status("VmRSS") - before < 8e6);
});
