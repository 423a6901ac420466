// Registers a provider with a fresh key over the API, as anybody may.
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { bodyNameOf, signRequest } from "../../src/api/request-signature.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";

/** The status that came, or what went wrong. */
export function signedRegistration(
	target: { readonly url: string; readonly key: string },
	localAddress: string,
): Promise<string> {
	const signer = createNodeSigner(new Uint8Array(randomBytes(32)));
	const body = JSON.stringify({ link: "agent", key: signer.key, name: "one of many" });
	const signature = signRequest(
		{
			...{ audience: target.key, method: "POST", path: "/v1/providers", bodyName: bodyNameOf(utf8ToBytes(body)) },
			...{ timeMs: Date.now(), nonce: randomBytes(16).toString("hex") },
		},
		signer,
	);
	const headers = { "content-type": "application/json", ...signature };
	return new Promise((resolve) => {
		const asked = request(`${target.url}/v1/providers`, { method: "POST", headers, localAddress, agent: false });
		asked.on("response", (answer) => answer.resume().on("end", () => resolve(String(answer.statusCode))));
		asked.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
		asked.end(body);
	});
}
