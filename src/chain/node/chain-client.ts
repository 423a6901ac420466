// A viem client over an Rpc, with the settings for waiting and fees. Signing, sending and seeing a
// transaction through are in sending/; what to send is for the caller to say.
import { setTimeout } from "node:timers/promises";
import {
	type Chain,
	createPublicClient,
	defineChain,
	type EIP1193RequestFn,
	type Hex,
	type PublicClient,
	type Transport,
} from "viem";
import { createKeyedMutex, type KeyedMutex } from "../../platform/keyed-mutex.ts";
import { connectionClosed } from "./http-rpc.ts";
import type { Rpc } from "./rpc.ts";
import { splitLogs } from "./split-logs.ts";

const DEFAULTS = {
	/**
	 * How many blocks on top make a transaction or an event final for us, counting its own; 1 on the embedded
	 * chain, which never reorganises. Ethereum's own clients treat deeper reorganisations as faults; 10 is what
	 * our tests play.
	 */
	confirmations: 12,
	pollMs: 2000,
	/**
	 * In wei: no transaction offers more for a unit of gas, whatever a node says. Five times Ethereum's most
	 * expensive hours of recent years; a commitment then costs 0.024 ether.
	 */
	mostFeePerGas: 500_000_000_000n,
};
type Settings = Readonly<typeof DEFAULTS>;
export const CONFIRMATIONS = DEFAULTS.confirmations;

export interface ChainClient extends Settings {
	readonly rpc: Rpc;
	readonly viem: PublicClient<Transport, Chain>;
	readonly chainId: number;
	readonly sleep: (ms: number) => Promise<void>;
	/**
	 * By account, from reading a nonce until the transaction is handed in: two that are signed at once would
	 * get one nonce. Not viem's nonce manager: that one goes on from the highest number that any node ever
	 * named, so one lie, or one transaction that was refused, would leave a gap that no later transaction of
	 * the account gets past.
	 */
	readonly nonceLock: KeyedMutex;
	/** What this process saw used: a node that names less is behind, and is waited for. */
	readonly nonces: KnownNonces;
}

interface KnownNonces {
	/** The least that a next transaction of the account may have. */
	least(account: Hex): number;
	used(account: Hex, nonce: number): void;
	/** A reorganisation took back what was used, or the pool dropped it. */
	forget(account: Hex): void;
}

function knownNonces(): KnownNonces {
	const next = new Map<Hex, number>();
	const least = (account: Hex) => next.get(account) ?? 0;
	return {
		least,
		used: (account, nonce) => void next.set(account, Math.max(least(account), nonce + 1)),
		forget: (account) => void next.delete(account),
	};
}

export interface ChainClientOptions extends Partial<Settings> {
	readonly sleep?: (ms: number) => Promise<void>;
	/** Ends waiting for blocks: CHAIN_CLOSED. */
	readonly signal?: AbortSignal;
}

export async function createChainClient(rpc: Rpc, options: ChainClientOptions = {}): Promise<ChainClient> {
	const chainId = Number(await rpc("eth_chainId", []));
	const chain = defineChain({
		id: chainId,
		name: "assay",
		nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
		rpcUrls: { default: { http: [] } },
	});
	const { signal, sleep, ...settings } = options;
	return {
		...DEFAULTS,
		...settings,
		rpc,
		viem: createPublicClient({ chain, transport: transportOver(splitLogs(rpc)), cacheTime: 0 }),
		chainId,
		sleep:
			sleep ??
			((ms) =>
				setTimeout(ms, undefined, signal && { signal }).catch(() => {
					throw connectionClosed();
				})),
		nonceLock: createKeyedMutex(),
		nonces: knownNonces(),
	};
}

/** Not viem's `custom`: that wraps whatever is thrown, and would hide the code and hint of our errors. */
function transportOver(rpc: Rpc): Transport {
	// viem leaves `params` out where there are none; some nodes want the empty list.
	const request = (({ method, params }: { readonly method: string; readonly params?: readonly unknown[] }) =>
		rpc(method, params ?? [])) as EIP1193RequestFn;
	return () => ({ config: { key: "node", name: "a chain's node", type: "node", request }, request });
}
