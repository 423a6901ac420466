// How replies leave: JSON cut to its schema, immutable files, text, event streams. Knows nothing of who asked.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type Duplex, Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { AssayError } from "../../protocol/assay-error.ts";
import type { BinaryReply, Route } from "../route.ts";
import type { RouteName } from "../routes.ts";
import { networkEvent } from "../schemas/network.ts";
import type { NetworkEvent } from "../types.ts";
import { streamEvents } from "./event-stream.ts";
import type { ApiMetrics } from "./metrics.ts";
import type { ApiLimits } from "./server-options.ts";

export interface Sender {
	json(name: RouteName, route: Route, request: FastifyRequest, reply: FastifyReply, value: unknown): FastifyReply;
	binary(request: FastifyRequest, reply: FastifyReply, value: unknown): FastifyReply;
	text(reply: FastifyReply, value: unknown): FastifyReply;
	events(
		request: FastifyRequest,
		reply: FastifyReply,
		address: string,
		abort: AbortController,
		open: () => unknown,
	): Promise<FastifyReply>;
	openStreams(): number;
	/** From now on the server is closing. */
	endStreams(): void;
	isClosing(): boolean;
	trackUpgrades(server: Server, onUpgrade: UpgradeHandler | undefined): ReadonlySet<Duplex>;
}

type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface SenderParts {
	readonly limits: ApiLimits;
	readonly logger: Logger;
	readonly metrics: ApiMetrics;
}

export function createSender({ limits, logger, metrics }: SenderParts): Sender {
	const streams = new Set<AbortController>();
	const perAddress = new Map<string, number>();
	let isClosing = false;

	const checkEvent = (event: unknown): NetworkEvent | null => {
		const result = networkEvent.safeParse(event);
		if (result.success) return result.data;
		logger.error({ issues: result.error.issues.slice(0, 3) }, "an event is not what its schema says");
		return null;
	};

	return {
		json(name, route, request, reply, value) {
			// Parsing is what keeps undeclared fields in: a handler may hold more than callers may see.
			const result = route.reply!.safeParse(value);
			if (!result.success) {
				logger.error(
					{ requestId: request.id, route: name, issues: result.error.issues.slice(0, 3) },
					"a reply is not what its schema says",
				);
				throw new AssayError("SERVER_FAILED", "the reply could not be made");
			}
			return reply
				.code(route.status)
				.header("cache-control", "no-store")
				.type("application/json; charset=utf-8")
				.send(JSON.stringify(result.data));
		},

		binary(request, reply, value) {
			const { bytes, sizeBytes, sha256 } = value as BinaryReply;
			const tag = `"${sha256}"`;
			reply.header("etag", tag).header("cache-control", "public, max-age=31536000, immutable");
			const known = (request.headers["if-none-match"] ?? "").split(",").map((text) => text.trim());
			if (known.includes(tag)) return reply.code(304).send();
			reply
				.type("application/octet-stream")
				.header("content-length", sizeBytes)
				.header("content-disposition", `attachment; filename="${sha256}.assay"`);
			if (bytes instanceof Uint8Array) return reply.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
			return reply.send(Readable.from(bytes, { objectMode: false }));
		},

		text(reply, value) {
			return reply
				.header("cache-control", "no-store")
				.type("text/plain; version=0.0.4; charset=utf-8")
				.send(String(value));
		},

		async events(request, reply, address, abort, open) {
			if (isClosing) throw new AssayError("NOT_READY", "the server is closing");
			const held = perAddress.get(address) ?? 0;
			if (held >= limits.streamsPerAddress)
				throw new AssayError(
					"STREAMS_TOO_MANY",
					`${limits.streamsPerAddress} event streams are open from this address`,
				);
			// Counted before anything is awaited, or a burst would pass the cap.
			perAddress.set(address, held + 1);
			streams.add(abort);
			const forget = (): void => {
				if (!streams.delete(abort)) return;
				const left = (perAddress.get(address) ?? 1) - 1;
				if (left === 0) perAddress.delete(address);
				else perAddress.set(address, left);
				metrics.streams.set(streams.size);
			};
			metrics.streams.set(streams.size);
			try {
				const source = (await open()) as AsyncIterable<unknown>;
				if (request.method === "HEAD") {
					abort.abort();
					forget();
					return reply.header("cache-control", "no-store").type("text/event-stream").send();
				}
				reply.hijack();
				writeHead(reply.raw, reply.getHeaders());
				const { heartbeatMs, streamBufferBytes: bufferBytes } = limits;
				const why = await streamEvents(reply.raw, source, { heartbeatMs, bufferBytes, check: checkEvent, abort });
				metrics.streamEnds.inc({ why });
				if (why === "failed") logger.error({ requestId: request.id }, "a source of events failed");
			} finally {
				forget();
			}
			return reply;
		},

		openStreams: () => streams.size,
		isClosing: () => isClosing,
		endStreams() {
			isClosing = true;
			for (const stream of streams) stream.abort();
		},

		trackUpgrades(server, onUpgrade) {
			const upgraded = new Set<Duplex>();
			if (onUpgrade === undefined) return upgraded;
			server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
				if (isClosing || (request.url ?? "").split("?")[0] !== AGENT_PATH) {
					socket.end(`HTTP/1.1 ${isClosing ? 503 : 404} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
					return;
				}
				upgraded.add(socket);
				socket.on("close", () => upgraded.delete(socket));
				onUpgrade(request, socket, head);
			});
			return upgraded;
		},
	};
}

/** The one path that is upgraded: the agent link, docs/network.md §2. */
const AGENT_PATH = "/agent";

/** The hooks' headers (security, request id) are on fastify's reply, which a hijacked one no longer sends. */
function writeHead(raw: ServerResponse, headers: Readonly<Record<string, unknown>>): void {
	raw.writeHead(200, {
		...(headers as Record<string, string>),
		"content-type": "text/event-stream",
		"cache-control": "no-store",
		// nginx would otherwise hold events back.
		"x-accel-buffering": "no",
	});
	raw.flushHeaders();
}
