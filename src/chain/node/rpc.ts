// What a question to a node is, and the two ways in which an answer is none: refused, and nonsense. Anything
// else that is thrown is an outage.
import { safeText } from "../../protocol/bytes/safe-text.ts";

/** JSON-RPC by method and parameters: an embedded chain, a node behind HTTP, or a test's. */
export type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

const MAX_MESSAGE_CHARS = 500;

/** What a node answered: it is up, and refuses. `data` of a revert is its ABI-encoded error. */
export class RpcRefusal extends Error {
	readonly code: number;
	readonly data: unknown;

	constructor(error: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown }) {
		// It is shown to people: neither long nor with anything that moves a terminal's cursor.
		super(typeof error.message === "string" ? safeText(error.message.slice(0, MAX_MESSAGE_CHARS)) : "the node refused");
		this.code = typeof error.code === "number" ? error.code : -32000;
		this.data = error.data;
	}
}

/** What came back is no answer to what was asked. Another try may help; many will not. */
export class NodeNonsense extends Error {}
