// `assay probe --fleet` of 50 loopback targets over the system's ssh: one real host, one that takes the
// connection and never says a word, the rest dead. No more than so many at once, the silent one delays
// nobody, and Ctrl-C leaves nothing running.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { FleetRow } from "../../src/cli/fleet/probe-fleet.ts";
import { startTestSshd } from "../../src/engine/links/test-sshd.test-kit.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "assay-fleet-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const AT_ONCE = 4;

/** The system's ssh, which notes whom it is called for and until when. */
function writeNotingSsh(): string {
	const folder = join(scratch, "programs");
	mkdirSync(folder);
	const real = execFileSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).trim();
	// One line a write: appends of several processes do not mix.
	const note = (what: string) => `printf '%s %s\\n' ${what} "$*" >> '${scratch}/calls.log'`;
	writeFileSync(
		join(folder, "ssh"),
		`#!/bin/bash\n${note("begin")}\n'${real}' "$@"\ncode=$?\n${note("end")}\nexit $code\n`,
	);
	chmodSync(join(folder, "ssh"), 0o755);
	return folder;
}

/** Hosts between their first call and their last end: the most that were at once. */
function mostAtOnce(log: string, hosts: readonly string[]): number {
	const lines = log.trim().split("\n");
	const hostOf = (line: string) => hosts.find((host) => line.includes(host));
	const last = new Map(lines.map((line, at) => [hostOf(line), at]));
	const open = new Set<string>();
	let most = 0;
	for (const [at, line] of lines.entries()) {
		const host = hostOf(line);
		if (host === undefined) continue;
		open.add(host);
		most = Math.max(most, open.size);
		if (last.get(host) === at) open.delete(host);
	}
	return most;
}

/** Processes whose command line names the port. */
const callsOn = (port: number): string[] =>
	readdirSync("/proc")
		.filter((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`))
		.flatMap((pid) => {
			try {
				const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
				return /^\S*ssh |bash \S*ssh /.test(line) && line.includes(String(port)) ? [line] : [];
			} catch {
				return []; // it has just ended
			}
		});

test("50 targets: bounded, nobody waits for the silent one, Ctrl-C ends it", async () => {
	const sshd = await startTestSshd();
	const held = new Set<Socket>();
	const silent = createServer((socket) => void held.add(socket.on("error", () => {})));
	await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
	const { port } = silent.address() as AddressInfo;
	let started: ChildProcess | null = null;
	try {
		const dead = Array.from({ length: 48 }, (_, i) => `127.0.0.${i + 2}`);
		// The silent one first: it has a place from the beginning to the end.
		const targets = [`127.0.0.1:${port}`, ...dead.slice(0, 24).map((host) => `${host}:1`), `127.0.0.1:${sshd.port}`];
		targets.push(...dead.slice(24).map((host) => `${host}:1`));
		writeFileSync(join(scratch, "fleet.txt"), targets.map((host) => `ssh://${sshd.user}@${host}\n`).join(""));
		const args = [
			"probe",
			"--fleet",
			"fleet.txt",
			"--at-once",
			String(AT_ONCE),
			"--quick",
			"--json",
			"--out",
			"evidence",
		];
		const child = spawn(process.execPath, [main, ...args, "--timeout", "600", "--identity", sshd.identityFile], {
			cwd: scratch,
			env: {
				...process.env,
				PATH: `${writeNotingSsh()}${delimiter}${process.env.PATH}`,
				ASSAY_HOME: join(scratch, "home"),
			},
			stdio: ["ignore", "pipe", "inherit"],
		});
		started = child;
		const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
		const rows: FleetRow[] = [];
		for await (const line of createInterface({ input: child.stdout })) {
			rows.push(JSON.parse(line));
			// All but the silent one, which still has its place.
			if (rows.length === 49) {
				assert.ok(callsOn(port).length > 0);
				child.kill("SIGINT");
			}
		}
		assert.equal(await ended, 130);
		assert.deepEqual(callsOn(port), []);
		assert.equal(rows.length, 50);
		const [valid, lost] = ["valid", "unreachable"].map((status) => rows.filter((row) => row.status === status));
		assert.deepEqual([valid!.length, lost!.length, rows.at(-1)!.status], [1, 48, "not probed"]);
		assert.ok(lost!.every(({ code }) => code === "HOST_UNREACHABLE"));
		assert.ok(existsSync(valid![0]!.evidence!));
		const log = readFileSync(join(scratch, "calls.log"), "utf8");
		const hosts = [...dead.map((host) => `${host} `), String(port), String(sshd.port)];
		const most = mostAtOnce(log, hosts);
		assert.ok(most > 1 && most <= AT_ONCE, `${most} at once`);
	} finally {
		started?.kill("SIGKILL");
		for (const socket of held) socket.destroy();
		silent.close();
		await sshd.stop();
	}
});
