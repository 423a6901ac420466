// Does a report say what its reasons give? Every leaf against the score that its terms multiply out to and
// the evidence they name. Pure; which files and which chain is the caller's affair.
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ReportReasons } from "../epochs/reasons-file.ts";
import type { Explanation } from "../scores/explanation.ts";
import { recompute } from "../scores/recompute.ts";

/** What can differ, with the word for people. docs/epochs.md §6. */
const WORDS = {
	REPORT_MISSING: "report",
	REPORT_WRONG: "report",
	REASON_WRONG: "reason",
	SCORE_WRONG: "score",
	EVIDENCE_WRONG: "evidence",
	FIGURE_WRONG: "figure",
	BEACON_WRONG: "beacon",
	PARAMS_WRONG: "params",
	SET_WRONG: "set",
	ID_WRONG: "id",
	BASE_WRONG: "base",
	SIGNATURE_WRONG: "signature",
	STAKE_WRONG: "stake",
	WEIGHTS_MISSING: "weights",
	ROOT_WRONG: "root",
	SUMS_WRONG: "sums",
	WEIGHT_WRONG: "weight",
	EARNED_WRONG: "earned",
	TOTAL_WRONG: "total",
	POT_WRONG: "pot",
	PAYMENT_WRONG: "payment",
	SHOWN_WRONG: "shown",
	STATEMENT_WRONG: "statement",
} as const;

export type AuditCode = keyof typeof WORDS;

export interface AuditDifference {
	readonly code: AuditCode;
	/** A short name of what was compared: "score", "evidence", "weight", … */
	readonly what: string;
	/** Whose: a provider's or a validator's account, or the id of weights. */
	readonly who: string;
	readonly stated: string;
	readonly right: string;
}

export const difference = (
	code: AuditCode,
	who: string,
	stated: string | number | bigint,
	right: string | number | bigint,
): AuditDifference => ({ code, what: WORDS[code], who, stated: String(stated), right: String(right) });

export interface AuditedTerms {
	/** How many leaves had terms. */
	readonly scores: number;
	readonly differences: readonly AuditDifference[];
	/** Of the leaves that were wanted. */
	readonly reasons: ReadonlyMap<Hex, Explanation>;
}

const NO_EVIDENCE = "0".repeat(64);

/**
 * Every leaf against what its terms multiply out to, one at a time: all of them would not fit into memory.
 */
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
				differences.push(difference("REASON_WRONG", who, "two", "one"));
				continue;
			}
			seen.add(who);
			const leaf = listed.get(who);
			differences.push(...termDifferences(who, leaf, reason));
			if (leaf !== undefined && wanted.has(leaf)) reasons.set(who, reason);
		}
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		differences.push(difference("REASON_WRONG", validator, "its terms", error.message));
		return { scores: seen.size, differences, reasons };
	}
	const missing = leaves.filter(({ provider }) => !seen.has(provider));
	for (const { provider: who, scorePpm } of missing)
		differences.push(difference("REASON_WRONG", who, scorePpm, "none is kept"));
	return { scores: leaves.length - missing.length, differences, reasons };
}

function termDifferences(who: Hex, leaf: ScoreLeaf | undefined, reason: Explanation): AuditDifference[] {
	const right = String(safeRecompute(reason));
	if (leaf === undefined) return [difference("SCORE_WRONG", who, "left out", right)];
	const stated = String(leaf.scorePpm);
	const evidence = `0x${reason.evidence ?? NO_EVIDENCE}`;
	return [
		...(stated === right ? [] : [difference("SCORE_WRONG", who, stated, right)]),
		...(evidence === leaf.evidenceSha256 ? [] : [difference("EVIDENCE_WRONG", who, leaf.evidenceSha256, evidence)]),
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
