// How replies leave: JSON cut to its schema, immutable files, text. Knows nothing of who asked. Event
// streams: event-streams.ts.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { AssayError } from "../../protocol/assay-error.ts";
import type { BinaryReply, Route } from "../route.ts";
import type { RouteName } from "../routes.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { rateLimited } from "./request-hooks.ts";
import type { ApiLimits } from "./server-options.ts";

export function replyText(
	name: RouteName,
	route: Route,
	request: FastifyRequest,
	value: unknown,
	logger: Logger,
): string {
	// Parsing is what keeps undeclared fields in: a handler may hold more than callers may see.
	const result = route.reply!.safeParse(value);
	if (!result.success) {
		const issues = result.error.issues.slice(0, 3);
		logger.error({ requestId: request.id, route: name, issues }, "a reply is not what its schema says");
		throw new AssayError("SERVER_FAILED", "the reply could not be made");
	}
	return JSON.stringify(result.data);
}

export const sendJsonText = (route: Route, reply: FastifyReply, text: string): FastifyReply =>
	reply.code(route.status).header("cache-control", "no-store").type("application/json; charset=utf-8").send(text);

/** The same text for everyone, and its name in caches. */
export interface FixedReply {
	readonly text: string;
	readonly tag: string;
}

export const fixedReply = (text: string): FixedReply => ({
	text,
	tag: `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`,
});

export function sendFixed(request: FastifyRequest, reply: FastifyReply, { text, tag }: FixedReply): FastifyReply {
	reply.header("etag", tag).header("cache-control", "no-cache");
	if (isKnown(request, tag)) return reply.code(304).send();
	return reply.type("application/json; charset=utf-8").send(text);
}

const isKnown = (request: FastifyRequest, tag: string): boolean =>
	(request.headers["if-none-match"] ?? "").split(",").some((text) => text.trim() === tag);

/** A file at the pace of its reader, who must not be too slow, nor fetch too much. */
export function sendBinary(
	request: FastifyRequest,
	reply: FastifyReply,
	value: BinaryReply,
	{ limiter, limits }: { readonly limiter: RateLimiter; readonly limits: ApiLimits },
): FastifyReply {
	const { bytes, sizeBytes, sha256 } = value;
	if (sha256 === null) {
		reply.header("cache-control", "private, no-store").type("application/octet-stream");
		return reply.send(Buffer.from((bytes as Uint8Array).buffer, (bytes as Uint8Array).byteOffset, sizeBytes));
	}
	const tag = `"${sha256}"`;
	reply.header("etag", tag).header("cache-control", "public, max-age=31536000, immutable");
	if (isKnown(request, tag)) return reply.code(304).send();
	const waitMs = request.method === "HEAD" ? 0 : limiter.takeBytes(request.assay.address, sizeBytes);
	if (waitMs > 0) {
		// An error is nobody's file.
		reply.removeHeader("etag");
		throw rateLimited(reply, "too many bytes of evidence at once", waitMs);
	}
	reply
		.type("application/octet-stream")
		.header("content-length", sizeBytes)
		.header("content-disposition", `attachment; filename="${sha256}.assay"`);
	// With nothing at all fastify would say that there is nothing.
	if (request.method === "HEAD") return reply.send(Readable.from([]));
	const late = setTimeout(
		() => reply.raw.destroy(),
		limits.downloadGraceMs + (1000 * sizeBytes) / limits.downloadLeastBytesPerS,
	).unref();
	reply.raw.on("close", () => clearTimeout(late));
	if (bytes instanceof Uint8Array) return reply.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
	return reply.send(Readable.from(bytes, { objectMode: false }));
}

export const sendText = (reply: FastifyReply, value: unknown): FastifyReply =>
	reply.header("cache-control", "no-store").type("text/plain; version=0.0.4; charset=utf-8").send(String(value));
