// The providers of `assay up`: this machine, and where jobs are tried further ones of it, each with a key, a
// folder and an account of its own. Only the first answers roll calls and can be rented: one machine cannot
// be shown twice. Not here: how one is kept running (local-provider.ts).
import { hostname } from "node:os";
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { findEngine, hostPlatform } from "../../engine/builds.ts";
import { lyingEngine } from "../../engine/lying-engine.ts";
import { sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ProviderEvent } from "../../provider/provider-event.ts";
import type { RunningValidator } from "../../validator/create-validator.ts";
import type { CliIo } from "../command.ts";
import { loadProviderKey, makeDataDir } from "../data-folder.ts";
import type { Paint } from "../print/paint.ts";
import { plural, shown } from "../print/table.ts";
import { hostsReady } from "./hosts-ready.ts";
import { type LocalProvider, startLocalProvider } from "./local-provider.ts";
import { BOND_TOKENS, fundWorker, registrationLine } from "./register-local-provider.ts";
import type { UpReport } from "./up-report.ts";

/** A network that is up. */
export interface Live {
	readonly values: {
		readonly name: string | undefined;
		readonly price: number | undefined;
		readonly "disk-writes-per-day": number | undefined;
		readonly "no-rent": boolean;
		readonly liar: boolean;
	};
	readonly io: CliIo;
	readonly dataDir: string;
	readonly url: string;
	readonly running: RunningValidator;
	/** Whether the chain is the one of the data folder. */
	readonly isEmbedded: boolean;
	/** Of this machine. */
	readonly providers: number;
	readonly say: (text: string) => void;
	readonly paint: Paint;
}

/** Starts this machine's provider; gives the function that stops it. */
export async function offerMachine(
	network: Live,
	report: UpReport,
	onEnd: (error: AssayError) => void,
): Promise<() => Promise<void>> {
	const { values, dataDir, running, isEmbedded, say, paint } = network;
	// Before its first probe: a provider with an account is asked for receipts, and is paid there.
	const line = await registrationLine({ dataDir, running, isEmbedded });
	const { path } = await findEngine(hostPlatform());
	const provider: LocalProvider = await startLocalProvider({
		...localOptions(network, report, 1),
		...(values.liar && { engine: lyingEngine(path, { segment: 1 }) }),
		rentable: !values["no-rent"],
		onEnd: (said, againMs) => {
			// Its last line has a code; a score of this machine will not come.
			const code = /\[([A-Z_]+)\]/.exec(said)?.[1] ?? "PROVIDER_STOPPING";
			onEnd(new AssayError(code, "this machine's provider ended before there was a score"));
			tellEnd(report, paint, "provider", said, againMs);
		},
	});
	say(`provider  this machine${provider.rentable ? "; it can be rented from here" : ""}`);
	if (line !== null) say(paint.dim(`          ${line}`));
	for (const text of expectLines(network)) say(paint.dim(`          ${text}`));
	if (values.liar) {
		say(
			paint.unsure(
				"liar      its engine changes one number in the first segment of every job, to be convicted for it;",
			),
		);
		say(paint.unsure("          the line to type comes here as soon as it is proven"));
	}
	return () => provider.stop();
}

/** What a newcomer waits for: the first score, and what the further providers are for. */
function expectLines({ isEmbedded, providers, values }: Live): readonly string[] {
	const score = isEmbedded
		? ["its first score comes with its first roll call, within a minute of its first probe"]
		: [];
	if (providers === 1) return score;
	const come = values.liar ? "once it is convicted" : "then";
	const others = `${plural(providers - 1, "more host")} of this machine come ${come}, for jobs alone`;
	return [...score, `${others}: a machine answers roll calls, and has a score, once`];
}

/** An hour of work at jobs, in tokens, where nothing else was said. */
const TRIAL_PRICE = 1;

const folderOf = (dataDir: string, number: number): string =>
	join(dataDir, number === 1 ? "provider" : `provider-${number}`);

/** Of this machine's provider number 1, 2, … */
function localOptions(
	{ values, io, dataDir, url, running, isEmbedded, paint }: Live,
	report: UpReport,
	number: number,
) {
	const named = values.name ?? hostname();
	return {
		validator: url.replace(/^http/, "ws"),
		key: running.key,
		dataFolder: folderOf(dataDir, number),
		name: number === 1 ? values.name : `${named.slice(0, 60)}-${number}`,
		pricePerHour: values.price === undefined ? undefined : String(values.price),
		diskWritesPerDay: values["disk-writes-per-day"]?.toString(),
		// Of an external chain its owner names the contracts, to `assay provide` on each host.
		chain: isEmbedded ? { rpc: running.chain!.url, contracts: join(dataDir, "chain", "contracts.json") } : null,
		rollCalls: number === 1,
		// Elsewhere its owner says what it takes: `assay provide --jobs`.
		jobs: isEmbedded ? { deposit: BOND_TOKENS, pricePerHour: values.price || TRIAL_PRICE } : null,
		env: io.env,
		onEvent(event: ProviderEvent) {
			// It works, or is called in another's place: nobody's trouble.
			if (event.kind === "refused" && (event.code === "ROLL_CALL_OFF" || event.code === "PROVIDER_BUSY")) return;
			if (event.kind === "judged")
				for (const { code, detail } of event.findings)
					if (code === "DEVICE_ELSEWHERE") report.line(paint.unsure(`provider  ${shown(detail, 300)} [${code}]`));
			if (event.kind === "trouble" || event.kind === "unreached" || event.kind === "refused")
				report.line(paint.unsure(`provider  ${shown(event.detail, 300)} [${event.code}]`));
		},
	};
}

function tellEnd(report: UpReport, paint: Paint, who: string, said: string, againMs: number): void {
	report.line(paint.bad(`${who}  it ended: ${shown(said.slice(-600), 600) || "without a word"}`));
	report.line(`${who}  it is started again in ${againMs / 1000} s`);
}

/**
 * The further providers, one after the other: each is probed while the others leave the machine alone. Gives
 * the function that stops them.
 */
export function startWorkers(
	network: Live,
	client: ApiClient,
	report: UpReport,
	/** None is started before that. */
	mayStart: Promise<void> = Promise.resolve(),
): () => Promise<void> {
	const { values, dataDir, running, isEmbedded, providers, paint } = network;
	const stopping = new AbortController();
	const started: LocalProvider[] = [];
	const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
	const work = async () => {
		await Promise.race([mayStart, stopped]);
		for (let number = 2; number <= providers; number++) {
			const isReady = () => (isEmbedded ? isCalm(client, number - 1, values.liar) : areProbed(client, number - 1));
			if (!(await untilReady(isReady, stopping.signal))) return;
			const folder = folderOf(dataDir, number);
			if (isEmbedded) await fundWorker({ dataDir, providerFolder: folder, url: running.chain!.url });
			if (stopping.signal.aborted) return;
			await makeDataDir(folder);
			report.further((await loadProviderKey(folder)).key);
			const onEnd = (said: string, againMs: number) => tellEnd(report, paint, `provider-${number}`, said, againMs);
			started.push(await startLocalProvider({ ...localOptions(network, report, number), rentable: false, onEnd }));
		}
	};
	const working = work().catch((error: unknown) => {
		if (!(error instanceof AssayError)) throw error;
		report.line(paint.unsure(`provider  no further one is started: ${error.message} [${error.code}]`));
	});
	return async () => {
		stopping.abort();
		stop();
		await working;
		await Promise.all(started.map((provider) => provider.stop()));
	};
}

/** A probe takes some 10 s, and the roll call that it brings about some 20 s. */
const READY_WITHIN_S = 60;

/**
 * Bounded: a machine on which nothing gets proven still has all its providers in the end. False: it is to
 * stop.
 */
async function untilReady(isReady: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
	for (let waitedS = 0; waitedS < READY_WITHIN_S && !signal.aborted && !(await isReady()); waitedS++)
		if (!(await sleep(1000, signal))) return false;
	return !signal.aborted;
}

async function areProbed(client: ApiClient, count: number): Promise<boolean> {
	const { rows } = await client.listProviders({ query: { limit: 100 } });
	return rows.filter(({ lastProbeAtMs }) => lastProbeAtMs !== null).length >= count;
}

/**
 * So many providers were probed and may be drawn for jobs (a liar that is convicted is not), each has met the
 * roll call that its first proof brings about, and nothing of this runs: probes and calls want the whole
 * machine, and one that is disturbed proves no memory.
 */
async function isCalm(client: ApiClient, count: number, isLiar: boolean): Promise<boolean> {
	if (!(await areProbed(client, count)) || (await hostsReady(client)) < count - (isLiar ? 1 : 0)) return false;
	if ((await client.network()).probes.running > 0) return false;
	const { rows } = await client.listProviders({ query: { limit: 100 } });
	const met = rows.map(async ({ id }) => {
		const calls = await client.listProviderRollCalls({ params: { id }, query: { limit: 1 } });
		return calls.rows.length > 0;
	});
	return (await Promise.all(met)).every((one) => one);
}
