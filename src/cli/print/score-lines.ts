// A score for people: in one line with its main terms, or as a tree of every term down to the evidence and
// the parameters it was read from. Pure. The numbers are the API's; `assay scores --json` has them exactly.
import type { Score, ScoreTerm } from "../../api/types.ts";
import { ruleWords } from "../../market/scores/explanation.ts";
import { formatFigure } from "./format.ts";
import type { Paint } from "./paint.ts";
import { formatScore, shown } from "./table.ts";

function formatTerm({ name, value, unit }: ScoreTerm): string {
	if (unit === "ppm") return formatScore(value);
	if (unit === "1") return String(value);
	if (unit === "ms") return `${value} ms`;
	return formatFigure({ name, value, unit: shown(unit, 10) });
}

const termsOf = (term: ScoreTerm) => term.from.filter((one): one is ScoreTerm => typeof one !== "string");
const sourcesOf = (term: ScoreTerm) => term.from.filter((one): one is string => typeof one === "string");

/** "0.031250 = gpu 0.1 × host 0.5 × …", and for 0 why. */
export function scoreLine({ scorePpm, terms }: Score): string {
	const parts = termsOf(terms.root);
	const why = terms.why === "" ? "" : `: ${shown(terms.why, 200)}`;
	const product =
		parts.length === 0 ? "" : ` = ${parts.map((part) => `${shown(part.name)} ${formatTerm(part)}`).join(" × ")}`;
	return `${formatScore(scorePpm)}${product}${why}`;
}

const SHORT_HASH = 12;

/** `evidence` marks hashes; a parameter, a profile or a state is shown as it is named. */
function sourceText(source: string): string {
	if (/^[0-9a-f]{64}$/.test(source)) return `evidence ${source.slice(0, SHORT_HASH)}…`;
	return shown(source, 80);
}

/** Long lists of equal terms (a history of 100 probes) are cut; --json has all. */
const MAX_BELOW = 12;

export function scoreTree({ terms }: Score, paint: Paint): string[] {
	const lines: string[] = [];
	const walk = (term: ScoreTerm, head: string, tail: string) => {
		const weights = term.weights === undefined ? "" : ` (weights ${term.weights.join(", ")})`;
		const rule = term.rule === "given" ? "" : shown(ruleWords(term.rule), 50);
		const sources = sourcesOf(term).map(sourceText).join(", ");
		const note = [sources === "" ? "" : `from ${sources}`, rule === "" ? "" : `${rule}${weights}`]
			.filter(Boolean)
			.join("; ");
		lines.push(
			`${paint.dim(head)}${shown(term.name)} ${paint.strong(formatTerm(term))}${note === "" ? "" : paint.dim(`  ${note}`)}`,
		);
		const below = termsOf(term);
		const kept = below.slice(0, MAX_BELOW);
		const left = below.length - kept.length;
		for (const [i, one] of kept.entries()) {
			const isLast = i === kept.length - 1 && left === 0;
			walk(one, `${tail}${isLast ? "└ " : "├ "}`, `${tail}${isLast ? "  " : "│ "}`);
		}
		if (left > 0) lines.push(paint.dim(`${tail}└ and ${left} more: --json has all`));
	};
	walk(terms.root, "  ", "  ");
	return lines;
}
