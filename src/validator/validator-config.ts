// Every setting of a validator process in one place: its type, its default, its limits. Rules of schedule,
// scores and rentals are market's parameters and are only passed through. Settings come from the command
// line, the environment or a test; none is read here.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { ApiLimits } from "../api/server/server-options.ts";
import type { Link } from "../engine/links/link.ts";
import { createParams, type ParamOverrides, type Params } from "../market/params.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { Plan } from "../verify/hardware/plan/probe-plan.ts";
import type { ProbeDeadlines } from "./probe/run-probe.ts";
import { type ChainSettings, chainDefaults } from "./settlement/settings.ts";

export interface ValidatorConfig {
	/** Evidence, the embedded database, the key, the admin's token, pinned host keys. */
	readonly dataDir: string;
	/** Any PostgreSQL server; null: the embedded one in `dataDir`. */
	readonly databaseUrl: string | null;
	/** Tables of several networks can share one server. */
	readonly schema: string;
	readonly listen: { readonly host: string; readonly port: number };
	/** Shown to whoever asks for the network. */
	readonly name: string;
	/** The 32 bytes of the Ed25519 seed; null: kept in `dataDir`/validator.key, made at the first start. */
	readonly secretKey: Uint8Array | null;
	/** Which providers may dial in: every key, or these. An admin adds ssh and local ones in any case. */
	readonly join: "open" | readonly string[];
	/** True: any key that signs may rent. False: customers need a token. */
	readonly openCustomers: boolean;
	/** Whether this process takes probes at all; false: it only serves the API. */
	readonly probes: boolean;
	/** Probes at work at once: those whose host has said what it is and is being challenged. */
	readonly concurrency: number;
	/** Further probes that wait for their host's first word or for a slot. Silent hosts cost one of these. */
	readonly waiting: number;
	readonly verifierThreads: number;
	readonly leaseMs: number;
	/** How often due providers are looked for. */
	readonly dispatchEveryMs: number;
	/** How often what dead processes left is looked for; also once at the start. */
	readonly recoverEveryMs: number;
	readonly probe: ProbeSettings;
	readonly ssh: { readonly identityFile: string | null; readonly connectTimeoutMs: number };
	/** For local providers: how to start an engine. Null: our own build. */
	readonly openLocalLink: (() => Promise<Link>) | null;
	/** Where scores, stakes and rewards are published; null: nowhere. */
	readonly chain: ChainSettings | null;
	/** market/params: overrides as given, and the whole checked table. */
	readonly params: Params;
	readonly api: {
		readonly limits: Partial<ApiLimits>;
		/** Addresses or networks of our own proxies, whose X-Forwarded-For is believed; of agents' links too. */
		readonly trustProxy: readonly string[] | null;
	};
	/** Progress events a second, all probes of this process together; what is above is not told. */
	readonly progressPerS: number;
	/** History older than this is removed; evidence files stay. */
	readonly keepHistoryMs: number;
}

interface ProbeSettings {
	readonly quick: boolean;
	readonly sustainMs: number;
	/** Null: as the plan has it. */
	readonly samples: number | null;
	/** Another plan than the default one: tests and simulations ask toy sizes. */
	readonly plan: Plan | null;
	readonly deadlines: Partial<ProbeDeadlines>;
	/** For a whole probe, however busy it looks; then its link is closed and what was said so far is judged. */
	readonly totalMs: number;
	/** What a provider's engine may use. */
	readonly limits: { readonly memoryBytes: number; readonly minutes: number };
	/** How long the probes of a group wait for each other before each of the stages that must overlap. */
	readonly togetherWaitMs: number;
	/** Stages whose start is held until the whole group has come. */
	readonly togetherStages: readonly string[];
}

type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined };
export interface ValidatorSettings
	extends Omit<Loose<ValidatorConfig>, "listen" | "probe" | "ssh" | "api" | "params" | "chain"> {
	readonly dataDir: string;
	readonly listen?: Loose<ValidatorConfig["listen"]>;
	readonly probe?: Loose<ProbeSettings>;
	readonly ssh?: Loose<ValidatorConfig["ssh"]>;
	readonly api?: Loose<ValidatorConfig["api"]>;
	/** {} is the embedded chain. */
	readonly chain?: Loose<ChainSettings> | null | undefined;
	/** Rows of market/params by name. */
	readonly params?: ParamOverrides;
}

const DAY = 86_400_000;
const GiB = 2 ** 30;

const DEFAULTS: Omit<ValidatorConfig, "dataDir" | "params"> = {
	databaseUrl: null,
	schema: "assay",
	listen: { host: "127.0.0.1", port: 7373 },
	name: "validator",
	secretKey: null,
	join: "open",
	openCustomers: true,
	probes: true,
	// Probes wait for engines nearly all of their time: 16 at once keep 10,000 providers in 72 min at 6.9 s a
	// probe.
	concurrency: 16,
	// A host that says nothing holds one for 20 s and a probe takes some 7: four times as many keep up with
	// silent ones in every fourth place.
	waiting: 48,
	// One core is left to sockets and API; a file takes 0.1 to 0.5 s.
	verifierThreads: Math.max(1, Math.min(8, availableParallelism() - 1)),
	leaseMs: 30_000,
	dispatchEveryMs: 1000,
	recoverEveryMs: 30_000,
	probe: {
		quick: false,
		sustainMs: 0,
		samples: null,
		plan: null,
		deadlines: {},
		// An H200 takes 12 s, a slow 8-card host a few minutes.
		totalMs: 15 * 60_000,
		limits: { memoryBytes: 64 * GiB, minutes: 20 },
		togetherWaitMs: 60_000,
		togetherStages: ["gpu fill", "gpu stream"],
	},
	ssh: { identityFile: null, connectTimeoutMs: 20_000 },
	openLocalLink: null,
	chain: null,
	api: { limits: {}, trustProxy: null },
	progressPerS: 50,
	keepHistoryMs: 90 * DAY,
};

/** Checked, with defaults filled in. Throws CONFIG_BAD (or PARAMS_BAD) naming every mistake at once. */
export function createValidatorConfig(settings: ValidatorSettings): ValidatorConfig {
	const { params, chain, ...rest } = settings;
	const config: ValidatorConfig = {
		...filled({ ...DEFAULTS, dataDir: "" }, rest),
		params: createParams(params),
		chain: chain === undefined || chain === null ? null : filled(chainDefaults, chain),
	};
	const wrong = mistakes(config);
	if (wrong.length > 0)
		throw new AssayError("CONFIG_BAD", `the validator's settings cannot be used: ${wrong.join("; ")}`, {
			hint: "See docs/network.md, or assay validate --help.",
		});
	return config;
}

/** One level deep: groups of settings are merged field by field, everything else is taken as it is. */
function filled<T extends object>(defaults: T, given: object): T {
	const result = { ...defaults } as Record<string, unknown>;
	for (const [name, value] of Object.entries(given)) {
		if (value === undefined) continue;
		const before = result[name];
		result[name] = ["listen", "probe", "ssh", "api"].includes(name) ? filled(before as object, value) : value;
	}
	return result as T;
}

function mistakes(config: ValidatorConfig): string[] {
	const wrong: string[] = [];
	const whole = (name: string, value: number, least: number, most: number) => {
		if (!Number.isSafeInteger(value) || value < least || value > most)
			wrong.push(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
	};
	if (config.dataDir === "") wrong.push("dataDir is missing");
	if (!/^[a-z][a-z0-9_]{0,30}$/.test(config.schema)) wrong.push("schema must be a short lower-case name");
	whole("listen.port", config.listen.port, 0, 65535);
	whole("concurrency", config.concurrency, 1, 256);
	whole("waiting", config.waiting, 0, 512);
	whole("verifierThreads", config.verifierThreads, 0, 64);
	whole("leaseMs", config.leaseMs, 1000, 600_000);
	whole("dispatchEveryMs", config.dispatchEveryMs, 1, 60_000);
	whole("recoverEveryMs", config.recoverEveryMs, 10, 3_600_000);
	whole("progressPerS", config.progressPerS, 0, 1000);
	whole("keepHistoryMs", config.keepHistoryMs, 60_000, 3650 * DAY);
	whole("probe.sustainMs", config.probe.sustainMs, 0, DAY);
	whole("probe.totalMs", config.probe.totalMs, 100, DAY);
	whole("probe.togetherWaitMs", config.probe.togetherWaitMs, 1, 600_000);
	whole("probe.limits.minutes", config.probe.limits.minutes, 1, 1440);
	whole("probe.limits.memoryBytes", config.probe.limits.memoryBytes, 1, Number.MAX_SAFE_INTEGER);
	if (config.probe.samples !== null) whole("probe.samples", config.probe.samples, 1, 4096);
	// The provider kills its engine at its limit: whoever is killed before the deadline would look as if it had
	// hung up on us.
	if (config.probe.limits.minutes * 60_000 <= config.probe.totalMs)
		wrong.push("probe.limits.minutes must be longer than probe.totalMs");
	if (config.chain !== null) {
		const { rpcUrl, stakeTokens, epochSeconds, windowSeconds, firstEpochSeconds, confirmations, mostFeeGwei } =
			config.chain;
		if (rpcUrl !== null && !/^https?:\/\//.test(rpcUrl)) wrong.push("chain.rpcUrl must begin with http:// or https://");
		whole("chain.stakeTokens", stakeTokens, 1, 1_000_000);
		whole("chain.epochSeconds", epochSeconds, 1, 31_536_000);
		whole("chain.windowSeconds", windowSeconds, 1, 86_400);
		whole("chain.firstEpochSeconds", firstEpochSeconds, 1, 31_536_000);
		whole("chain.mostFeeGwei", mostFeeGwei, 1, 1_000_000_000);
		if (confirmations !== null) whole("chain.confirmations", confirmations, 1, 1000);
	}
	if (config.join !== "open" && !config.join.every((key) => /^[0-9a-f]{64}$/.test(key)))
		wrong.push("join must be open, or a list of keys of 64 hex digits");
	return wrong;
}

/** Where things lie in the data folder. */
export const dataPaths = (dataDir: string) => ({
	key: join(dataDir, "validator.key"),
	adminToken: join(dataDir, "admin.token"),
	knownHosts: join(dataDir, "known_hosts"),
});
