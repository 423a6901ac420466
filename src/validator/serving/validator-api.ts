// The validator's API server: the route table's handlers, who may call, and where it listens. The server
// itself is src/api/; what the routes do is in the handlers beside this file.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { type ApiServer, createApiServer } from "../../api/server/create-server.ts";
import type { Lateness } from "../../chain/node/never-behind.ts";
import { packageRoot } from "../../engine/builds.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { AgentPool } from "../agents/agent-pool.ts";
import type { JobContext } from "../jobs/keeper/job-context.ts";
import type { VerifierPool } from "../probing/verifier-pool.ts";
import type { Rentals } from "../rentals/rentals.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import type { ChainKeeper } from "../settlement/keeper.ts";
import type { ValidatorConfig } from "../validator-config.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { createAuthSource } from "./auth-source.ts";
import { blobHandlers } from "./blob-handlers.ts";
import { chainHandlers } from "./chain/handlers.ts";
import { claimHandlers } from "./claim-handlers.ts";
import { disputeHandlers } from "./dispute-handlers.ts";
import { jobHandlers } from "./job-handlers.ts";
import { marketHandlers } from "./market-handlers.ts";
import { networkHandlers } from "./network-handlers.ts";
import { probeHandlers } from "./probe-handlers.ts";
import { proofHandlers } from "./proof-handlers.ts";
import { providerHandlers } from "./provider-handlers.ts";
import { rollCallHandlers } from "./roll-call-handlers.ts";
import { workHandlers } from "./work-handlers.ts";

export interface ApiParts {
	readonly registry: Registry;
	readonly chain: ChainKeeper | null;
	readonly agents: AgentPool;
	readonly scores: ScoreKeeper;
	readonly rentals: Rentals;
	readonly pool: VerifierPool;
	readonly jobs: JobContext;
}

export function createValidatorApi(context: ValidatorContext, parts: ApiParts): ApiServer {
	const { config, env, store, signer } = context;
	const { registry, chain, agents, scores, rentals, pool, jobs } = parts;
	const version = packageVersion();
	const dashboard = dashboardFolder();
	return createApiServer({
		handlers: {
			...providerHandlers(context, {
				scoreAgain: async (id) => void (await scores.score(id)),
				sendAway: (id) => agents.sendAway(id),
				mayRegister: (address, key) => agents.newcomers.mayRegister(address, key),
			}),
			...probeHandlers(context),
			...marketHandlers(context, rentals),
			...rollCallHandlers(context),
			...blobHandlers(context),
			...jobHandlers(jobs),
			...claimHandlers(jobs),
			...proofHandlers(jobs),
			...disputeHandlers(jobs),
			...workHandlers(jobs),
			...chainHandlers(context, chain?.home ?? null),
			...networkHandlers(context, {
				version,
				checks: [
					{ name: "database", check: () => store.ready().then(() => "") },
					{ name: "loops", check: () => mustTurn(context) },
					{ name: "verifier", check: () => `${pool.pending} files wait` },
					...(chain === null ? [] : [{ name: "chain", check: () => mustFollow(chain.home.lateness, env.nowMs()) }]),
				],
			}),
		},
		auth: createAuthSource(context),
		audience: signer.key,
		version,
		nowMs: env.nowMs,
		randomId: () => bytesToHex(env.randomBytes(8)),
		registry,
		limits: config.api.limits,
		onUpgrade: (request, socket, head) => agents.handleUpgrade(request, socket, head),
		...(env.logger === null ? {} : { logger: env.logger }),
		...(config.api.trustProxy === null ? {} : { trustProxy: config.api.trustProxy }),
		...(dashboard === undefined ? {} : { dashboard }),
		// The leaves that a chain's roots commit to are public files.
		...(chain === null ? {} : { staticFile: (path) => chain.staticFile(path) }),
	});
}

/** So long a node may miss a block that was seen: those behind a balancer do for seconds. */
const BEHIND_MS = 120_000;

function mustFollow({ sinceMs }: Lateness, nowMs: number): string {
	const since = sinceMs();
	if (since === null || nowMs - since < BEHIND_MS) return "";
	const seconds = Math.floor((nowMs - since) / 1000);
	throw new AssayError("CHAIN_BEHIND", `CHAIN_BEHIND: its node is behind what was seen before, for ${seconds} s`);
}

/**
 * At the port, or at one of the `orNext` after it that no other program has taken. Throws AssayError
 * LISTEN_FAILED.
 */
export async function listen(api: Pick<ApiServer, "listen">, at: ValidatorConfig["listen"]): Promise<string> {
	const { host, port, orNext } = at;
	try {
		return await api.listen({ host, port });
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		if (code === "EADDRINUSE" && orNext > 0) return listen(api, { host, port: port + 1, orNext: orNext - 1 });
		const isName = code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "EADDRNOTAVAIL" || code === "EINVAL";
		if (code !== "EADDRINUSE" && code !== "EACCES" && !isName) throw cause;
		throw new AssayError("LISTEN_FAILED", `${host}:${port} cannot be listened on (${code})`, {
			hint: isName
				? "Give an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them."
				: code === "EACCES"
					? "This user may not use that port: choose one above 1023."
					: "Another program uses the port: choose another, or end that one. `assay up` without --port takes the next free one.",
			cause,
		});
	}
}

/** In a checkout or in a package; undefined where nothing was built: the API works without. */
const dashboardFolder = (): string | undefined =>
	["build", "dist"]
		.map((name) => join(packageRoot(), name, "web"))
		.find((folder) => existsSync(join(folder, "index.html")));

function packageVersion(): string {
	const manifest = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string };
	return manifest.version;
}

function mustTurn({ watchdog }: Pick<ValidatorContext, "watchdog">): string {
	const stuck = watchdog.stuck();
	if (stuck.length > 0) throw new AssayError("NOT_READY", `a turn takes too long: ${stuck.join(", ")}`);
	return "";
}
