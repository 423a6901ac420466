// Does a report say what its reasons give? Every leaf against the score that its terms multiply out to and the
// evidence they name; and a proposal's weights against the medians of the reports. Pure; which files and which
// chain is the caller's affair.
import type { ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { Explanation } from "../scores/explanation.ts";
import { recompute } from "../scores/recompute.ts";
import type { ReportReasons } from "./reasons-file.ts";
import { type CountedReport, medianWeights } from "./weight-proposal.ts";

export interface AuditDifference {
	/** A short name of what was compared: "score", "evidence", "weight", … */
	readonly what: string;
	/** Whose: a provider, a validator, or "". */
	readonly who: string;
	readonly stated: string;
	readonly right: string;
}

export interface AuditedTerms {
	/** How many leaves had terms. */
	readonly scores: number;
	readonly differences: readonly AuditDifference[];
	/** Of the leaves that were wanted. */
	readonly reasons: ReadonlyMap<Hex, Explanation>;
}

const NO_EVIDENCE = "0".repeat(64);

/** Every leaf against what its terms multiply out to, one at a time: all of them would not fit into memory. */
export async function auditTerms(
	validator: Hex,
	leaves: readonly ScoreLeaf[],
	given: ReportReasons,
	wanted: ReadonlySet<ScoreLeaf>,
): Promise<AuditedTerms> {
	const listed = new Map(leaves.map((leaf) => [leaf.provider, leaf]));
	const seen = new Set<Hex>();
	const differences: AuditDifference[] = [];
	const reasons = new Map<Hex, Explanation>();
	try {
		for await (const [who, reason] of given.entries()) {
			// Of two for one account either could be meant.
			if (seen.has(who)) {
				differences.push({ what: "reason", who, stated: "two", right: "one" });
				continue;
			}
			seen.add(who);
			const leaf = listed.get(who);
			differences.push(...termDifferences(who, leaf, reason));
			if (leaf !== undefined && wanted.has(leaf)) reasons.set(who, reason);
		}
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		differences.push({ what: "reason", who: validator, stated: "its terms", right: error.message });
		return { scores: seen.size, differences, reasons };
	}
	const missing = leaves.filter(({ provider }) => !seen.has(provider));
	for (const { provider: who, scorePpm } of missing)
		differences.push({ what: "reason", who, stated: String(scorePpm), right: "none is kept" });
	return { scores: leaves.length - missing.length, differences, reasons };
}

function termDifferences(who: Hex, leaf: ScoreLeaf | undefined, reason: Explanation): AuditDifference[] {
	const right = String(safeRecompute(reason));
	if (leaf === undefined) return [{ what: "score", who, stated: "left out", right }];
	const stated = String(leaf.scorePpm);
	const evidence = `0x${reason.evidence ?? NO_EVIDENCE}`;
	return [
		...(stated === right ? [] : [{ what: "score", who, stated, right }]),
		...(evidence === leaf.evidenceSha256
			? []
			: [{ what: "evidence", who, stated: leaf.evidenceSha256, right: evidence }]),
	];
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
