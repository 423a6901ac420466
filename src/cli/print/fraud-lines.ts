// What a fraud file shows, for people. Numbers and hashes only: no text of the accused is in it.
import { codes } from "../../protocol/codes.ts";
import type { FraudVerdict, ValidFraud } from "../../verify/work/fraud-verdict.ts";
import type { Paint } from "./paint.ts";

const SHOWS: Readonly<Record<ValidFraud["kind"], string>> = {
	element: "an element is not what the op gives",
	wire: "an op read something other than what its program says",
	end: "the state after a segment is not what its ops gave",
	start: "the run did not begin with zeros",
	result: "the claimed result is not that of the last state",
};

function placeOf({ segment, phase, step, op, operator, element, operand, tensor }: ValidFraud): string {
	return [
		`segment ${segment}`,
		...(step === null ? [] : [`step ${step}`]),
		...(op === null ? [] : [`${phase} op ${op} (${operator})`]),
		...(element === null ? [] : [`element ${element}`]),
		...(operand === null ? [] : [`operand ${operand}`]),
		...(tensor === null ? [] : [`tensor ${tensor}`]),
	].join(", ");
}

export function fraudLines(verdict: FraudVerdict, paint: Paint): string[] {
	if (verdict.status !== "valid") {
		const explained = codes[verdict.code as keyof typeof codes];
		return [
			`${paint.bad(paint.strong("INVALID"))}  ${verdict.code}${verdict.where === "" ? "" : ` at ${verdict.where}`}`,
			`  ${verdict.detail}`,
			...(explained === undefined ? [] : [`  ${explained.meaning}`, paint.dim(`  ${explained.hint}`)]),
		];
	}
	const { kind, shows, said, right, accused, findings } = verdict;
	return [
		`${paint.good(paint.strong("FRAUD PROVEN"))}  ${SHOWS[kind]}`,
		`  claim   ${accused}`,
		`  place   ${placeOf(verdict)}`,
		`  shown   by ${kind === "element" ? "its " : ""}${shows}`,
		`  said    ${said}`,
		`  right   ${right}`,
		...findings.map(({ code, detail }) => `  ${paint.unsure("note")}  ${code}: ${detail}`),
	];
}
