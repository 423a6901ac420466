// How the chain's commands find their chain: a node by --rpc, else the embedded chain of the data folder, over the door of the process that runs it or by itself.
// Loads the chain's code only when a command runs.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ContractAddresses } from "../../chain/contracts/deploy.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import type { Rpc } from "../../chain/node/rpc.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainHome } from "../../validator/settlement/chain-home.ts";
import type { CliIo } from "../command.ts";
import { defaultDataDir } from "../data-folder.ts";
import { numberOption, usageError } from "../parse-options.ts";
import { requireNode } from "../require-node.ts";

export const chainOptions = {
	options: {
		data: { type: "string" },
		rpc: { type: "string" },
		contracts: { type: "string" },
		confirmations: { type: "string" },
		"most-fee": { type: "string" },
		json: { type: "boolean", default: false },
	},
	help: `  --data FOLDER     of the validator (default: network in ASSAY_HOME, or assay/network in the user's data folder)
  --rpc URL         any node instead of the embedded chain (or ASSAY_RPC)
  --contracts FILE  the contracts' addresses there, as deploy wrote them (default: those of the data folder)
  --confirmations N blocks to wait for after each transaction there (default 1)
  --most-fee GWEI   most to offer for a unit of gas (default 500)
  --json            as JSON`,
} as const;

export interface ChainValues {
	readonly data?: string | undefined;
	readonly rpc?: string | undefined;
	readonly contracts?: string | undefined;
	readonly confirmations?: string | undefined;
	readonly "most-fee"?: string | undefined;
}

export const dataDirOf = (values: ChainValues, io: CliIo): string =>
	resolve(io.cwd, values.data ?? defaultDataDir(io.env));

export const rpcUrlOf = (values: ChainValues, io: CliIo): string | null => values.rpc ?? (io.env.ASSAY_RPC || null);

export async function withChain<T>(
	command: string,
	values: ChainValues,
	io: CliIo,
	act: (home: ChainHome, dataDir: string) => Promise<T>,
): Promise<T> {
	requireNode(command);
	const dataDir = dataDirOf(values, io);
	const rpcUrl = rpcUrlOf(values, io);
	if (values.contracts !== undefined && rpcUrl === null)
		throw usageError("--contracts is for a chain that --rpc names", command);
	if (rpcUrl === null && !existsSync(join(dataDir, "chain", "contracts.json")))
		throw new AssayError("CHAIN_MISSING", `there is no embedded chain in ${dataDir}`, {
			hint: "`assay up` makes one; another chain is named by --rpc.",
		});
	const [{ openChainHome }, { chainDefaults }] = await Promise.all([
		import("../../validator/settlement/chain-home.ts"),
		import("../../validator/settlement/chain-settings.ts"),
	]);
	const contracts = await namedContracts(values, io);
	// The validator waits out outages for minutes; whoever types a wrong URL should hear of it at once.
	if (rpcUrl !== null) await reachNode(rpcUrl);
	const confirmations = confirmationsOf(command, values, rpcUrl);
	const home = await openChainHome({
		dataDir,
		settings: { ...chainDefaults, rpcUrl, contracts, confirmations, ...mostFeeOf(command, values) },
		epochSeconds: null,
		nowMs: () => Date.now(),
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
	try {
		return await act(home, dataDir);
	} finally {
		await home.close();
	}
}

/** Of `assay up` and `assay validate`: a chain that a URL names. Throws CHAIN_UNREACHABLE, FILE_UNREADABLE or USAGE. */
export async function externalChain(
	command: string,
	values: ChainValues,
	io: CliIo,
	rpcUrl: string,
): Promise<{
	readonly rpcUrl: string;
	readonly contracts: ContractAddresses | null;
	readonly confirmations: number | null;
	readonly mostFeeGwei?: number;
}> {
	await reachNode(rpcUrl);
	return {
		rpcUrl,
		contracts: await namedContracts(values, io),
		// A process that nobody watches waits until nothing is taken back any more.
		confirmations: values.confirmations === undefined ? null : confirmationsOf(command, values, rpcUrl),
		...mostFeeOf(command, values),
	};
}

/** Kept in the data folder for the next time, unless it has others: those are of a deployment that nothing else may know. */
async function namedContracts(values: ChainValues, io: CliIo): Promise<ContractAddresses | null> {
	if (values.contracts === undefined) return null;
	const found = await readContractsFile(resolve(io.cwd, values.contracts));
	const kept = join(dataDirOf(values, io), "chain", "contracts-external.json");
	if (!existsSync(kept)) {
		const { writeDurably } = await import("../../platform/durable-file.ts");
		await writeDurably(kept, `${JSON.stringify(found)}\n`);
	}
	return found;
}

/** What anyone can have who only reads: no account, no folder of one's own. */
export interface ReadingChain {
	readonly client: ChainClient;
	readonly at: ContractAddresses;
	/** Of the data folder, whether it is there or not. */
	readonly folder: string;
	readonly dataDir: string;
}

/** As withChain, but with --rpc nothing is made in any folder: whoever audits needs a node and the contracts' addresses. */
export async function withReadingChain<T>(
	command: string,
	values: ChainValues,
	io: CliIo,
	act: (chain: ReadingChain) => Promise<T>,
): Promise<T> {
	const rpcUrl = rpcUrlOf(values, io);
	if (rpcUrl === null)
		return withChain(command, values, io, ({ client, at, folder }, dataDir) => act({ client, at, folder, dataDir }));
	requireNode(command);
	const dataDir = dataDirOf(values, io);
	const folder = join(dataDir, "chain");
	const kept = join(folder, "contracts-external.json");
	if (values.contracts === undefined && !existsSync(kept))
		throw new AssayError("CHAIN_MISSING", "no contracts are known for this chain", {
			hint: "Name their addresses with --contracts FILE: what `assay chain deploy --json` printed, or a validator's /chain/contracts.json.",
		});
	const at = await readContractsFile(values.contracts === undefined ? kept : resolve(io.cwd, values.contracts));
	const { createChainClient } = await import("../../chain/node/chain-client.ts");
	const client = await createChainClient(await reachNode(rpcUrl), { confirmations: 1 });
	const code = at.chainId === client.chainId ? await client.viem.getCode({ address: at.scoreboard }) : undefined;
	if (code === undefined)
		throw new AssayError("CHAIN_MISSING", "the contracts that are named are not on this chain", {
			hint: `The node is of chain ${client.chainId}, the contracts of ${at.chainId}.`,
		});
	return act({ client, at, folder, dataDir });
}

const NODE_PATIENCE_MS = 5000;

/** A node by its URL that has answered. Throws CHAIN_UNREACHABLE. */
export async function reachNode(url: string): Promise<Rpc> {
	const { httpRpc, withRetries } = await import("../../chain/node/http-rpc.ts");
	if (!/^https?:\/\//.test(url))
		throw new AssayError("USAGE", `--rpc takes a URL with http:// or https://, not '${url}'`);
	await withRetries(httpRpc(url), { patienceMs: NODE_PATIENCE_MS })("eth_chainId", []);
	return withRetries(httpRpc(url), { patienceMs: 60_000 });
}

/** Nothing where nothing is said: the default is the validator's. */
const mostFeeOf = (command: string, values: ChainValues): { readonly mostFeeGwei?: number } =>
	values["most-fee"] === undefined
		? {}
		: { mostFeeGwei: Math.floor(numberOption(command, "most-fee", values["most-fee"], 1, 1e9)) };

/** Null: whatever the chain at hand needs. A command that is watched waits for one block: what a reorganisation drops is sent again by the node, or by its user. */
export const confirmationsOf = (command: string, values: ChainValues, rpcUrl: string | null): number | null =>
	values.confirmations === undefined
		? rpcUrl === null
			? null
			: 1
		: Math.floor(numberOption(command, "confirmations", values.confirmations, 1, 1000));

export async function readContractsFile(path: string): Promise<ContractAddresses> {
	try {
		const found = JSON.parse(await readFile(path, "utf8")) as ContractAddresses;
		const { token, registry, scoreboard, rewards, slashing, chainId, deployedAtBlock } = found;
		for (const address of [token, registry, scoreboard, rewards, slashing])
			if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error(`not an address: ${address}`);
		for (const number of [chainId, deployedAtBlock])
			if (!Number.isSafeInteger(number) || number < 0) throw new Error(`not a number: ${number}`);
		return { chainId, token, registry, scoreboard, rewards, slashing, deployedAtBlock };
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `${path} is not a file of contracts' addresses`, {
			hint: "`assay chain deploy --rpc URL --json` prints one.",
			cause,
		});
	}
}

/** bigint as decimal text. */
export const toJson = (value: unknown): string =>
	`${JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one), 2)}\n`;

const UNIT = 10n ** 18n;

/** Whole tokens with up to six digits, cut. */
export function formatTokens(amount: bigint): string {
	const fraction = String(((amount % UNIT) * 1_000_000n) / UNIT)
		.padStart(6, "0")
		.replace(/0+$/, "");
	return `${amount / UNIT}${fraction === "" ? "" : `.${fraction}`}`;
}

export function parseTokens(command: string, text: string): bigint {
	const found = /^(\d{1,12})(?:\.(\d{1,18}))?$/.exec(text);
	const amount = found === null ? 0n : BigInt(found[1]!) * UNIT + BigInt((found[2] ?? "").padEnd(18, "0"));
	if (amount === 0n) throw usageError(`an amount of tokens is a number above 0, not '${text}'`, command);
	return amount;
}
