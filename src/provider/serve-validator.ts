// Keeps one validator served: dials, stays, and dials again with growing pauses when the connection is lost.
// After one that was good they stay short for minutes: its validator is being started again, and parts of
// jobs wait for their host. Pauses are random, so that a validator that comes back is not run over by all its
// providers at once.
import type { AgentEnd } from "../engine/agent/agent-socket.ts";
import type { ValidatorConnection } from "../engine/agent/dial-agent.ts";
import { sleep } from "../platform/abortable.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { ProviderEvent } from "./provider-event.ts";

export interface Retry {
	readonly firstMs: number;
	readonly capMs: number;
	/** A connection that lasted this long was a good one: the next pause is the first again. */
	readonly goodMs: number;
	/** The cap of pauses for `soonForMs` after the end of a good one. */
	readonly soonMs: number;
	readonly soonForMs: number;
}

export const RETRY: Retry = { firstMs: 1000, capMs: 60_000, goodMs: 5000, soonMs: 5000, soonForMs: 300_000 };

export interface ServeValidatorOptions {
	readonly url: string;
	readonly dial: (signal: AbortSignal) => Promise<ValidatorConnection>;
	readonly onConnection: (connection: ValidatorConnection) => void;
	readonly onEvent: (event: ProviderEvent) => void;
	readonly retry: Retry;
	/** In [0, 1). */
	readonly random: () => number;
	readonly nowMs: () => number;
	readonly signal: AbortSignal;
}

/** After the n-th failure in a row (n ≥ 1): between half and all of a time that doubles up to the cap. */
export function retryPauseMs(failures: number, retry: Pick<Retry, "firstMs" | "capMs">, random: number): number {
	const most = Math.min(retry.capMs, retry.firstMs * 2 ** Math.min(failures - 1, 30));
	return Math.round(most / 2 + (most / 2) * random);
}

/** Until the signal is aborted; never rejects. */
export async function serveValidator(options: ServeValidatorOptions): Promise<void> {
	const { url, signal, onEvent, nowMs, retry } = options;
	let failures = 0;
	let soonUntilMs = Number.NEGATIVE_INFINITY;
	while (!signal.aborted) {
		onEvent({ kind: "dialling", url });
		const begunMs = nowMs();
		let end: AgentEnd | null = null;
		let error: AssayError | null = null;
		try {
			const connection = await options.dial(signal);
			onEvent({ kind: "connected", url, validatorKey: connection.validatorKey });
			options.onConnection(connection);
			end = await connection.closed;
			if (nowMs() - begunMs >= retry.goodMs) {
				failures = 0;
				soonUntilMs = nowMs() + retry.soonForMs;
			}
		} catch (cause) {
			error = cause instanceof AssayError ? cause : new AssayError("VALIDATOR_UNREACHABLE", String(cause), { cause });
		}
		if (signal.aborted) return;
		failures += 1;
		// Another host runs under our key: the two must not throw each other out in turns.
		const asked = end?.code === "AGENT_REPLACED" ? retry.capMs : 0;
		const { firstMs, soonMs } = retry;
		const capMs = nowMs() < soonUntilMs ? Math.min(soonMs, retry.capMs) : retry.capMs;
		const retryMs = Math.max(asked, retryPauseMs(failures, { firstMs, capMs }, options.random()));
		if (end) onEvent({ kind: "lost", url, end, retryMs });
		else {
			const { code, message: detail, hint } = error!;
			onEvent({ kind: "unreached", url, code, detail, hint, retryMs });
		}
		await sleep(retryMs, signal);
	}
}
