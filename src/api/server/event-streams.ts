// All event streams of a server: how many an address may hold, what is open, and that they end when the
// server closes. What one stream writes: stream-events.ts.
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { AssayError } from "../../protocol/assay-error.ts";
import { networkEvent } from "../schemas/network.ts";
import type { NetworkEvent } from "../types.ts";
import type { ApiMetrics } from "./metrics.ts";
import type { ApiLimits } from "./server-options.ts";
import { streamEvents } from "./stream-events.ts";

export type EventStreams = ReturnType<typeof createEventStreams>;

export function createEventStreams(parts: {
	readonly limits: ApiLimits;
	readonly logger: Logger;
	readonly metrics: ApiMetrics;
	readonly closing: AbortSignal;
}) {
	const { limits, logger, metrics, closing } = parts;
	const streams = new Set<AbortController>();
	const perAddress = new Map<string, number>();
	closing.addEventListener("abort", () => {
		for (const stream of streams) stream.abort();
	});

	const check = (event: unknown): NetworkEvent | null => {
		const result = networkEvent.safeParse(event);
		if (result.success) return result.data;
		logger.error({ issues: result.error.issues.slice(0, 3) }, "an event is not what its schema says");
		return null;
	};

	/** Gives the function that takes it off the count. */
	function count(address: string, stream: AbortController): () => void {
		const held = perAddress.get(address) ?? 0;
		if (held >= limits.streamsPerAddress)
			throw new AssayError("STREAMS_TOO_MANY", `${held} event streams are open from this address`);
		perAddress.set(address, held + 1);
		streams.add(stream);
		metrics.streams.set(streams.size);
		return () => {
			if (!streams.delete(stream)) return;
			const left = (perAddress.get(address) ?? 1) - 1;
			if (left === 0) perAddress.delete(address);
			else perAddress.set(address, left);
			metrics.streams.set(streams.size);
		};
	}

	return {
		count: () => streams.size,
		/** `open` gives the source; `abort` ends it. Resolves when the stream has ended. */
		async send(
			request: FastifyRequest,
			reply: FastifyReply,
			address: string,
			abort: AbortController,
			open: () => unknown,
		): Promise<FastifyReply> {
			if (closing.aborted) throw new AssayError("NOT_READY", "the server is closing");
			// Counted before anything is awaited, or a burst would pass the cap.
			const forget = count(address, abort);
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
				const why = await streamEvents(reply.raw, source, { heartbeatMs, bufferBytes, check, abort });
				metrics.streamEnds.inc({ why });
				if (why === "failed") logger.error({ requestId: request.id }, "a source of events failed");
			} finally {
				forget();
			}
			return reply;
		},
	};
}

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
