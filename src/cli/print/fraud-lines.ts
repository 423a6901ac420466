// What a fraud file shows, for people. Numbers and hashes only: no text of the accused is in it.
import { codes } from "../../protocol/codes.ts";
import { FRAUD_SHOWS, type FraudVerdict, fraudPlace } from "../../verify/optimistic/fraud/fraud-verdict.ts";
import type { Paint } from "./paint.ts";

export function fraudLines(verdict: FraudVerdict, paint: Paint): string[] {
	if (verdict.status !== "valid") {
		const explained = codes[verdict.code as keyof typeof codes];
		return [
			`${paint.bad(paint.strong("INVALID"))}  ${verdict.code}${verdict.where === "" ? "" : ` at ${verdict.where}`}`,
			`  ${verdict.detail}`,
			...(explained === undefined ? [] : [`  ${explained.meaning}`, paint.dim(`  ${explained.hint}`)]),
		];
	}
	const { kind, shows, said, right, accused, findings, signer } = verdict;
	return [
		`${paint.good(paint.strong("FRAUD PROVEN"))}  ${FRAUD_SHOWS[kind]}`,
		`  claim   ${accused}`,
		`  place   ${fraudPlace(verdict)}`,
		`  shown   by ${kind === "element" ? "its " : ""}${shows}`,
		`  said    ${said}`,
		`  ${kind === "words" ? "also" : "right"}`.padEnd(10) + right,
		...(signer === null ? [] : [`  signed  by 0x${signer}: the chain tells whether that account made the claim`]),
		...findings.map(({ code, detail }) => `  ${paint.unsure("note")}  ${code}: ${detail}`),
	];
}
