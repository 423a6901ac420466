// The HTTP server beneath the API: fastify with our limits, our body parser, and a problem document for
// everything that goes wrong, even for what is no HTTP at all. Not here: routes, callers, replies.
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Logger } from "pino";
import { AssayError } from "../../protocol/assay-error.ts";
import { SECURITY_HEADERS, sendProblem } from "./answer-unknown.ts";
import type { Gate } from "./gate.ts";
import type { ApiMetrics } from "./metrics.ts";
import { parseBody } from "./parse-body.ts";
import { PROBLEM_TYPE, problemDocument, problemOf } from "./problem.ts";
import { parseQuery } from "./read-text-fields.ts";
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
	app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
		try {
			request.assay.rawBody = body as Buffer;
			done(null, (body as Buffer).length === 0 ? undefined : parseBody(body as Buffer));
		} catch (error) {
			done(error as Error);
		}
	});
	// Only on routes that take bytes: request-hooks.ts refuses them elsewhere before a byte is read.
	app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (request, body, done) => {
		request.assay.rawBody = body as Buffer;
		done(null, body);
	});
	app.setErrorHandler((error, request, reply) => {
		const source = problemOf(error);
		metrics.refused.inc({ code: source.code });
		if (source.isOurs)
			logger.error({ requestId: request.id, route: request.assay?.name, err: error }, "a handler failed");
		if (source.status === 401) reply.header("www-authenticate", "Bearer");
		// A body that was not read to its end leaves the connection in the middle of it.
		if (source.status === 413) reply.header("connection", "close");
		return sendProblem(reply, source, request.id);
	});
	return app;
}
