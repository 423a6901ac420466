// The SSH server of rentals: OpenSSH's, started by the provider on a port and with a host key of its own,
// apart from the host's own server. It lets in the names of rentals only, by the key of their customer only,
// and forwards nothing. After the end of a rental it refuses its key by itself. It outlives the provider
// while a rental lasts, so that a restart of the provider throws nobody out; a provider that comes back finds
// it by its process id.
import { spawn } from "node:child_process";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { chown, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RentalHealth } from "../../engine/agent/agent-calls.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { runProgram } from "./run-program.ts";

export const SSHD = "/usr/sbin/sshd";
const START_MS = 30_000;
/** Of one customer, with threads: enough for data loaders on a large host, a bound for a fork bomb. */
export const MAX_PROCESSES = 16_384;

export interface RentalSshdOptions {
	/** Host key, configuration, log: for the provider only. */
	readonly folder: string;
	/** authorized_keys by login name. sshd wants every folder above to be root's or the user's. */
	readonly keysFolder: string;
	readonly port: number;
	/** Addresses to listen on; all when empty. */
	readonly listen: readonly string[];
	/** A pattern of sshd_config. */
	readonly allowUsers: string;
	readonly permitRootLogin: "no" | "prohibit-password";
}

export interface AllowedKey {
	/** What the key may do, in the words of authorized_keys. */
	readonly options: string;
	readonly publicKey: string;
	/** May read the file: the server looks at it as the user who logs in. */
	readonly gid: number;
	readonly untilMs: number;
}

/** YYYYMMDDHHMMSS, in UTC. sshd lets a key in up to the end of that second. */
const sshTime = (ms: number) => new Date(ms).toISOString().replace(/\D/g, "").slice(0, 14);

export class RentalSshd {
	readonly port: number;
	private readonly options: RentalSshdOptions;
	private readonly hostKeyFile: string;
	private readonly configFile: string;
	private readonly pidFile: string;
	private readonly logFile: string;

	constructor(options: RentalSshdOptions) {
		const { folder, port } = options;
		this.port = port;
		this.options = options;
		this.hostKeyFile = join(folder, "host_ed25519");
		this.configFile = join(folder, "sshd_config");
		this.pidFile = join(folder, "sshd.pid");
		this.logFile = join(folder, "sshd.log");
	}

	/** `ssh-ed25519 AAAA…` */
	async hostKey(): Promise<string> {
		await this.prepare();
		return readFileSync(`${this.hostKeyFile}.pub`, "utf8").trim().split(" ").slice(0, 2).join(" ");
	}

	/**
	 * Runs from now on, if it does not already, under the beginning of a command line. Throws AssayError
	 * RENTAL_FAILED.
	 */
	async start(under: readonly string[] = []): Promise<void> {
		if (this.runningPid() !== null) return;
		await this.prepare();
		// Where sshd gives up its rights before the login; the host's own start script makes it, if there is one.
		if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
		const log = openSync(this.logFile, "a", 0o600);
		const limits = ["--core=0", `--nproc=${MAX_PROCESSES}`];
		const [program, ...args] = [...under, "prlimit", ...limits, SSHD, "-D", "-e", "-f", this.configFile];
		const child = spawn(program!, args, {
			detached: true,
			stdio: ["ignore", "ignore", log],
			// UTC: the ends of keys are read in its time zone; older servers know no other way to say which.
			env: { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC0" },
		});
		closeSync(log);
		let ended: string | null = null;
		child.once("error", (error) => {
			ended = error.message;
		});
		child.once("exit", (code) => {
			ended = `exit code ${code}`;
		});
		child.unref();
		for (const until = performance.now() + START_MS; performance.now() < until; await sleep(25)) {
			if (ended !== null) throw this.failed(`the SSH server does not start: ${ended}`);
			if (this.runningPid() !== null && (await this.answers())) return;
		}
		child.kill("SIGKILL");
		throw this.failed("the SSH server does not answer");
	}

	async stop(): Promise<void> {
		const pid = this.runningPid();
		if (pid === null) return;
		process.kill(pid, "SIGTERM");
		for (let i = 0; i < 200 && this.runningPid() !== null; i++) await sleep(25);
		if (this.runningPid() === pid) process.kill(pid, "SIGKILL");
		await rm(this.pidFile, { force: true });
	}

	/** A server that was ended by somebody is started again before anyone is told. */
	async health(under: readonly string[] = []): Promise<RentalHealth> {
		if (!(await this.answers())) await this.start(under).catch(() => {});
		const healthy = await this.answers();
		return { healthy, detail: healthy ? "" : "the SSH server does not answer" };
	}

	/** Whether a server of SSH answers on the port. */
	answers(): Promise<boolean> {
		return hasBanner(this.port, this.options.listen[0] ?? "127.0.0.1");
	}

	/** One key, to the second of its end: this server lets nobody in by it afterwards, provider or not. */
	async allow(user: string, key: AllowedKey): Promise<void> {
		await this.prepare();
		const { options, publicKey, gid, untilMs } = key;
		const path = this.keyFileOf(user);
		const line = `${options},expiry-time="${sshTime(untilMs)}" ${publicKey}\n`;
		// Given its name when it is whole: a login at this moment finds the old one or the new one.
		const draft = `${path}.draft`;
		await writeFile(draft, line, { mode: 0o640 });
		await chown(draft, process.getuid?.() ?? 0, gid);
		await rename(draft, path);
	}

	async deny(user: string): Promise<void> {
		await rm(this.keyFileOf(user), { force: true });
	}

	isAllowed(user: string): boolean {
		return existsSync(this.keyFileOf(user));
	}

	keyFileOf(user: string): string {
		return join(this.options.keysFolder, user);
	}

	private failed(detail: string): AssayError {
		return new AssayError("RENTAL_FAILED", detail, { hint: `See ${this.logFile}.` });
	}

	private async prepare(): Promise<void> {
		const { folder, keysFolder } = this.options;
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		chmodSync(folder, 0o700);
		mkdirSync(keysFolder, { recursive: true, mode: 0o711 });
		if (!existsSync(this.hostKeyFile)) {
			const made = await runProgram("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", this.hostKeyFile]);
			if (made.code !== 0) throw this.failed(`ssh-keygen made no host key: ${made.stderr}`);
		}
		const files = [`HostKey ${this.hostKeyFile}`, `PidFile ${this.pidFile}`];
		await writeFile(this.configFile, `${[...files, ...sshdConfig(this.options)].join("\n")}\n`, { mode: 0o600 });
	}

	/** Null: not running. A number in a file may by now be anybody's: the command line tells. */
	private runningPid(): number | null {
		try {
			const pid = Number(readFileSync(this.pidFile, "utf8").trim());
			if (!Number.isSafeInteger(pid) || pid <= 1) return null;
			return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(this.configFile) ? pid : null;
		} catch {
			return null;
		}
	}
}

function sshdConfig({ port, listen, allowUsers, keysFolder, permitRootLogin }: RentalSshdOptions): string[] {
	return [
		`Port ${port}`,
		...listen.map((address) => `ListenAddress ${address}`),
		`AllowUsers ${allowUsers}`,
		`AuthorizedKeysFile ${join(keysFolder, "%u")}`,
		`PermitRootLogin ${permitRootLogin}`,
		"AuthenticationMethods publickey",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"HostbasedAuthentication no",
		"PermitEmptyPasswords no",
		// PAM would apply the host's own rules of who may log in and how; ours are here.
		"UsePAM no",
		"StrictModes yes",
		"DisableForwarding yes",
		"AllowTcpForwarding no",
		"AllowStreamLocalForwarding no",
		"AllowAgentForwarding no",
		"X11Forwarding no",
		"PermitTunnel no",
		"GatewayPorts no",
		"PermitUserEnvironment no",
		"PermitUserRC no",
		"AcceptEnv none",
		"PrintMotd no",
		"Subsystem sftp internal-sftp",
		"LoginGraceTime 60",
		"MaxAuthTries 3",
		"MaxStartups 10:30:60",
		"MaxSessions 32",
		"ClientAliveInterval 30",
		"ClientAliveCountMax 4",
	];
}

function hasBanner(port: number, host: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ host, port });
		const done = (ok: boolean) => {
			socket.destroy();
			resolve(ok);
		};
		socket.setTimeout(3000, () => done(false));
		socket.once("data", (chunk: Buffer) => done(chunk.toString("latin1").startsWith("SSH-2.0-")));
		socket.once("error", () => done(false));
		socket.once("close", () => done(false));
	});
}
