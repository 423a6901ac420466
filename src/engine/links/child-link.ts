// A link over the standard streams of a child process: the engine itself, or an ssh that runs it far away.
// Bounded: of stderr only the tail is kept, stdout is left to whoever reads it. The child has its own process
// group, so that closing ends all it started and so that Ctrl-C in a terminal reaches only us, who then end
// it in order.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { isInTime } from "../../platform/abortable.ts";
import { printable } from "../client/printable.ts";
import type { Link, LinkEnd } from "./link.ts";

const STDERR_TAIL_BYTES = 8 << 10;
/** After the end of its stdin an engine exits by itself (FRAMES.md); it may be in the middle of a round. */
const DEFAULT_GRACE_MS = 2000;
/** After the exit, how long pipes may stay open (a grandchild can hold them) before they are closed by us. */
const DRAIN_MS = 500;

/** Signals the process group of a child spawned with `detached`; false when it is gone. */
export function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): boolean {
	if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false;
	try {
		return process.kill(-child.pid, signal);
	} catch {
		return false;
	}
}

/** Of our environment what these names allow, and a fixed locale. */
export function passedEnv(
	env: Readonly<Record<string, string | undefined>>,
	names: readonly string[],
): Record<string, string> {
	const passed = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
	return { LC_ALL: "C", ...Object.fromEntries(passed) };
}

/** A child of its own process group, with pipes, once it has started. */
export async function spawnDetached(
	command: string,
	args: readonly string[],
	env: Record<string, string>,
): Promise<ChildProcessWithoutNullStreams> {
	const child = spawn(command, args, { detached: true, env, stdio: ["pipe", "pipe", "pipe"] });
	child.stdin.on("error", () => {});
	// What goes wrong later shows in its end.
	child.on("error", () => {});
	await once(child, "spawn");
	return child;
}

/** Keeps the last bytes of a stream and goes on draining it, however much comes. */
export function keepTail(stream: NodeJS.ReadableStream, bytes = STDERR_TAIL_BYTES): () => string {
	let tail = Buffer.alloc(0);
	stream.on("data", (chunk: Buffer) => {
		tail = Buffer.from(Buffer.concat([tail, chunk.subarray(-bytes)]).subarray(-bytes));
	});
	stream.on("error", () => {});
	return () => printable(tail.toString("utf8"), bytes);
}

export interface ChildLinkFacts {
	readonly kind: Link["kind"];
	readonly engineSha256: string | null;
	readonly hostKey: string | null;
	readonly handshakeUs: number | null;
	readonly graceMs?: number | undefined;
	/** Run once after the child is gone, before close() returns. */
	readonly onClosed?: () => Promise<void>;
}

/** `child` is of spawnDetached. */
export function createChildLink(child: ChildProcessWithoutNullStreams, facts: ChildLinkFacts): Link {
	const stderrTail = keepTail(child.stderr);
	const closed = whenGone(child).then((end) => ({ ...end, stderrTail: stderrTail() }));
	const cleared = closed.then(() => facts.onClosed?.());
	let closing: Promise<void> | undefined;
	async function end(): Promise<void> {
		const graceMs = facts.graceMs ?? DEFAULT_GRACE_MS;
		child.stdin.end();
		// Unread output would keep a child alive that is busy writing it.
		child.stdout.resume();
		if (!(await isInTime(closed, graceMs))) {
			signalGroup(child, "SIGTERM");
			if (!(await isInTime(closed, graceMs))) signalGroup(child, "SIGKILL");
		}
		await cleared;
	}
	return {
		kind: facts.kind,
		input: child.stdin,
		output: child.stdout,
		engineSha256: facts.engineSha256,
		hostKey: facts.hostKey,
		handshakeUs: facts.handshakeUs,
		closed,
		close: () => {
			closing ??= end();
			return closing;
		},
		isClosing: () => closing !== undefined,
	};
}

/**
 * Settles when the child has exited and its pipes are drained or given up, also where that was before the
 * question.
 */
export function whenGone(child: ChildProcessWithoutNullStreams): Promise<Omit<LinkEnd, "stderrTail">> {
	return new Promise((resolve) => {
		child.once("close", (code, signal) => resolve({ code, signal }));
		const exited = (code: number | null, signal: NodeJS.Signals | null) => {
			const timer = setTimeout(() => {
				child.stdout.destroy();
				child.stderr.destroy();
				resolve({ code, signal });
			}, DRAIN_MS);
			child.once("close", () => clearTimeout(timer));
		};
		if (child.exitCode === null && child.signalCode === null) child.once("exit", exited);
		else exited(child.exitCode, child.signalCode);
	});
}
