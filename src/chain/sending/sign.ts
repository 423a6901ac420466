// Transactions signed here and by no node: nonce from the chain, gas estimated and padded, fees within the
// client's cap. Handing them in is settle.ts.
import { randomInt } from "node:crypto";
import { type Hex, keccak256, parseTransaction } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { ChainClient } from "../node/chain-client.ts";
import { type Fees, feesNow, replacementFees } from "./fees.ts";
import { refusal } from "./refusal.ts";

/** An account whose key is here. */
export type ChainAccount = PrivateKeyAccount;

export const accountOf = (privateKey: Hex): ChainAccount => privateKeyToAccount(privateKey);

export interface Call {
	/** Null: a deployment. */
	readonly to: Hex | null;
	readonly data: Hex;
	readonly value?: bigint;
}

/** A transaction that is signed and so has its hash before anybody has seen it. */
export interface SignedTransaction {
	readonly raw: Hex;
	readonly hash: Hex;
	readonly from: Hex;
	readonly nonce: number;
	/** Nothing on chain would refuse a second one: nothing of it is ever signed under another nonce. */
	readonly isPayment?: true;
	/**
	 * Deep enough in the chain. Payments are kept: the book of them shows what was paid by which transaction.
	 */
	readonly isMined?: true;
}

/** Gas limits that differ for nothing else. */
const GAS_MARKS = 1 << 16;
/** For a node that is behind: half a minute. */
const MAX_WAITS = 16;

/** Refused by the contract: CHAIN_REFUSED with the contract's own words. */
export async function signCall(client: ChainClient, account: ChainAccount, call: Call): Promise<SignedTransaction> {
	const { data, value = 0n } = call;
	const to = call.to === null ? {} : { to: call.to };
	const request = { from: account.address, ...to, data, value: `0x${value.toString(16)}` };
	const estimate = await client.rpc("eth_estimateGas", [request, "pending"]).catch((error: unknown) => {
		throw refusal(error);
	});
	const nonce = await nextNonce(client, account.address);
	// State may have moved when it is mined: storage that was warm for the estimate is then cold, and what is
	// kept by the second (the history of stakes) needs two new slots when the block is of a later one. What is
	// not used is not paid. And no two acts are ever the same bytes: else one that was signed with a nonce that
	// a node behind named again would be taken for the one before, and reported as done.
	const gas = (BigInt(estimate as string) * 5n) / 4n + 60_000n + BigInt(randomInt(GAS_MARKS));
	return sign(client, account, { nonce, ...to, data, value, gas, ...(await feesNow(client)) });
}

/**
 * The node's word, but not below what this process saw used: a node that is behind is waited for. One that
 * stays is believed, since a reorganisation may have taken back what was used.
 */
async function nextNonce(client: ChainClient, address: Hex): Promise<number> {
	for (let left = MAX_WAITS; ; left--) {
		const nonce = await client.viem.getTransactionCount({ address, blockTag: "pending" });
		if (nonce >= client.nonces.least(address)) return nonce;
		if (left <= 0) {
			client.nonces.forget(address);
			return nonce;
		}
		await client.sleep(client.pollMs);
	}
}

/** The same call and nonce for a higher fee: one of them at most is mined. Null: above the cap. */
export async function signReplacement(
	client: ChainClient,
	account: ChainAccount,
	before: SignedTransaction,
): Promise<SignedTransaction | null> {
	const { to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(before.raw as `0x02${string}`);
	const fees = await replacementFees(client, {
		maxFeePerGas: maxFeePerGas ?? 0n,
		maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
	});
	if (fees === null) return null;
	return sign(client, account, {
		nonce: before.nonce,
		...(to ? { to } : {}),
		data: data ?? "0x",
		value: value ?? 0n,
		gas: gas ?? 0n,
		...fees,
	});
}

async function sign(
	{ chainId }: ChainClient,
	account: ChainAccount,
	transaction: Fees & { nonce: number; to?: Hex; data: Hex; value: bigint; gas: bigint },
): Promise<SignedTransaction> {
	const raw = await account.signTransaction({ type: "eip1559", chainId, ...transaction });
	return { raw, hash: keccak256(raw), from: account.address, nonce: transaction.nonce };
}
