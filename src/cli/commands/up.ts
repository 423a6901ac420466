// `assay up`: the whole network on this machine: database, validator with its API, and one provider, which is
// this host. Prints what happens and stays until Ctrl-C; everything is in the data folder, and the next start
// finds it. Not here: what any of them does.

import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import type { NetworkEvent, ProviderSummary, Score } from "../../api/types.ts";
import { EVERY_CARD, findEngine, hostPlatform, isCheckout, packageRoot } from "../../engine/builds.ts";
import { NO_CALL_ANSWERED, NO_CALL_YET } from "../../market/scores/score-provider.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import type { RunningValidator, Validator } from "../../validator/create-validator.ts";
import type { WatchEvent } from "../../validator/jobs/watch/watcher.ts";
import { DEFAULT_PORT } from "../api-connection.ts";
import { collateralPaths } from "../attest-collateral.ts";
import { guestsOf } from "../attest-guests.ts";
import { externalChain, rpcUrlOf } from "../chain/chain-connection.ts";
import { type CliIo, command } from "../command.ts";
import { defaultDataDir } from "../data-folder.ts";
import { buildText } from "../open-target.ts";
import { flag, number, text, usageError, type Values, whole } from "../options.ts";
import { alertSettings } from "../owner/alert-options.ts";
import { postgresHint } from "../postgres-hint.ts";
import { paintFor } from "../print/paint.ts";
import { createStatusLine } from "../print/status-line.ts";
import { formatScore, plural, shown } from "../print/table.ts";
import { requireNode } from "../require-node.ts";
import { tellReady } from "../up/first-job.ts";
import { type Live, offerMachine, startWorkers } from "../up/offer-machine.ts";
import { probeAgain } from "../up/probe-again.ts";
import { epochLine, rewardsLine, stakeLines, watchRewards } from "../up/up-chain.ts";
import { takeUpFile } from "../up/up-file.ts";
import { followFrauds } from "../up/up-frauds.ts";
import { createUpReport, type UpReport } from "../up/up-report.ts";
import { accessSettings, bucketOf, loadValidator, logOption, readParams, validatorOptions } from "./validate.ts";

const { data, database, bucket, name, quick, param, ...nodeOptions } = validatorOptions;

const options = {
	data,
	port: whole("N", `port of the API; 0 takes any (default ${DEFAULT_PORT}, or the next free one)`, [0, 65535]),
	host: text("ADDRESS", "address to listen on; 0.0.0.0 lets other machines connect", {
		fallback: "127.0.0.1",
	}),
	database,
	bucket,
	...nodeOptions,
	"no-chain": flag("do not publish scores on a chain"),
	"no-provider": flag("do not offer this machine itself"),
	providers: whole(
		"N",
		"providers of this machine, each with a key and a folder of its own; they work at jobs, and a job that several run needs several (default: 3 on the embedded chain, else 1)",
		[1, 16],
	),
	liar: flag(
		"the first provider lies in one number of every job, to see it convicted; the others come then (embedded chain only)",
	),
	name: { ...name, help: "how this machine is listed (default: its host name)" },
	price: number("AMOUNT", "price of an hour of it (default 0)", [0, 1e9]),
	"disk-writes-per-day": number("GB", "what engines may write to its disk in 24 hours (default 200)", [0, 1e6]),
	gpu: flag("build GPU code for all cards, although this machine may have none"),
	"no-rent": flag("not for rent; otherwise, as root and with an OpenSSH server, it can be rented from this machine"),
	quick,
	param,
	"until-scored": flag("exit with 0 as soon as something was proven, called and scored"),
	"until-claimable": flag(
		"exit with 0 as soon as an epoch's rewards can be claimed: with the embedded chain about 150 s after the first start",
	),
	log: logOption("error"),
	json: flag("print one event a line as JSON"),
};

type UpValues = Values<typeof options>;

export const upCommand = command({
	name: "up",
	about: `Starts a database, an embedded chain, a validator with its API, and a provider for this machine; prints what happens; runs
until Ctrl-C. A provider that ends is started again. Other hosts join with the command that it prints. The next start continues with the
same data.`,
	options,
	exits: { 0: "stopped", 69: "something needed is missing", 74: "data folder not writable", 75: "already running" },

	async check(values, io) {
		const { createValidatorConfig } = await import("../../validator/validator-config.ts");
		const bucket = bucketOf(values.bucket, io);
		createValidatorConfig({ dataDir: "checked", params: readParams(values.param ?? []), bucket });
	},

	async run(values, io) {
		const params = readParams(values.param ?? []);
		const dataDir = resolve(io.cwd, values.data ?? defaultDataDir(io.env));
		requireNode();
		const hold = await takeUpFile(dataDir, Date.now());
		const closing: (() => Promise<void>)[] = [() => hold.release()];
		try {
			if (values.port) await mustBeFree(values.host, values.port);
			const say = (text: string): void => void (values.json || io.out.write(`${text}\n`));
			const paint = paintFor(io.out, io.env);
			const databaseUrl = values.database ?? (io.env.DATABASE_URL || undefined);
			say(`${paint.strong("assay")} starts a network in ${dataDir}`);
			say(databaseUrl === undefined ? "database  PostgreSQL, embedded" : "database  PostgreSQL, external");
			const chain = await chainSettings(values, io, say);
			const isLiarAlone = chain === null || chain.rpcUrl !== null || values["no-provider"];
			if (values.liar && isLiarAlone) throw usageError("--liar needs the embedded chain and this machine's provider");
			if (chain === null && values["until-claimable"]) throw usageError("--until-claimable needs a chain");
			const isEmbedded = chain !== null && chain.rpcUrl === null;
			const isTrial = isEmbedded && params.hostOnlyPpm === undefined;
			// Before anything is deployed: the first epoch is short, and building takes longer than it lasts.
			const engine = values["no-provider"] ? null : await ensureEngine(values.gpu, say, io);
			const settings = {
				dataDir,
				databaseUrl,
				params: isEmbedded
					? { ...TRIAL_JOBS, ...(values.liar && LIAR_JOBS), ...(isTrial && TRIAL_SCORES), ...params }
					: params,
				probe: { quick: values.quick },
				listen: {
					host: values.host,
					port: values.port ?? DEFAULT_PORT,
					orNext: values.port === undefined ? MORE_PORTS : 0,
				},
				engine,
				// Its providers are all on this machine, and stand for hosts of different owners.
				jobs: { isLoopbackApart: isEmbedded, takesSimulated: isEmbedded },
				...accessSettings(values),
				bucket: bucketOf(values.bucket, io),
				collateral: collateralPaths(values.collateral, io),
				alerts: alertSettings(values.alert, io),
				metricsProviders: values["metrics-providers"],
				guests: guestsOf(values, io),
				chain,
			};
			const validator = await loadValidator(settings, values.log, io);
			const running = await start(validator);
			closing.push(() => validator.stop());
			const url = reachable(running.url);
			const providers = values["no-provider"] ? 0 : (values.providers ?? (isEmbedded ? TRIAL_PROVIDERS : 1));
			const publish = (isLiar: boolean) => {
				// What a customer may wait for. A liar is alone until it is convicted, and gets no jobs afterwards.
				const honest = providers - (values.liar ? 1 : 0);
				return hold.publish({ url, key: running.key, providers: !isEmbedded ? 0 : isLiar ? 1 : honest, isLiar });
			};
			await publish(values.liar);
			say(`validator ${running.key}`);
			say(`dashboard ${paint.strong(url)}   ${paint.dim(`and API; admin token in ${running.adminTokenFile}`)}`);
			if (running.chain !== null)
				say(
					`chain     ${withoutLogin(running.chain.url)}   ${paint.dim(`scoreboard ${running.chain.scoreboard}; assay chain status`)}`,
				);
			if (running.chain !== null && !running.chain.isStaked)
				for (const line of stakeLines(running.chain.account, url, dataDir, values.rpc)) say(paint.unsure(line));
			if (isTrial)
				say(paint.dim("          trial network: a host without a GPU counts 1 %, so that rewards can be tried"));
			return await live({ values, io, dataDir, url, running, isEmbedded, providers, publish, closing, say, paint });
		} finally {
			const close = closing.splice(0).reverse();
			// Provider and validator together, so that a running probe ends for both; the file last.
			const ends = await Promise.allSettled(close.slice(0, -1).map((end) => end()));
			await close.at(-1)?.();
			const failed = ends.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
			if (failed) io.err.write(`assay: not everything stopped cleanly: ${String(failed.reason)}\n`);
		}
	},
});

/** A port that another program has is told before a database is made. Throws LISTEN_FAILED. */
async function mustBeFree(host: string, port: number): Promise<void> {
	const { listen } = await import("../../validator/serving/validator-api.ts");
	const bind = (at: { readonly host: string; readonly port: number }): Promise<string> =>
		new Promise((done, fail) => {
			const server = createServer();
			server.once("error", fail);
			server.listen(at, () => server.close(() => done("")));
		});
	await listen({ listen: bind }, { host, port, orNext: 0 });
}

/** After the default one, where networks of this machine have it already. */
const MORE_PORTS = 99;
/** For a trial network; on a real chain a host without a GPU is worth nothing (docs/scores.md). */
const TRIAL_SCORES = { hostOnlyPpm: 10_000 };
/** Two that run the same, and one for when one of them is gone. */
const TRIAL_PROVIDERS = 3;
/**
 * A job is paid, or given to another, while somebody looks on. The defaults are for strangers
 * (docs/scores.md).
 */
const TRIAL_JOBS = {
	jobAcceptMs: 30_000,
	jobBeatMs: 3000,
	jobWindowMs: 120_000,
	jobCheckedMs: 5000,
	jobSilenceMs: 60_000,
	jobDisputeMs: 120_000,
};

/** The watcher is to find the lie, not the validator's own audit. */
const LIAR_JOBS = { jobAuditPpm: 10_000 };

/** For this machine's providers, and for the validator's own re-runs of jobs. */
async function ensureEngine(withGpuCode: boolean, say: (text: string) => void, { err }: CliIo) {
	const status = createStatusLine(err);
	const { path } = await findEngine(hostPlatform(), {
		onBuild: (...what) => say(`engine    ${buildText(...what)}`),
		onProgress: (done, of) => status.update(`          compiled ${done} of ${of}`),
		...(withGpuCode && { cards: async () => EVERY_CARD }),
	}).finally(status.clear);
	return { command: path, args: [] };
}

/** The embedded chain, unless another one is named, none is wanted, or its EVM is not there. */
async function chainSettings(
	values: UpValues,
	io: CliIo,
	say: (text: string) => void,
): Promise<{ readonly rpcUrl: string | null } | null> {
	if (values["no-chain"]) return null;
	const rpcUrl = rpcUrlOf(values, io);
	if (rpcUrl !== null) return externalChain(values, io, rpcUrl);
	const { isEvmInstalled } = await import("../../chain/node/edr-provider.ts");
	if (isEvmInstalled()) return { rpcUrl: null };
	say("chain     none: @nomicfoundation/edr is not installed");
	return null;
}

/** The validator's own clean-up leaves nothing open when it cannot start. */
async function start(validator: Validator): Promise<RunningValidator> {
	try {
		return await validator.start();
	} catch (error) {
		if (error instanceof AssayError && error.code === "POSTGRES_MISSING" && !isCheckout())
			throw new AssayError(error.code, error.message, { hint: postgresHint(packageRoot()), cause: error });
		throw error;
	}
}

/** A server on all addresses is reached at loopback. */
function reachable(url: string): string {
	const found = new URL(url);
	if (found.hostname === "0.0.0.0") found.hostname = "127.0.0.1";
	if (found.hostname === "[::]") found.hostname = "[::1]";
	return found.origin;
}

/** How other hosts join, if they can. */
function joinLine(host: string, url: string, key: string): string {
	const { port } = new URL(url);
	if (/^(127\.|localhost$|::1$)/.test(host)) return "this machine only; --host 0.0.0.0 lets other hosts join";
	const name = host === "0.0.0.0" || host === "::" ? hostname() : host.includes(":") ? `[${host}]` : host;
	return `other hosts join with: assay provide --validator ws://${name}:${port} --trust ${key}`;
}

/** With --json the events themselves are the output. */
const silent = { write: () => true, isTTY: false, columns: 80 };

interface LiveUp extends Live {
	readonly values: UpValues;
	readonly closing: (() => Promise<void>)[];
	/** For other commands on this machine. */
	readonly publish: (isLiar: boolean) => Promise<void>;
}

/** Resolves when it is to stop, with the exit code. */
async function live(network: LiveUp): Promise<number> {
	const { values, io, url, running, closing, say, paint } = network;
	const { createApiClient } = await import("../../api/create-client.ts");
	const client = createApiClient({ baseUrl: url, retries: 10 });
	// Parameters of the contracts are bigint.
	const plain = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
	const tell = (event: object) => values.json && io.out.write(`${JSON.stringify(event, plain)}\n`);
	const { resolve: end, promise: ended, reject: fail } = Promise.withResolvers<number>();
	ended.catch(() => {}); // awaited below; until then a rejection must not look unhandled
	io.interrupted.addEventListener("abort", () => end(0), { once: true });
	if (io.interrupted.aborted) return 0;
	const scored = (score: Score) => {
		tell({ kind: "score", ...score });
		// A provider that has proven nothing has a score too: 0. So has one whose first answer to a roll call is
		// still to come.
		const { evidence, why } = score.terms;
		if (values["until-scored"] && evidence !== null && why !== NO_CALL_YET && why !== NO_CALL_ANSWERED) end(0);
	};
	const { key, adminTokenFile } = running;
	const chain = running.chain === null ? null : { ...running.chain, url: withoutLogin(running.chain.url) };
	tell({ kind: "up", url, key, dataDir: network.dataDir, adminTokenFile, chain });
	const best = await tellFound(client, say, tell);
	if (running.chain !== null) say(paint.dim(`          ${epochLine(running.chain.params, Date.now() / 1000)}`));
	say(paint.dim(`          ${joinLine(values.host, url, key)}`));

	const stream = values.json ? silent : io.out;
	const report = createUpReport({ stream, paint, client, isTrial: network.isEmbedded, onScore: scored });
	const stopWatching = new AbortController();
	const events = client.watchEvents({}, { signal: stopWatching.signal });
	const watching = watch(events, report, tell).catch((error: unknown) => {
		if (!stopWatching.signal.aborted) fail(error);
	});
	closing.push(async () => {
		stopWatching.abort();
		await watching;
		report.end();
	});
	if (values["until-scored"] && best !== undefined && best.scorePpm !== null && best.lastValidAtMs !== null) {
		say("          there is a score already");
		end(0);
	} else if (!values["no-provider"]) {
		const isAwaited = values["until-scored"] || values["until-claimable"];
		closing.push(await offerMachine(network, report, isAwaited ? fail : () => {}));
		const frauds = values.liar ? followLiar(network, client, report) : null;
		if (frauds !== null) closing.push(frauds.stop);
		if (network.isEmbedded && !isAwaited) closing.push(tellReady(network, client, report));
		if (network.providers > 1 && !isAwaited) closing.push(startWorkers(network, client, report, frauds?.convicted));
		const onClaim = (event: WatchEvent) => {
			tell(event);
			frauds?.seen(event);
		};
		const stopWatcher = isAwaited
			? null
			: await (await import("../up/up-watcher.ts")).startUpWatcher(network, report, onClaim);
		if (stopWatcher !== null) closing.push(stopWatcher);
		const stopProvers = isAwaited
			? null
			: await (await import("../up/up-provers.ts")).startUpProvers(network, report, tell);
		if (stopProvers !== null) closing.push(stopProvers);
		if (network.isEmbedded) closing.push(await watchProofs(network, createApiClient, report));
	}
	const stopLooking = watchRewards(running, (final) => {
		tell({ kind: "rewards", ...final, claimable: String(final.claimable) });
		report.line(rewardsLine(final, paint));
		if (values["until-claimable"] && final.claimable > 0n && final.isAnyScored) end(0);
	});
	const code = await ended.finally(stopLooking);
	report.end();
	say("stopping");
	return code;
}

function followLiar({ dataDir, url, publish, providers, paint }: LiveUp, client: ApiClient, report: UpReport) {
	const frauds = followFrauds({ client, dataDir, url, report });
	void frauds.convicted.then(async () => {
		const come = providers > 1 ? "; honest hosts come now, and one does the job anew" : "";
		report.line(paint.unsure(`liar      it is convicted, and the chain has taken its bond${come}`));
		await publish(false).catch(() => {});
	});
	return frauds;
}

async function watchProofs(
	{ url, running, values }: LiveUp,
	create: typeof import("../../api/create-client.ts").createApiClient,
	report: UpReport,
): Promise<() => Promise<void>> {
	const token = (await readFile(running.adminTokenFile, "utf8")).trim();
	return probeAgain(create({ baseUrl: url, token }), {
		// A quick probe measures too little to prove memory: made again, it would be no better. Who waits for a
		// score needs none.
		isMemoryWanted: !values.quick && !values["until-scored"] && !values["until-claimable"],
		onAsked(name, why, isFirst) {
			if (isFirst) report.line(`probe     of ${shown(name)} is made again, a few times if need be: ${why}`);
		},
	});
}

/** What an earlier run left, if anything; gives the provider with the best score. */
async function tellFound(
	client: ApiClient,
	say: (text: string) => void,
	tell: (event: object) => void,
): Promise<ProviderSummary | undefined> {
	const { providers, probes, evidence } = await client.network();
	const best = (await client.listProviders({ query: { sort: "score", limit: 1 } })).rows[0];
	if (best === undefined) return;
	const { valid, invalid, inconclusive } = probes.total;
	const counts = [
		plural(providers.active + providers.paused, "provider"),
		`${plural(valid + invalid + inconclusive, "probe")} (${valid} valid)`,
		plural(evidence.files, "evidence file"),
	];
	say(`found     ${counts.join(", ")}; best score ${formatScore(best.scorePpm)} (${shown(best.name)})`);
	tell({ kind: "found", providers, probes: probes.total, evidence });
	return best;
}

async function watch(
	events: AsyncIterable<NetworkEvent>,
	report: Pick<UpReport, "show">,
	tell: (event: object) => void,
): Promise<void> {
	for await (const event of events) {
		tell(event);
		await report.show(event);
	}
}
