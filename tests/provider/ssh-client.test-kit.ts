// A real SSH client for tests of rentals: keys, logins, and what came back. The server is the provider's own.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RentedAccess } from "../../src/engine/agent/agent-calls.ts";

/** Rentals by system user are tested as root or not at all: a test that looks away would say nothing. */
export function needRoot(): void {
	if (process.getuid?.() !== 0)
		throw new Error("this test makes system users: run it as root, e.g. `sudo npm test`, or in a container");
}

export interface TestKey {
	readonly file: string;
	readonly line: string;
}

export interface SshResult {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

export interface SshClient {
	readonly folder: string;
	makeKey(name: string): TestKey;
	/** Runs a command over ssh, with only this key, and only if the server's key is the one of the rental. */
	run(access: RentedAccess, key: TestKey, command: string, more?: readonly string[]): Promise<SshResult>;
	/** The same, but the session goes on; `first` settles with its first output. */
	start(access: RentedAccess, key: TestKey, command: string): { first: Promise<string>; ended: Promise<SshResult> };
	/** Ends the sessions that go on. */
	stop(): void;
}

/** Its folder is not below /tmp: sshd believes no key in a folder that others may write to. */
export function createSshClient(): SshClient {
	const folder = mkdtempSync("/var/lib/assay-rental-test-");
	const sessions = new Set<ChildProcess>();
	const launch = (access: RentedAccess, key: TestKey, command: string, more: readonly string[] = []) => {
		const known = join(folder, "known_hosts");
		writeFileSync(known, `[${access.host}]:${access.port} ${access.hostKey}\n`);
		const options = [
			...["-F", "none", "-i", key.file, "-p", String(access.port)],
			...["-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"],
			...["-o", `UserKnownHostsFile=${known}`, "-o", "GlobalKnownHostsFile=none", "-o", "ConnectTimeout=20"],
		];
		const child = spawn("ssh", [...options, ...more, `${access.user}@${access.host}`, command], {
			env: { PATH: process.env.PATH },
			stdio: ["ignore", "pipe", "pipe"],
		});
		sessions.add(child);
		let stdout = "";
		let stderr = "";
		const first = Promise.withResolvers<string>();
		child.stdout.on("data", (chunk: Buffer) => {
			stdout += chunk.toString();
			first.resolve(stdout);
		});
		child.stderr.on("data", (chunk: Buffer) => {
			stderr += chunk.toString();
		});
		const ended = new Promise<SshResult>((resolve) =>
			child.once("close", (code) => {
				sessions.delete(child);
				first.resolve(stdout);
				resolve({ code, stdout, stderr });
			}),
		);
		return { first: first.promise, ended };
	};
	return {
		folder,
		makeKey(name) {
			const file = join(folder, name);
			execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file]);
			return { file, line: readFileSync(`${file}.pub`, "utf8").trim() };
		},
		run: (access, key, command, more) => launch(access, key, command, more).ended,
		start: (access, key, command) => launch(access, key, command),
		stop() {
			for (const one of sessions) one.kill("SIGKILL");
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
