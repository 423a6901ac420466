// What happens to every request around its handler: it is named, counted, its caller found, its end logged
// and measured.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { pieceRoot } from "../../platform/blob-tree.ts";
import type { FairQueue } from "../../platform/fair-queue.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Caller, Route } from "../route.ts";
import { type RouteName, routes } from "../routes.ts";
import { ANYONE, callerBeforeBody, callerBySignature, readCredentials, type Signed } from "./authenticate.ts";
import { isForeignName } from "./host-name.ts";
import type { ApiMetrics } from "./metrics.ts";
import type { Proxies } from "./proxied-address.ts";
import { addressGroup } from "./rate-limit.ts";
import type { ApiServerOptions } from "./server-options.ts";
import type { UnreadReplies } from "./unread-replies.ts";

declare module "fastify" {
	interface FastifyRequest {
		/** Set by the hooks; the caller is nobody until they have run. */
		assay: {
			caller: Caller;
			signed: Signed | null;
			rawBody: Uint8Array;
			/** Of a body of bytes that was signed: found while the signature was checked. */
			root: Uint8Array | null;
			name: RouteName | "unknown";
			/** The client's, behind our own proxies too; and what counts as one address. */
			address: string;
			group: string;
			startedAt: number;
		};
	}
}

const NO_BODY = new Uint8Array(0);

/** What a signature says of a body of bytes: its tree, which its taker needs too, and its length. */
async function pieceName({ assay }: FastifyRequest): Promise<{ blobName?: string }> {
	if (assay.name === "unknown" || (routes[assay.name] as Route).mostBytes === undefined) return {};
	assay.root = await pieceRoot(assay.rawBody);
	return { blobName: `${bytesToHex(assay.root)}-${assay.rawBody.length}` };
}

/**
 * How long a body of bytes is; 0 on routes that take none. Throws before a byte is read, CONTENT_TYPE_WRONG
 * where one is sent for the other.
 */
function pieceLength({ mostBytes, method }: Route, { headers }: FastifyRequest): number {
	const isBytes = /^application\/octet-stream\s*(;|$)/i.test(headers["content-type"] ?? "");
	if (mostBytes === undefined) {
		if (isBytes && method !== "GET") throw new AssayError("CONTENT_TYPE_WRONG", "this route takes no bytes");
		return 0;
	}
	if (!isBytes) throw new AssayError("CONTENT_TYPE_WRONG", "this route takes application/octet-stream");
	const length = Number(headers["content-length"] ?? Number.NaN);
	if (!Number.isSafeInteger(length)) throw new AssayError("REQUEST_BAD", "a body of bytes says how long it is");
	if (length > mostBytes) throw new AssayError("BODY_TOO_LARGE", `the body has at most ${mostBytes} bytes`);
	return length;
}

export function rateLimited(reply: FastifyReply, why: string, waitMs: number): AssayError {
	reply.header("retry-after", Math.ceil(waitMs / 1000));
	return new AssayError("RATE_LIMITED", `${why}; wait ${waitMs} ms`);
}

export function addRequestHooks(
	app: FastifyInstance,
	{ auth, audience, nowMs, trustProxy }: Pick<ApiServerOptions, "auth" | "audience" | "nowMs" | "trustProxy">,
	parts: {
		readonly proxies: Proxies;
		readonly turns: FairQueue;
		readonly unread: UnreadReplies;
		/** Pieces that are being received. */
		readonly pieces: UnreadReplies;
		readonly logger: Logger;
		readonly metrics: ApiMetrics;
		readonly closing: AbortSignal;
	},
): void {
	const { proxies, turns, unread, pieces, logger, metrics, closing } = parts;
	app.decorateRequest("assay", null as never);
	app.addHook("onRequest", async (request, reply) => {
		const name = (request.routeOptions.config as { name?: RouteName }).name ?? "unknown";
		const address = proxies.addressOf(request.raw);
		const who = { caller: ANYONE, signed: null, address, group: addressGroup(address) };
		request.assay = { ...who, rawBody: NO_BODY, root: null, name, startedAt: performance.now() };
		reply.header("x-request-id", request.id);
		if (closing.aborted) {
			reply.header("connection", "close");
			throw new AssayError("NOT_READY", "the server is closing");
		}
		// A proxy of our own passes on whatever name it is asked under.
		if (trustProxy === undefined && isForeignName(request.raw))
			throw new AssayError("HOST_WRONG", "this is not a name of this machine");
		const route: Route | null = name === "unknown" ? null : routes[name];
		if (unread.isFull(who.group)) throw rateLimited(reply, "read the replies that were asked for", 1000);
		if (route === null) return;
		const credentials = readCredentials(request.headers, nowMs());
		const length = pieceLength(route, request);
		if (length > 0 && pieces.isFull(who.group)) throw rateLimited(reply, "too many pieces are on their way", 1000);
		pieces.hold(who.group, length, reply.raw);
		if (credentials.kind === "signed") request.assay.signed = credentials.signed;
		const look = () => callerBeforeBody(route, credentials, auth);
		request.assay.caller = (await (credentials.kind === "token" ? turns.run(who.group, look) : look())) ?? ANYONE;
	});

	app.addHook("preValidation", async (request) => {
		const { name, signed, rawBody } = request.assay;
		if (name === "unknown" || signed === null) return;
		const received = {
			method: request.method,
			path: request.raw.url ?? "",
			body: rawBody,
			...(await pieceName(request)),
		};
		request.assay.caller = await turns.run(request.assay.group, () =>
			callerBySignature(routes[name], signed, received, audience, auth),
		);
	});

	app.addHook("onSend", async (request, reply, payload) => {
		if (request.assay) unread.add(request.assay.group, payload, reply.raw);
		return payload;
	});

	app.addHook("onResponse", async (request, reply) => {
		// A request that was refused before the first hook (a bad URL) has no state of ours.
		const { name = "unknown", startedAt = performance.now(), address, caller } = request.assay ?? {};
		const { role, key } = caller ?? ANYONE;
		const { id: requestId, method } = request;
		const status = reply.statusCode;
		const seconds = (performance.now() - startedAt) / 1000;
		metrics.request.observe({ route: name, method, status: String(status) }, seconds);
		// Neither headers nor query nor body: they may hold secrets.
		logger.info({ requestId, route: name, method, status, ms: seconds * 1000, role, key, address }, "request");
	});
}
