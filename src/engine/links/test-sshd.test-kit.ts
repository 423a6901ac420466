// A real OpenSSH server for tests: on loopback, on a free port, with keys and configuration in a folder of
// its own. Not a service. It runs as the current user and is ended by its own process id.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const SSHD = "/usr/sbin/sshd";

export interface TestSshd {
	readonly folder: string;
	readonly port: number;
	readonly user: string;
	/** A private key that the server lets in, and one that it does not know. */
	readonly identityFile: string;
	readonly strangerFile: string;
	/** The user's home on "the far side". */
	readonly home: string;
	readonly log: () => string;
	/** Ends the server and starts it again on the same port, with a new host key if asked. */
	restart(o: { newHostKey: boolean }): Promise<void>;
	stop(): Promise<void>;
}

/**
 * Below those that the system gives out by itself, and apart from those of other processes: it stays free
 * until it is used.
 */
let lastPort = 10_000 + 20 * (process.pid % 1000);
export async function freePort(): Promise<number> {
	for (;;) {
		const port = ++lastPort;
		const server = createServer();
		const isFree = await new Promise<boolean>((resolve) => {
			server.once("error", () => resolve(false));
			server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
		});
		if (isFree) return port;
	}
}

function makeKey(file: string): void {
	rmSync(file, { force: true });
	rmSync(`${file}.pub`, { force: true });
	execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file]);
}

/** `extra` are more lines of sshd_config; `path` is PATH on the far side (for programs that lie or lack). */
export async function startTestSshd(o: { extra?: readonly string[]; path?: string } = {}): Promise<TestSshd> {
	const folder = mkdtempSync(join(tmpdir(), "assay-sshd-"));
	// Entered by the temporary user of the password test as well; private keys inside are readable by their
	// owner only.
	execFileSync("chmod", ["755", folder]);
	const [hostKey, identityFile, strangerFile] = [join(folder, "host"), join(folder, "id"), join(folder, "stranger")];
	for (const file of [hostKey, identityFile, strangerFile]) makeKey(file);
	// A home of its own: nothing is written to the user's, and no login script of theirs runs.
	const home = join(folder, "home");
	mkdirSync(home);
	execFileSync("chmod", ["777", home]);
	const isRoot = process.getuid?.() === 0;
	if (isRoot && !existsSync("/run/sshd")) mkdirSync("/run/sshd", { mode: 0o755 });
	const port = await freePort();
	const path = o.path ?? "/usr/local/bin:/usr/bin:/bin";
	const lines = [
		...(o.extra ?? []),
		`Port ${port}`,
		"ListenAddress 127.0.0.1",
		`HostKey ${hostKey}`,
		"PidFile none",
		`AuthorizedKeysFile ${identityFile}.pub`,
		"StrictModes no",
		"UsePAM no",
		"KbdInteractiveAuthentication no",
		"PermitRootLogin yes",
		`SetEnv HOME=${home} PATH=${path}`,
	];
	writeFileSync(join(folder, "config"), `${lines.join("\n")}\n`);

	let log = "";
	const launch = async () => {
		const child = spawn(SSHD, ["-D", "-e", "-f", join(folder, "config")], { stdio: ["ignore", "ignore", "pipe"] });
		child.stderr.on("data", (chunk: Buffer) => {
			log = (log + chunk.toString()).slice(-20_000);
		});
		const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
		while (!(await answers(port))) {
			if (child.exitCode !== null) throw new Error(`sshd did not start: ${log}`);
			await sleep(25);
		}
		return { child, exited };
	};
	let server = await launch();
	const end = async () => {
		server.child.kill("SIGTERM");
		await server.exited;
	};
	return {
		folder,
		port,
		user: userInfo().username,
		identityFile,
		strangerFile,
		home,
		log: () => log,
		async restart({ newHostKey }) {
			await end();
			if (newHostKey) makeKey(hostKey);
			server = await launch();
		},
		async stop() {
			await end();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

function answers(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ host: "127.0.0.1", port });
		socket.once("connect", () => {
			socket.destroy();
			resolve(true);
		});
		socket.once("error", () => resolve(false));
	});
}
