// Are the stated figures those that the facts give? Which of them count is judged in ../memory/.
import type { EvidenceBody, Figure } from "../../../protocol/probe/evidence.ts";
import type { Answered } from "../answers.ts";
import { figuresOf } from "../derive-figures.ts";
import { type Fault, fault } from "../fault.ts";

export function checkFigures(
	answers: readonly Answered[],
	body: Pick<EvidenceBody, "claim" | "figures">,
): Fault | null {
	const derived = figuresOf(answers, body.claim);
	for (const [i, figure] of derived.entries()) {
		const stated = body.figures[i];
		const field = stated === undefined ? "" : differing(stated, figure);
		if (field !== null)
			return fault(
				"FIGURES_MISMATCH",
				`figures[${i}]${field && `.${field}`}`,
				`the facts give ${figure.name} ${figure.value} ${figure.unit}`,
			);
	}
	if (body.figures.length > derived.length)
		return fault("FIGURES_MISMATCH", `figures[${derived.length}]`, "the facts give no such figure");
	return null;
}

function differing(stated: Figure, derived: Figure): string | null {
	for (const field of ["device", "name", "value", "unit", "challenge"] as const)
		if (stated[field] !== derived[field]) return field;
	return null;
}
