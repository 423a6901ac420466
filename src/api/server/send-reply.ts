// How replies leave: JSON cut to its schema, immutable files, text. Knows nothing of who asked. Event
// streams: event-streams.ts.
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { AssayError } from "../../protocol/assay-error.ts";
import type { BinaryReply, Route } from "../route.ts";
import type { RouteName } from "../routes.ts";

export function sendJson(
	name: RouteName,
	route: Route,
	request: FastifyRequest,
	reply: FastifyReply,
	value: unknown,
	logger: Logger,
): FastifyReply {
	// Parsing is what keeps undeclared fields in: a handler may hold more than callers may see.
	const result = route.reply!.safeParse(value);
	if (!result.success) {
		const issues = result.error.issues.slice(0, 3);
		logger.error({ requestId: request.id, route: name, issues }, "a reply is not what its schema says");
		throw new AssayError("SERVER_FAILED", "the reply could not be made");
	}
	return reply
		.code(route.status)
		.header("cache-control", "no-store")
		.type("application/json; charset=utf-8")
		.send(JSON.stringify(result.data));
}

export function sendBinary(request: FastifyRequest, reply: FastifyReply, value: BinaryReply): FastifyReply {
	const { bytes, sizeBytes, sha256 } = value;
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
}

export const sendText = (reply: FastifyReply, value: unknown): FastifyReply =>
	reply.header("cache-control", "no-store").type("text/plain; version=0.0.4; charset=utf-8").send(String(value));
