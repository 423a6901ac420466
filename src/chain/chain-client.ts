// A viem client over an Rpc, and the one way to send a transaction: signed here, nonce from the chain, gas estimated and padded, waited for until it is deep
// enough, sent again when a reorganisation dropped it. Not here: what to send.
import {
	type Abi,
	BaseError,
	type Chain,
	ContractFunctionRevertedError,
	createPublicClient,
	custom,
	decodeErrorResult,
	defineChain,
	type EncodeFunctionDataParameters,
	encodeFunctionData,
	type Hex,
	keccak256,
	type PublicClient,
	type TransactionReceipt,
	type Transport,
} from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { AssayError } from "../protocol/assay-error.ts";
import { registryAbi } from "./abi/registry-abi.ts";
import { rewardsAbi } from "./abi/rewards-abi.ts";
import { scoreboardAbi } from "./abi/scoreboard-abi.ts";
import { slashingAbi } from "./abi/slashing-abi.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

export interface ChainClient {
	readonly rpc: Rpc;
	readonly viem: PublicClient<Transport, Chain>;
	readonly chainId: number;
	/** How many blocks on top make a transaction or an event final for us, counting its own. */
	readonly confirmations: number;
	readonly sleep: (ms: number) => Promise<void>;
	readonly pollMs: number;
}

export interface ChainClientOptions {
	/** 1 on the embedded chain, which never reorganises. Default 12. */
	readonly confirmations?: number;
	readonly pollMs?: number;
	readonly sleep?: (ms: number) => Promise<void>;
}

/** Ethereum's own clients treat deeper reorganisations as faults; 10 is what our tests play. */
const CONFIRMATIONS = 12;
const POLL_MS = 2000;
/** Ten minutes of polls. */
const MOST_POLLS = 300;

export async function createChainClient(rpc: Rpc, options: ChainClientOptions = {}): Promise<ChainClient> {
	const chainId = Number(await rpc("eth_chainId", []));
	const chain = defineChain({
		id: chainId,
		name: "assay",
		nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
		rpcUrls: { default: { http: [] } },
	});
	const transport = custom(
		// viem leaves `params` out where there are none; some nodes want the empty list.
		{ request: ({ method, params }: { method: string; params?: readonly unknown[] }) => rpc(method, params ?? []) },
		{ retryCount: 0 },
	);
	return {
		rpc,
		viem: createPublicClient({ chain, transport, cacheTime: 0 }),
		chainId,
		confirmations: options.confirmations ?? CONFIRMATIONS,
		sleep: options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms))),
		pollMs: options.pollMs ?? POLL_MS,
	};
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
	const { maxFeePerGas, maxPriorityFeePerGas } = await viem.estimateFeesPerGas();
	const raw = await account.signTransaction({
		type: "eip1559",
		chainId: client.chainId,
		nonce,
		...(call.to === null ? {} : { to: call.to }),
		data: call.data,
		value: call.value ?? 0n,
		// State may have moved a little when it is mined: storage that was warm for the estimate is then cold.
		gas: (estimate * 5n) / 4n + 20_000n,
		// Twice the base fee outlives half a dozen full blocks.
		maxFeePerGas: maxFeePerGas * 2n,
		maxPriorityFeePerGas,
	});
	return { raw, hash: keccak256(raw), from: account.address, nonce };
}

/** What a contract or node said, as CHAIN_REFUSED. */
function refusal(error: unknown): unknown {
	if (!(error instanceof RpcRefusal)) return error;
	const words = revertWords(error);
	return new AssayError("CHAIN_REFUSED", `the chain refuses this: ${words}`, {
		hint: "docs/chain.md says what each contract allows when.",
		cause: error,
	});
}

const EVERY_ERROR = [...registryAbi, ...scoreboardAbi, ...rewardsAbi, ...slashingAbi].filter(
	({ type }) => type === "error",
);

function revertWords(error: RpcRefusal): string {
	const data = typeof error.data === "string" ? error.data : (error.data as { data?: unknown } | null)?.data;
	if (typeof data === "string" && /^0x[0-9a-f]{8}/i.test(data)) {
		try {
			const { errorName, args } = decodeErrorResult({ abi: EVERY_ERROR, data: data as Hex });
			return `${errorName}(${(args ?? []).join(", ")})`;
		} catch {
			// Not one of ours.
		}
	}
	return error.message.slice(0, 300);
}

/** The name of the custom error behind a failed read or send, or null. */
export function refusedBecause(error: unknown): string | null {
	if (error instanceof AssayError && error.code === "CHAIN_REFUSED")
		return /refuses this: (\w+)/.exec(error.message)?.[1] ?? null;
	if (error instanceof BaseError) {
		const revert = error.walk((e) => e instanceof ContractFunctionRevertedError);
		if (revert instanceof ContractFunctionRevertedError) return revert.data?.errorName ?? null;
	}
	return null;
}

/** Hands it to the node. Known already is fine; a nonce that is used up is told by `settle`. */
export async function broadcast(client: ChainClient, { raw }: SignedTransaction): Promise<void> {
	try {
		await client.rpc("eth_sendRawTransaction", [raw]);
	} catch (error) {
		if (
			!(error instanceof RpcRefusal) ||
			!/already known|already exists|nonce|replacement|known transaction/i.test(error.message)
		)
			throw refusal(error);
	}
}

/**
 * Waits until the transaction is `confirmations` deep; sends it again while it is in no block. Null: another transaction used its nonce, so it will never
 * be mined. INVARIANT: whatever happens, it is mined at most once, because its nonce is.
 */
export async function settle(client: ChainClient, signed: SignedTransaction): Promise<TransactionReceipt | null> {
	const { viem } = client;
	for (let polls = 0; polls < MOST_POLLS; polls++) {
		const receipt = await viem.getTransactionReceipt({ hash: signed.hash }).catch(notFound);
		const head = await viem.getBlockNumber();
		if (receipt !== null) {
			if (head - receipt.blockNumber + 1n >= BigInt(client.confirmations)) return receipt;
		} else {
			const mined = await viem.getTransactionCount({ address: signed.from, blockNumber: deepest(client, head) });
			if (mined > signed.nonce) return null;
			await broadcast(client, signed);
			if (
				client.confirmations <= 1 &&
				(await viem.getTransactionReceipt({ hash: signed.hash }).catch(notFound)) !== null
			)
				continue;
		}
		await client.sleep(client.pollMs);
	}
	throw new AssayError("CHAIN_UNREACHABLE", `transaction ${signed.hash} is not deep enough in the chain yet`, {
		hint: "The chain is slow or the fee too low; it is waited for again with the next round.",
	});
}

const deepest = (client: ChainClient, head: bigint) => {
	const at = head - BigInt(client.confirmations) + 1n;
	return at > 0n ? at : 0n;
};

function notFound(error: unknown): null {
	if (error instanceof BaseError && error.walk((e) => (e as Error).name === "TransactionReceiptNotFoundError") !== null)
		return null;
	throw error;
}

/** Sign, send, wait. A reverted one is CHAIN_REFUSED. For acts that are not journalled; publications use publish.ts. */
export async function sendCall(
	client: ChainClient,
	account: PrivateKeyAccount,
	call: Call,
): Promise<TransactionReceipt> {
	for (;;) {
		const signed = await signCall(client, account, call);
		await broadcast(client, signed);
		const receipt = await settle(client, signed);
		if (receipt === null) continue;
		if (receipt.status !== "success")
			throw new AssayError("CHAIN_REFUSED", `transaction ${signed.hash} was reverted`, {
				hint: "The chain changed between the estimate and the block; read its state and try again.",
			});
		return receipt;
	}
}
