// Rentals that are paid through the escrow on chain: whether a deposit is what a rental costs, whether it
// still runs, and what it counts for at a roll call. What it must be is market's (paid-rental.ts); the chain
// is asked, nobody's word is taken. Page: docs/rentals.md.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { type Escrow, escrowId, isRunning, readEscrow } from "../../chain/contracts/rental-escrow.ts";
import { readEmission } from "../../chain/contracts/rewards.ts";
import { type EpochParams, readEpochParams } from "../../chain/contracts/scoreboard.ts";
import { depositRefused, escrowPerSecond, type RewardRate } from "../../market/rentals/paid-rental.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { rentalSalt } from "../../protocol/chain/rental-salt.ts";

/** As a customer names it. */
export interface NamedEscrow {
	/** 0x and 40 hex digits. */
	readonly account: string;
	readonly nonce: string;
}

export interface PaidRentals {
	/**
	 * Until when it pays. Throws ESCROW_REFUSED unless it is the caller's, for this provider, at this price,
	 * and runs.
	 */
	mustPay(
		named: NamedEscrow,
		rental: { readonly customer: string; readonly providerId: string; readonly pricePerHourMicros: number },
	): Promise<{ readonly id: Hex; readonly endsAtMs: number }>;
	/** As the chain has it now; null when nobody opened it. */
	read(escrow: string): Promise<Escrow | null>;
	/** Whether it is paid and open at that moment. */
	runsAt(escrow: string, atMs: number): Promise<boolean>;
	/** What providers get a second, between them. */
	rewardRate(): Promise<Pick<RewardRate, "emission" | "epochSeconds">>;
}

export function createPaidRentals({
	contracts,
	book,
	nowMs,
}: {
	readonly contracts: Contracts;
	/** Which account is a provider's. */
	readonly book: { refresh(): Promise<void>; accountOf(key: string): Hex | null };
	readonly nowMs: () => number;
}): PaidRentals {
	let reading: Promise<EpochParams> | null = null;
	const params = () => {
		reading ??= readEpochParams(contracts).catch((error) => {
			reading = null;
			throw error;
		});
		return reading;
	};
	const read = (escrow: string) => readEscrow(contracts, escrow as Hex);
	const runsAt = async (escrow: string, atMs: number) => {
		const found = await read(escrow);
		return found !== null && isRunning(found, Math.floor(atMs / 1000));
	};
	return {
		read,
		runsAt,
		async rewardRate() {
			const { genesis, epochSeconds } = await params();
			const epoch = Math.floor((nowMs() / 1000 - genesis) / epochSeconds);
			return { emission: await readEmission(contracts, epoch), epochSeconds };
		},
		async mustPay({ account, nonce }, { customer, providerId, pricePerHourMicros }) {
			if (!/^[0-9a-f]{64}$/.test(customer)) throw depositRefused("a request with a deposit must be signed by a key");
			const id = escrowId(account.toLowerCase() as Hex, rentalSalt(customer, nonce));
			const found = await read(id);
			if (found === null) throw depositRefused("the chain has no such deposit of this caller");
			await book.refresh();
			if (found.provider !== book.accountOf(providerId)?.toLowerCase())
				throw depositRefused("it is for another account than the provider's");
			const least = escrowPerSecond(pricePerHourMicros);
			if (found.perSecond < least)
				throw depositRefused(`it pays ${found.perSecond} a second, and the provider asks for ${least}`);
			if (found.isClosed || !isRunning(found, Math.floor(nowMs() / 1000))) throw depositRefused("it does not run");
			return { id, endsAtMs: 1000 * found.endsAt };
		},
	};
}
