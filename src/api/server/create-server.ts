// The API server: the route table on fastify. Everything that comes in is checked by its schema, everything that goes out is cut to its
// schema, everything refused is a problem document. What the routes do comes in as handlers. Page: docs/network.md §7, §8.
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { pino } from "pino";
import { Registry } from "prom-client";
import { AssayError } from "../../protocol/assay-error.ts";
import { type CodeEntry, codes } from "../../protocol/codes.ts";
import { openapiDocument } from "../openapi.ts";
import type { Caller, Route } from "../route.ts";
import { type Handlers, OWN_ROUTES, type OwnRouteName, type RouteName, routeRows, routes } from "../routes.ts";
import { answerUnknown, SECURITY_HEADERS, sendProblem } from "./answer-unknown.ts";
import { ANYONE, callerBeforeBody, callerBySignature, mayCall, readCredentials, type Signed } from "./authenticate.ts";
import { createApiMetrics } from "./metrics.ts";
import { parseBody } from "./parse-body.ts";
import { PROBLEM_TYPE, problemDocument, problemOf } from "./problem.ts";
import { addressGroup, createRateLimiter } from "./rate-limit.ts";
import { readCall } from "./read-call.ts";
import { parseQuery } from "./read-text-fields.ts";
import { createSender, type Sender } from "./send-reply.ts";
import type { ApiLimits, ApiServer, ApiServerOptions } from "./server-options.ts";

export const DEFAULT_LIMITS: ApiLimits = {
	readsPerS: 100,
	writesPerS: 10,
	bodyBytes: 1024 * 1024,
	streamsPerAddress: 64,
	streamBufferBytes: 1024 * 1024,
	heartbeatMs: 15_000,
	requestTimeoutMs: 30_000,
	closeGraceMs: 5_000,
};

declare module "fastify" {
	interface FastifyRequest {
		/** Set by the hooks below; the caller is nobody until they have run. */
		assay: {
			caller: Caller;
			signed: Signed | null;
			rawBody: Uint8Array;
			name: RouteName | "unknown";
			startedAt: number;
		};
	}
}

type AnyHandler = (call: unknown) => unknown;
type Exactly<H> = H & { readonly [Surplus in Exclude<keyof H, keyof Handlers>]: never };

export function createApiServer<H extends Handlers>(
	options: Omit<ApiServerOptions, "handlers"> & { readonly handlers: Exactly<H> },
): ApiServer {
	const limits: ApiLimits = { ...DEFAULT_LIMITS, ...options.limits };
	const logger = options.logger ?? pino({ level: "silent" });
	const registry = options.registry ?? new Registry();
	const metrics = createApiMetrics(registry);
	const limiter = createRateLimiter({ read: limits.readsPerS, write: limits.writesPerS }, options.nowMs);
	const { auth, audience, nowMs } = options;
	const sender = createSender({ limits, logger, metrics });
	const NOBODY = new Uint8Array(0);

	const app: FastifyInstance = Fastify({
		logger: false,
		genReqId: options.randomId,
		requestIdHeader: false,
		bodyLimit: limits.bodyBytes,
		requestTimeout: limits.requestTimeoutMs,
		trustProxy: options.trustProxy ? [...options.trustProxy] : false,
		forceCloseConnections: "idle",
		// Ours is a problem document; fastify's own is not.
		return503OnClosing: false,
		routerOptions: {
			querystringParser: (text: string) => parseQuery(text) as Record<string, unknown>,
			maxParamLength: 200,
		},
		frameworkErrors: (error, request, reply) => sendProblem(reply as FastifyReply, problemOf(error), request.id),
		clientErrorHandler(error, socket) {
			// Not HTTP at all, or more headers than Node takes: there is no request to answer, only a socket.
			if (!socket.writable || (error as NodeJS.ErrnoException).code === "ECONNRESET") return void socket.destroy();
			const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
			const source = {
				...problemOf(new AssayError("REQUEST_BAD", "this is not an HTTP request that can be read")),
				status,
			};
			const text = JSON.stringify(problemDocument(source, options.randomId()));
			const head = `HTTP/1.1 ${status} Refused\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n`;
			socket.end(head + text);
		},
	});

	app.decorateRequest("assay", null as never);
	app.register(helmet, SECURITY_HEADERS);
	app.removeAllContentTypeParsers();
	app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
		try {
			request.assay.rawBody = body as Buffer;
			done(null, (body as Buffer).length === 0 ? undefined : parseBody(body as Buffer));
		} catch (error) {
			done(error as Error);
		}
	});

	app.addHook("onRequest", async (request, reply) => {
		const name = (request.routeOptions.config as { name?: RouteName }).name ?? "unknown";
		request.assay = { caller: ANYONE, signed: null, rawBody: NOBODY, name, startedAt: performance.now() };
		reply.header("x-request-id", request.id);
		if (sender.isClosing()) {
			reply.header("connection", "close");
			throw new AssayError("NOT_READY", "the server is closing");
		}
		const route: Route | null = name === "unknown" ? null : routes[name];
		const waitMs = limiter.take(request.ip, route?.rate ?? "read");
		if (waitMs > 0) {
			reply.header("retry-after", Math.ceil(waitMs / 1000));
			throw new AssayError("RATE_LIMITED", `no more than that many requests a second; wait ${waitMs} ms`);
		}
		if (route === null) return;
		const credentials = readCredentials(request.headers, nowMs());
		if (credentials.kind === "signed") request.assay.signed = credentials.signed;
		request.assay.caller = (await callerBeforeBody(route, credentials, auth)) ?? ANYONE;
	});

	app.addHook("preValidation", async (request) => {
		const { name, signed, rawBody } = request.assay;
		if (name === "unknown" || signed === null) return;
		const received = { method: request.method, path: request.raw.url ?? "", body: rawBody };
		request.assay.caller = await callerBySignature(routes[name], signed, received, audience, auth);
	});

	app.addHook("onResponse", async (request, reply) => {
		// A request that was refused before the first hook (a bad URL) has no state of ours.
		const name = request.assay?.name ?? "unknown";
		const seconds = (performance.now() - (request.assay?.startedAt ?? performance.now())) / 1000;
		metrics.request.observe({ route: name, method: request.method, status: String(reply.statusCode) }, seconds);
		const { role, key } = request.assay?.caller ?? ANYONE;
		// Neither headers nor query nor body: they may hold secrets.
		logger.info(
			{
				requestId: request.id,
				route: name,
				method: request.method,
				status: reply.statusCode,
				ms: seconds * 1000,
				role,
				key,
				address: request.ip,
			},
			"request",
		);
	});

	app.setErrorHandler((error, request, reply) => {
		const source = problemOf(error, options.statusOfCode);
		metrics.refused.inc({ code: source.code });
		if (source.isOurs)
			logger.error({ requestId: request.id, route: request.assay?.name, err: error }, "a handler failed");
		if (source.status === 401) reply.header("www-authenticate", "Bearer");
		// A body that was not read to its end leaves the connection in the middle of it.
		if (source.status === 413) reply.header("connection", "close");
		return sendProblem(reply, source, request.id);
	});
	app.setNotFoundHandler((request, reply) => answerUnknown(request, reply, options.staticFile));

	const own: Readonly<Record<OwnRouteName, AnyHandler>> = {
		health: () => ({ ok: true, version: options.version, audience, nowMs: nowMs() }),
		codes: () => ({
			rows: Object.entries(codes as Record<string, CodeEntry>).map(([code, row]) => ({ code, ...row })),
		}),
		openapi: () => openapiDocument({ version: options.version }),
		metrics: () => registry.metrics(),
	};
	const handlers = { ...options.handlers, ...own } as unknown as Readonly<Record<RouteName, AnyHandler>>;
	checkHandlers(options.handlers);
	for (const [name, route] of routeRows)
		app.route({
			method: route.method,
			url: route.path,
			config: { name },
			exposeHeadRoute: route.method === "GET",
			handler: (request, reply) => answer(name, route, handlers[name], request, reply, sender),
		});

	const upgraded = sender.trackUpgrades(app.server, options.onUpgrade);
	let closing: Promise<void> | null = null;
	return {
		httpServer: app.server,
		registry,
		async listen({ host, port }) {
			await app.listen({ host, port });
			const bound = app.server.address();
			const at = typeof bound === "object" && bound !== null ? bound : { address: host, port, family: "IPv4" };
			return `http://${at.family === "IPv6" ? `[${at.address}]` : at.address}:${at.port}`;
		},
		close() {
			closing ??= closeAll();
			return closing;
		},
		openStreams: () => sender.openStreams(),
	};

	async function closeAll(): Promise<void> {
		sender.endStreams();
		// Whoever does not finish in time is cut off: a stuck client must not keep a validator from ending.
		const cut = setTimeout(() => {
			app.server.closeAllConnections();
			for (const socket of upgraded) socket.destroy();
		}, limits.closeGraceMs);
		try {
			await app.close();
		} finally {
			clearTimeout(cut);
			metrics.streams.set(0);
		}
	}
}

async function answer(
	name: RouteName,
	route: Route,
	handler: AnyHandler,
	request: FastifyRequest,
	reply: FastifyReply,
	sender: Sender,
): Promise<FastifyReply> {
	const { caller } = request.assay;
	const abort = new AbortController();
	const call = readCall(route, request, abort.signal);
	const needed = (route.bodyRole as ((body: unknown) => Route["role"]) | undefined)?.(call.body) ?? route.role;
	if (!mayCall(caller.role, needed)) throw new AssayError("ROLE_WRONG", `the role ${needed} is needed for this`);
	if (route.kind === "events")
		return sender.events(request, reply, addressGroup(request.ip), abort, () => handler(call));
	reply.raw.on("close", () => {
		if (!reply.raw.writableFinished) abort.abort();
	});
	const value = await handler(call);
	if (route.kind === "binary") return sender.binary(request, reply, value);
	if (route.kind === "text") return sender.text(reply, value);
	return sender.json(name, route, request, reply, value);
}

/** Types say the same; a caller in plain JavaScript is told at the start, not by the first request. */
function checkHandlers(handlers: object): void {
	const wanted = routeRows.map(([name]) => name).filter((name) => !(OWN_ROUTES as readonly string[]).includes(name));
	const missing = wanted.filter((name) => typeof (handlers as Record<string, unknown>)[name] !== "function");
	const surplus = Object.keys(handlers).filter((name) => !(wanted as string[]).includes(name));
	if (missing.length + surplus.length > 0)
		throw new AssayError(
			"SERVER_FAILED",
			`handlers missing: ${missing.join(", ") || "none"}; surplus: ${surplus.join(", ") || "none"}`,
		);
}
