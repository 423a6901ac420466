// An embedded chain for other programs of this machine: JSON-RPC over HTTP on the loopback address. A
// browser's page must not reach it: only JSON bodies, which a foreign page cannot send without being asked
// for permission, and only under a loopback name, which a rebound DNS name is not.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { readBounded } from "../../platform/bounded-fetch.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

export type RpcServer = Awaited<ReturnType<typeof serveRpc>>;

const MAX_BODY_BYTES = 2 << 20;
const MAX_BATCH = 100;

export async function serveRpc(rpc: Rpc, port = 0) {
	const server = createServer(async (request, response) => {
		const { status, body } = await answer(rpc, request).catch(() => ({ status: 400, body: null }));
		response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
		response.end(body === null ? "" : JSON.stringify(body));
	});
	server.requestTimeout = 30_000;
	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(port, "127.0.0.1", resolve);
	});
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		close: () =>
			new Promise<void>((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

async function answer(rpc: Rpc, request: IncomingMessage): Promise<{ status: number; body: unknown }> {
	const { host = "", "content-type": type = "" } = request.headers;
	if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host)) return { status: 403, body: null };
	if (request.method !== "POST") return { status: 405, body: null };
	if (!/^application\/json\b/.test(type)) return { status: 415, body: null };
	const text = await readBounded(request, MAX_BODY_BYTES);
	if (text === null) return { status: 413, body: null };
	const asked = JSON.parse(String(text)) as unknown;
	if (!Array.isArray(asked)) return { status: 200, body: await one(rpc, asked) };
	if (asked.length > MAX_BATCH) return { status: 413, body: null };
	const answers: unknown[] = [];
	for (const call of asked) answers.push(await one(rpc, call));
	return { status: 200, body: answers };
}

async function one(rpc: Rpc, call: unknown): Promise<unknown> {
	const { id = null, method, params = [] } = (call ?? {}) as { id?: unknown; method?: unknown; params?: unknown };
	const failed = (code: number, message: string, data?: unknown) => ({
		jsonrpc: "2.0",
		id,
		error: { code, message, ...(data === undefined ? {} : { data }) },
	});
	if (typeof method !== "string" || !Array.isArray(params)) return failed(-32600, "not a request");
	try {
		return { jsonrpc: "2.0", id, result: (await rpc(method, params)) ?? null };
	} catch (error) {
		if (error instanceof RpcRefusal) return failed(error.code, error.message, error.data);
		if (error instanceof AssayError)
			return failed(error.code === "CHAIN_METHOD" ? -32601 : -32603, `${error.code}: ${error.message}`);
		return failed(-32603, "the embedded chain failed");
	}
}
