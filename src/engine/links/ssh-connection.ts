// One ssh connection to one host, and bounded commands over it. Knows ssh, not engines (create-ssh-link.ts).
// The connection is a child of ours that runs `cat` on the host, held by its stdin: when this process dies,
// however it dies, the kernel closes the pipe, cat ends, ssh ends. No daemon is left behind. Its control
// socket lies in a folder that only we can enter.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInTime } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { keepTail, passedEnv, signalGroup, spawnDetached, whenGone } from "./child-link.ts";
import { CANNOT_STORE, GREET } from "./remote-scripts.ts";
import { connectTimeout, remoteGarbage, remoteWriteFailure, sshFailure, stepTimeout } from "./ssh-failure.ts";
import { masterArguments, resolveArguments, type SshLinkOptions, sessionArguments } from "./ssh-options.ts";

/** No honest step says more than a line; login scripts may add some. */
const MAX_ANSWER_BYTES = 64 << 10;
/** sockaddr_un holds 104 bytes on some systems, and ssh adds a suffix of 17 while it makes the socket. */
const MAX_SOCKET_PATH = 80;
const CLOSE_GRACE_MS = 1000;
const PASSED = ["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "KRB5CCNAME"];
const ASKPASS = '#!/bin/sh\nprintf "%s\\n" "$ASSAY_SSH_SECRET"\n';

/** What ssh makes of the target by its configuration; `direct` is false behind a proxy or jump host. */
export interface Resolved {
	readonly host: string;
	readonly port: number;
	readonly direct: boolean;
}

export interface SshConnection {
	/** What `uname -sm` printed: two words, checked for their characters only. */
	readonly system: string;
	readonly machine: string;
	/** Runs a fixed command and gives what follows `assay:` in its answer. `stdinFile` is sent to it. */
	ask(command: string, options: { doing: string; timeoutMs: number; stdinFile?: string }): Promise<string>;
	/** Starts a command whose streams the caller takes over. */
	start(command: string): Promise<ChildProcessWithoutNullStreams>;
	close(): Promise<void>;
}

const sshEnv = ({ env }: SshLinkOptions): Record<string, string> => passedEnv(env, PASSED);

/** Own process group and session: no terminal that ssh could ask for a password behind our back. */
async function spawnSsh(args: string[], env: Record<string, string>): Promise<ChildProcessWithoutNullStreams> {
	try {
		return await spawnDetached("ssh", args, env);
	} catch (cause) {
		throw new AssayError("SSH_MISSING", "there is no ssh program here", {
			hint: "Install the OpenSSH client (openssh-client).",
			cause,
		});
	}
}

interface Heard {
	readonly answer: string | null;
	readonly trouble: "deadline" | "flood" | null;
	readonly code: number | null;
	readonly stderr: string;
}

/** Listens for one `assay:` line until it came (`untilLine`) or the child exits, within time and bytes. */
async function hear(
	child: ChildProcessWithoutNullStreams,
	timeoutMs: number,
	untilLine: boolean,
	signal: AbortSignal | undefined,
): Promise<Heard> {
	const stderr = keepTail(child.stderr);
	const gone = whenGone(child);
	let text = "";
	let trouble: Heard["trouble"] = null;
	let bytes = 0;
	const line = () => /^assay:([ -~]{0,200})\r?\n/m.exec(text)?.[1] ?? null;
	const { promise: over, resolve } = Promise.withResolvers<void>();
	const onData = (chunk: Buffer) => {
		bytes += chunk.length;
		if (bytes > MAX_ANSWER_BYTES) {
			trouble = "flood";
			resolve();
			return;
		}
		text += chunk.toString("latin1");
		if (untilLine && line() !== null) resolve();
	};
	child.stdout.on("data", onData);
	const end = gone.then((e) => e.code);
	signal?.addEventListener("abort", () => resolve(), { once: true });
	if (signal?.aborted) resolve();
	if (!(await isInTime(Promise.race([over, gone]), timeoutMs))) trouble = "deadline";
	child.stdout.off("data", onData);
	// Goes on draining: a peer that talks on must not fill the pipe and stand still with the connection in its
	// hands.
	child.stdout.resume();
	if (trouble !== null || signal?.aborted) signalGroup(child, "SIGKILL");
	signal?.throwIfAborted();
	const code = trouble === null && untilLine && line() !== null ? null : await end;
	return { answer: line(), trouble, code, stderr: stderr() };
}

export async function resolveTarget(options: SshLinkOptions): Promise<Resolved> {
	const child = await spawnSsh(resolveArguments(options), sshEnv(options));
	let text = "";
	child.stdout.on("data", (chunk: Buffer) => {
		if (text.length < MAX_ANSWER_BYTES) text += chunk.toString("utf8");
	});
	const stderr = keepTail(child.stderr);
	child.stdin.end();
	const gone = whenGone(child);
	if (!(await isInTime(gone, 10_000))) signalGroup(child, "SIGKILL");
	const { code } = await gone;
	// A configuration file with a mistake in it is said here already, in ssh's words.
	if (code !== 0) throw sshFailure(options, stderr());
	const value = (name: string) => new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1];
	const proxied = [value("proxyjump"), value("proxycommand")].some((v) => v !== undefined && v !== "none");
	return {
		host: value("hostname") ?? options.target.host,
		port: Number(value("port") ?? options.target.port ?? 22),
		direct: !proxied,
	};
}

/** Throws AssayError: HOST_UNREACHABLE, AUTH_FAILED, HOST_KEY_CHANGED, SSH_FAILED, REMOTE_GARBAGE. */
export async function openSshConnection(options: SshLinkOptions, connectTimeoutMs: number): Promise<SshConnection> {
	const folder = await privateFolder();
	const socket = join(folder, "c");
	let master: ChildProcessWithoutNullStreams | null = null;
	const close = async () => {
		if (master) {
			const gone = whenGone(master);
			master.stdin.end();
			// Already gone counts, with no wait for its pipes.
			const isGone = () => master === null || master.exitCode !== null || master.signalCode !== null;
			if (!isGone() && !(await isInTime(gone, CLOSE_GRACE_MS))) {
				signalGroup(master, "SIGTERM");
				if (!isGone() && !(await isInTime(gone, CLOSE_GRACE_MS))) signalGroup(master, "SIGKILL");
			}
		}
		await rm(folder, { recursive: true, force: true });
	};
	try {
		const env = sshEnv(options);
		if (options.password !== undefined) {
			await writeFile(join(folder, "askpass"), ASKPASS, { mode: 0o700 });
			// FORCE needs OpenSSH 8.4; older ones ask the program when DISPLAY is set and there is no terminal,
			// which is so here.
			Object.assign(env, { SSH_ASKPASS: join(folder, "askpass"), SSH_ASKPASS_REQUIRE: "force", DISPLAY: ":0" });
			env.ASSAY_SSH_SECRET = options.password;
		}
		master = await spawnSsh(masterArguments(options, socket, connectTimeoutMs, GREET), env);
		const { answer, trouble, stderr } = await hear(master, connectTimeoutMs, true, options.signal);
		if (trouble === "deadline") throw connectTimeout(options, connectTimeoutMs);
		if (trouble === "flood") throw remoteGarbage(options, "asking for its system", "endless output");
		if (answer === null) {
			throw stderr === ""
				? remoteGarbage(options, "asking for its system", "it closed the session")
				: sshFailure(options, stderr);
		}
		const [, system, machine] = /^([A-Za-z0-9_.-]{1,32}) ([A-Za-z0-9_.-]{1,32})$/.exec(answer) ?? [];
		if (system === undefined || machine === undefined) {
			throw remoteGarbage(options, "asking for its system", "that is not what uname prints");
		}
		return {
			system,
			machine,
			async ask(command, { doing, timeoutMs, stdinFile }) {
				const child = await spawnSsh(sessionArguments(socket, command), sshEnv(options));
				if (stdinFile === undefined) child.stdin.end();
				else
					createReadStream(stdinFile)
						.on("error", () => child.stdin.destroy())
						.pipe(child.stdin);
				const heard = await hear(child, timeoutMs, false, options.signal);
				if (heard.trouble === "deadline") throw stepTimeout(options, doing, timeoutMs);
				if (heard.trouble === "flood") throw remoteGarbage(options, doing, "endless output");
				if (heard.answer !== null && heard.code === 0) return heard.answer;
				if (CANNOT_STORE.includes(heard.code)) throw remoteWriteFailure(options, heard.stderr);
				throw remoteGarbage(
					options,
					doing,
					`exit code ${heard.code}${heard.stderr === "" ? "" : `, ${heard.stderr.slice(-300)}`}`,
				);
			},
			start: (command) => spawnSsh(sessionArguments(socket, command), sshEnv(options)),
			close,
		};
	} catch (error) {
		await close();
		throw error;
	}
}

async function privateFolder(): Promise<string> {
	const long = await mkdtemp(join(tmpdir(), "assay-"));
	if (join(long, "c").length <= MAX_SOCKET_PATH) return long;
	await rm(long, { recursive: true });
	return mkdtemp("/tmp/assay-");
}
