// What the escrow on chain says that the record does not say yet: docs/jobs.md §8. The chain is the truth,
// but an answer may be an old one: its node is behind, or a block was taken back. So the record goes forward
// by what it is told, from any state, and back by events alone: a state that is older than what it knows
// means waiting. Pure.
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

export interface EscrowKnown {
	/** In which of the record's attempts the chain's provider had the part; null: in none of them. */
	readonly holder: number | null;
	/** The part lies beyond what the customer left of the job. */
	readonly isCancelled: boolean;
	/** What it was built on fell: anybody may have the escrow open it. */
	readonly isFallen: boolean;
	/** How far the validator's clock is ahead of the chain's (clockOffMs). */
	readonly offMs: number;
}

export type EscrowNews =
	/** `atMs`: as if it had happened then, so that the record's deadline is the chain's. */
	| { readonly kind: "accepted" | "claimed" | "checked"; readonly atMs: number }
	/** Whoever had it in that attempt has locked its bond for it, whatever it said before. */
	| { readonly kind: "taken"; readonly holder: number; readonly atMs: number }
	| { readonly kind: "settled" | "refunded" }
	/** Nobody has it any more: its provider handed it back, or its time is over. */
	| { readonly kind: "released" }
	/** Its claim is not there any more; which event ended it says why, and that it did. */
	| { readonly kind: "fell" }
	/**
	 * It is claimed, or paid, whatever the record thought of it: by this attempt of the record; null: by one
	 * that it never knew.
	 */
	| { readonly kind: "recovered"; readonly holder: number | null; readonly isPaid: boolean }
	/** It was never given back. */
	| { readonly kind: "unrefunded" }
	/** The chain's deadline is another moment of the validator's clock than the record has it. */
	| { readonly kind: "moved"; readonly untilMs: number }
	/** Older than what the record knows. */
	| { readonly kind: "behind" };

/** The last millisecond of a second: what may happen by then may happen in all of it. */
export const endMs = (seconds: number): number => 1000 * seconds + 999;

/** The newest block is some seconds old, and no two clocks are the same: by less they do not differ. */
const SAME_CLOCK_MS = 60_000;

/**
 * How far the validator's clock is ahead of the chain's; negative: behind. The chain's deadlines are held
 * against the validator's clock. One that is an hour wrong would call an honest host late that has just
 * begun.
 */
export function clockOffMs(nowMs: number, chainS: number): number {
	const offMs = nowMs - endMs(chainS);
	return Math.abs(offMs) < SAME_CLOCK_MS ? 0 : offMs;
}

/** Null: the record has the chain's deadline. */
function movedNews({ untilMs }: Pick<JobPart, "untilMs">, { untilS }: EscrowPart, offMs: number): EscrowNews | null {
	const chainMs = endMs(untilS) + offMs;
	return Math.abs(chainMs - untilMs) < SAME_CLOCK_MS ? null : { kind: "moved", untilMs: chainMs };
}

type Recorded = Pick<JobPart, "state" | "isChecked" | "attempt" | "untilMs">;
type Times = Pick<JobTerms, "workMs" | "windowMs" | "checkedMs">;
const BEHIND = { kind: "behind" } as const;

/** Null: the record is up to date. */
export function escrowNews(part: Recorded, terms: Times, found: EscrowPart, known: EscrowKnown): EscrowNews | null {
	const { holder, offMs } = known;
	const isHeld = part.state === "assigned" || part.state === "running" || part.state === "claimed";
	const isTheirs = isHeld && holder === part.attempt;
	switch (found.state) {
		case "settled":
			if (part.state === "paid") return null;
			if (part.state === "claimed" && isTheirs) return { kind: "settled" };
			return { kind: "recovered", holder, isPaid: true };
		case "refunded":
			if (part.state === "open") return { kind: "refunded" };
			return part.state === "claimed" ? { kind: "fell" } : null;
		case "claimed":
			return claimedNews(part, terms, found, known, isTheirs);
		case "assigned":
			if (part.state === "assigned" && isTheirs)
				return { kind: "accepted", atMs: endMs(found.untilS) + offMs - terms.workMs };
			if (part.state === "running" && isTheirs) return movedNews(part, found, offMs);
			if (
				(part.state === "open" || part.state === "assigned") &&
				holder !== null &&
				!known.isFallen &&
				!known.isCancelled
			)
				return { kind: "taken", holder, atMs: endMs(found.untilS) + offMs - terms.workMs };
			break;
		case "open":
			if (part.state === "claimed" && isTheirs) return { kind: "fell" };
			if (part.state === "running" && isTheirs) return { kind: "released" };
			break;
		case "untouched":
			if (part.state === "open") return known.isCancelled ? { kind: "refunded" } : null;
			if (part.state === "refunded" && known.isCancelled) return null;
			if (part.state === "running" || part.state === "claimed") return BEHIND;
	}
	if (part.state === "refunded") return { kind: "unrefunded" };
	if (part.state === "running") return isTheirs ? null : BEHIND;
	// Whoever is there now came after it, or before: the events say which.
	if (part.state === "claimed") return holder === null ? { kind: "fell" } : BEHIND;
	return null;
}

function claimedNews(
	part: Recorded,
	terms: Times,
	found: EscrowPart,
	{ holder, isFallen, offMs }: EscrowKnown,
	isTheirs: boolean,
): EscrowNews | null {
	if (part.state === "paid") return null;
	if (part.state === "claimed") {
		if (!isTheirs) return holder === null ? { kind: "fell" } : BEHIND;
		const isNew = found.isChecked && !part.isChecked;
		if (isNew) return { kind: "checked", atMs: endMs(found.untilS) + offMs - terms.checkedMs };
		return movedNews(part, found, offMs);
	}
	if (part.state === "running")
		return isTheirs ? { kind: "claimed", atMs: endMs(found.untilS) + offMs - terms.windowMs } : BEHIND;
	if (holder === null || isFallen) return part.state === "refunded" ? { kind: "unrefunded" } : null;
	return { kind: "recovered", holder, isPaid: false };
}

/**
 * What the escrow must be told of a part that the record has open: that nobody has it any more; that whoever
 * had it by the record is gone, got nowhere, or handed it back; that a claim which nobody here knows has had
 * its window.
 */
export function mustTell(
	found: EscrowPart,
	nowS: number,
	{ isFallen, holder }: Pick<EscrowKnown, "isFallen" | "holder">,
): "expire" | "settle" | "release" | null {
	if (found.state !== "assigned" && found.state !== "claimed") return null;
	if (isFallen) return "expire";
	if (nowS > found.untilS) return found.state === "assigned" ? "expire" : "settle";
	return found.state === "assigned" && holder !== null ? "release" : null;
}
