// One validator process: opens the store, serves the API, lets agents in, keeps providers probed and scored,
// watches rentals and the chain. All wiring, no rules: those are in market/ and verify/. Any number of
// processes share one database. Page: docs/network.md.
import { pino } from "pino";
import { Registry } from "prom-client";
import type { EpochParams } from "../chain/contracts/scoreboard.ts";
import { type Environment, realEnvironment } from "../platform/environment.ts";
import { createKeyedMutex } from "../platform/keyed-mutex.ts";
import { createNodeSigner } from "../platform/node-ed25519.ts";
import { createWatchdog } from "../platform/watchdog.ts";
import { NO_CHAIN_KEYS } from "../store/devices.ts";
import type { Store } from "../store/open-store.ts";
import { openStore } from "../store/open-store.ts";
import { AgentPool, type AgentPoolOptions } from "./agents/agent-pool.ts";
import { createAgentAsker } from "./agents/ask-agent.ts";
import { startAlerts } from "./alerts/watch-providers.ts";
import { EventHub } from "./event-hub.ts";
import { startHousekeeping } from "./housekeeping.ts";
import { openBlobs } from "./jobs/blobs/open-blobs.ts";
import { loadSigner } from "./probe/signer.ts";
import { takeClaim } from "./probing/claim-changes.ts";
import { createCollateral } from "./probing/collateral-file.ts";
import { createProgressBudget } from "./probing/probe-progress.ts";
import { type Scheduler, startScheduler } from "./probing/scheduler.ts";
import { createSlots } from "./probing/slots.ts";
import { SuspicionWatch } from "./probing/suspicion-watch.ts";
import { createTogetherGate } from "./probing/together-gate.ts";
import { VerifierPool } from "./probing/verifier-pool.ts";
import { bestProviders } from "./provider-metrics.ts";
import { Rentals } from "./rentals/rentals.ts";
import { startRentalWatch } from "./rentals/watch-rentals.ts";
import { createProbeHold } from "./roll-call/probe-hold.ts";
import { createScoreKeeper } from "./scoring/score-keeper.ts";
import { ensureAdminToken } from "./serving/admin-token.ts";
import { createValidatorApi, listen } from "./serving/validator-api.ts";
import type { FinalEpoch } from "./settlement/final-watch.ts";
import { createValidatorConfig, dataPaths, type ValidatorConfig, type ValidatorSettings } from "./validator-config.ts";
import type { ValidatorContext } from "./validator-context.ts";
import { createValidatorMetrics } from "./validator-metrics.ts";

export interface Validator {
	readonly config: ValidatorConfig;
	/** Resolves when the API answers and recovery ran once. Throws AssayError; nothing is left open then. */
	start(): Promise<RunningValidator>;
	/** Ends probes (they are due again at once); rentals stay. Safe to call twice, and before the start. */
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
		/** The newest epoch with final weights, and its unclaimed rewards, as of the last round. */
		readonly newestFinal: () => FinalEpoch | null;
	} | null;
	/** Probes that run in this process now. */
	readonly probing: () => number;
	/** Looks for due providers now rather than at the next round. */
	wake(): void;
}

/** For simulations: many agents from one address, quick reconnects. */
export type DoorSettings = Omit<AgentPoolOptions, "onClaim" | "onConnected">;

/** What was opened, to be closed in reverse. */
type Opened = (() => Promise<void> | void)[];

export function createValidator(
	settings: ValidatorSettings,
	environment: Partial<Environment> = {},
	door: DoorSettings = {},
): Validator {
	const config = createValidatorConfig(settings);
	const env = realEnvironment(environment);
	const opened: Opened = [];
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
	opened: Opened,
): Promise<RunningValidator> {
	const { base, registry, adminTokenFile } = await openBase(config, env, opened);
	const { store, signer, metrics, log } = base;
	// Loaded when it is wanted: most of its weight is an EVM.
	const chain = config.chain === null ? null : await (await import("./settlement/keeper.ts")).openChainKeeper(base);
	if (chain !== null) opened.push(() => chain.stop());
	const pool = new VerifierPool({
		threads: config.verifierThreads,
		clockUs: env.ratesClockUs,
		onVerified: (seconds) => metrics.verifySeconds.observe(seconds),
	});
	opened.push(() => pool.close());

	let scheduler: Scheduler | null = null;
	const wake = () => scheduler?.wake();
	const parts = {
		...base,
		beacon: async () => (await chain?.beacon()) ?? null,
		receipts: chain?.receipts ?? null,
		keyHolders: chain?.keyHolders ?? (async () => NO_CHAIN_KEYS),
	};
	const agents = new AgentPool(parts, {
		...door,
		onClaim: async (providerId, before, after) => {
			if (await takeClaim(base, providerId, { before, after })) wake();
		},
		onConnected: wake,
	});
	const context: ValidatorContext = { ...parts, agents: agents.agents };
	const scores = createScoreKeeper(context);
	const asker = createAgentAsker(context);
	opened.push(() => asker.close());
	const rentalContext = { ...context, asker, scores, paid: chain?.paid ?? null, onFree: wake };
	const rentals = new Rentals(rentalContext);
	const rentalWatch = startRentalWatch(rentalContext);
	opened.push(() => rentalWatch.stop());
	const { createJobs } = await import("./jobs/keeper/start-jobs.ts");
	const jobs = await createJobs(context, { asker, chain, scores, pool });
	opened.push(() => jobs.stop());
	const api = createValidatorApi(context, { registry, chain, agents, scores, rentals, pool, jobs: jobs.context });
	opened.push(() => api.close());
	// Before the API: its server would wait for their sockets.
	opened.push(() => agents.close());
	const hold = chain !== null && config.rollCalls.isOn ? createProbeHold(store.rollCalls, env) : null;
	const housekeeping = startHousekeeping(context, scores);
	opened.push(() => housekeeping.stop());
	const alerts = startAlerts(context);
	opened.push(() => alerts.stop());
	if (config.probes) {
		const gate = createTogetherGate({ hub: context.hub, after: env.after });
		opened.push(() => gate.close());
		const suspicion = new SuspicionWatch({ ...context, scores });
		const mayTell = createProgressBudget(config.progressPerS, env.nowMs);
		const slots = createSlots(config);
		scheduler = await startScheduler({ ...context, gate, pool, slots, mayTell, hold, scores, suspicion });
		opened.push(() => scheduler?.stop());
	}
	// Last: agents that dial in find everything ready.
	const url = await listen(api, config.listen);
	await chain?.start(url);
	if (chain !== null && hold !== null) {
		const { startRollCalls } = await import("./roll-call/roll-call-keeper.ts");
		const rollCalls = await startRollCalls({
			...rentalContext,
			...{ pool, hold, home: chain.home, lease: chain.lease, paid: chain.paid },
		});
		opened.push(() => rollCalls.stop());
	}
	jobs.start();
	log.info({ url, key: signer.key, process: store.process }, "validator runs");
	return {
		url,
		key: signer.key,
		adminTokenFile,
		store,
		agents: () => agents.agents.size,
		chain: chain && {
			url: chain.home.url,
			account: chain.home.account.address,
			scoreboard: chain.home.contracts.addresses.scoreboard,
			params: chain.params,
			newestFinal: chain.newestFinal,
			isStaked: chain.isStaked(),
		},
		probing: () => scheduler?.running() ?? 0,
		wake,
	};
}

/** What everything else stands on: the store, the key, events, metrics. */
async function openBase(config: ValidatorConfig, env: Environment, opened: Opened) {
	const { dataDir, schema, leaseMs, databaseUrl, secretKey } = config;
	const { nowMs, randomBytes } = env;
	const log = env.logger ?? pino({ level: "silent" });
	const paths = dataPaths(dataDir);
	const store = await openStore({
		...(config.bucket === null ? {} : { bucket: config.bucket }),
		...{ dataDir, schema, leaseMs },
		...(databaseUrl === null ? {} : { databaseUrl }),
		onWarning: (message) => log.warn({ from: "store" }, message),
	});
	opened.push(() => store.close());
	const signer = secretKey === null ? await loadSigner(paths.key, randomBytes) : createNodeSigner(secretKey);
	const adminTokenFile = await ensureAdminToken({ store, path: paths.adminToken, nowMs: nowMs() });
	const registry = new Registry();
	const metrics = createValidatorMetrics(registry, {
		dueProbes: () => store.dueProbes.counts({ nowMs: env.nowMs() }),
		leases: async () => (await store.leases.list({ prefix: "provider/" })).length,
		providers: () => bestProviders(store, config.metricsProviders, env.nowMs),
	});
	const onLost = () => metrics.eventsLost.inc();
	const hub = new EventHub({ events: store.events, process: store.process, nowMs, onLost });
	opened.push(async () => {
		await hub.flush();
		hub.close();
	});
	const watchdog = createWatchdog({
		after: env.after,
		onStuck: (loop, ms) => log.error({ loop, ms }, "a loop does not turn: this process is not ready until it does"),
	});
	opened.push(() => watchdog.stop());
	const mutex = createKeyedMutex();
	opened.push(() => mutex.idle());
	const blobs = await openBlobs(config, signer);
	const collateral = createCollateral(config.collateral, log);
	return {
		base: { config, env, store, blobs, signer, hub, watchdog, metrics, log, mutex, collateral },
		registry,
		adminTokenFile,
	};
}
