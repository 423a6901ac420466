// The one thing all of chain/ asks of a node: JSON-RPC by method and parameters. An embedded chain is one, a URL behind HTTP is one, and so is a test's.
// Node outages are retried here, with back-off; a node that answers with an error is not down.
import { AssayError } from "../protocol/assay-error.ts";

export type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** What a node answered: it is up, and refuses. `data` of a revert is its ABI-encoded error. */
export class RpcRefusal extends Error {
	readonly code: number;
	readonly data: unknown;

	constructor(error: { readonly code?: number; readonly message?: string; readonly data?: unknown }) {
		super(error.message ?? "the node refused");
		this.code = error.code ?? -32000;
		this.data = error.data;
	}
}

export interface RetryOptions {
	/** Gives up after this long without an answer. */
	readonly patienceMs: number;
	readonly firstDelayMs: number;
	readonly mostDelayMs: number;
	readonly nowMs: () => number;
	readonly sleep: (ms: number) => Promise<void>;
}

export const retryDefaults: RetryOptions = {
	// Outages of minutes are ordinary; a commit window is longer.
	patienceMs: 10 * 60_000,
	firstDelayMs: 200,
	mostDelayMs: 15_000,
	nowMs: () => Date.now(),
	sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The same node, asked again while it is out of reach. Sending a signed transaction twice is harmless: its nonce is used once. */
export function withRetries(rpc: Rpc, options: Partial<RetryOptions> = {}): Rpc {
	const o = { ...retryDefaults, ...options };
	return async (method, params) => {
		const begunMs = o.nowMs();
		for (let delayMs = o.firstDelayMs; ; delayMs = Math.min(o.mostDelayMs, delayMs * 2)) {
			try {
				return await rpc(method, params);
			} catch (cause) {
				if (cause instanceof RpcRefusal || cause instanceof AssayError) throw cause;
				if (o.nowMs() - begunMs + delayMs > o.patienceMs)
					throw new AssayError("CHAIN_UNREACHABLE", `the chain's node gave no answer to ${method}`, {
						hint: "Check the RPC URL and the node; nothing is lost, it is tried again later.",
						cause,
					});
				await o.sleep(delayMs);
			}
		}
	};
}

const ANSWER_WITHIN_MS = 20_000;
const MOST_ANSWER_BYTES = 64 << 20;

/** Plain JSON-RPC over HTTP. Anything but a well-formed answer counts as an outage. */
export function httpRpc(url: string): Rpc {
	let id = 0;
	return async (method, params) => {
		const response = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
			signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
		});
		const text = await response.text();
		if (text.length > MOST_ANSWER_BYTES) throw new Error("the node's answer is too long");
		const answer = JSON.parse(text) as {
			result?: unknown;
			error?: { code?: number; message?: string; data?: unknown };
		};
		// -32005 is "limit exceeded": busy, not refused.
		if (answer.error !== undefined && answer.error !== null) {
			if (answer.error.code === -32005 || response.status === 429) throw new Error("the node is busy");
			throw new RpcRefusal(answer.error);
		}
		if (!response.ok || answer.result === undefined)
			throw new Error(`the node answered with status ${response.status}`);
		return answer.result;
	};
}
