// One claim run again by a watcher, docs/disputes.md: the whole part on its own engine, from the state on
// which everyone agrees. Where its states are others the engine runs once more, in a process of its own; only
// what it gives twice is held against the claimant, who is then asked down to one number.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { ClaimAtHand, EvidenceMeans } from "../evidence/claim-at-hand.ts";
import { referee } from "../evidence/referee.ts";
import { rerun } from "../evidence/rerun.ts";

export type Watched =
	/** Every state is the one that was computed here. */
	| { readonly kind: "right" }
	/** Nobody's fault: too large, too slow, no engine. */
	| { readonly kind: "unable"; readonly why: string }
	/** This machine gave two different results: it accuses nobody, and its owner should test it. */
	| { readonly kind: "unsteady"; readonly why: string }
	/** `file` convicts; null: the claimant did not answer, or signed nothing. `segment`: of the whole job. */
	| {
			readonly kind: "false";
			readonly segment: number;
			readonly file: Uint8Array | null;
			readonly isProvable: boolean;
			readonly why: string;
	  };

/** Throws what is nobody's fault and may pass: ask again. */
export async function watchClaim(means: EvidenceMeans, at: ClaimAtHand): Promise<Watched> {
	const ran = await rerun(means, at, { first: 0, count: at.claim.segments });
	if (ran.kind !== "ran") return { kind: "unable", why: ran.why };
	const other = at.states.findIndex((state, i) => !equalBytes(state, ran.states[i]!));
	if (other < 0) return { kind: "right" };
	// The segment that ends in it is the part's last one that has to be run again.
	const window = { first: 0, count: other };
	const states = ran.states.slice(0, other + 1);
	const { verdict, file, isProvable, why } = await referee(means, at, { at: 0, auditor: null, ...window, states });
	if (verdict !== "provider") return { kind: "unsteady", why };
	return { kind: "false", segment: at.claim.first + other - 1, file, isProvable, why };
}
