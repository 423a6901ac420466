// A drawn auditor as somebody who answers for its window, docs/jobs.md §14: its states are a claim about the
// window alone, which binds nobody but in the search at hand.
import { RemoteAnswers } from "../../../verify/optimistic/questions.ts";
import type { JobAtHand } from "../../../verify/optimistic/search.ts";
import { type JobClaim, segmentTree } from "../../../work/trace/commitments.ts";
import { askParty } from "./ask-party.ts";
import type { ClaimAtHand, EvidenceMeans } from "./claim-at-hand.ts";
import type { PartWindow } from "./own-run.ts";

/** What somebody computed of a window, blind. */
export interface AuditAtHand extends PartWindow {
	/** Its number among the part's audits. */
	readonly at: number;
	/** Null: this validator itself. */
	readonly auditor: string | null;
	/** S before the window, then after each of its segments. */
	readonly states: readonly Uint8Array[];
	/** All states agree, and what is said of the inside of this segment of the part does not. */
	readonly inside?: number | undefined;
}

type Said = Pick<AuditAtHand, "at" | "auditor" | "first" | "count" | "states">;

export const windowClaim = ({ claim }: ClaimAtHand, { first, count, states }: Said): JobClaim => ({
	...claim,
	...{ first: claim.first + first, segments: count, segmentRoot: segmentTree(states).root },
});

/** Null: the validator itself ran it. */
export function auditorOf(
	means: EvidenceMeans,
	at: ClaimAtHand,
	audit: Said,
	{ program }: JobAtHand,
): RemoteAnswers | null {
	const { at: number, auditor: provider, states } = audit;
	if (provider === null) return null;
	const claim = windowClaim(at, audit);
	const { first, segments } = claim;
	const ask = askParty(means, at, program, { provider, audit: number, first, segments });
	return new RemoteAnswers(program, { claim, states, audit: number }, ask);
}
