// `assay watch`: a watcher until Ctrl-C, a line for each thing that happens to a claim. docs/disputes.md.
import { join, resolve } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { hostPlatform } from "../../engine/builds.ts";
import { sleep } from "../../platform/abortable.ts";
import { makeFolder, writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { isPassing } from "../../protocol/passing.ts";
import { chainFolder } from "../../validator/settlement/home.ts";
import { type apiOptions, customerFolder, openApi } from "../api-connection.ts";
import { dataDirOf } from "../chain/chain-connection.ts";
import { readKeyOption } from "../chain/chain-key.ts";
import type { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { openCustomerChain, ownersDoor } from "../chain/customer-chain.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import type { CliIo } from "../command.ts";
import { fillTrial } from "../jobs/job-account.ts";
import { engineOf } from "../open-target.ts";
import type { Values } from "../options.ts";
import { paintFor } from "../print/paint.ts";
import { openWatcher, watcherAccount } from "./open-watcher.ts";
import { watchLine } from "./watch-line.ts";

type AccountValues = Values<typeof apiOptions> & Values<typeof nodeOptions> & Values<typeof keyOptions>;

interface WatchValues extends AccountValues {
	readonly jobs: "mine" | "all" | "share";
	readonly share: number;
	readonly "most-minutes": number;
	readonly "gas-budget": number;
	readonly "dry-run": boolean;
	readonly once: boolean;
	readonly every: number;
	readonly folder: string | undefined;
	readonly metrics: string | undefined;
	readonly engine: string | undefined;
}

const watchFolderOf = (folder: string | undefined, io: CliIo): string =>
	folder === undefined ? join(customerFolder(io.env), "watch") : resolve(io.cwd, folder);

const PATIENCE_MS = 60_000;

/** A validator's node that is busy for a moment is no reason not to watch. */
async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
	const untilMs = Date.now() + PATIENCE_MS;
	for (;;)
		try {
			return await ask();
		} catch (error) {
			const mayPass = isPassing(error) && Date.now() < untilMs;
			if (!mayPass || !(await sleep(1000, signal))) throw error;
		}
}

/**
 * Null: the validator has no chain. The embedded chain of one's own trial network gives the account its gas.
 */
export async function openWatchActor(
	values: AccountValues & { readonly folder?: string | undefined },
	io: CliIo,
	api: Pick<ApiClient, "getChain">,
): Promise<ChainActor | null> {
	const found = await patiently(() => api.getChain(), io.interrupted);
	const { chain } = found;
	if (chain === null) return null;
	const named = await readKeyOption(values, io);
	const folder = watchFolderOf(values.folder, io);
	await makeFolder(folder);
	const actor = await openCustomerChain(named ?? (await watcherAccount(folder)), values, io, {
		getChain: async () => found,
	});
	const isTrial = named === null && chain.isEmbedded && (await ownersDoor(values, io)) !== null;
	if (isTrial) await fillTrial(actor, 0n, chainFolder(dataDirOf(values, io)));
	return actor;
}

type Watcher = Awaited<ReturnType<typeof openWatcher>>;

/** In the text format of Prometheus, for whoever collects files. */
function metricsText(watcher: Watcher): string {
	const counts = [...watcher.counts()].map(([state, n]) => `assay_watch_claims_total{state="${state}"} ${n}`);
	const told = ["# HELP assay_watch_claims_total What happened to claims", "# TYPE assay_watch_claims_total counter"];
	const gas = ["# HELP assay_watch_gas Gas of the last 24 hours", "# TYPE assay_watch_gas gauge"];
	return `${[...told, ...counts, ...gas, `assay_watch_gas ${watcher.gasSpent()}`].join("\n")}\n`;
}

export async function runWatch(values: WatchValues, io: CliIo): Promise<number> {
	const paint = paintFor(io.out, io.env);
	const say = (text: string) => void (values.json || io.out.write(`${text}\n`));
	const folder = watchFolderOf(values.folder, io);
	await makeFolder(folder);
	const signal = io.interrupted;
	const api = await openApi(values, io, "customer");
	return api.ask(async (client) => {
		const chain = await openWatchActor(values, io, client);
		const engine = values.engine ?? (await engineOf(hostPlatform(), io)).path;
		let hasTold = false;
		const watcher = await openWatcher({
			...{ api: client, chain, engine: { command: engine, args: [] }, folder, signal, isDry: values["dry-run"] },
			...{ mostMinutes: values["most-minutes"], gasADay: values["gas-budget"] },
			policy: { jobs: values.jobs, sharePpm: Math.round(values.share * 1e6) },
			onEvent: (event) => {
				hasTold = true;
				io.out.write(`${values.json ? JSON.stringify(event) : watchLine(event, paint)}\n`);
			},
		});
		say(`watching  ${api.url}, ${values.jobs === "share" ? `${values.share} of all claims` : `jobs: ${values.jobs}`}`);
		if (chain !== null) say(paint.dim(`          account ${chain.account.address}; files in ${folder}`));
		const ended = new Promise<void>((done) => signal.addEventListener("abort", () => done(), { once: true }));
		while (!signal.aborted) {
			// A claim may take minutes: whoever presses Ctrl-C does not wait for it.
			const isWhole = await Promise.race([ended, round(watcher, signal, io, values.once)]);
			if (values.metrics !== undefined) await writeDurably(resolve(io.cwd, values.metrics), metricsText(watcher));
			if (values.once) {
				if (isWhole === true && !hasTold) say("nothing    no claim stands that was not looked at before");
				break;
			}
			await sleep(1000 * values.every, signal);
		}
		return 0;
	});
}

/** A validator that is away for a while is asked again. False: it could not be asked now. */
async function round(watcher: Watcher, signal: AbortSignal, io: CliIo, isLast: boolean): Promise<boolean> {
	try {
		await watcher.round(signal);
		if (isLast) await watcher.settle();
		return true;
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		if (!signal.aborted) io.err.write(`assay: ${error.message} [${error.code}]\n`);
		return false;
	}
}
