// One EVM in this process: @nomicfoundation/edr behind the Rpc type, mining only when told to. Everything
// that a block's hash depends on is spelled out here or passed in, so that the same calls make the same chain
// again. Keeping it over restarts is embedded-chain.ts.
import { readFileSync } from "node:fs";
import type { EdrContext } from "@nomicfoundation/edr";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

export interface Genesis {
	readonly chainId: number;
	/** Seconds since 1970. */
	readonly timestamp: number;
	/** The only account with a balance, in lower-case hex with 0x. */
	readonly treasurer: string;
	/** The rules of the EVM; Prague unless named. A kept chain names its own. */
	readonly hardfork?: "Prague" | "Osaka";
}

const GAS_LIMIT = 60_000_000n;
const TREASURE_WEI = 10n ** 27n;

/** Whether an embedded chain can run here. The released package comes without its EVM. */
export function isEvmInstalled(): boolean {
	try {
		import.meta.resolve("@nomicfoundation/edr");
		return true;
	} catch {
		return false;
	}
}

const isMissing = (cause: unknown) =>
	new AssayError("CHAIN_EVM_MISSING", "the EVM of the embedded chain is not installed", {
		hint: "npm install @nomicfoundation/edr@0.20.0 beside assay (Node 22 or newer), or name a chain by its RPC URL.",
		cause,
	});

/** The installed version: another one may make other blocks of the same transactions. */
export function edrVersion(): string {
	try {
		const manifest = new URL("package.json", import.meta.resolve("@nomicfoundation/edr"));
		return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version;
	} catch (cause) {
		throw isMissing(cause);
	}
}

type Edr = typeof import("@nomicfoundation/edr");
// "Should only be called once", says its documentation; all chains of a process share it.
let loaded: Promise<{ readonly edr: Edr; readonly context: EdrContext }> | null = null;

async function load(): Promise<{ readonly edr: Edr; readonly context: EdrContext }> {
	let edr: Edr;
	try {
		edr = await import("@nomicfoundation/edr");
	} catch (cause) {
		throw isMissing(cause);
	}
	const context = new edr.EdrContext();
	await context.registerProviderFactory(edr.L1_CHAIN_TYPE, edr.l1ProviderFactory());
	return { edr, context };
}

export async function createEdrProvider({ chainId, timestamp, treasurer, hardfork = "Prague" }: Genesis): Promise<Rpc> {
	loaded ??= load();
	const { edr, context } = await loaded;
	const provider = await context.createProvider(
		edr.L1_CHAIN_TYPE,
		{
			allowBlocksWithSameTimestamp: true,
			allowUnlimitedContractSize: false,
			bailOnCallFailure: true,
			bailOnTransactionFailure: false,
			chainId: BigInt(chainId),
			coinbase: new Uint8Array(20),
			defaultTransactionGasLimit: 16_000_000n,
			genesisState: [
				...edr.l1GenesisState(edr.l1HardforkFromString(hardfork)),
				{ address: hexToBytes(treasurer.slice(2), 20) ?? new Uint8Array(20), balance: TREASURE_WEI },
			],
			hardfork,
			initialBaseFeePerGas: 1_000_000_000n,
			initialParentBeaconBlockRoot: new Uint8Array(32),
			minGasPrice: 0n,
			mining: { autoMine: false, blockGasLimit: GAS_LIMIT, memPool: { order: edr.MineOrdering.Fifo } },
			network: {
				genesisBlockGasLimit: GAS_LIMIT,
				genesisBlockTime: BigInt(timestamp),
				genesisBlobGas: { gasUsed: 0n, excessGas: 0n },
			},
			networkId: BigInt(chainId),
			observability: {},
			ownedAccounts: [],
			precompileOverrides: [],
		},
		{ enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => {} },
		{ subscriptionCallback: () => {} },
		new edr.ContractDecoder(),
	);
	return async (method, params) => {
		const { data } = await provider.handleRequest(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
		const answer = (typeof data === "string" ? JSON.parse(data) : data) as {
			result?: unknown;
			error?: { code?: number; message?: string; data?: unknown };
		};
		if (answer.error !== undefined) throw new RpcRefusal(answer.error);
		return answer.result ?? null;
	};
}
