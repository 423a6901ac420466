// RentalEscrow.sol: a rental's deposit, paid by the second, and what a validator must know of it.
// docs/rentals.md.
import { type Hex, hexToBytes } from "viem";
import { toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { Call } from "../sending/sign.ts";
import { type Contracts, callOf, read } from "./contracts.ts";

type Addressed = Pick<Contracts, "addresses">;

export interface EscrowTerms {
	/** The provider's account. */
	readonly provider: Hex;
	/** Of the token's smallest unit, with what is burned of it. */
	readonly perSecond: bigint;
	readonly seconds: number;
}

/** The customer's own id for it: two of one customer need two salts. */
export const escrowId = (customer: Hex, salt: Hex): Hex =>
	toHex(keccak(new Uint8Array(12), hexToBytes(customer), hexToBytes(salt)));

/** First of all the token lets the escrow take what open and extend cost: perSecond · seconds. */
export const approveEscrowCall = (contracts: Addressed, amount: bigint): Call =>
	callOf(contracts, "token", "approve", contracts.addresses.rentalEscrow, amount);

/** Its time runs from the block that this is in. */
export const openEscrowCall = (contracts: Addressed, salt: Hex, { provider, perSecond, seconds }: EscrowTerms): Call =>
	callOf(contracts, "rentalEscrow", "open", salt, provider, perSecond, seconds);

export const extendEscrowCall = (contracts: Addressed, id: Hex, seconds: number): Call =>
	callOf(contracts, "rentalEscrow", "extend", id, seconds);

/** By the customer or the provider at any time, by anyone once its time is over. */
export const closeEscrowCall = (contracts: Addressed, id: Hex): Call => callOf(contracts, "rentalEscrow", "close", id);

/** What closed rentals owe the sender: pay or refund. */
export const withdrawEscrowCall = (contracts: Addressed, to: Hex): Call =>
	callOf(contracts, "rentalEscrow", "withdraw", to);

export interface Escrow {
	/** In lower case, both. */
	readonly customer: Hex;
	readonly provider: Hex;
	readonly perSecond: bigint;
	/** Burned of each second's price. */
	readonly burnedPerSecond: bigint;
	/** Seconds since 1970. */
	readonly startedAt: number;
	/** Until when it was, or is, paid and open. */
	readonly endsAt: number;
	readonly isClosed: boolean;
}

/** Null: nobody opened it. */
export async function readEscrow(contracts: Contracts, id: Hex): Promise<Escrow | null> {
	const [found, { burnPpm }] = await Promise.all([
		read(contracts, "rentalEscrow", "rentalOf", id),
		read(contracts, "rentalEscrow", "params"),
	]);
	if (BigInt(found.customer) === 0n) return null;
	const isClosed = found.closedAt !== 0n;
	return {
		customer: found.customer.toLowerCase() as Hex,
		provider: found.provider.toLowerCase() as Hex,
		perSecond: found.perSecond,
		burnedPerSecond: (found.perSecond * BigInt(burnPpm)) / 1_000_000n,
		startedAt: Number(found.startedAt),
		endsAt: Number(isClosed ? found.closedAt : found.until),
		isClosed,
	};
}

/** Whether it was paid and open at that moment, as the contract's isRunning has it. */
export const isRunning = ({ startedAt, endsAt }: Escrow, timeS: number): boolean =>
	timeS >= startedAt && timeS < endsAt;
