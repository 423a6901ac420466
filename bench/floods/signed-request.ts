// One request from an address of its own, rightly signed or not, as an attacker sends it: no client's
// patience, no retries. Not here: what is asked.
import { request } from "node:http";
import { bodyNameOf, signRequest } from "../../src/api/request-signature.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";

export interface SignedRequest {
	readonly target: { readonly url: string; readonly key: string };
	readonly signer: Signer;
	readonly method: string;
	readonly path: string;
	readonly from: string;
	/** JSON as text, or bytes with their name as a blob. */
	readonly body?: string | { readonly bytes: Uint8Array; readonly name: string };
	/** Well-formed, and nobody's. */
	readonly isForged?: boolean;
}

export interface Answered {
	/** Or what went wrong. */
	readonly status: string;
	readonly text: string;
	/** What a refusal says. */
	readonly waitMs: number;
}

const FORGED = "01".repeat(64);

/** Headers of it, the body's apart from its length. */
export function headersOf({ target, signer, method, path, body, isForged }: Omit<SignedRequest, "from">) {
	const isText = typeof body === "string";
	const bytes = isText ? Buffer.from(body) : (body?.bytes ?? new Uint8Array());
	const bodyName = body === undefined || isText ? bodyNameOf(bytes) : body.name;
	const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex");
	const signed = signRequest({ audience: target.key, method, path, bodyName, timeMs: Date.now(), nonce }, signer);
	const headers: Record<string, string> = { ...signed, "content-length": String(bytes.length) };
	if (body !== undefined) headers["content-type"] = isText ? "application/json" : "application/octet-stream";
	if (isForged) headers["assay-signature"] = FORGED;
	return { headers, bytes };
}

export function sendSigned(asked: SignedRequest): Promise<Answered> {
	const { headers, bytes } = headersOf(asked);
	const { target, path, method, from } = asked;
	return new Promise((resolve) => {
		const failed = (error: NodeJS.ErrnoException) => resolve({ status: error.code ?? "error", text: "", waitMs: 0 });
		const sent = request(`${target.url}${path}`, { method, headers, localAddress: from, agent: false });
		sent.on("response", (answer) => {
			let text = "";
			answer.setEncoding("utf8").on("data", (part) => {
				text += part;
			});
			const waitMs = 1000 * Number(answer.headers["retry-after"] ?? 0);
			answer.on("end", () => resolve({ status: String(answer.statusCode), text, waitMs })).on("error", failed);
		});
		sent.on("error", failed);
		sent.end(bytes);
	});
}
