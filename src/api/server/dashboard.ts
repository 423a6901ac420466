// The built dashboard (scripts/build-web.ts) as files of one folder, sent by @fastify/static with their
// compressed forms, ETags and cache times. All pages of the dashboard are one document; which page it is, the
// document finds out.
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";

/**
 * The verifier's worker compiles a program of its own (src/protocol/maths/) and needs nothing else: no
 * connection, no further script.
 */
const WORKER_POLICY = "default-src 'none';script-src 'wasm-unsafe-eval'";
/** That of roll calls asks the node that its reader names, wherever that is. */
const POLICIES: readonly [name: string, policy: string][] = [
	["verifier-worker-", WORKER_POLICY],
	// Those of jobs and of proofs of training compute, and ask nobody.
	["job-worker-", "default-src 'none'"],
	["training-worker-", "default-src 'none'"],
	["roll-call-worker-", `${WORKER_POLICY};connect-src https: http:`],
];

/** First parts of the dashboard's paths; anything else stays an unknown route of the API. */
const PAGES = [
	"providers",
	"compare",
	"probes",
	"roll-calls",
	"verify",
	"epochs",
	"rent",
	"jobs",
	"disputes",
	"market",
	"programs",
];

/**
 * Gives the file for a decoded path, or null: a name that is in the folder now, so that no path leads out of
 * it.
 */
export function registerDashboard(app: FastifyInstance, folder: string): (path: string) => string | null {
	app.register(fastifyStatic, {
		root: folder,
		serve: false,
		preCompressed: true,
		cacheControl: false,
		acceptRanges: false,
		setHeaders(reply, path) {
			const name = basename(path);
			// A name with a hash never changes its content.
			const hasHash = /-[A-Z0-9]{8}\.[a-z]+(\.br|\.gz)?$/.test(name);
			reply.header("cache-control", hasHash ? "public, max-age=31536000, immutable" : "no-cache");
			const [, policy] = POLICIES.find(([start]) => name.startsWith(start)) ?? [];
			if (policy !== undefined) reply.header("content-security-policy", policy);
		},
	});
	const names = new Set(readdirSync(folder).filter((name) => /^sample--(?!.*\.(br|gz)$)|\.(css|js|svg)$/.test(name)));
	return (path) => {
		const [, first = "", ...rest] = path.split("/");
		if (rest.length === 0 && names.has(first)) return first;
		return path === "/" || (PAGES.includes(first) && rest.length <= 1) ? "index.html" : null;
	};
}
