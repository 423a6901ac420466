// Requests that no route takes: 404, 405 and OPTIONS, files of the dashboard where there is one; and how a problem is sent.
import type { FastifyHelmetOptions } from "@fastify/helmet";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AssayError } from "../../protocol/assay-error.ts";
import { methodsOfPath } from "./match-path.ts";
import { PROBLEM_TYPE, type ProblemSource, problemDocument } from "./problem.ts";
import type { ApiServerOptions, StaticFile } from "./server-options.ts";

/**
 * Scripts, styles and connections of the dashboard's own origin only, no string that becomes code (trusted types), no frames either way. WebAssembly is only
 * for the worker that verifies evidence: its file brings a policy of its own.
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
): Promise<FastifyReply> {
	const path = (request.raw.url ?? "/").split("?")[0]!;
	const methods = methodsOfPath(path);
	if (methods.length > 0) {
		reply.header("allow", methods.join(", "));
		if (request.method === "OPTIONS") return reply.code(204).send();
		throw new AssayError("METHOD_WRONG", `${request.method} is not among ${methods.join(", ")}`);
	}
	const isRead = request.method === "GET" || request.method === "HEAD";
	if (staticFile !== undefined && isRead && path !== "/v1" && !path.startsWith("/v1/")) {
		const plain = plainPath(path);
		let file = plain === null ? null : await staticFile(plain);
		// Somebody with a browser and a wrong address sees a page that says so; programs get the problem.
		if (file === null && String(request.headers.accept ?? "").includes("text/html")) {
			file = await staticFile("/");
			if (file !== null) reply.code(404);
		}
		if (file !== null) {
			reply.header("cache-control", file.cacheControl).type(file.contentType);
			if (file.contentSecurityPolicy !== undefined) reply.header("content-security-policy", file.contentSecurityPolicy);
			const encoding = encodingFor(file, String(request.headers["accept-encoding"] ?? ""));
			if (file.encoded !== undefined) reply.header("vary", "accept-encoding");
			if (encoding !== null) reply.header("content-encoding", encoding);
			return reply.send(Buffer.from(encoding === null ? file.bytes : file.encoded![encoding]!));
		}
	}
	throw new AssayError("ROUTE_UNKNOWN", "there is nothing under this path");
}

/** The smallest form that the client takes; one named with q=0 is refused by it. */
function encodingFor({ encoded }: StaticFile, accepted: string): "br" | "gzip" | null {
	const names = accepted
		.toLowerCase()
		.split(",")
		.flatMap((part) => (/;\s*q=0(\.0*)?\s*$/.test(part) ? [] : [part.split(";")[0]!.trim()]));
	return (["br", "gzip"] as const).find((name) => encoded?.[name] !== undefined && names.includes(name)) ?? null;
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
