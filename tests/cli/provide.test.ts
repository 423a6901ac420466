// `assay provide` as a program: options that are wrong, a connection that comes about, a clean end on a
// signal.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventLine, provideCommand } from "../../src/cli/commands/provide.ts";
import { errorToExitCode, exitCodes } from "../../src/cli/exit-codes.ts";
import { openDoor } from "../../src/engine/agent/agent.test-kit.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { atEnd } from "../at-end.test-kit.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;
let folder = "";
before(async () => {
	folder = mkdtempSync(join(tmpdir(), "assay-provide-"));
	await findEngine(hostPlatform());
});
after(() => rmSync(folder, { recursive: true }));

function provide(...args: readonly string[]) {
	const child = spawn(process.execPath, [MAIN, "provide", ...args], { stdio: ["ignore", "pipe", "pipe"] });
	const output = { out: "", err: "" };
	child.stdout.on("data", (chunk: Buffer) => {
		output.out += chunk.toString();
	});
	child.stderr.on("data", (chunk: Buffer) => {
		output.err += chunk.toString();
	});
	const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
	return { child, output, ended };
}

for (const signal of ["SIGTERM", "SIGINT"] as const)
	test(`connects, tells what happens as JSON, and ends in order on ${signal}`, async (t) => {
		const door = await openDoor(t);
		const data = join(folder, signal);
		const { child, output, ended } = provide(
			...["--validator", door.url, "--data", data],
			...["--name", "h", "--price", "1.5", "--json"],
		);
		atEnd(t, () => child.kill("SIGKILL"));
		const far = await door.next();
		assert.deepEqual(far.offer, { name: "h", pricePerHourMicros: 1_500_000, rentable: false, ssh: null, jobs: null });
		const link = await far.openLink({ probe: "00".repeat(16), limits: { memoryBytes: 1e9, minutes: 1 } });
		await link.close();
		// Twice: npm passes on what the whole group gets from a terminal or a supervisor.
		child.kill(signal);
		child.kill(signal);
		setTimeout(() => child.kill(signal), 5).unref();
		assert.equal(await ended, 0, output.err);
		assert.equal((await far.closed).closeCode, 1001);
		const kinds = output.out
			.trim()
			.split("\n")
			.map((line) => (JSON.parse(line) as { kind: string }).kind);
		for (const kind of ["started", "connected", "opened", "closed"]) assert.ok(kinds.includes(kind), kind);
		assert.match(output.err, new RegExp(far.providerKey));
		assert.equal(statSync(join(data, "provider.key")).mode & 0o777, 0o600);
		assert.equal(readFileSync(join(data, "provider.key"), "utf8").includes(far.providerKey), false);
	});

for (const [name, args] of Object.entries({
	"no validator": [],
	"no URL": ["--validator", "somewhere"],
	"a URL with a password": ["--validator", "ws://a:b@c"],
	"a key that is none": ["--validator", "ws://127.0.0.1:1", "--trust", "abc"],
	"a price that is none": ["--validator", "ws://127.0.0.1:1", "--price", "cheap"],
	"too many minutes": ["--validator", "ws://127.0.0.1:1", "--max-minutes", "1e9"],
	"rentable without a host": ["--validator", "ws://127.0.0.1:1", "--rentable"],
	"a host that is an option": ["--validator", "ws://127.0.0.1:1", "--rentable", "--ssh-host=-oX"],
	"an image that is an option": [
		"--validator",
		"ws://127.0.0.1:1",
		"--rentable",
		"--ssh-host",
		"h",
		"--image=--privileged",
	],
	"an unknown kind of rental": ["--validator", "ws://127.0.0.1:1", "--rentable", "--ssh-host", "h", "--rental", "vm"],
	"a name with an escape": ["--validator", "ws://127.0.0.1:1", "--name", "\u001b[2J"],
	"an unknown option": ["--validator", "ws://127.0.0.1:1", "--frobnicate"],
}))
	test(`wrong usage: ${name}`, async () => {
		const io = { out: process.stdout, err: process.stderr, env: {}, cwd: folder, interrupted: AbortSignal.abort() };
		const run = provideCommand.run([...args, "--data", join(folder, "usage")], io);
		await assert.rejects(run, (error) => errorToExitCode(error) === exitCodes.usage.code);
	});

test("an engine that is not there ends with 69", async () => {
	const { output, ended } = provide(
		"--validator",
		"ws://127.0.0.1:1",
		"--engine",
		"/none",
		"--data",
		join(folder, "no-engine"),
	);
	assert.equal(await ended, 69, output.err);
	assert.match(output.err, /ENGINE_MISSING/);
});

test("a data folder that cannot be made ends with 74", async () => {
	const { ended, output } = provide("--validator", "ws://127.0.0.1:1", "--data", "/dev/null/none");
	assert.equal(await ended, 74, output.err);
	assert.match(output.err, /FILE_UNWRITABLE/);
});

test("every event has its line, and none holds more than it should", () => {
	assert.equal(eventLine({ kind: "dialling", url: "ws://x/agent" }), null);
	assert.match(
		eventLine({ kind: "closed", validatorKey: "aa".repeat(32), probe: "b", killed: "its 1 min were over" })!,
		/killed/,
	);
	const judged = { kind: "judged", validatorKey: "aa".repeat(32), probe: "b", findings: [] } as const;
	assert.match(
		eventLine({ ...judged, status: "invalid", code: "NONCE_WRONG" })!,
		/^probe b by a+…: invalid \[NONCE_WRONG\]$/,
	);
	const findings = [
		{ code: "LOW_SAMPLES", detail: "few" },
		{ code: "DEVICE_ELSEWHERE", detail: "counted already: k for p" },
	];
	assert.match(
		eventLine({ ...judged, status: "valid", code: null, findings })!,
		/: valid\n {2}counted already: k for p \[DEVICE_ELSEWHERE\]\n {2}One card counts for one provider/,
	);
	assert.match(eventLine({ kind: "rented", rental: "r", user: "u", untilMs: 0 })!, /until 1970-01-01 00:00:00 UTC/);
});
