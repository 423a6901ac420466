// Does a report say what its reasons give? Every leaf against the score that its terms multiply out to and the evidence they name; and a proposal's weights against
// the medians of the reports. Pure; which files and which chain is the caller's affair.

import type { ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { Explanation } from "../scores/explanation.ts";
import { recompute } from "../scores/recompute.ts";
import { type CountedReport, medianWeights } from "./weight-proposal.ts";

export interface AuditDifference {
	/** A short name of what was compared: "score", "evidence", "weight", … */
	readonly what: string;
	/** Whose: a provider, a validator, or "". */
	readonly who: string;
	readonly stated: string;
	readonly right: string;
}

const NO_EVIDENCE = "0".repeat(64);

export function auditScores(
	leaves: readonly ScoreLeaf[],
	reasons: Readonly<Record<Hex, Explanation>>,
): AuditDifference[] {
	const found: AuditDifference[] = [];
	for (const { provider, scorePpm, evidenceSha256 } of leaves) {
		const reason = reasons[provider];
		if (reason === undefined) {
			found.push({ what: "reason", who: provider, stated: String(scorePpm), right: "none is kept" });
			continue;
		}
		const score = safeRecompute(reason);
		if (score !== scorePpm)
			found.push({ what: "score", who: provider, stated: String(scorePpm), right: String(score) });
		const evidence = `0x${reason.evidence ?? NO_EVIDENCE}`;
		if (evidence !== evidenceSha256)
			found.push({ what: "evidence", who: provider, stated: evidenceSha256, right: evidence });
	}
	const listed = new Set(leaves.map(({ provider }) => provider));
	for (const [provider, reason] of Object.entries(reasons) as [Hex, Explanation][])
		if (!listed.has(provider))
			found.push({ what: "score", who: provider, stated: "left out", right: String(safeRecompute(reason)) });
	return found;
}

/** Reasons are read from a file: a tree that is none gives no score. */
function safeRecompute(reason: Explanation): number | null {
	try {
		return recompute(reason);
	} catch {
		return null;
	}
}

export function auditWeights(leaves: readonly WeightLeaf[], reports: readonly CountedReport[]): AuditDifference[] {
	const right = new Map(medianWeights(reports).map(({ provider, weightPpm }) => [provider, weightPpm]));
	const stated = new Map(leaves.map(({ provider, weightPpm }) => [provider, weightPpm]));
	return [...new Set([...right.keys(), ...stated.keys()])].sort().flatMap((who) => {
		const [said, is] = [stated.get(who) ?? 0, right.get(who) ?? 0];
		return said === is ? [] : [{ what: "weight", who, stated: String(said), right: String(is) }];
	});
}
