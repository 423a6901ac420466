// The one thing all of chain/ asks of a node: JSON-RPC by method and parameters. An embedded chain is one, a URL behind HTTP is one, and so is a test's.
// Node outages are retried here, with back-off; a node that answers with an error is not down. A node is somebody else's: its answers are bounded in time and
// size here, and checked for their shape in check-answers.ts.
import { AssayError } from "../../protocol/assay-error.ts";
import { checkAnswers, pinChain } from "./check-answers.ts";
import { NodeNonsense, type Rpc, RpcRefusal } from "./rpc-errors.ts";

export { NodeNonsense, type Rpc, RpcRefusal } from "./rpc-errors.ts";

export interface RetryOptions {
	/** Gives up after this long without an answer. */
	readonly patienceMs: number;
	readonly firstDelayMs: number;
	readonly mostDelayMs: number;
	readonly nowMs: () => number;
	readonly sleep: (ms: number) => Promise<void>;
	/** Ends all waiting: CHAIN_CLOSED. */
	readonly signal: AbortSignal | null;
}

export const retryDefaults: RetryOptions = {
	// Outages of minutes are ordinary; a commit window is longer.
	patienceMs: 10 * 60_000,
	firstDelayMs: 200,
	mostDelayMs: 15_000,
	nowMs: () => Date.now(),
	sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
	signal: null,
};

/** The same node, asked again while it is out of reach. Sending a signed transaction twice is harmless: its nonce is used once. */
export function withRetries(rpc: Rpc, options: Partial<RetryOptions> = {}): Rpc {
	const o = { ...retryDefaults, ...options };
	return async (method, params) => {
		const begunMs = o.nowMs();
		for (let delayMs = o.firstDelayMs; ; delayMs = Math.min(o.mostDelayMs, delayMs * 2)) {
			if (o.signal?.aborted) throw connectionClosed();
			try {
				return await rpc(method, params);
			} catch (cause) {
				if (cause instanceof RpcRefusal || cause instanceof AssayError) throw cause;
				if (o.signal?.aborted) throw connectionClosed();
				if (o.nowMs() - begunMs + delayMs > o.patienceMs) throw gaveUp(method, cause);
				await orAborted(o.sleep(delayMs), o.signal);
			}
		}
	};
}

function gaveUp(method: string, cause: unknown): AssayError {
	return cause instanceof NodeNonsense
		? new AssayError("CHAIN_NODE", `the chain's node answers ${method} with nonsense: ${cause.message}`, {
				hint: "Check the RPC URL: is it a node's? Nothing was believed, it is tried again later.",
				cause,
			})
		: new AssayError("CHAIN_UNREACHABLE", `the chain's node gave no answer to ${method}`, {
				hint: "Check the RPC URL and the node; nothing is lost, it is tried again later.",
				cause,
			});
}

export const connectionClosed = (): AssayError =>
	new AssayError("CHAIN_CLOSED", "the connection to the chain is closed", { hint: "Start again." });

/** Waits for one or the other; an abort is no error here. */
export function orAborted(wait: Promise<void>, signal: AbortSignal | null): Promise<void> {
	if (signal === null) return wait;
	return new Promise((resolve, reject) => {
		const stop = () => resolve();
		if (signal.aborted) return resolve();
		signal.addEventListener("abort", stop, { once: true });
		wait.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
	});
}

export interface HttpOptions {
	/** For a whole answer, its last byte included: a socket that trickles is cut as well. */
	readonly withinMs: number;
	/** Of an answer, unpacked. A page of 10,000 events has some 8 MB. */
	readonly mostBytes: number;
	readonly signal: AbortSignal | null;
}

const httpDefaults: HttpOptions = { withinMs: 20_000, mostBytes: 32 << 20, signal: null };

/** JSON-RPC over HTTP, of one chain. Anything but a well-formed answer counts as an outage. */
export const httpRpc = (url: string, options: Partial<HttpOptions> = {}): Rpc =>
	pinChain(checkAnswers(postedRpc(url, options)));

function postedRpc(url: string, options: Partial<HttpOptions>): Rpc {
	const o = { ...httpDefaults, ...options };
	const { address, headers } = withoutCredentials(url);
	let last = 0;
	return async (method, params) => {
		const id = ++last;
		const late = AbortSignal.timeout(o.withinMs);
		const response = await fetch(address, {
			method: "POST",
			headers,
			body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
			signal: o.signal === null ? late : AbortSignal.any([late, o.signal]),
			// ATTACK: a node must not send us on to an address that only this machine can reach.
			redirect: "error",
		});
		const text = await boundedText(response, o.mostBytes);
		const answer = response.ok ? parseAnswer(text, id) : failedAnswer(text, id, response.status);
		// -32005 is "limit exceeded": busy, not refused.
		if (answer.error !== undefined && answer.error !== null) {
			if (answer.error.code === -32005 || response.status === 429) throw new Error("the node is busy");
			throw new RpcRefusal(answer.error);
		}
		if (answer.result === undefined) throw new NodeNonsense("neither a result nor an error");
		return answer.result;
	};
}

interface Answer {
	readonly result?: unknown;
	readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown } | null;
}

function parseAnswer(text: string, id: number): Answer {
	let answer: unknown;
	try {
		answer = JSON.parse(text);
	} catch {
		throw new NodeNonsense("no JSON");
	}
	if (typeof answer !== "object" || answer === null || Array.isArray(answer)) throw new NodeNonsense("no object");
	const { id: echoed, error } = answer as { readonly id?: unknown; readonly error?: unknown };
	// Of a refusal before it was read the id is null.
	if (echoed !== id && !(echoed === null && error !== undefined))
		throw new NodeNonsense("an answer to another request");
	if (error !== undefined && (typeof error !== "object" || Array.isArray(error)))
		throw new NodeNonsense("an error that is none");
	return answer;
}

/** Some nodes put their refusals under another status; a proxy's page under one is an outage. */
function failedAnswer(text: string, id: number, status: number): Answer {
	try {
		const answer = parseAnswer(text, id);
		if (answer.error !== undefined && answer.error !== null) return answer;
	} catch (error) {
		if (!(error instanceof NodeNonsense)) throw error;
	}
	throw new Error(`the node answered with status ${status}`);
}

/** Read piece by piece, so that an endless one ends at the bound and not with this process's memory. */
async function boundedText(response: Response, mostBytes: number): Promise<string> {
	const parts: Uint8Array[] = [];
	let size = 0;
	for await (const part of response.body ?? []) {
		size += part.length;
		// Leaving the loop cancels the rest.
		if (size > mostBytes) throw new NodeNonsense(`more than ${mostBytes} bytes`);
		parts.push(part);
	}
	return Buffer.concat(parts).toString("utf8");
}

/** fetch takes no name and password in an address; nodes behind a login have them there. */
function withoutCredentials(url: string): { readonly address: string; readonly headers: Record<string, string> } {
	const at = new URL(url);
	const headers: Record<string, string> = { "content-type": "application/json" };
	if (at.username !== "" || at.password !== "") {
		const login = `${decodeURIComponent(at.username)}:${decodeURIComponent(at.password)}`;
		headers.authorization = `Basic ${Buffer.from(login).toString("base64")}`;
		at.username = "";
		at.password = "";
	}
	return { address: at.href, headers };
}
