// Keeps probes away from hosts that a roll call is about: a host that is busy with a probe of ours could not
// answer, or not open what it answered, through no fault of its own. From the moment a block calls all hosts
// are held; then only those that were called, each until its answer is opened. Other processes of the same
// database are told by the row of the call.

import { sleep } from "../../platform/abortable.ts";
import type { Environment } from "../../platform/environment.ts";
import type { RollCallStore } from "../../store/roll-calls.ts";

export interface ProbeHold {
	/** Resolves when the host is free, or the signal is aborted. */
	free(providerId: string, signal: AbortSignal): Promise<void>;
	/** From now on nobody is free. */
	all(): void;
	/** Only these, each until it is let go. */
	only(providerIds: Iterable<string>): void;
	letGo(providerId: string): void;
	none(): void;
}

/** How often a call of another process is looked at, and how long it can be under way. */
const LOOK_MS = 1000;
const LONGEST_MS = 600_000;

export function createProbeHold(
	calls: Pick<RollCallStore, "isOpen">,
	env: Pick<Environment, "nowMs" | "after">,
): ProbeHold {
	let isAll = false;
	let isOurs = false;
	const held = new Set<string>();
	const waiting: (() => void)[] = [];
	const wake = () => {
		for (const resolve of waiting.splice(0)) resolve();
	};
	const isHeld = (providerId: string) => isAll || held.has(providerId);

	return {
		async free(providerId, signal) {
			while (!signal.aborted) {
				if (isHeld(providerId)) {
					const { promise, resolve } = Promise.withResolvers<void>();
					waiting.push(resolve);
					signal.addEventListener("abort", () => resolve(), { once: true });
					await promise;
				} else if (!isOurs && (await calls.isOpen({ sinceMs: Math.max(0, env.nowMs() - LONGEST_MS) })))
					await sleep(LOOK_MS, signal, env.after);
				else return;
			}
		},
		all() {
			isAll = isOurs = true;
		},
		only(providerIds) {
			for (const id of providerIds) held.add(id);
			isAll = false;
			wake();
		},
		letGo(providerId) {
			held.delete(providerId);
			wake();
		},
		none() {
			held.clear();
			isAll = isOurs = false;
			wake();
		},
	};
}
