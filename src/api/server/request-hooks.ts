// What happens to every request around its handler: it is named, counted, its caller found, its end logged
// and measured.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { FairQueue } from "../../platform/fair-queue.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Caller, Route } from "../route.ts";
import { type RouteName, routes } from "../routes.ts";
import { ANYONE, type Credentials, callerOf, mustBeSigned, readCredentials, takeNonce } from "./authenticate.ts";
import { isForeignName } from "./host-name.ts";
import type { ApiMetrics } from "./metrics.ts";
import { parseBody } from "./parse-body.ts";
import type { Proxies } from "./proxied-address.ts";
import { addressGroup, neighbourhoodOf } from "./rate-limit.ts";
import { type ExpectedBody, expectedBody, nameBody, namedLength } from "./receive-body.ts";
import type { ApiLimits, ApiServerOptions } from "./server-options.ts";
import type { UnreadReplies } from "./unread-replies.ts";

declare module "fastify" {
	interface FastifyRequest {
		/** Set by the hooks; the caller is nobody until they have run. */
		assay: {
			caller: Caller;
			credentials: Credentials;
			/** Null on routes that are not ours. */
			expected: ExpectedBody | null;
			/** Before a part of the body is kept. Throws RATE_LIMITED. */
			onBytes: (bytes: number) => void;
			/** Of a body of bytes that was signed: found while it was compared with its name. */
			root: Uint8Array | null;
			name: RouteName | "unknown";
			/** The client's, behind our own proxies too; and what counts as one address. */
			address: string;
			group: string;
			startedAt: number;
		};
	}
}

const NO_BODY = Buffer.alloc(0);
const NO_CREDENTIALS: Credentials = { kind: "none" };

export function rateLimited(reply: FastifyReply, why: string, waitMs: number): AssayError {
	reply.header("retry-after", Math.ceil(waitMs / 1000));
	return new AssayError("RATE_LIMITED", `${why}; wait ${waitMs} ms`);
}

interface HookParts {
	readonly limits: ApiLimits;
	readonly proxies: Proxies;
	readonly turns: FairQueue;
	readonly unread: UnreadReplies;
	/** Pieces that are being received. */
	readonly pieces: UnreadReplies;
	readonly logger: Logger;
	readonly metrics: ApiMetrics;
	readonly closing: AbortSignal;
}

/** Who calls, and what may come of the body: all that can be said before a byte of it is read. */
async function admit(
	request: FastifyRequest,
	reply: FastifyReply,
	route: Route,
	{ auth, audience, nowMs }: Pick<ApiServerOptions, "auth" | "audience" | "nowMs">,
	{ limits, turns, pieces }: HookParts,
): Promise<void> {
	const { assay, headers } = request;
	const credentials = readCredentials(headers, nowMs());
	const expected = expectedBody(route, headers, limits);
	Object.assign(assay, { credentials, expected });
	if (credentials.kind === "none") {
		if (route.role !== "public") throw new AssayError("CREDENTIALS_MISSING", `this route needs the role ${route.role}`);
	} else {
		if (credentials.kind === "signed") {
			const { bodyName } = credentials.signed;
			mustBeSigned(credentials.signed, { audience, method: request.method, path: request.raw.url ?? "" });
			if (namedLength(bodyName) !== (expected.isBytes ? expected.length : null)) throw otherBody();
		}
		assay.caller = await turns.run(assay.group, () => callerOf(route, credentials, auth));
	}
	if (!expected.isBytes) return;
	const crowd = neighbourhoodOf(assay.address);
	const hold = pieces.holder(crowd, reply.raw);
	const mustHaveRoom = () => {
		if (pieces.isFull(crowd)) throw rateLimited(reply, "too many pieces are on their way", 1000);
	};
	mustHaveRoom();
	// ATTACK: a length costs nothing to announce. What counts is what has come.
	assay.onBytes = (bytes) => {
		mustHaveRoom();
		hold(bytes);
	};
}

const otherBody = () => new AssayError("REQUEST_SIGNATURE", "the body is not the one that was signed");

export function addRequestHooks(
	app: FastifyInstance,
	options: Pick<ApiServerOptions, "auth" | "audience" | "nowMs" | "trustProxy">,
	parts: HookParts,
): void {
	const { proxies, turns, unread, logger, metrics, closing } = parts;
	app.decorateRequest("assay", null as never);
	app.addHook("onRequest", async (request, reply) => {
		const name = (request.routeOptions.config as { name?: RouteName }).name ?? "unknown";
		const address = proxies.addressOf(request.raw);
		const who = { caller: ANYONE, credentials: NO_CREDENTIALS, address, group: addressGroup(address) };
		const body = { expected: null, onBytes: () => {}, root: null };
		request.assay = { ...who, ...body, name, startedAt: performance.now() };
		reply.header("x-request-id", request.id);
		if (closing.aborted) {
			reply.header("connection", "close");
			throw new AssayError("NOT_READY", "the server is closing");
		}
		// A proxy of our own passes on whatever name it is asked under.
		if (options.trustProxy === undefined && isForeignName(request.raw))
			throw new AssayError("HOST_WRONG", "this is not a name of this machine");
		if (unread.isFull(who.group)) throw rateLimited(reply, "read the replies that were asked for", 1000);
		if (name !== "unknown") await admit(request, reply, routes[name], options, parts);
	});

	app.addHook("preValidation", async (request) => {
		const { name, credentials, expected, group } = request.assay;
		if (name === "unknown" || expected === null) return;
		const raw = (request.body ?? NO_BODY) as Buffer;
		if (credentials.kind === "signed") {
			const came = await nameBody(raw, expected);
			if (came.name !== credentials.signed.bodyName) throw otherBody();
			request.assay.root = came.root;
			await turns.run(group, () => takeNonce(routes[name], credentials.signed, options.auth));
		}
		if (!expected.isBytes) request.body = raw.length === 0 ? undefined : parseBody(raw);
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
