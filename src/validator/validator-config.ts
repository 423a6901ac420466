// Every setting of a validator process in one place: its type, its default, its limits. Rules of schedule,
// scores and rentals are market's parameters and are only passed through. Settings come from the command
// line, the environment or a test; none is read here.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { ApiLimits } from "../api/server/server-options.ts";
import type { Link } from "../engine/links/link.ts";
import { createParams, type ParamOverrides, type Params } from "../market/params.ts";
import { codedError } from "../protocol/coded-error.ts";
import { areUrls } from "../protocol/network/without-login.ts";
import { QUICKNET } from "../protocol/roll-call/drand.ts";
import type { BucketOptions } from "../store/bucket/bucket.ts";
import type { GuestRule } from "../verify/attestation/guest-rules.ts";
import type { Plan } from "../verify/hardware/plan/probe-plan.ts";
import type { Expectations } from "../verify/hardware/verify.ts";
import type { ProbeDeadlines } from "./probe/run-probe.ts";
import { type ChainSettings, chainDefaults } from "./settlement/settings.ts";

const DAY = 86_400_000;
const GiB = 2 ** 30;

const PROBE = {
	quick: false,
	sustainMs: 0,
	/** Null: as the plan has it. */
	samples: null as number | null,
	/** Another plan than the default one: tests and simulations ask toy sizes. */
	plan: null as Plan | null,
	deadlines: {} as Partial<ProbeDeadlines>,
	/**
	 * For a whole probe, however busy it looks; then its link is closed and what was said so far is judged. An
	 * H200 takes 12 s, a slow 8-card host a few minutes.
	 */
	totalMs: 15 * 60_000,
	/** How long a host whose engine is in use is asked again, before the probe is given up. */
	busyMs: 20_000,
	/** What a provider's engine may use. */
	limits: { memoryBytes: 64 * GiB, minutes: 20 },
	/** How long the probes of a group wait for each other before each of the stages that must overlap. */
	togetherWaitMs: 60_000,
	/** Stages whose start is held until the whole group has come. */
	togetherStages: ["gpu fill", "gpu stream"] as readonly string[],
};

const ROLL_CALLS = {
	/** False: this validator takes no part in them, and its scores say so. */
	isOn: true,
	/** Hosts that open their answers at once; they compute, this process waits. */
	openAtOnce: 1024,
	/**
	 * How long a host may take to open: to compute its answer again, after other validators have had their
	 * turn.
	 */
	openMs: 120_000,
	/**
	 * Least time between two calls, unless a host has never been called. Null: none; on the embedded chain,
	 * where every block calls, five minutes, so that a trial does not keep its machine busy.
	 */
	restMs: null as number | null,
	/**
	 * Public files of calls older than this are removed, beyond the calls that presence counts: 60 KB a device
	 * and call.
	 */
	keepFilesMs: DAY,
	/** Relay of drand, for networks whose contract draws from it; null: none. */
	drandUrl: null as string | null,
	drandNetwork: QUICKNET,
};

const JOBS = {
	/** False: this process keeps no jobs going; it serves their routes all the same. */
	isOn: true,
	/**
	 * True: hosts at loopback addresses count as networks of their own, and are no suspects of each other. For
	 * trials on one machine.
	 */
	isLoopbackApart: false,
	/**
	 * True: devices that sign under roots of our own mint count for attested jobs. For trials: anybody can sign
	 * there.
	 */
	takesSimulated: false,
	/** Jobs of one customer that are not over. */
	mostOpen: 1000,
};

const ALERTS = {
	/** Webhooks, docs/operator.md. */
	urls: [] as readonly string[],
	/** Their messages are signed with it; null: they are not. */
	secret: null as string | null,
	/** How long a provider may be gone before that is told. */
	offlineMs: 5 * 60_000,
};

const DEFAULTS = {
	/** Evidence, the embedded database, the key, the admin's token, pinned host keys. */
	dataDir: "",
	/** Any PostgreSQL server; null: the embedded one in `dataDir`. */
	databaseUrl: null as string | null,
	/** Tables of several networks can share one server. */
	schema: "assay",
	/**
	 * Where blobs of jobs lie: a folder, or the URL of the process of this validator that has them; null: in
	 * `dataDir`.
	 */
	blobs: null as string | null,
	/** Where evidence goes, which several machines then share; null: it stays in `dataDir`. */
	bucket: null as BucketOptions | null,
	/** `orNext`: how many ports after it may be taken instead, where another program has it. */
	listen: { host: "127.0.0.1", port: 7373, orNext: 0 },
	/** Shown to whoever asks for the network. */
	name: "validator",
	/** The 32 bytes of the Ed25519 seed; null: kept in `dataDir`/validator.key, made at the first start. */
	secretKey: null as Uint8Array | null,
	/** Which providers may dial in: every key, or these. An admin adds ssh and local ones in any case. */
	join: "open" as "open" | readonly string[],
	/** True: any key that signs may rent. False: customers need a token. */
	openCustomers: true,
	/** Whether this process takes probes at all; false: it only serves the API. */
	probes: true,
	/**
	 * Probes at work at once: those whose host has said what it is and is being challenged. They wait for
	 * engines nearly all of their time: 16 at once keep 10,000 providers in 72 min at 6.9 s a probe.
	 */
	concurrency: 16,
	/**
	 * Further probes that wait for their host's first word or for a slot. A host that says nothing holds one
	 * for 20 s and a probe takes some 7: four times as many keep up with silent ones in every fourth place.
	 */
	waiting: 48,
	/**
	 * The part of slots and places, in percent, that hosts may have that are not prompt: new, slow, or stalled.
	 * They get them only when no prompt host waits. The rest, a quarter, keeps 2,000 prompt hosts in 72 min at
	 * 8 s a probe whatever stallers do; more for the others lets honest newcomers in sooner when a crowd of
	 * stallers comes as well.
	 */
	othersPercent: 75,
	/** One core is left to sockets and API; a file takes 0.1 to 0.5 s. */
	verifierThreads: Math.max(1, Math.min(8, availableParallelism() - 1)),
	leaseMs: 30_000,
	/** How often due providers are looked for. */
	dispatchEveryMs: 1000,
	/** How often what dead processes left is looked for; also once at the start. */
	recoverEveryMs: 30_000,
	probe: PROBE,
	ssh: { identityFile: null as string | null, connectTimeoutMs: 20_000 },
	/** For local providers: how to start an engine. Null: our own build. */
	openLocalLink: null as (() => Promise<Link>) | null,
	/**
	 * This validator's own engine for small re-runs of jobs, started with `--store FOLDER` after `args`; null:
	 * auditors run all of them.
	 */
	engine: null as { readonly command: string; readonly args: readonly string[] } | null,
	/**
	 * Bundles of vendors' files that reports of devices are judged by; the first that is there counts.
	 * docs/attestation.md.
	 */
	collateral: [] as readonly string[],
	/** Confidential guests whose word on their devices counts; null: none, and no host is *hosted*. */
	guests: null as readonly GuestRule[] | null,
	/** `trustProxy`: our own proxies, whose X-Forwarded-For is believed; of agents' links too. */
	api: { limits: {} as Partial<ApiLimits>, trustProxy: null as readonly string[] | null },
	/** Progress events a second, all probes of this process together; what is above is not told. */
	progressPerS: 50,
	/** Only with a chain. docs/roll-call.md. */
	rollCalls: ROLL_CALLS,
	/** docs/jobs.md. */
	jobs: JOBS,
	alerts: ALERTS,
	/** Providers with metrics of their own, the best scores first. Each is a handful of series. */
	metricsProviders: 200,
	/** History older than this is removed; evidence files stay. */
	keepHistoryMs: 90 * DAY,
};
type Defaults = typeof DEFAULTS;

export interface ValidatorConfig extends Readonly<Defaults> {
	/** Where scores, stakes and rewards are published; null: nowhere. */
	readonly chain: ChainSettings | null;
	readonly params: Params;
}

type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined };
/** Groups of settings, merged field by field. */
const GROUPS = ["listen", "probe", "ssh", "api", "rollCalls", "jobs", "alerts"] as const;
type Groups = { readonly [K in (typeof GROUPS)[number]]?: Loose<Defaults[K]> };

export interface ValidatorSettings extends Omit<Loose<Defaults>, keyof Groups>, Groups {
	readonly dataDir: string;
	/** {} is the embedded chain. */
	readonly chain?: Loose<ChainSettings> | null | undefined;
	/** Rows of market/params by name. */
	readonly params?: ParamOverrides;
}

/** Whole numbers, from … to. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
	"listen.port": [0, 65535],
	"listen.orNext": [0, 1000],
	concurrency: [1, 256],
	waiting: [0, 512],
	othersPercent: [1, 100],
	verifierThreads: [0, 64],
	leaseMs: [1000, 600_000],
	dispatchEveryMs: [1, 60_000],
	recoverEveryMs: [10, 3_600_000],
	progressPerS: [0, 1000],
	metricsProviders: [0, 2000],
	"alerts.offlineMs": [100, DAY],
	keepHistoryMs: [60_000, 3650 * DAY],
	"rollCalls.openAtOnce": [1, 100_000],
	"rollCalls.openMs": [100, DAY],
	"rollCalls.restMs": [0, DAY],
	"jobs.mostOpen": [1, 1_000_000],
	"rollCalls.keepFilesMs": [60_000, 3650 * DAY],
	"probe.sustainMs": [0, DAY],
	"probe.totalMs": [100, DAY],
	"probe.busyMs": [0, 600_000],
	"probe.togetherWaitMs": [1, 600_000],
	"probe.limits.minutes": [1, 1440],
	"probe.limits.memoryBytes": [1, Number.MAX_SAFE_INTEGER],
	"probe.samples": [1, 4096],
	"chain.stakeTokens": [1, 1_000_000],
	"chain.epochSeconds": [1, 31_536_000],
	"chain.windowSeconds": [1, 86_400],
	"chain.firstEpochSeconds": [1, 31_536_000],
	"chain.mostFeeGwei": [1, 1_000_000_000],
	"chain.confirmations": [1, 1000],
};
const NULLABLE = ["probe.samples", "chain.confirmations", "rollCalls.restMs"];

/** Checked, with defaults filled in. Throws CONFIG_BAD (or PARAMS_BAD) naming every mistake at once. */
export function createValidatorConfig(settings: ValidatorSettings): ValidatorConfig {
	const { params, chain, ...rest } = settings;
	const config: ValidatorConfig = {
		...filled(DEFAULTS, rest),
		params: createParams(params),
		chain: chain === undefined || chain === null ? null : filled(chainDefaults, chain),
	};
	const wrong = mistakes(config);
	if (wrong.length > 0) throw codedError("CONFIG_BAD", `the validator's settings cannot be used: ${wrong.join("; ")}`);
	return config;
}

/** One level deep: groups of settings are merged field by field, everything else is taken as it is. */
function filled<T extends object>(defaults: T, given: object): T {
	const result = { ...defaults } as Record<string, unknown>;
	for (const [name, value] of Object.entries(given)) {
		if (value === undefined) continue;
		const before = result[name];
		result[name] = (GROUPS as readonly string[]).includes(name) ? filled(before as object, value) : value;
	}
	return result as T;
}

function mistakes(config: ValidatorConfig): string[] {
	const { dataDir, schema, probe, chain, join } = config;
	const wrong: string[] = [];
	if (dataDir === "") wrong.push("dataDir is missing");
	if (!/^[a-z][a-z0-9_]{0,30}$/.test(schema)) wrong.push("schema must be a short lower-case name");
	for (const [path, [least, most]] of Object.entries(RANGES)) {
		const value = path.split(".").reduce<unknown>((part, name) => (part as Record<string, unknown>)?.[name], config);
		// Undefined: without a chain.
		if (value === undefined || (value === null && NULLABLE.includes(path))) continue;
		if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most)
			wrong.push(`${path} must be a whole number from ${least} to ${most}, not ${value}`);
	}
	// The provider kills its engine at its limit: whoever is killed before the deadline would look as if it had
	// hung up on us.
	if (probe.limits.minutes * 60_000 <= probe.totalMs)
		wrong.push("probe.limits.minutes must be longer than probe.totalMs");
	for (const name of ["rpcUrl", "publicRpcUrl"] as const)
		if (chain !== null && chain[name] !== null && !areUrls(chain[name]))
			wrong.push(`chain.${name} must begin with http:// or https://`);
	if (join !== "open" && !join.every((key) => /^[0-9a-f]{64}$/.test(key)))
		wrong.push("join must be open, or a list of keys of 64 hex digits");
	return wrong;
}

/** As what a verdict is asked with. */
export const guestsOf = ({ guests }: Pick<ValidatorConfig, "guests">): Pick<Expectations, "guests"> =>
	guests === null ? {} : { guests };

/** Where things lie in the data folder. */
export const dataPaths = (dataDir: string) => ({
	key: join(dataDir, "validator.key"),
	adminToken: join(dataDir, "admin.token"),
	knownHosts: join(dataDir, "known_hosts"),
	blobs: join(dataDir, "blobs"),
});
