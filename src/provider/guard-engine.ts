// One engine for one validator, within limits: killed when its minutes are over or its memory passes what was
// agreed, whatever it is doing. What it wrote to the disk is told at its end. Memory is watched, not
// reserved: a limit on address space would stop every GPU driver, which maps far more than it uses.

import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { EngineLimits } from "../engine/agent/agent-calls.ts";
import { createLocalLink } from "../engine/links/create-local-link.ts";
import type { Link } from "../engine/links/link.ts";

export interface GuardedEngine {
	readonly command: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly limits: EngineLimits;
	/** Called when a limit was the end of it. */
	readonly onKilled: (why: string) => void;
	/** How often memory is looked at. Default 500 ms. */
	readonly everyMs?: number;
	/** For tests: how long one minute is. */
	readonly minuteMs?: number;
}

export interface GuardedLink extends Link {
	/** Ends the engine at once, and tells why. */
	kill(why: string): void;
	/** It may take so much memory from now on. */
	limitMemory(bytes: number): void;
	/** Bytes that it has written to the disk, once it is gone. */
	readonly written: Promise<number>;
}

/** Throws AssayError ENGINE_NOT_STARTED. */
export async function openGuardedEngine(options: GuardedEngine): Promise<GuardedLink> {
	let pid = 0;
	const link = await createLocalLink({
		command: options.command,
		args: options.args,
		env: options.env,
		onSpawn: (started) => {
			pid = started;
		},
	});
	// When the host runs out of memory, the engine goes before anything of its owner's.
	await writeFile(`/proc/${pid}/oom_score_adj`, "1000").catch(() => {});
	let gone = false;
	let seenBytes = 0;
	const look = () => {
		seenBytes = Math.max(seenBytes, writtenBytes(pid));
	};
	const kill = (why: string) => {
		if (gone) return;
		gone = true;
		look();
		try {
			process.kill(-pid, "SIGKILL");
		} catch {
			// It has just ended by itself.
		}
		options.onKilled(why);
	};
	const { minutes } = options.limits;
	let { memoryBytes } = options.limits;
	const end = setTimeout(() => kill(`its ${minutes} min were over`), minutes * (options.minuteMs ?? 60_000));
	const watch = setInterval(() => {
		look();
		const bytes = residentBytes(pid);
		if (bytes > memoryBytes) kill(`it took ${bytes} bytes of memory, ${memoryBytes} were agreed`);
	}, options.everyMs ?? 500);
	const written = link.closed.then(({ code, stderrTail }) => {
		gone = true;
		clearTimeout(end);
		clearInterval(watch);
		// Its own last line is exact, and one that ended well without one wrote nothing. Of one that was killed
		// the kernel's count is taken, which has more in it than what is written to the disk for a probe.
		const said = /(\d{1,15}) bytes written to the disk\s*$/.exec(stderrTail)?.[1];
		if (said !== undefined) return Number(said);
		return code === 0 ? 0 : seenBytes;
	});
	const limitMemory = (bytes: number) => {
		memoryBytes = bytes;
	};
	return { ...link, kill, limitMemory, written };
}

/** By the kernel's count; 0 when the process is gone, or not to be looked at. */
function writtenBytes(pid: number): number {
	try {
		return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0);
	} catch {
		return 0;
	}
}

/** 0 when the process is gone. */
export function residentBytes(pid: number): number {
	try {
		const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
		return found ? 1024 * Number(found[1]) : 0;
	} catch {
		return 0;
	}
}
