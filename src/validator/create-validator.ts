// One validator process: opens the store, serves the API, lets agents in, keeps providers probed and scored, watches rentals and the chain. All wiring,
// no rules: those are in market/ and verify/. Any number of processes share one database. Page: docs/network.md.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createApiServer } from "../api/server/create-server.ts";
import type { ApiServer, StaticFile } from "../api/server/server-options.ts";
import type { EpochParams } from "../chain/contracts/scoreboard.ts";
import type { AgentBounds } from "../engine/agent/agent-bounds.ts";
import { packageRoot } from "../engine/builds.ts";
import { type Environment, realEnvironment, repeat } from "../platform/environment.ts";
import { createKeyedMutex } from "../platform/keyed-mutex.ts";
import { createNodeSigner } from "../platform/node-ed25519.ts";
import { createSemaphore } from "../platform/semaphore.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { createAgentPool } from "./agents/agent-pool.ts";
import { createAgentAsker } from "./agents/ask-agent.ts";
import { createEventHub } from "./event-hub.ts";
import { loadSigner } from "./probe/signer.ts";
import { takeClaim } from "./probing/claim-changes.ts";
import { createProgressBudget } from "./probing/probe-progress.ts";
import { type Scheduler, startScheduler } from "./probing/scheduler.ts";
import { createSuspicionWatch } from "./probing/suspicion-watch.ts";
import { createTogetherGate } from "./probing/together-gate.ts";
import { createVerifierPool } from "./probing/verifier-pool.ts";
import { startRentalKeeper } from "./rentals/rental-keeper.ts";
import { createScoreKeeper } from "./scoring/score-keeper.ts";
import { ensureAdminToken } from "./serving/admin-token.ts";
import { createAuthSource } from "./serving/auth-source.ts";
import { chainHandlers } from "./serving/chain-handlers.ts";
import { marketHandlers } from "./serving/market-handlers.ts";
import { networkHandlers } from "./serving/network-handlers.ts";
import { probeHandlers } from "./serving/probe-handlers.ts";
import { providerHandlers } from "./serving/provider-handlers.ts";
import { createStaticFiles } from "./serving/static-files.ts";
import type { FinalEpoch } from "./settlement/final-watch.ts";
import { createValidatorConfig, dataPaths, type ValidatorConfig, type ValidatorSettings } from "./validator-config.ts";
import { failure, type ValidatorContext } from "./validator-context.ts";
import { createValidatorMetrics } from "./validator-metrics.ts";

export interface Validator {
	readonly config: ValidatorConfig;
	/** Resolves when the API answers and the first round of recovery is done. Throws AssayError; nothing is left open then. */
	start(): Promise<RunningValidator>;
	/** Ends probes (they are due again at once), rentals stay as they are. Safe to call twice, and before the start. */
	stop(): Promise<void>;
}

export interface RunningValidator {
	/** Base URL of the API, and with ws:// and /agent of the agents' door. */
	readonly url: string;
	/** Signs evidence and reports; also the audience of signed requests. */
	readonly key: string;
	/** Where the first admin's token lies, readable by its owner only. */
	readonly adminTokenFile: string;
	readonly store: Store;
	/** Providers connected to this process. */
	readonly agents: () => number;
	/** Where the chain's node answers, and this validator's account there; null without a chain. */
	readonly chain: {
		readonly url: string;
		readonly account: string;
		readonly scoreboard: string;
		/** The chain's epochs and windows. */
		readonly params: EpochParams;
		/** Without stake its reports count for nothing there; on the embedded chain it always has some. */
		readonly isStaked: boolean;
		/** The newest epoch with final weights and what of its rewards nobody has claimed, as of the last round. */
		readonly newestFinal: () => FinalEpoch | null;
	} | null;
	/** Probes that run in this process now. */
	readonly probing: () => number;
	/** Looks for due providers now rather than at the next round. */
	wake(): void;
}

/** For simulations: many agents from one address, quick reconnects. */
export interface DoorSettings {
	readonly perAddress?: number;
	readonly knocksPerS?: number;
	/** New providers an hour and address; default ten times `perAddress`. */
	readonly newPerHour?: number;
	readonly bounds?: Partial<AgentBounds>;
}

const PRUNE_EVERY_MS = 3_600_000;
const AGE_EVERY_MS = 60_000;
/** One process at a time, so many providers a round. */
const AGE_LEASE = "aging";
const MAX_AGED = 100;

const STATUS_OF_CODE = {
	RENTAL_CONFLICT: 409,
	RENTAL_TERMS: 400,
	RENTAL_TIME: 400,
	RENTAL_UNAVAILABLE: 409,
	RENTAL_FAILED: 502,
	PUBLIC_KEY_BAD: 400,
	AGENT_CLOSED: 503,
	AGENT_SILENT: 504,
	AGENT_REFUSED: 502,
	PROVIDER_BUSY: 409,
	PROVIDER_LIMIT: 409,
	PROVIDER_STOPPING: 503,
	EVIDENCE_MISSING: 404,
	STORE_UNREACHABLE: 503,
	STORE_TIMEOUT: 503,
	STORE_CONFLICT: 409,
	STORE_INPUT: 400,
	STORE_NOT_FOUND: 404,
} as const;

export function createValidator(
	settings: ValidatorSettings,
	surroundings: Partial<Environment> = {},
	door: DoorSettings = {},
): Validator {
	const config = createValidatorConfig(settings);
	const env = realEnvironment(surroundings);
	/** What was opened, to be closed in reverse. */
	const opened: (() => Promise<void> | void)[] = [];
	let starting: Promise<RunningValidator> | null = null;
	let stopping: Promise<void> | null = null;

	async function closeAll(): Promise<void> {
		const errors: unknown[] = [];
		for (const close of opened.splice(0).reverse()) await Promise.resolve(close()).catch((error) => errors.push(error));
		if (errors.length > 0) throw errors[0];
	}

	return {
		config,
		start() {
			starting ??= start(config, env, door, opened).catch(async (error) => {
				await closeAll().catch(() => {});
				throw error;
			});
			return starting;
		},
		stop() {
			stopping ??= (starting ?? Promise.resolve()).then(closeAll, () => {});
			return stopping;
		},
	};
}

async function start(
	config: ValidatorConfig,
	env: Environment,
	door: DoorSettings,
	opened: (() => Promise<void> | void)[],
): Promise<RunningValidator> {
	const log = env.logger ?? pino({ level: "silent" });
	const paths = dataPaths(config.dataDir);
	const store = await openStore({
		dataDir: config.dataDir,
		schema: config.schema,
		leaseMs: config.leaseMs,
		...(config.databaseUrl === null ? {} : { databaseUrl: config.databaseUrl }),
		onWarning: (message) => log.warn({ from: "store" }, message),
	});
	opened.push(() => store.close());
	const signer: Signer =
		config.secretKey === null ? await loadSigner(paths.key, env.randomBytes) : createNodeSigner(config.secretKey);
	const adminTokenFile = await ensureAdminToken({ store, path: paths.adminToken, nowMs: env.nowMs() });

	const registry = new Registry();
	const metrics = createValidatorMetrics(registry, {
		work: () => store.work.counts({ nowMs: env.nowMs() }),
		leases: async () => (await store.leases.list({ prefix: "provider/" })).length,
	});
	const hub = createEventHub({
		events: store.events,
		process: store.process,
		nowMs: env.nowMs,
		onLost: () => metrics.eventsLost.inc(),
	});
	opened.push(async () => {
		await hub.flush();
		hub.close();
	});
	const pool = createVerifierPool({
		threads: config.verifierThreads,
		clockUs: env.ratesClockUs,
		onVerified: (seconds) => metrics.verifySeconds.observe(seconds),
	});
	opened.push(() => pool.close());
	const mutex = createKeyedMutex();
	opened.push(() => mutex.idle());

	let scheduler: Scheduler | null = null;
	const wake = () => scheduler?.wake();
	const parts = { config, env, store, signer, hub, metrics, log };
	// Loaded when it is wanted: most of its weight is an EVM.
	const chain =
		config.chain === null ? null : await (await import("./settlement/chain-keeper.ts")).openChainKeeper(parts);
	if (chain !== null) opened.push(() => chain.stop());
	const base = { ...parts, beacon: async () => (await chain?.beacon()) ?? null, receipts: chain?.receipts ?? null };
	const agents = createAgentPool(base, {
		...door,
		onClaim: async (providerId, before, after) => {
			if (await takeClaim({ ...base, mutex }, { providerId, before, after })) wake();
		},
		onConnected: wake,
	});
	const x: ValidatorContext = { ...base, agents: agents.agents };
	const scores = createScoreKeeper(x);
	const asker = createAgentAsker(x);
	opened.push(() => asker.close());
	const rentals = startRentalKeeper({ ...x, asker, scores, mutex, onFree: wake });
	opened.push(() => rentals.stop());

	const version = packageVersion();
	const api: ApiServer = createApiServer({
		handlers: {
			...providerHandlers(x, {
				scoreAgain: async (id) => void (await scores.score(id)),
				sendAway: (id) => agents.sendAway(id),
			}),
			...probeHandlers(x),
			...marketHandlers(x, rentals),
			...chainHandlers(x, chain?.home ?? null),
			...networkHandlers(x, {
				version,
				checks: [
					{ name: "database", check: () => store.ready().then(() => "") },
					{ name: "verifier", check: () => `${pool.pending()} files wait` },
				],
			}),
		},
		auth: createAuthSource(x),
		audience: signer.key,
		version,
		nowMs: env.nowMs,
		randomId: () => bytesToHex(env.randomBytes(8)),
		registry,
		limits: config.api.limits,
		statusOfCode: STATUS_OF_CODE,
		onUpgrade: (request, socket, head) => agents.handleUpgrade(request, socket, head),
		...(env.logger === null ? {} : { logger: env.logger }),
		...(config.api.trustProxy === null ? {} : { trustProxy: config.api.trustProxy }),
		staticFile: chainFilesFirst(chain, config.api.staticFile ?? createStaticFiles()),
	});
	opened.push(() => api.close());
	// Before the API: its server would wait for their sockets.
	opened.push(() => agents.close());

	const pruning = repeat({ everyMs: PRUNE_EVERY_MS, after: env.after, onError: failure(x, "prune") }, async () => {
		const before = Math.max(0, env.nowMs() - config.keepHistoryMs);
		await store.prune({ probesBeforeMs: before, scoresBeforeMs: before, nowMs: env.nowMs() });
	});
	opened.push(() => pruning.stop());

	const ageEveryMs = Math.max(100, Math.min(AGE_EVERY_MS, Math.floor(config.params.maxAgeMs / 10)));
	const aging = repeat({ everyMs: ageEveryMs, after: env.after, onError: failure(x, "score") }, async () => {
		if (await store.leases.acquire(AGE_LEASE)) await scores.age(MAX_AGED);
	});
	opened.push(async () => {
		await aging.stop();
		await store.leases.release(AGE_LEASE);
	});

	if (config.probes) {
		const gate = createTogetherGate({ hub, nowMs: env.nowMs, after: env.after });
		opened.push(() => gate.close());
		const suspicion = createSuspicionWatch({ ...x, mutex, scores });
		const mayTell = createProgressBudget(config.progressPerS, env.nowMs);
		const semaphore = createSemaphore(config.concurrency);
		scheduler = await startScheduler({ ...x, gate, pool, semaphore, mutex, mayTell, scores, suspicion });
		opened.push(() => scheduler?.stop());
	}
	// Last: agents that dial in find everything ready.
	const url = await listen(api, config);
	await chain?.start(url);
	log.info({ url, key: signer.key, process: store.process }, "validator runs");
	return {
		url,
		key: signer.key,
		adminTokenFile,
		store,
		agents: () => agents.agents.size,
		chain:
			chain === null
				? null
				: {
						url: chain.home.url,
						account: chain.home.account.address,
						scoreboard: chain.home.at.scoreboard,
						params: chain.params,
						newestFinal: chain.newestFinal,
						isStaked: chain.isStaked(),
					},
		probing: () => scheduler?.running() ?? 0,
		wake,
	};
}

type StaticFiles = (path: string) => Promise<StaticFile | null>;

/** The leaves that a chain's roots commit to are public files as well. */
function chainFilesFirst(chain: { readonly staticFile: StaticFiles } | null, others: StaticFiles): StaticFiles {
	return async (path) => (await chain?.staticFile(path)) ?? others(path);
}

async function listen(api: ApiServer, { listen: at }: ValidatorConfig): Promise<string> {
	try {
		return await api.listen(at);
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		if (code !== "EADDRINUSE" && code !== "EACCES" && code !== "EADDRNOTAVAIL") throw cause;
		throw new AssayError("LISTEN_FAILED", `${at.host}:${at.port} cannot be listened on (${code})`, {
			hint: "Another program uses the port, or it is not yours to use: choose another.",
			cause,
		});
	}
}

function packageVersion(): string {
	const manifest = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string };
	return manifest.version;
}
