// What a roll call counts for hosts that are rented through the escrow: they cannot answer, and are excused
// for as much as their rental burns. The rule is market's (rentals/paid-rental.ts). Whoever is rented in any
// other way is absent.
import { isRunning } from "../../chain/contracts/rental-escrow.ts";
import { paidPpm } from "../../market/rentals/paid-rental.ts";
import type { PaidRentals } from "../rentals/paid-rentals.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import type { ValidatorContext } from "../validator-context.ts";

export interface PaidCallsContext extends Pick<ValidatorContext, "store" | "config" | "env"> {
	readonly scores: Pick<ScoreKeeper, "fullScorePpm">;
	readonly paid: PaidRentals;
}

/** By provider, in ppm; `atS` is the time of the block that called: a deposit that came after it is none. */
export async function paidCalls(
	{ store, config, env, scores, paid }: PaidCallsContext,
	hosts: readonly { readonly id: string; readonly rentalId: string | null }[],
	atS: number,
): Promise<ReadonlyMap<string, number>> {
	const found = new Map<string, number>();
	const rented = hosts.filter(({ rentalId }) => rentalId !== null);
	if (rented.length === 0) return found;
	const all = await store.scores.all({ sinceMs: Math.max(0, env.nowMs() - config.params.maxRentedAgeMs) });
	const totalScorePpm = BigInt(all.reduce((sum, { scorePpm }) => sum + scorePpm, 0));
	const rate = { ...(await paid.rewardRate()), totalScorePpm };
	for (const { id, rentalId } of rented) {
		const deposit = (await store.rentals.get(rentalId!))?.escrow ?? null;
		const escrow = deposit === null ? null : await paid.read(deposit);
		if (escrow === null || !isRunning(escrow, atS)) continue;
		found.set(id, paidPpm(escrow.burnedPerSecond, await scores.fullScorePpm(id), rate, config.params));
	}
	return found;
}
