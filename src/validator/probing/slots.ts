// The slots of a process: how many probes are at work at once, and how many of those may be other hosts than
// prompt ones. Prompt ones go first. Who is prompt is market/schedule's.
import { placesOfOthers } from "../../market/schedule/turns.ts";
import { createSemaphore } from "../../platform/semaphore.ts";
import type { ValidatorConfig } from "../validator-config.ts";

export type Slots = ReturnType<typeof createSlots>;

export function createSlots({ concurrency, othersPercent }: Pick<ValidatorConfig, "concurrency" | "othersPercent">) {
	const all = createSemaphore(concurrency);
	const others = createSemaphore(placesOfOthers(concurrency, othersPercent));
	return {
		/** Resolves to the release function. Throws what `signal` was aborted with. */
		async acquire(isPrompt: boolean, signal?: AbortSignal): Promise<() => void> {
			if (isPrompt) return all.acquire(signal, true);
			const leave = await others.acquire(signal);
			try {
				const release = await all.acquire(signal);
				return () => {
					release();
					leave();
				};
			} catch (error) {
				leave();
				throw error;
			}
		},
	};
}
