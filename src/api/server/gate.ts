// The gate before the API: what a request must pass before anything is read, looked up or logged. Here a
// flood costs the least: who asks too often is told once a second and not read until then. Page:
// docs/network.md §4. Not here: connections (guests.ts), what a caller may do, and whose turn it is at the
// database (create-server.ts).
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { codes } from "../../protocol/codes.ts";
import type { RateClass } from "../route.ts";
import { routeRows } from "../routes.ts";
import type { Guests } from "./guests.ts";
import { pathPattern } from "./match-path.ts";
import { PROBLEM_TYPE, problemDocument } from "./problem.ts";
import type { Proxies } from "./proxied-address.ts";
import type { RateLimiter } from "./rate-limit.ts";
import type { ApiLimits } from "./server-options.ts";

export type Gate = ReturnType<typeof createGate>;

export interface GateParts {
	readonly limits: ApiLimits;
	readonly limiter: RateLimiter;
	readonly proxies: Proxies;
	readonly guests: Guests;
	readonly randomId: () => string;
	readonly onRefused: (code: "RATE_LIMITED") => void;
}

/** Of a body: so many count as one request more. No route takes more bytes than the most that is counted. */
const BYTES_OF_A_REQUEST = 64 * 1024;
const MAX_COUNTED_BYTES = 1 << 20;
/** How late a request that is not whole in time is found at most. */
const LOOK_EVERY_MS = 5000;
/** Connections beyond the most that come in before an idle one has gone. */
const SPARE = 64;
/** `GET /v1/providers` → 2, of routes that count for more than one. */
const COSTS = new Map(routeRows.flatMap(([, { method, path, cost }]) => (cost ? [[`${method} ${path}`, cost]] : [])));
/** Routes that are counted as transfers: their paths. */
const TRANSFERS = routeRows.flatMap(([, { rate, method, path }]) =>
	rate === "transfer" ? [{ method: method as string, pattern: pathPattern(path) }] : [],
);
const { hint } = codes.RATE_LIMITED;

export function createGate({ limits, limiter, proxies, guests, randomId, onRefused }: GateParts) {
	/**
	 * Once the refusal is out, nothing is read of this connection for a while: its flood waits at the sender's.
	 */
	function hold(socket: Socket, response: ServerResponse): void {
		response.once("close", () => {
			if (guests.isBusy(socket)) socket.destroy();
			socket.pause();
			setTimeout(() => socket.resume(), limits.refusedHoldMs).unref();
		});
	}

	/** False: it was answered here. */
	function mayAsk(request: IncomingMessage, response: ServerResponse): boolean {
		const { socket, method = "GET", url = "" } = request;
		const path = url.split("?", 1)[0]!;
		const rate = rateOf(method, path);
		const cost = COSTS.get(`${method === "HEAD" ? "GET" : method} ${path}`) ?? 1;
		const waitMs = limiter.take(proxies.addressOf(request), rate, cost + (rate === "write" ? lengthCost(request) : 0));
		if (waitMs === 0) return true;
		if (!proxies.isProxy(socket.remoteAddress)) hold(socket, response);
		onRefused("RATE_LIMITED");
		refuse(response, waitMs, randomId());
		return false;
	}

	return {
		/** As fastify would make it, with the gate before its handler. */
		createServer(handler: RequestListener): Server {
			const connectionsCheckingInterval = Math.min(LOOK_EVERY_MS, limits.headTimeoutMs);
			const server = createServer({ connectionsCheckingInterval }, (request, response) => {
				const { socket } = request;
				// HTTP/0.9 has neither headers nor a status to answer with.
				if (request.httpVersionMajor < 1) socket.destroy();
				else guests.inOrder(socket, response, () => mayAsk(request, response) && handler(request, response));
			});
			server.headersTimeout = limits.headTimeoutMs;
			server.requestTimeout = limits.requestTimeoutMs;
			server.setTimeout(limits.idleMs);
			server.maxConnections = guests.most + SPARE;
			server.on("connection", guests.receive);
			return server;
		},
	};
}

/** Reading a body costs by its length, whatever it says: as many ordinary requests more. */
function lengthCost({ headers }: IncomingMessage): number {
	const bytes = Number(headers["content-length"] ?? 0);
	return Math.floor(Math.min(Number.isFinite(bytes) ? bytes : 0, MAX_COUNTED_BYTES) / BYTES_OF_A_REQUEST);
}

function rateOf(method: string, path: string): RateClass {
	if (TRANSFERS.some((one) => one.method === method && one.pattern.test(path))) return "transfer";
	return method === "GET" || method === "HEAD" || method === "OPTIONS" ? "read" : "write";
}

/** As a problem document, made by hand: refusing must cost less than asking. */
function refuse(response: ServerResponse, waitMs: number, id: string): void {
	const detail = `no more than that many requests a second; wait ${waitMs} ms`;
	const text = JSON.stringify(problemDocument({ code: "RATE_LIMITED", status: 429, detail, hint, isOurs: false }, id));
	response
		.writeHead(429, {
			...{ "content-type": PROBLEM_TYPE, "content-length": Buffer.byteLength(text), "cache-control": "no-store" },
			...{ "retry-after": String(Math.ceil(waitMs / 1000)), "x-request-id": id },
		})
		.end(text);
}
