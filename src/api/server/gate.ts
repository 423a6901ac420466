// The gate before the API: what a connection and a request must pass before anything is read, looked up or logged. Here a flood costs
// the least: how many connections an address may have and make, how many requests a second; and each connection's requests one after the other.
// Who asks too often is told once a second and not read until then. Page: docs/network.md §4. Not here: what a caller may do, and
// whose turn it is at the database (create-server.ts).
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { createTokenBucket, type TokenBucket } from "../../platform/token-bucket.ts";
import { codes } from "../../protocol/codes.ts";
import { routeRows } from "../routes.ts";
import { PROBLEM_TYPE, problemDocument } from "./problem.ts";
import type { Proxies } from "./proxied-address.ts";
import { addressGroup, type RateLimiter } from "./rate-limit.ts";
import type { ApiLimits } from "./server-options.ts";

export type Gate = ReturnType<typeof createGate>;

export interface GateParts {
	readonly limits: ApiLimits;
	readonly limiter: RateLimiter;
	readonly proxies: Proxies;
	readonly randomId: () => string;
	readonly onRefused: (code: "RATE_LIMITED") => void;
}

/** Requests of one connection that wait for the one before: clients of ours, browsers and proxies send none. */
const MOST_PIPELINED = 16;
/** Addresses whose pace is remembered. */
const ADDRESSES_KEPT = 10_000;
/** `GET /v1/providers` → 2, of routes that count for more than one. */
const COSTS = new Map(routeRows.flatMap(([, { method, path, cost }]) => (cost ? [[`${method} ${path}`, cost]] : [])));
const { hint } = codes.RATE_LIMITED;

/** Of one connection: the requests after the one that is being answered. */
interface Guest {
	isBusy: boolean;
	readonly line: (() => void)[];
}

export function createGate({ limits, limiter, proxies, randomId, onRefused }: GateParts) {
	/** Connections of each address that are no agents' links. */
	const held = new Map<string, number>();
	const paces = new BoundedMap<string, TokenBucket>(ADDRESSES_KEPT);
	const guests = new Map<Socket, Guest>();
	const leave = new WeakMap<object, () => void>();

	function mayCome(group: string): boolean {
		const pace =
			paces.get(group) ?? createTokenBucket({ perS: limits.dialsPerS, burst: 2 * limits.connectionsPerAddress });
		paces.set(group, pace);
		return pace.take(performance.now()) && (held.get(group) ?? 0) < limits.connectionsPerAddress;
	}

	function onConnection(socket: Socket): void {
		const isProxy = proxies.isProxy(socket.remoteAddress);
		const group = addressGroup(socket.remoteAddress ?? "");
		if (!isProxy && !mayCome(group)) {
			socket.destroy();
			return;
		}
		guests.set(socket, { isBusy: false, line: [] });
		socket.once("close", () => guests.delete(socket));
		if (isProxy) return;
		held.set(group, (held.get(group) ?? 0) + 1);
		const left = () => {
			if (!leave.delete(socket)) return;
			const others = held.get(group)! - 1;
			if (others > 0) held.set(group, others);
			else held.delete(group);
		};
		leave.set(socket, left);
		socket.once("close", left);
	}

	/** Once the refusal is out, nothing is read of this connection for a while: its flood waits at the sender's. */
	function hold(socket: Socket, response: ServerResponse): void {
		response.once("close", () => {
			if (guests.get(socket)?.isBusy) socket.destroy();
			socket.pause();
			setTimeout(() => socket.resume(), limits.refusedHoldMs).unref();
		});
	}

	/** False: it was answered here. */
	function mayAsk(request: IncomingMessage, response: ServerResponse): boolean {
		const { socket, method = "GET", url = "" } = request;
		const isRead = method === "GET" || method === "HEAD" || method === "OPTIONS";
		const cost = COSTS.get(`${method === "HEAD" ? "GET" : method} ${url.split("?", 1)[0]}`) ?? 1;
		const waitMs = limiter.take(proxies.addressOf(request), isRead ? "read" : "write", cost);
		if (waitMs === 0) return true;
		if (!proxies.isProxy(socket.remoteAddress)) hold(socket, response);
		onRefused("RATE_LIMITED");
		refuse(response, waitMs, randomId());
		return false;
	}

	return {
		/** As fastify would make it, with the gate before its handler. */
		createServer(handler: RequestListener): Server {
			const server = createServer((request, response) => {
				const { socket } = request;
				// HTTP/0.9 has neither headers nor a status to answer with.
				if (request.httpVersionMajor < 1) socket.destroy();
				else
					inOrder(guests.get(socket), socket, response, () => mayAsk(request, response) && handler(request, response));
			});
			server.requestTimeout = limits.requestTimeoutMs;
			server.setTimeout(limits.idleMs);
			server.on("connection", onConnection);
			return server;
		},
		/** Connections that wait for nothing of ours: idle ones, and those whose request has not come whole. */
		closeIdle(): void {
			for (const [socket, { isBusy }] of guests) if (!isBusy) socket.destroy();
		},
		/** An agent's link is counted at the agents' door. */
		release(socket: Duplex): void {
			guests.delete(socket as Socket);
			leave.get(socket)?.();
		},
		/** Connections that count, for tests. */
		connections: (address: string) => held.get(addressGroup(address)) ?? 0,
	};
}

/**
 * One request of a connection after the other. Node would start them all: of those behind the first nobody hears when their client
 * is gone, and what they hold would be held for ever.
 */
function inOrder(guest: Guest | undefined, socket: Socket, response: ServerResponse, answer: () => void): void {
	if (guest === undefined || guest.line.length >= MOST_PIPELINED) {
		socket.destroy();
		return;
	}
	const begin = () => {
		response.once("close", () => {
			const next = socket.destroyed ? undefined : guest.line.shift();
			if (next) next();
			else guest.isBusy = false;
		});
		answer();
	};
	if (guest.isBusy) guest.line.push(begin);
	else {
		guest.isBusy = true;
		begin();
	}
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
