// How the chain's commands find their chain: a node by --rpc, else the embedded chain of the data folder,
// through the process that runs it or opened here.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
	type ContractAddresses,
	type Contracts,
	contractsOn,
	mustBeComplete,
} from "../../chain/contracts/contracts.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../chain/node/http-rpc.ts";
import type { Rpc } from "../../chain/node/rpc.ts";
import { fetchBounded } from "../../platform/bounded-fetch.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { areUrls, withoutLogin } from "../../protocol/network/without-login.ts";
import { type ChainHome, openChainHome } from "../../validator/settlement/home.ts";
import { chainDefaults } from "../../validator/settlement/settings.ts";
import type { CliIo } from "../command.ts";
import { defaultDataDir } from "../data-folder.ts";
import { usageError } from "../options.ts";
import { requireNode } from "../require-node.ts";
import type { ChainValues } from "./chain-options.ts";

export const dataDirOf = (values: ChainValues, io: CliIo): string =>
	resolve(io.cwd, values.data ?? defaultDataDir(io.env));

export const rpcUrlOf = (values: ChainValues, io: CliIo): string | null => values.rpc ?? (io.env.ASSAY_RPC || null);

export async function withChain<T>(
	values: ChainValues,
	io: CliIo,
	act: (home: ChainHome, dataDir: string) => Promise<T>,
): Promise<T> {
	requireNode();
	const dataDir = dataDirOf(values, io);
	const rpcUrl = rpcUrlOf(values, io);
	if (values.contracts !== undefined && rpcUrl === null) throw usageError("--contracts needs --rpc");
	if (rpcUrl === null && !existsSync(join(dataDir, "chain", "contracts.json")))
		throw new AssayError("CHAIN_MISSING", `there is no embedded chain in ${dataDir}`, {
			hint: "`assay up` creates one; --rpc names the node of another chain.",
		});
	const contracts = await namedContracts(values, io);
	// The validator waits out outages for minutes; a mistyped URL should be reported at once.
	if (rpcUrl !== null) await reachNode(rpcUrl);
	const confirmations = confirmationsOf(values, rpcUrl);
	const home = await openChainHome({
		dataDir,
		settings: { ...chainDefaults, rpcUrl, contracts, confirmations, ...mostFeeOf(values) },
		mayDeploy: false,
		...realEnvironment(),
	});
	try {
		return await act(home, dataDir);
	} finally {
		await home.close();
	}
}

/** For `assay up` and `assay validate`. Throws CHAIN_UNREACHABLE, FILE_UNREADABLE or USAGE. */
export async function externalChain(
	values: ChainValues & { readonly "public-rpc"?: string | undefined },
	io: CliIo,
	rpcUrl: string,
): Promise<{
	readonly rpcUrl: string;
	readonly publicRpcUrl: string | null;
	readonly contracts: ContractAddresses | null;
	readonly confirmations: number | null;
	readonly mostFeeGwei?: number;
}> {
	await reachNode(rpcUrl);
	return {
		rpcUrl,
		publicRpcUrl: values["public-rpc"] ?? null,
		contracts: await namedContracts(values, io),
		// A process that nobody watches waits until a reorganisation cannot undo anything.
		confirmations: values.confirmations ?? null,
		...mostFeeOf(values),
	};
}

/** Kept for the next time, unless the folder has others: maybe nothing else knows that deployment. */
async function namedContracts(values: ChainValues, io: CliIo): Promise<ContractAddresses | null> {
	if (values.contracts === undefined) return null;
	const found = await readContractsFile(placeOf(values.contracts, io));
	const kept = join(dataDirOf(values, io), "chain", "contracts-external.json");
	if (!existsSync(kept)) {
		await writeDurably(kept, `${JSON.stringify(found)}\n`);
	}
	return found;
}

/** What reading needs: no account, no data folder. */
export interface ReadingChain {
	readonly contracts: Contracts;
	/** The data folder's chain folder; it may not exist. */
	readonly folder: string;
	readonly dataDir: string;
}

/** As withChain, but with --rpc it makes no folder: an audit needs only a node and addresses. */
export async function withReadingChain<T>(
	values: ChainValues,
	io: CliIo,
	act: (chain: ReadingChain) => Promise<T>,
): Promise<T> {
	const rpcUrl = rpcUrlOf(values, io);
	if (rpcUrl === null)
		return withChain(values, io, ({ contracts, folder }, dataDir) => act({ contracts, folder, dataDir }));
	requireNode();
	const dataDir = dataDirOf(values, io);
	const folder = join(dataDir, "chain");
	const kept = join(folder, "contracts-external.json");
	return act({ contracts: await openContracts(rpcUrl, values, io, [kept], 1), folder, dataDir });
}

/** Those of --contracts, else of the first file that exists. Throws CHAIN_MISSING or FILE_UNREADABLE. */
export async function openContracts(
	rpcUrl: string,
	values: ChainValues,
	io: CliIo,
	places: readonly string[],
	confirmations: number,
): Promise<Contracts> {
	const path = values.contracts === undefined ? places.find(existsSync) : placeOf(values.contracts, io);
	if (path === undefined)
		throw new AssayError("CHAIN_MISSING", "no contracts are known for this chain", {
			hint: "Give their addresses with --contracts FILE: the output of `assay chain deploy --json`, or a validator's /chain/contracts.json.",
		});
	const client = await createChainClient(await reachNode(rpcUrl), { confirmations });
	return contractsOn(client, await readContractsFile(path));
}

const NODE_PATIENCE_MS = 5000;

/** A node by its URL that has answered. Throws CHAIN_UNREACHABLE. */
export async function reachNode(url: string): Promise<Rpc> {
	if (!areUrls(url)) throw new AssayError("USAGE", `--rpc takes a URL with http:// or https://, not '${url}'`);
	try {
		await withRetries(httpRpc(url), { patienceMs: NODE_PATIENCE_MS })("eth_chainId", []);
	} catch (cause) {
		if (!(cause instanceof AssayError && cause.code === "CHAIN_UNREACHABLE")) throw cause;
		throw new AssayError(cause.code, `no node answers at ${withoutLogin(url)}`, {
			hint: "Check --rpc (or ASSAY_RPC): the URL of a node of the chain, http:// or https://.",
			cause,
		});
	}
	return withRetries(httpRpc(url), { patienceMs: 60_000 });
}

/** Empty where the option is absent: the default is the validator's. */
const mostFeeOf = (values: ChainValues): { readonly mostFeeGwei?: number } =>
	values["most-fee"] === undefined ? {} : { mostFeeGwei: values["most-fee"] };

/** Null: the embedded chain's. A command waits for one block: its user sees when a fork drops something. */
export const confirmationsOf = ({ confirmations }: ChainValues, rpcUrl: string | null): number | null =>
	confirmations ?? (rpcUrl === null ? null : 1);

const isUrl = (place: string): boolean => /^https?:\/\//.test(place);
const placeOf = (given: string, io: CliIo): string => (isUrl(given) ? given : resolve(io.cwd, given));

const MOST_ADDRESS_BYTES = 64 * 1024;
const FETCH_MS = 20_000;

/** A file, or what a validator serves as /chain/contracts.json. */
async function readContractsFile(path: string): Promise<ContractAddresses> {
	try {
		const bounds = { mostBytes: MOST_ADDRESS_BYTES, withinMs: FETCH_MS };
		const text = isUrl(path) ? await fetchBounded(new URL(path), bounds) : await readFile(path, "utf8");
		const found = JSON.parse(String(text)) as ContractAddresses;
		mustBeComplete(found);
		const { chainId, deployedAtBlock, ...addresses } = found;
		for (const address of Object.values(addresses))
			if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error(`not an address: ${address}`);
		for (const number of [chainId, deployedAtBlock])
			if (!Number.isSafeInteger(number) || number < 0) throw new Error(`not a number: ${number}`);
		return found;
	} catch (cause) {
		if (cause instanceof AssayError) throw cause;
		throw new AssayError("FILE_UNREADABLE", `${path} is not a file of contracts' addresses`, {
			hint: "`assay chain deploy --rpc URL --json` prints one; a validator serves it as /chain/contracts.json.",
			cause,
		});
	}
}
