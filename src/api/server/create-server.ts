// The API server: the route table on fastify. Everything that comes in is checked by its schema, everything
// that goes out is cut to its schema, everything refused is a problem document. What the routes do comes in
// as handlers. Page: docs/network.md §3, §8.
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import { createFairQueue } from "../../platform/fair-queue.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { type CodeEntry, codes } from "../../protocol/codes.ts";
import { openapiDocument } from "../openapi.ts";
import type { BinaryReply, Route } from "../route.ts";
import { type Handlers, type OwnRouteName, type RouteName, routeRows } from "../routes.ts";
import { answerUnknown } from "./answer-unknown.ts";
import { mayCall } from "./authenticate.ts";
import { createApp } from "./create-app.ts";
import { registerDashboard } from "./dashboard.ts";
import { createEventStreams, type EventStreams } from "./event-streams.ts";
import { createGate } from "./gate.ts";
import { createGuests } from "./guests.ts";
import { createApiMetrics } from "./metrics.ts";
import { createProxies } from "./proxied-address.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts";
import { readCall } from "./read-call.ts";
import { addRequestHooks } from "./request-hooks.ts";
import { type FixedReply, fixedReply, replyText, sendBinary, sendFixed, sendJsonText, sendText } from "./send-reply.ts";
import { type ApiLimits, type ApiServerOptions, DEFAULT_LIMITS } from "./server-options.ts";
import { trackUpgrades } from "./track-upgrades.ts";
import { createUnreadReplies } from "./unread-replies.ts";

type AnyHandler = (call: unknown) => unknown;
type Exactly<H> = H & { readonly [Surplus in Exclude<keyof H, keyof Handlers>]: never };

export function createApiServer<H extends Handlers>(
	options: Omit<ApiServerOptions, "handlers"> & { readonly handlers: Exactly<H> },
) {
	const limits: ApiLimits = { ...DEFAULT_LIMITS, ...options.limits };
	const logger = options.logger ?? pino({ level: "silent" });
	const registry = options.registry ?? new Registry();
	const metrics = createApiMetrics(registry);
	const limiter = createRateLimiter(
		{
			read: limits.readsPerS,
			write: limits.writesPerS,
			transfer: limits.transfersPerS,
			bytes: limits.downloadBytesPerS,
			allBytes: limits.downloadBytesPerSInAll,
		},
		options.nowMs,
	);
	const unread = createUnreadReplies({ perAddress: limits.unreadBytes, inAll: limits.unreadBytesInAll });
	const closing = new AbortController();
	const streams = createEventStreams({ limits, logger, metrics, closing: closing.signal });
	const lanes = createLanes(limits, closing.signal);
	const proxies = createProxies(options.trustProxy ?? []);
	const onRefused = (code: string) => metrics.refused.inc({ code });
	const guests = createGuests(limits, proxies);
	const gate = createGate({ limits, limiter, proxies, guests, randomId: options.randomId, onRefused });

	const pieces = createUnreadReplies({
		perAddress: limits.piecesBytes,
		inAll: limits.piecesBytesInAll,
		whenCrowded: limits.piecesBytes >> 3,
	});
	const app = createApp(options, { limits, logger, metrics, gate });
	const turns = lanes.store;
	addRequestHooks(app, options, { limits, proxies, turns, unread, pieces, logger, metrics, closing: closing.signal });
	const dashboardFile = options.dashboard === undefined ? null : registerDashboard(app, options.dashboard);
	app.setNotFoundHandler((request, reply) => answerUnknown(request, reply, options.staticFile, dashboardFile));
	const fixed = new Map<RouteName, FixedReply>();
	const handlers = { ...options.handlers, ...ownHandlers(options, registry) } as unknown as AnyHandlers;
	for (const [name, route] of routeRows)
		app.route({
			method: route.method,
			url: route.path,
			config: { name },
			exposeHeadRoute: route.method === "GET",
			handler: (request, reply) =>
				answer(name, route, handlers[name], request, reply, { streams, logger, limiter, limits, fixed, lanes }),
		});

	const upgraded = trackUpgrades(app.server, closing.signal, options, guests);
	let closed: Promise<void> | null = null;
	return {
		httpServer: app.server,
		registry,
		/** Port 0 for any; gives the base URL. */
		async listen({ host, port }: { readonly host: string; readonly port: number }): Promise<string> {
			await app.listen({ host, port });
			const bound = app.server.address();
			const { family, address, ...at } =
				typeof bound === "object" && bound !== null ? bound : { address: host, port, family: "IPv4" };
			return `http://${family === "IPv6" ? `[${address}]` : address}:${at.port}`;
		},
		/** Ends event streams, lets running requests finish, then closes. Safe to call twice. */
		close(): Promise<void> {
			closed ??= closeAll();
			return closed;
		},
		/** Open event streams, for tests and readiness. */
		openStreams: () => streams.count(),
		/** Of replies that nobody has taken yet, for tests. */
		unreadBytes: () => unread.bytes(),
		/** Requests that wait for their turn, and connections of an address, for tests. */
		waiting: () => lanes.store.waiting() + lanes.chain.waiting() + lanes.disk.waiting() + lanes.program.waiting(),
		connections: guests.ofAddress,
	};

	async function closeAll(): Promise<void> {
		closing.abort();
		guests.closeIdle();
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

type Lanes = ReturnType<typeof createLanes>;

/** Whoever floods waits behind itself; what waits when the server closes is refused at once. */
function createLanes(limits: ApiLimits, closing: AbortSignal) {
	const bounds = { perName: limits.turnsPerAddress, inAll: limits.turnsInAll };
	const refused = () =>
		closing.aborted
			? new AssayError("NOT_READY", "the server is closing")
			: new AssayError("RATE_LIMITED", "too many requests wait for their turn");
	const lanes = {
		store: createFairQueue({ ...bounds, atOnce: limits.storeAtOnce, refused }),
		chain: createFairQueue({ ...bounds, atOnce: limits.chainAtOnce, refused }),
		disk: createFairQueue({ ...bounds, atOnce: limits.diskAtOnce, refused }),
		program: createFairQueue({ ...bounds, atOnce: limits.programsAtOnce, withinMs: limits.programWaitMs, refused }),
	};
	closing.addEventListener("abort", () => {
		for (const lane of Object.values(lanes)) lane.close();
	});
	return lanes;
}

export type ApiServer = ReturnType<typeof createApiServer>;

type AnyHandlers = Readonly<Record<RouteName, AnyHandler>>;

/** Routes that the server answers by itself. */
const ownHandlers = (
	{ version, audience, nowMs }: Pick<ApiServerOptions, "version" | "audience" | "nowMs">,
	registry: Registry,
): Readonly<Record<OwnRouteName, AnyHandler>> => ({
	health: () => ({ ok: true, version, audience, nowMs: nowMs() }),
	codes: () => ({
		rows: Object.entries(codes as Record<string, CodeEntry>).map(([code, row]) => ({ code, ...row })),
	}),
	openapi: () => openapiDocument({ version }),
	metrics: briefly(METRICS_MS, () => registry.metrics()),
});

const OWN: ReadonlySet<RouteName> = new Set<OwnRouteName>(["health", "codes", "openapi", "metrics"]);
const FIXED: ReadonlySet<RouteName> = new Set(["codes", "openapi"]);
/** Prometheus asks every few seconds. */
const METRICS_MS = 1000;

/** Made once in that time, however many ask. */
function briefly<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
	let kept: { readonly atMs: number; readonly value: Promise<T> } | null = null;
	return () => {
		if (kept === null || performance.now() - kept.atMs > ms) kept = { atMs: performance.now(), value: make() };
		return kept.value;
	};
}

async function answer(
	name: RouteName,
	route: Route,
	handler: AnyHandler,
	request: FastifyRequest,
	reply: FastifyReply,
	parts: {
		readonly streams: EventStreams;
		readonly logger: Logger;
		readonly limiter: RateLimiter;
		readonly limits: ApiLimits;
		/** Replies that are the same for everyone as long as this process runs. */
		readonly fixed: Map<RouteName, FixedReply>;
		readonly lanes: Lanes;
	},
): Promise<FastifyReply> {
	const { caller, group } = request.assay;
	const { streams, logger, limiter, limits, fixed, lanes } = parts;
	const abort = new AbortController();
	const call = readCall(route, request, abort.signal);
	const needed = (route.bodyRole as ((body: unknown) => Route["role"]) | undefined)?.(call.body) ?? route.role;
	if (!mayCall(caller.role, needed)) throw new AssayError("ROLE_WRONG", `the role ${needed} is needed for this`);
	const { waitsFor = "store" } = route;
	const size = (route.sizeOf as ((body: unknown) => number) | undefined)?.(call.body);
	const inTurn = () =>
		waitsFor === "host" || OWN.has(name) ? handler(call) : lanes[waitsFor].run(group, () => handler(call), size);
	if (route.kind === "events") return streams.send(request, reply, group, abort, inTurn);
	reply.raw.on("close", () => {
		if (!reply.raw.writableFinished) abort.abort();
	});
	const made = fixed.get(name);
	if (made !== undefined) return sendFixed(request, reply, made);
	const value = await inTurn();
	if (route.kind === "binary") return sendBinary(request, reply, value as BinaryReply, { limiter, limits });
	if (route.kind === "text") return sendText(reply, value);
	const text = replyText(name, route, request, value, logger);
	if (!FIXED.has(name)) return sendJsonText(route, reply, text);
	const page = fixedReply(text);
	fixed.set(name, page);
	return sendFixed(request, reply, page);
}
