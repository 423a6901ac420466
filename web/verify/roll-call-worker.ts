// The verdict on a roll call's file in a thread of its own, and the only script of the dashboard that may ask
// somebody else: the node that the reader named (src/api/server/dashboard.ts gives this file that policy, and
// no other). It holds no session and no key.
import { decodeRollCallFile, type RollCallBody } from "../../src/protocol/roll-call/roll-file.ts";
import type { RollVerdict } from "../../src/protocol/roll-call/roll-verdict.ts";
import type { ChainFacts } from "../../src/verify/roll-call/chain-facts.ts";
import { readChainFacts } from "../../src/verify/roll-call/read-chain-facts.ts";
import { verifyRollCall } from "../../src/verify/roll-call/verify-roll-call.ts";

/** What to compare with; empty words for nothing. */
export interface Against {
	/** URL of a node of the chain. */
	readonly node: string;
	/** Address of the network's contract. */
	readonly contract: string;
}

export interface RollQuestion extends Against {
	readonly bytes: Uint8Array;
}

export type RollWord =
	| { readonly ok: true; readonly verdict: RollVerdict; readonly committedIn: number | null; readonly tookMs: number }
	| { readonly ok: false; readonly detail: string };

interface Scope {
	postMessage(word: RollWord): void;
	onmessage: ((event: MessageEvent<RollQuestion>) => void) | null;
}
const scope = globalThis as unknown as Scope;

const NODE_WITHIN_MS = 20_000;

scope.onmessage = async ({ data: { bytes, node, contract } }) => {
	const decoded = decodeRollCallFile(bytes);
	const body = decoded.ok ? decoded.evidence.envelope.body : null;
	try {
		const facts = node === "" || body === null ? null : await factsFrom(node, body);
		const started = performance.now();
		const verdict = verifyRollCall(bytes, facts, contract === "" ? {} : { contract: contract.toLowerCase() });
		const tookMs = Math.round(performance.now() - started);
		scope.postMessage({ ok: true, verdict, committedIn: body?.committed.number ?? null, tookMs });
	} catch {
		scope.postMessage({ ok: false, detail: `${node} does not answer as a node does, or not to a browser` });
	}
};

function factsFrom(url: string, body: RollCallBody): Promise<ChainFacts> {
	let id = 0;
	return readChainFacts(async (method, params) => {
		const answer = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
			...{ credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" },
			signal: AbortSignal.timeout(NODE_WITHIN_MS),
		});
		const { result } = (await answer.json()) as { readonly result?: unknown };
		return result;
	}, body);
}
