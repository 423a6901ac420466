// The HTTP server beneath the API: fastify with our limits, bodies taken as bytes, and a problem document for
// everything that goes wrong, even for what is no HTTP at all. Not here: routes, callers, replies; JSON is
// parsed once its caller is known (request-hooks.ts).
import type { Readable } from "node:stream";
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { AssayError } from "../../protocol/assay-error.ts";
import { retryAfterMs } from "../../protocol/passing.ts";
import { SECURITY_HEADERS, sendProblem } from "./answer-unknown.ts";
import type { Gate } from "./gate.ts";
import type { ApiMetrics } from "./metrics.ts";
import { PROBLEM_TYPE, problemDocument, problemOf } from "./problem.ts";
import { parseQuery } from "./read-text-fields.ts";
import { receiveBody } from "./receive-body.ts";
import type { ApiLimits, ApiServerOptions } from "./server-options.ts";

export function createApp(
	options: Pick<ApiServerOptions, "randomId">,
	parts: {
		readonly limits: ApiLimits;
		readonly logger: Logger;
		readonly metrics: ApiMetrics;
		readonly gate: Gate;
	},
): FastifyInstance {
	const { limits, logger, metrics, gate } = parts;
	const app: FastifyInstance = Fastify({
		logger: false,
		genReqId: options.randomId,
		requestIdHeader: false,
		bodyLimit: limits.bodyBytes,
		serverFactory: (handler) => gate.createServer(handler),
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
			const bad = problemOf(new AssayError("REQUEST_BAD", "this is not an HTTP request that can be read"));
			const text = JSON.stringify(problemDocument({ ...bad, status }, options.randomId()));
			const head = `HTTP/1.1 ${status} Refused\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n`;
			socket.end(head + text);
		},
	});
	app.register(helmet, SECURITY_HEADERS);
	app.removeAllContentTypeParsers();
	// Which of the two a route takes was asked before: request-hooks.ts.
	const receive = async ({ assay }: FastifyRequest, payload: Readable) =>
		assay.expected === null ? undefined : receiveBody(payload, limits, assay.onBytes);
	app.addContentTypeParser(["application/json", "application/octet-stream"], receive);
	app.setErrorHandler((error, request, reply) => {
		const source = problemOf(error);
		metrics.refused.inc({ code: source.code });
		const told = { requestId: request.id, route: request.assay?.name };
		// Whoever hung up broke it off itself, and hears nothing of it.
		if (source.isOurs && !(reply.raw.destroyed && isAbort(error)))
			logger.error({ ...told, err: error }, "a handler failed");
		else if (reply.raw.destroyed) logger.info(told, "the client hung up");
		const waitMs = source.status === 429 ? retryAfterMs(error) : 0;
		if (waitMs > 0) reply.header("retry-after", Math.ceil(waitMs / 1000));
		if (source.status === 401) reply.header("www-authenticate", "Bearer");
		// A body that was not read to its end leaves the connection in the middle of it.
		if (source.status === 413) reply.header("connection", "close");
		return sendProblem(reply, source, request.id);
	});
	return app;
}

/** What is thrown for a call's signal that was aborted, and for a connection that is gone. */
const isAbort = (error: unknown): boolean =>
	error instanceof Error &&
	(error.name === "AbortError" || ["ECONNRESET", "EPIPE"].includes(String((error as NodeJS.ErrnoException).code)));
