// What the escrow on chain says that the record does not say yet: docs/jobs.md §13. The chain is the truth;
// the record follows it, one transition at a time, so that whoever was killed between a transaction and its
// row goes on as if nothing had been. Pure.
import type { JobPart, JobTerms } from "../../protocol/network/job.ts";

/** A part as JobEscrow has it. */
export interface EscrowPart {
	/** In lower case, 0x…; zeros while nobody ever had it. */
	readonly provider: string;
	readonly attempt: number;
	readonly state: "untouched" | "open" | "assigned" | "claimed" | "settled" | "refunded";
	/** Assigned: last second to claim. Claimed: last second of the window. */
	readonly untilS: number;
	readonly isChecked: boolean;
}

export type EscrowNews =
	/** `atMs`: as if it had happened then, so that the record's deadline is the chain's. */
	| { readonly kind: "accepted" | "claimed" | "checked"; readonly atMs: number }
	| { readonly kind: "settled" | "fell" | "refunded" };

/** The last millisecond of a second: what may happen by then may happen in all of it. */
const endMs = (seconds: number): number => 1000 * seconds + 999;

/**
 * `account`: of the provider that the record names; null: unknown. `isCancelled`: the part lies beyond what
 * the customer left of the job. Null: the record is up to date.
 */
export function escrowNews(
	part: Pick<JobPart, "state" | "isChecked">,
	terms: Pick<JobTerms, "workMs" | "windowMs" | "checkedMs">,
	found: EscrowPart,
	{ account, isCancelled }: { readonly account: string | null; readonly isCancelled: boolean },
): EscrowNews | null {
	const isTheirs = account !== null && found.provider === account;
	if (part.state === "open")
		return found.state === "refunded" || (isCancelled && found.state === "untouched") ? { kind: "refunded" } : null;
	if (part.state === "assigned")
		return found.state === "assigned" && isTheirs
			? { kind: "accepted", atMs: endMs(found.untilS) - terms.workMs }
			: null;
	if (part.state === "running")
		return found.state === "claimed" && isTheirs
			? { kind: "claimed", atMs: endMs(found.untilS) - terms.windowMs }
			: null;
	if (part.state !== "claimed") return null;
	if (found.state === "settled") return { kind: "settled" };
	if (found.state !== "claimed" || (account !== null && !isTheirs)) return { kind: "fell" };
	return found.isChecked && !part.isChecked ? { kind: "checked", atMs: endMs(found.untilS) - terms.checkedMs } : null;
}

/**
 * Whether the escrow must be told that nobody has the part any more: the record has it open, the chain does
 * not.
 */
export function mustExpire(part: Pick<JobPart, "state">, found: EscrowPart, nowS: number): "late" | "fallen" | null {
	if (part.state !== "open") return null;
	if (found.state === "assigned") return nowS > found.untilS ? "late" : null;
	return found.state === "claimed" ? "fallen" : null;
}
