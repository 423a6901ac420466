// Requests that no route takes: 404, 405 and OPTIONS, public files and the dashboard where there is one; and
// how a problem is sent.
import type { FastifyHelmetOptions } from "@fastify/helmet";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AssayError } from "../../protocol/assay-error.ts";
import { methodsOfPath } from "./match-path.ts";
import { PROBLEM_TYPE, type ProblemSource, problemDocument } from "./problem.ts";
import type { ApiServerOptions } from "./server-options.ts";

/**
 * Scripts, styles and connections of the dashboard's own origin only, no string that becomes code (trusted
 * types), no frames either way. WebAssembly is only for the worker that verifies evidence: its file brings a
 * policy of its own.
 */
export const SECURITY_HEADERS: FastifyHelmetOptions = {
	contentSecurityPolicy: {
		useDefaults: false,
		directives: {
			defaultSrc: ["'none'"],
			scriptSrc: ["'self'"],
			styleSrc: ["'self'"],
			imgSrc: ["'self'"],
			connectSrc: ["'self'"],
			workerSrc: ["'self'"],
			baseUri: ["'none'"],
			formAction: ["'none'"],
			frameAncestors: ["'none'"],
			requireTrustedTypesFor: ["'script'"],
			trustedTypes: ["assay"],
		},
	},
	crossOriginEmbedderPolicy: true,
	referrerPolicy: { policy: "no-referrer" },
};

export function sendProblem(reply: FastifyReply, source: ProblemSource, requestId: string): FastifyReply {
	return reply
		.code(source.status)
		.header("cache-control", "no-store")
		.type(PROBLEM_TYPE)
		.send(JSON.stringify(problemDocument(source, requestId)));
}

export async function answerUnknown(
	request: FastifyRequest,
	reply: FastifyReply,
	staticFile: ApiServerOptions["staticFile"],
	dashboardFile: ((path: string) => string | null) | null,
): Promise<FastifyReply> {
	const path = (request.raw.url ?? "/").split("?")[0]!;
	const methods = methodsOfPath(path);
	if (methods.length > 0) {
		reply.header("allow", methods.join(", "));
		if (request.method === "OPTIONS") return reply.code(204).send();
		throw new AssayError("METHOD_WRONG", `${request.method} is not among ${methods.join(", ")}`);
	}
	const isRead = request.method === "GET" || request.method === "HEAD";
	if (isRead && path !== "/v1" && !path.startsWith("/v1/")) {
		const plain = plainPath(path);
		const file = plain === null ? null : ((await staticFile?.(plain)) ?? null);
		if (file !== null)
			return reply.header("cache-control", file.cacheControl).type(file.contentType).send(Buffer.from(file.bytes));
		const page = plain === null ? null : (dashboardFile?.(plain) ?? null);
		if (page !== null) return reply.sendFile(page);
		// A browser with a wrong address gets a page that says so; programs get the problem.
		if (dashboardFile !== null && String(request.headers.accept ?? "").includes("text/html"))
			return reply.code(404).sendFile("index.html");
	}
	throw new AssayError("ROUTE_UNKNOWN", "there is nothing under this path");
}

/** Decoded; null for paths that climb, hide or hold what no file name of ours has. */
function plainPath(path: string): string | null {
	let decoded: string;
	try {
		decoded = decodeURIComponent(path);
	} catch {
		return null;
	}
	const isPlain = /^\/[A-Za-z0-9_./-]*$/.test(decoded) && !decoded.split("/").some((part) => part.startsWith("."));
	return isPlain ? decoded : null;
}
