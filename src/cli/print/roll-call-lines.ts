// The verdict on a roll call's file for people: whether it is true, on whose word, and what it shows at
// least. Pure.
import { formatPercent } from "../../protocol/format-number.ts";
import type { RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import { type RollVerdict, type ValidRollCall, whoCouldLie, wordOf } from "../../protocol/roll-call/roll-verdict.ts";
import { figureLabel } from "./figures.ts";
import { formatFigure } from "./format.ts";
import type { Paint } from "./paint.ts";
import { findingLines, verdictLine } from "./verdict-table.ts";

function validLine(verdict: ValidRollCall, paint: Paint): string {
	const word = wordOf(verdict);
	return `${paint.good(paint.strong("VALID"))}${word === null ? "" : `, on the word of ${word}`}`;
}

const timeOf = (atS: number): string => new Date(1000 * atS).toISOString().replace(".000", "");

export function rollCallLines(
	verdict: RollVerdict,
	body: RollCallBody | null,
	isPinned: boolean,
	paint: Paint,
): string[] {
	if (verdict.status !== "valid" || body === null)
		return verdict.status === "valid" ? [] : [verdictLine(verdict, paint)];
	const { chain, calledAtS, committedAtS, strength, figures, confidence } = verdict;
	const by = body.beacon.kind === "block" ? "block" : "drand round";
	const anyContract = isPinned ? "" : paint.dim("  (any contract accepted; --roll-call ADDRESS requires one)");
	const weakest = Math.max(...confidence.map(({ skippedShareAt99 }) => skippedShareAt99));
	return [
		validLine(verdict, paint),
		`  strength ${strength}: ${whoCouldLie(verdict)}`,
		`  chain ${chain.id}, contract ${chain.contract}${anyContract}`,
		`  called by ${by} ${verdict.call} at ${timeOf(calledAtS)}`,
		`  committed to by ${verdict.validator} in block ${body.committed.number}, ${committedAtS - calledAtS} s later`,
		`  answered by ${verdict.host}`,
		"",
		...figures.map(
			(figure) => `  device ${figure.device}  ${figureLabel(figure.name)} at least ${formatFigure(figure)}`,
		),
		paint.dim(`  99 % confidence that no more than ${formatPercent(weakest)} of it was skipped, by this call alone`),
		...findingLines(verdict, paint),
	];
}
