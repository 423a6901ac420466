// What a receipt of a zkVM shows, for people. Hex only: no text of the prover is in it.
import { codes } from "../../protocol/codes.ts";
import type { ReceiptVerdict } from "../../verify/receipts/verdict.ts";
import type { Paint } from "./paint.ts";

/** Of public values; the JSON has all of them. */
const MOST_DIGITS = 128;

export function receiptLines(verdict: ReceiptVerdict, isPinned: boolean, paint: Paint): string[] {
	if (verdict.status !== "valid") {
		const { meaning, hint } = codes[verdict.code];
		return [
			`${paint.bad(paint.strong("INVALID"))}  ${verdict.code}`,
			`  ${verdict.detail}`,
			`  ${meaning}`,
			paint.dim(`  ${hint}`),
		];
	}
	const { system, release, program, values, findings } = verdict;
	const any = isPinned ? "" : paint.dim("  (any program accepted; --program ID requires one)");
	const shown = values.length > MOST_DIGITS ? `${values.slice(0, MOST_DIGITS)}…` : values;
	return [
		`${paint.good(paint.strong("VALID"))}  a program ran to its end and gave these public values`,
		`  proof    ${system}, ${release}`,
		`  program  ${program}${any}`,
		`  values   ${shown === "" ? "none" : shown}  (${values.length / 2} bytes)`,
		...findings.map(({ code, detail }) => `  ${paint.unsure("note")}  ${code}: ${detail}`),
	];
}
