// A viem client over an Rpc, and the one way to send a transaction: signed here, nonce from the chain, gas estimated and padded. How it is seen through is
// settle.ts, what is paid for it fees.ts. Not here: what to send.
import {
	type Abi,
	type Chain,
	createPublicClient,
	custom,
	defineChain,
	type EncodeFunctionDataParameters,
	encodeFunctionData,
	type Hex,
	keccak256,
	type PublicClient,
	parseTransaction,
	type TransactionReceipt,
	type Transport,
} from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { createKeyedMutex, type KeyedMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { splitLogs } from "../history/split-logs.ts";
import { feesNow, replacementFees } from "../sending/fees.ts";
import { refusal } from "../sending/refusal.ts";
import { broadcast, settle } from "../sending/settle.ts";
import { connectionClosed, orAborted, type Rpc } from "./rpc.ts";

export { refusedBecause } from "../sending/refusal.ts";

export interface ChainClient {
	readonly rpc: Rpc;
	readonly viem: PublicClient<Transport, Chain>;
	readonly chainId: number;
	/** How many blocks on top make a transaction or an event final for us, counting its own. */
	readonly confirmations: number;
	readonly sleep: (ms: number) => Promise<void>;
	readonly pollMs: number;
	/** In wei: no transaction offers more for a unit of gas, whatever a node says. */
	readonly mostFeePerGas: bigint;
	/** Blocks without a transaction that was handed in, until it is replaced by a better paid one. */
	readonly stuckBlocks: number;
}

export interface ChainClientOptions {
	/** 1 on the embedded chain, which never reorganises. Default 12. */
	readonly confirmations?: number;
	readonly pollMs?: number;
	readonly sleep?: (ms: number) => Promise<void>;
	/** Default 500 gwei. */
	readonly mostFeePerGas?: bigint;
	/** Default 4. */
	readonly stuckBlocks?: number;
	/** Ends waiting for blocks: CHAIN_CLOSED. */
	readonly signal?: AbortSignal;
}

/** Ethereum's own clients treat deeper reorganisations as faults; 10 is what our tests play. */
const CONFIRMATIONS = 12;
const POLL_MS = 2000;
/** Five times what Ethereum asked in its dearest hours of the last years; a commitment then costs 0.024 ether. */
const MAX_FEE_PER_GAS = 500_000_000_000n;
/** A base fee rises by an eighth a full block at most, and twice of it was offered: four blocks without it are not chance. */
const STUCK_BLOCKS = 4;

export async function createChainClient(rpc: Rpc, options: ChainClientOptions = {}): Promise<ChainClient> {
	const chainId = Number(await rpc("eth_chainId", []));
	const chain = defineChain({
		id: chainId,
		name: "assay",
		nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
		rpcUrls: { default: { http: [] } },
	});
	const door = splitLogs(rpc);
	const transport = custom(
		// viem leaves `params` out where there are none; some nodes want the empty list.
		{ request: ({ method, params }: { method: string; params?: readonly unknown[] }) => door(method, params ?? []) },
		{ retryCount: 0 },
	);
	return {
		rpc,
		viem: withOwnErrors(createPublicClient({ chain, transport, cacheTime: 0 })),
		chainId,
		confirmations: options.confirmations ?? CONFIRMATIONS,
		sleep: options.sleep ?? ((ms) => sleepUnless(ms, options.signal ?? null)),
		pollMs: options.pollMs ?? POLL_MS,
		mostFeePerGas: options.mostFeePerGas ?? MAX_FEE_PER_GAS,
		stuckBlocks: options.stuckBlocks ?? STUCK_BLOCKS,
	};
}

async function sleepUnless(ms: number, signal: AbortSignal | null): Promise<void> {
	await orAborted(new Promise((resolve) => setTimeout(resolve, ms)), signal);
	if (signal?.aborted) throw connectionClosed();
}

/** viem wraps whatever a node's door throws; an error of ours has the code and the hint that people need. */
function withOwnErrors<T extends object>(viem: T): T {
	return new Proxy(viem, {
		get(target, name, receiver) {
			const found = Reflect.get(target, name, receiver) as unknown;
			if (typeof found !== "function") return found;
			return (...args: unknown[]) => {
				const result = (found as (...all: unknown[]) => unknown).apply(target, args);
				return result instanceof Promise ? result.catch(rethrowOwn) : result;
			};
		},
	});
}

function rethrowOwn(error: unknown): never {
	for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++)
		if (at instanceof AssayError) throw at;
	throw error;
}

/** A transaction that is signed and so has its hash before anybody has seen it. */
export interface SignedTransaction {
	readonly raw: Hex;
	readonly hash: Hex;
	readonly from: Hex;
	readonly nonce: number;
}

export interface Call {
	/** Null: a deployment. */
	readonly to: Hex | null;
	readonly data: Hex;
	readonly value?: bigint;
}

/** An account whose key is here: it signs by itself, no node does. */
export type ChainAccount = PrivateKeyAccount;

export const accountOf = (privateKey: Hex): PrivateKeyAccount => privateKeyToAccount(privateKey);

export function callOf<const TAbi extends Abi | readonly unknown[]>(
	to: Hex,
	parameters: EncodeFunctionDataParameters<TAbi>,
): Call {
	return { to, data: encodeFunctionData(parameters as EncodeFunctionDataParameters) };
}

/** Refused by the contract: CHAIN_REFUSED with the contract's own words. */
export async function signCall(
	client: ChainClient,
	account: PrivateKeyAccount,
	call: Call,
): Promise<SignedTransaction> {
	const { viem, rpc } = client;
	const request = {
		from: account.address,
		...(call.to === null ? {} : { to: call.to }),
		data: call.data,
		value: `0x${(call.value ?? 0n).toString(16)}`,
	};
	let estimate: bigint;
	try {
		estimate = BigInt((await rpc("eth_estimateGas", [request, "pending"])) as string);
	} catch (error) {
		throw refusal(error);
	}
	const nonce = await viem.getTransactionCount({ address: account.address, blockTag: "pending" });
	const fees = await feesNow(client);
	const raw = await account.signTransaction({
		type: "eip1559",
		chainId: client.chainId,
		nonce,
		...(call.to === null ? {} : { to: call.to }),
		data: call.data,
		value: call.value ?? 0n,
		// State may have moved a little when it is mined: storage that was warm for the estimate is then cold.
		gas: (estimate * 5n) / 4n + 20_000n,
		...fees,
	});
	return { raw, hash: keccak256(raw), from: account.address, nonce };
}

/** For which chain a transaction was signed. */
export const chainIdOf = (raw: Hex): number | null => parseTransaction(raw).chainId ?? null;

/** The same deed better paid: of one nonce, so that one of them at most is ever mined. Null: it would cost more than may be offered. */
export async function signReplacement(
	client: ChainClient,
	account: PrivateKeyAccount,
	before: SignedTransaction,
): Promise<SignedTransaction | null> {
	const { to, data, value, gas, nonce, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(
		before.raw as `0x02${string}`,
	);
	const fees = await replacementFees(client, {
		maxFeePerGas: maxFeePerGas ?? 0n,
		maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
	});
	if (fees === null) return null;
	const raw = await account.signTransaction({
		type: "eip1559",
		chainId: client.chainId,
		nonce: nonce ?? before.nonce,
		...(to ? { to } : {}),
		data: data ?? "0x",
		value: value ?? 0n,
		...(gas === undefined ? {} : { gas }),
		...fees,
	});
	return { raw, hash: keccak256(raw), from: account.address, nonce: before.nonce };
}

/** Sign, send, wait. A reverted one is CHAIN_REFUSED. For acts that are not journalled; publications use publish.ts. */
export async function sendCall(
	client: ChainClient,
	account: PrivateKeyAccount,
	call: Call,
): Promise<TransactionReceipt> {
	// ATTACK: a node that says each time that the nonce went to somebody else would have one act paid for again and again.
	for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		const signed = await inTurn(client, account, async () => {
			const first = await signCall(client, account, call);
			await broadcast(client, first);
			return first;
		});
		const receipt = await settle(client, [signed], (before) => signReplacement(client, account, before));
		if (receipt === null) continue;
		if (receipt.status !== "success")
			throw new AssayError("CHAIN_REFUSED", `transaction ${receipt.transactionHash} was reverted`, {
				hint: "The chain changed between the estimate and the block; read its state and try again.",
			});
		return receipt;
	}
	throw new AssayError("CHAIN_REFUSED", `other transactions of ${account.address} took the place of this one`, {
		hint: "Another program uses the account, or the node does not tell the truth: look with another node whether it was done.",
	});
}

const MAX_ATTEMPTS = 3;

const mutexes = new WeakMap<Rpc, KeyedMutex>();

/** One at a time of an account: two that are signed at once would get one nonce. Until it was handed in, not until it is mined. */
export function inTurn<T>(client: ChainClient, account: PrivateKeyAccount, act: () => Promise<T>): Promise<T> {
	const mutex = mutexes.get(client.rpc) ?? createKeyedMutex();
	mutexes.set(client.rpc, mutex);
	return mutex.run(account.address, act);
}
