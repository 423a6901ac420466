// What a fraud file shows, for people. Numbers and hashes only: no text of the accused is in it.
import { codes } from "../../protocol/codes.ts";
import { FRAUD_SHOWS, type FraudVerdict, type ValidFraud } from "../../verify/optimistic/fraud/fraud-verdict.ts";
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
		...storyLines(verdict),
		`  shown   by ${kind === "element" ? "its " : ""}${shows}`,
		`  said    ${said}`,
		`  ${kind === "words" ? "also" : "right"}`.padEnd(10) + right,
		...(signer === null ? [] : [`  signed  by 0x${signer}: the chain tells whether that account made the claim`]),
		...findings.map(({ code, detail }) => `  ${paint.unsure("note")}  ${code}: ${detail}`),
	];
}

/** Where it happened, from the large to the small: one line each, so that it reads as a story. */
function storyLines({ segment, step, phase, op, operator, element, operand, tensor }: ValidFraud): string[] {
	return [
		`  segment ${segment}`,
		...(step === null ? [] : [`  step    ${step}`]),
		...(op === null ? [] : [`  op      ${op} of ${phase === "init" ? "the init ops" : "a step"} (${operator})`]),
		...(element === null ? [] : [`  element ${element}`]),
		...(operand === null ? [] : [`  operand ${operand}`]),
		...(tensor === null ? [] : [`  tensor  ${tensor}`]),
	];
}
