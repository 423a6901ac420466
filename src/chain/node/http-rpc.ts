// A node behind HTTP: viem's client for the request, the bound on an answer's size and the login in an
// address; viem's retries for outages. A node is somebody else's program, and viem trusts it in three things
// that are therefore done here: the deadline covers an answer's last byte (viem's ends with its headers), an
// answer must name the request it is for, and an error must be one. Results are checked for their shape in
// check-answers.ts.
import { ResponseBodyTooLargeError, withRetry } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { AssayError } from "../../protocol/assay-error.ts";
import { urlsOf } from "../../protocol/network/without-login.ts";
import { checkAnswers, pinChain } from "./check-answers.ts";
import { createLateness, type Lateness, NodeBehind, neverBehind } from "./never-behind.ts";
import { NodeNonsense, type Rpc, RpcRefusal } from "./rpc.ts";
import { NodesDisagree, severalNodes } from "./several-nodes.ts";

const HTTP = {
	/** For a whole answer, its last byte included: a socket that trickles is cut off as well. */
	withinMs: 20_000,
	/** Of an answer, unpacked. A page of 10,000 events has some 8 MB. */
	mostBytes: 32 << 20,
	signal: null as AbortSignal | null,
};
type HttpOptions = Readonly<typeof HTTP>;

/**
 * JSON-RPC over HTTP, of one chain, by one node or several (URLs with commas between). Anything but a
 * well-formed answer counts as an outage.
 */
export function httpRpc(urls: string, options: Partial<HttpOptions> = {}): Rpc {
	const each = urlsOf(urls).map((url) => pinChain(checkAnswers(postedRpc(url, { ...HTTP, ...options }))));
	return each.length === 1 ? each[0]! : severalNodes(each);
}

function postedRpc(url: string, { withinMs, mostBytes, signal }: HttpOptions): Rpc {
	const node = getHttpRpcClient(url, {
		maxResponseBodySize: mostBytes,
		// ATTACK: a node must not send us on to an address that only this machine can reach.
		fetchOptions: { redirect: "error" },
		timeout: 0,
		fetchFn: (address, init) => {
			const late = AbortSignal.timeout(withinMs);
			return fetch(address, { ...init, signal: signal === null ? late : AbortSignal.any([late, signal]) });
		},
		onResponse: ({ status }) => {
			if (status === 429) throw new Error("the node is busy");
		},
	});
	let last = 0;
	return async (method, params) => {
		const id = ++last;
		return resultOf(await node.request({ body: { id, method, params } }).catch(notUnderstood), id);
	};
}

function notUnderstood(error: Error): never {
	if (error instanceof ResponseBodyTooLargeError) throw new NodeNonsense("an answer without end", { cause: error });
	if (error.cause instanceof SyntaxError) throw new NodeNonsense("no JSON");
	throw error;
}

function resultOf(answer: unknown, id: number): unknown {
	if (typeof answer !== "object" || answer === null || Array.isArray(answer)) throw new NodeNonsense("no object");
	const { id: echoed, result, error = null } = answer as Readonly<Record<"id" | "result" | "error", unknown>>;
	if (typeof error !== "object" || Array.isArray(error)) throw new NodeNonsense("an error that is none");
	// Of a refusal before it was read the id is null.
	if (echoed !== id && !(echoed === null && error !== null)) throw new NodeNonsense("an answer to another request");
	if (error !== null) {
		const refusal = new RpcRefusal(error);
		// "Limit exceeded": busy, not refused.
		throw refusal.code === -32005 ? new Error("the node is busy") : refusal;
	}
	if (result === undefined) throw new NodeNonsense("neither a result nor an error");
	return result;
}

const RETRIES = {
	/**
	 * Gives up after this long without an answer: outages of minutes are ordinary; a commit window is longer.
	 */
	patienceMs: 10 * 60_000,
	/** Twice as long after each try. */
	firstDelayMs: 200,
	mostDelayMs: 15_000,
	/** Ends all waiting: CHAIN_CLOSED. */
	signal: null as AbortSignal | null,
	/** Told when the node does not have a block that this connection has seen. */
	lateness: null as Lateness | null,
};
export type RetryOptions = Readonly<typeof RETRIES>;

/**
 * Asks again while the node is out of reach, or behind what it was. Sending twice is harmless: a nonce is
 * used once.
 */
export function withRetries(one: Rpc, options: Partial<RetryOptions> = {}): Rpc {
	const { patienceMs, firstDelayMs, mostDelayMs, signal, lateness } = { ...RETRIES, ...options };
	const rpc = neverBehind(one, lateness ?? createLateness());
	const delayMs = (count: number) => Math.min(mostDelayMs, firstDelayMs * 2 ** count);
	const isAnswer = (error: unknown) => error instanceof RpcRefusal || error instanceof AssayError;
	return async (method, params) => {
		const begunMs = Date.now();
		try {
			return await withRetry(() => rpc(method, params), {
				retryCount: Number.POSITIVE_INFINITY,
				delay: ({ count }) => delayMs(count),
				shouldRetry: ({ count, error }) => !isAnswer(error) && Date.now() - begunMs + delayMs(count) <= patienceMs,
				...(signal === null ? {} : { signal }),
			});
		} catch (error) {
			if (isAnswer(error)) throw error;
			throw signal?.aborted ? connectionClosed() : gaveUp(method, error);
		}
	};
}

function gaveUp(method: string, cause: unknown): AssayError {
	if (cause instanceof NodesDisagree)
		return new AssayError("CHAIN_DISAGREE", `the chain's nodes do not agree: ${cause.message}`, {
			hint: "Nothing was believed, it is tried again later. Look at which of them is behind or lies, and leave it out.",
			cause,
		});
	if (cause instanceof NodeBehind)
		return new AssayError("CHAIN_BEHIND", `the chain's node is behind: ${cause.message}`, {
			hint: "Nothing was concluded from it, it is tried again later. Another node, or this one's repair, helps.",
			cause,
		});
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
