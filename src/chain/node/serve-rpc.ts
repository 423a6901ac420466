// An embedded chain for other programs of this machine: JSON-RPC over HTTP on the loopback address. A
// browser's page must not reach it: only JSON bodies, which a foreign page cannot send without being asked
// for permission, and only under a loopback name, which a rebound DNS name is not.
//
// Every user of this machine reaches the port, renters included. Only who knows the secret in the address,
// which stands in a file of the chain's owner, may send transactions. Strangers may read, to audit: one of
// them at a time, small calls, and a fifth of the time at most.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { sleep } from "../../platform/abortable.ts";
import { readBounded } from "../../platform/bounded-fetch.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

export type RpcServer = Awaited<ReturnType<typeof serveRpc>>;

const MAX_BODY_BYTES = 2 << 20;
const MAX_BATCH = 100;
/** Requests that wait for the chain; more are told to come again. */
const MAX_WAITING = { owner: 64, stranger: 16 };
/**
 * The most that Osaka gives a transaction, and what 0.1 s computes: a call of 60 million gas held the chain
 * for 70 s and took 8 GB.
 */
const MOST_GAS = { owner: 1n << 24n, stranger: 3_000_000n };
/** A stranger's request rests so many times as long as it ran before the next one runs. */
const STRANGERS_REST = 4;

type Who = keyof typeof MOST_GAS;

export async function serveRpc(rpc: Rpc, port = 0) {
	const secret = randomBytes(24).toString("hex");
	const login = Buffer.from(`Basic ${btoa(`assay:${secret}`)}`);
	const whoIs = ({ headers: { authorization } }: IncomingMessage): Who | null => {
		if (authorization === undefined) return "stranger";
		const given = Buffer.from(authorization);
		return given.length === login.length && timingSafeEqual(given, login) ? "owner" : null;
	};
	const doors: Readonly<Record<Who, Rpc>> = {
		owner: withGasCap(rpc, MOST_GAS.owner),
		stranger: takingTurns(readingOnly(withGasCap(rpc, MOST_GAS.stranger))),
	};
	const waiting: Record<Who, number> = { owner: 0, stranger: 0 };
	const server = createServer(async (request, response) => {
		const who = whoIs(request);
		const send = (status: number, body: unknown = null) => {
			response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
			response.end(body === null ? "" : JSON.stringify(body));
		};
		if (who === null) return send(401);
		if (waiting[who] >= MAX_WAITING[who]) return send(429);
		waiting[who]++;
		const { status, body } = await answer(doors[who], request).catch(() => ({ status: 400, body: null }));
		waiting[who]--;
		send(status, body);
	});
	server.requestTimeout = 30_000;
	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(port, "127.0.0.1", resolve);
	});
	return {
		/** With the secret: for the chain's owner. */
		url: `http://assay:${secret}@127.0.0.1:${(server.address() as AddressInfo).port}`,
		close: () =>
			new Promise<void>((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** Calls that ask for more gas, or do not say, get this much. */
const withGasCap =
	(rpc: Rpc, most: bigint): Rpc =>
	async (method, params) => {
		if (method !== "eth_call" && method !== "eth_estimateGas") return rpc(method, params);
		const [call, ...rest] = params as [Readonly<Record<string, unknown>> | undefined];
		const asked = call?.gas;
		const isLess = typeof asked === "string" && /^0x[0-9a-f]{1,16}$/i.test(asked) && BigInt(asked) <= most;
		return rpc(method, [{ ...call, gas: isLess ? asked : `0x${most.toString(16)}` }, ...rest]);
	};

const readingOnly =
	(rpc: Rpc): Rpc =>
	async (method, params) => {
		if (method !== "eth_sendRawTransaction") return rpc(method, params);
		throw new AssayError("CHAIN_METHOD", "sending needs the address in chain/rpc.json, with its secret");
	};

function takingTurns(rpc: Rpc): Rpc {
	const mutex = createMutex();
	return (method, params) =>
		new Promise((resolve, reject) => {
			void mutex.run(async () => {
				const begunMs = performance.now();
				await rpc(method, params).then(resolve, reject);
				await sleep((performance.now() - begunMs) * STRANGERS_REST);
			});
		});
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
