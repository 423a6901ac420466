// What a rented host's time is worth to the network: what its rental burns, docs/scores.md. Pure, in exact
// integers.
//
// A rented host answers no roll call and is not probed; somebody who rents from himself would be paid for
// nothing. So a call during a rental counts by what the rental burns, against what the host's full score
// brings in the same second. Nobody foresees a call, therefore what is burned at calls is what is burned on
// average, and nobody can rent dearly just when it counts.
import { AssayError } from "../../protocol/assay-error.ts";
import type { Params } from "../params.ts";

const PPM = 1_000_000n;
/**
 * So many times what a second brings must be burned in it to count in full. Once would do if the sum of all
 * scores stood still between a call and the end of the epoch: with twice it may fall to a half.
 */
const MARGIN = 2n;

/** Amounts in the token's smallest unit. */
export interface RewardRate {
	/** What an epoch pays to all providers. */
	readonly emission: bigint;
	readonly epochSeconds: number;
	/** Of all providers, as the validator scores them now. */
	readonly totalScorePpm: bigint;
}

/**
 * What a call counts for a rented host: 10⁶ as if it had answered, at most `rentedBonusPpm`. `fullScorePpm`:
 * what it would score were it present at every call and never rented.
 */
export function paidPpm(
	burnedPerSecond: bigint,
	fullScorePpm: number,
	{ emission, epochSeconds, totalScorePpm }: RewardRate,
	{ rentedBonusPpm }: Pick<Params, "rentedBonusPpm">,
): number {
	const most = BigInt(rentedBonusPpm);
	// burned ÷ (MARGIN × emission × full ÷ (total × seconds)); whose share is all or more, the whole emission.
	const total = totalScorePpm < BigInt(fullScorePpm) ? BigInt(fullScorePpm) : totalScorePpm;
	const brought = MARGIN * emission * BigInt(fullScorePpm);
	if (burnedPerSecond <= 0n || brought === 0n) return 0;
	const ppm = (burnedPerSecond * BigInt(epochSeconds) * total * PPM) / brought;
	return Number(ppm < most ? ppm : most);
}

/**
 * The price of a rental in the token's smallest unit a second, rounded up: a unit of prices is a token of 18
 * decimals.
 */
export function escrowPerSecond(pricePerHourMicros: number): bigint {
	return (BigInt(pricePerHourMicros) * 10n ** 12n + 3599n) / 3600n;
}

/** Why a deposit does not pay for a rental. */
export const depositRefused = (why: string): AssayError => new AssayError("ESCROW_REFUSED", `the deposit: ${why}`);
