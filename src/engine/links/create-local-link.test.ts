// The local link: programs that behave and programs that do not, and the real engine, built when it is not
// there.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findEngine, hostPlatform, packageRoot, unameToPlatform } from "../builds.ts";
import { createEngineClient } from "../client/create-engine-client.ts";
import { POLITE, shellEngine, TALKING, writeProgram } from "../client/toy-program.test-kit.ts";
import { createChildLink, spawnDetached } from "./child-link.ts";
import { createLocalLink } from "./create-local-link.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-local-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const clockUs = () => Math.round(performance.now() * 1000);
const client = { clockUs, readyDeadlineMs: 600_000, randomBytes: (n: number) => new Uint8Array(n).fill(7) };
const gemm = {
	session: 1,
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 3,
	keep: 2,
	seed: new Uint8Array(32),
} as const;

async function start(text: string, o: { graceMs?: number; env?: Record<string, string> } = {}) {
	const { path, sha256 } = writeProgram(join(folder, `engine-${Math.round(performance.now() * 1e6)}`), text);
	const link = await createLocalLink({
		command: path,
		env: o.env ?? process.env,
		...(o.graceMs ? { graceMs: o.graceMs } : {}),
	});
	assert.equal(link.engineSha256, sha256);
	return link;
}

/** A zombie that nobody reaped (a container without an init) is not alive. */
function isAlive(pid: number): boolean {
	try {
		return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
	} catch {
		return false;
	}
}

test("a polite engine exits at the end of its input", async () => {
	const link = await start(POLITE);
	assert.equal((await createEngineClient(link, client)).version, "toy");
	await link.close();
	assert.deepEqual(await link.closed, { code: 0, signal: null, stderrTail: "" });
	await link.close();
});

test("one that was gone before anybody listened is told as gone, by its code", async () => {
	const child = await spawnDetached("sh", ["-c", "exit 3"], {});
	await once(child, "close");
	const facts = { engineSha256: null, hostKey: null, handshakeUs: null };
	const link = createChildLink(child, { kind: "local", ...facts });
	assert.deepEqual(await link.closed, { code: 3, signal: null, stderrTail: "" });
	await link.close();
});

test("one that ignores its input and SIGTERM is killed, with all it started", async () => {
	const link = await start(shellEngine("trap '' TERM\nsleep 1000 &\necho $! $$ >&2\nwhile :; do sleep 1; done"), {
		graceMs: 300,
	});
	await createEngineClient(link, client);
	await link.close();
	const end = await link.closed;
	assert.equal(end.signal, "SIGKILL");
	const pids = end.stderrTail.split(" ").map(Number);
	assert.equal(pids.length, 2);
	// The kernel reaps in its own time.
	while (pids.some(isAlive)) await sleep(20);
});

test("the end of an engine in the middle of a request is told with its last words", async () => {
	const link = await start(shellEngine("head -c 9 >/dev/null\necho 'bad \u001b[31mluck' >&2\nexit 3"));
	const engine = await createEngineClient(link, client);
	const answer = await engine.gemm(gemm, { deadlineMs: 600_000 });
	assert.equal(answer.end, "cut");
	assert.equal(answer.code, "LINK_CLOSED");
	assert.match(answer.detail, /exit code 3; it said: bad \[31mluck/);
});

test("an engine that we hang up on is not gone by itself", async () => {
	const link = await start(shellEngine("cat >/dev/null"));
	const engine = await createEngineClient(link, client);
	const running = engine.gemm(gemm, { deadlineMs: 600_000 });
	await link.close();
	const answer = await running;
	assert.deepEqual([answer.end, answer.code], ["silent", "LINK_CLOSED"]);
});

test("endless stderr is drained and only its tail is kept; endless stdout is garbage", async () => {
	const loud = await start(shellEngine("(head -c 5000000 /dev/zero | tr '\\0' x; echo end) >&2\ncat >/dev/null"));
	const engine = await createEngineClient(loud, client);
	await engine.close();
	const { stderrTail } = await loud.closed;
	assert.match(stderrTail, /^x+end$/);
	assert.ok(stderrTail.length <= 8192);

	const flood = await start(shellEngine("exec cat /dev/zero"));
	const other = await createEngineClient(flood, client);
	assert.equal((await other.gemm(gemm, { deadlineMs: 600_000 })).end, "garbage");
	await flood.close();
});

test("the engine sees little of our environment", async () => {
	const link = await start("#!/bin/sh\nenv >&2\n", {
		env: { PATH: "/usr/bin:/bin", SECRET: "no", CUDA_VISIBLE_DEVICES: "0" },
	});
	const { stderrTail } = await link.closed;
	assert.match(stderrTail, /CUDA_VISIBLE_DEVICES=0/);
	assert.doesNotMatch(stderrTail, /SECRET/);
});

test("what cannot be started is said", async () => {
	const plain = join(folder, "plain");
	writeFileSync(plain, "no program", { mode: 0o644 });
	for (const command of [join(folder, "absent"), plain, folder]) {
		await assert.rejects(createLocalLink({ command, env: {} }), { name: "AssayError", code: "ENGINE_NOT_STARTED" });
	}
});

test("a talking engine over pipes: echo, roots as they come, stop at the deadline", async () => {
	const engine = await createEngineClient(await start(TALKING), client);
	assert.ok((await engine.ping({ deadlineMs: 600_000 })) > 0);
	const answer = await engine.gemm(gemm, { deadlineMs: 10_000 });
	assert.equal(answer.code, "LINK_DEADLINE");
	assert.deepEqual(
		answer.roots.map((r) => r.index),
		[0, 1, 2],
	);
	assert.ok(answer.roots.every((r, i) => i === 0 || r.atUs >= answer.roots[i - 1]!.atUs));
});

test("an answer that lies in the pipe counts, even when we were too busy to read it in time", async () => {
	const engine = await createEngineClient(await start(TALKING), client);
	await engine.ping({ deadlineMs: 600_000 });
	const echo = engine.ping({ deadlineMs: 50 });
	// Blocks this thread for far longer than the engine needs, and past the deadline.
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000);
	assert.ok((await echo) > 0);
	await engine.close();
});

test("builds: known platforms, our own folder, and a clear word when there is no engine", async () => {
	assert.equal(unameToPlatform("Linux", "x86_64"), "linux-x64");
	assert.equal(unameToPlatform("Linux", "aarch64"), "linux-arm64");
	for (const [system, machine] of [
		["Darwin", "arm64"],
		["Linux", "riscv64"],
		["", ""],
	] as const) {
		assert.equal(unameToPlatform(system, machine), null);
	}
	assert.match(hostPlatform(), /^linux-(x64|arm64)$/);
	assert.throws(() => packageRoot("/"), { code: "ENGINE_MISSING" });
	await assert.rejects(findEngine("linux-x64", { root: folder }), { name: "AssayError", code: "ENGINE_MISSING" });
	await assert.rejects(findEngine("linux-x64", { root: folder, build: false }), {
		name: "AssayError",
		code: "ENGINE_MISSING",
	});
});

test("the real engine answers over the local link", { timeout: 600_000 }, async () => {
	const build = await findEngine(hostPlatform());
	const link = await createLocalLink({ command: build.path, env: process.env });
	assert.equal(link.engineSha256, build.sha256);
	const engine = await createEngineClient(link, client);
	const claim = await engine.hello({ deadlineMs: 600_000 });
	const device = claim.devices.findIndex(({ kind }) => kind === "cpu");
	assert.notEqual(device, -1);
	assert.equal(claim.engine.version, engine.version);
	assert.ok((await engine.ping({ deadlineMs: 600_000 })) > 0);
	const o = { deadlineMs: 600_000 };
	const answer = await engine.gemm({ ...gemm, device }, o);
	assert.deepEqual({ end: answer.end, roots: answer.roots.map((r) => r.index) }, { end: "complete", roots: [0, 1, 2] });
	const streamed = await engine.stream(
		{ session: 1, reader: device, newest: 0, passes: 2, nonce: new Uint8Array(32) },
		o,
	);
	assert.deepEqual({ end: streamed.end, roots: streamed.roots.length }, { end: "complete", roots: 2 });
	const places = [
		{ round: 2, index: 127 },
		{ round: 0, index: 0 },
	];
	const opened = await engine.open({ session: 1, what: "leaves", places }, o);
	assert.equal(opened.end, "complete");
	assert.deepEqual(
		opened.openings.map((x) => [x.round, x.index, x.leaf.length, x.path.length]),
		[
			[2, 127, 1024, 7 * 32],
			[0, 0, 1024, 7 * 32],
		],
	);
	const groups = await engine.open({ session: 1, what: "digests", places: [{ round: 1, index: 0 }] }, o);
	assert.equal(groups.openings.length, 1);
	const fma = await engine.fma(
		{ session: 2, device, precision: "fp32", lanes: 256, steps: 512, rounds: 2, seed: new Uint8Array(32) },
		o,
	);
	assert.equal(fma.end, "complete");
	const refused = await engine.gemm({ ...gemm, session: 1, device }, o);
	assert.deepEqual([refused.end, refused.engineError?.code], ["refused", 2]);
	const stop = new AbortController();
	const long = await engine.gemm(
		{ ...gemm, session: 3, device, rounds: 1 << 20 },
		{ ...o, stop: stop.signal, onRoot: () => stop.abort() },
	);
	assert.equal(long.end, "stopped");
	assert.equal((await engine.release(1, o)).end, "complete");
	assert.equal((await engine.release(1, o)).engineError?.code, 6);
	await engine.close();
	assert.equal((await link.closed).code, 0);
});
