// Notices when the host is no longer the one that was claimed: another driver, a device more or less, another
// engine. Cheap: files are looked at every 30 s; the engine, which wakes the cards, is asked only when they
// differ, or every 10 minutes. Never while the devices are in use.
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import type { HostClaim } from "../protocol/probe/evidence.ts";

export interface HostWatchOptions {
	readonly enginePath: string;
	readonly readClaim: () => Promise<HostClaim>;
	readonly isBusy: () => boolean;
	readonly onChanged: (claim: HostClaim) => void;
	readonly onError: (error: unknown) => void;
	readonly nowMs: () => number;
	/** Default 30 s. */
	readonly everyMs?: number;
	/** Default 10 min. */
	readonly askEveryMs?: number;
}

export interface HostWatch {
	/** Looks now, as the timer would. */
	look(): Promise<void>;
	stop(): void;
}

/** `claim` is what was told last. */
export function startHostWatch(options: HostWatchOptions, first: { claim: HostClaim; traces: string }): HostWatch {
	let told = stableClaim(first.claim);
	let { traces } = first;
	let askedAtMs = options.nowMs();
	let running = false;
	async function once(): Promise<void> {
		if (running || options.isBusy()) return;
		running = true;
		try {
			const now = await hostTraces(options.enginePath);
			const differs = now !== traces;
			if (!differs && options.nowMs() - askedAtMs < (options.askEveryMs ?? 600_000)) return;
			askedAtMs = options.nowMs();
			const claim = await options.readClaim();
			traces = now;
			const stable = stableClaim(claim);
			// Other traces with the same claim are a change as well: another engine, or a driver of the same
			// version built anew.
			if (!differs && stable === told) return;
			told = stable;
			options.onChanged(claim);
		} catch (error) {
			options.onError(error);
		} finally {
			running = false;
		}
	}
	const timer = setInterval(() => void once(), options.everyMs ?? 30_000);
	return { look: once, stop: () => clearInterval(timer) };
}

/** What comes and goes by itself: no change of the host. */
const PASSING = new Set(["freeBytes", "ramFreeBytes", "temperatureC", "clockMHz"]);

function stableClaim(claim: HostClaim): string {
	return JSON.stringify(claim, (key, value: unknown) => (PASSING.has(key) ? undefined : value));
}

/** A short text that differs when the driver, the list of devices or the engine's file do. */
export async function hostTraces(enginePath: string): Promise<string> {
	const { ino, size, mtimeMs } = await stat(enginePath);
	const driver = await readFile("/proc/driver/nvidia/version", "utf8").catch(() => "");
	const cards = await readdir("/proc/driver/nvidia/gpus").catch(() => []);
	const nodes = (await readdir("/dev").catch(() => [])).filter((name) => /^nvidia\d+$/.test(name));
	const text = JSON.stringify([ino, size, mtimeMs, driver, cards.sort(), nodes.sort()]);
	return createHash("sha256").update(text).digest("hex");
}
