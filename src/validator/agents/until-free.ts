// A host's one engine is busy for seconds when another validator, a roll call or a rental comes first.
// Whoever asks is told so at once, keeps its place there, and comes again.
import { sleep } from "../../platform/abortable.ts";
import type { Environment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";

export interface Patience {
	readonly env: Pick<Environment, "nowMs" | "after">;
	readonly patienceMs: number;
	readonly everyMs: number;
	/** Ends the patience. */
	readonly signal?: AbortSignal;
}

/** Asks until something else than PROVIDER_BUSY comes, or the patience is over: then it throws that. */
export async function untilFree<T>(ask: () => Promise<T>, { env, patienceMs, everyMs, signal }: Patience): Promise<T> {
	const untilMs = env.nowMs() + patienceMs;
	for (;;) {
		try {
			return await ask();
		} catch (error) {
			const isBusy = error instanceof AssayError && error.code === "PROVIDER_BUSY";
			if (!isBusy || env.nowMs() >= untilMs || !(await sleep(everyMs, signal, env.after))) throw error;
		}
	}
}
