// A claim that an audit differs from, before the chain: what its claimant does not answer it is asked there,
// by the player of the watchers, and what it says there counts. The validator is the accuser that is paid.

import type { AuditAtHand } from "../evidence/auditor-of.ts";
import type { ClaimAtHand, EvidenceChain, EvidenceMeans } from "../evidence/claim-at-hand.ts";
import { proveFraud } from "../evidence/prove-fraud.ts";
import { referee } from "../evidence/referee.ts";
import { spokenWords } from "../evidence/spoken-words.ts";
import { SegmentCleared } from "../watch/cleared-claim.ts";
import { roadOnChain, SilenceConvicted } from "../watch/silent-road.ts";
import { collectDeposits } from "../watch/watch-chain.ts";

export interface Played {
	/** "right": nothing of the claim is false. "unable": nobody can show what is. */
	readonly kind: "convicted" | "right" | "unable";
	readonly why: string;
}

async function verdictOf(means: EvidenceMeans, claim: ClaimAtHand, audit: AuditAtHand): Promise<Played> {
	try {
		const { verdict, file, isProvable, why } = await referee(means, claim, audit);
		if (verdict === "auditor" || verdict === "none") return { kind: "right", why };
		if (file === null) return { kind: "unable", why };
		const spoken = isProvable ? null : await spokenWords(means, claim, file);
		if (!isProvable && spoken === null) return { kind: "unable", why: `${why}; its words are bound by nothing` };
		const proof = await proveFraud(means.chain, claim, file, spoken);
		return proof === null ? { kind: "unable", why: "the claim stands no more" } : { kind: "convicted", why };
	} catch (error) {
		if (error instanceof SilenceConvicted) return { kind: "convicted", why: error.message };
		// Silence about a proven segment convicts nobody.
		if (error instanceof SegmentCleared) return { kind: "unable", why: error.message };
		throw error;
	}
}

/** May take a day and a half. Throws what may pass: again, it goes on with the game that is on the chain. */
export async function playDispute(
	means: EvidenceMeans,
	chain: EvidenceChain,
	claim: ClaimAtHand,
	audit: AuditAtHand,
	onAsked: (kind: string) => void,
): Promise<Played> {
	const resting = { ...means, beforeWaits: new Set<() => Promise<void>>() };
	const road = roadOnChain(resting, chain, ({ kind }) => onAsked(kind));
	const played = await verdictOf({ ...resting, road }, claim, audit);
	// Of this game, and of earlier ones that a restart came between.
	if (played.kind === "convicted") await collectDeposits(chain);
	return played;
}
