// A score term by term, down to the evidence; worked out again here, so that a wrong sum would be seen.
import type { Score, ScoreTerm } from "../../src/api/types.ts";
import { type Explanation, ruleWords } from "../../src/market/scores/explanation.ts";
import { mismatchesOf } from "../../src/market/scores/recompute.ts";
import { formatFigure, formatScore, shortId } from "../parts/format.ts";
import { scoreSentence } from "./score-sentence.ts";

/** Deeper than any explanation of ours. */
const DEEPEST = 16;

/** What does not add up, as text; empty when all of it does. */
function wrongTerms(score: Score): readonly string[] {
	try {
		return mismatchesOf(score.terms as unknown as Explanation).map(
			({ where, stated, recomputed }) => `${where}: says ${stated}, gives ${recomputed}`,
		);
	} catch (error) {
		return [error instanceof Error ? error.message : "the terms cannot be followed"];
	}
}

export function ScoreTree({ score }: { score: Score }) {
	const wrong = wrongTerms(score);
	return (
		<>
			<p class="lead">{scoreSentence(score)}</p>
			<p>
				{wrong.length === 0 ? (
					<span class="agrees">✓ worked out again in this browser: equal</span>
				) : (
					<span class="differs">✕ does not follow from its terms: {wrong.join("; ")}</span>
				)}
			</p>
			<details>
				<summary>Every term, down to the evidence ({score.mode} scoring)</summary>
				<ul class="terms">
					<Term term={score.terms.root} depth={0} />
				</ul>
			</details>
		</>
	);
}

function Term({ term, depth }: { term: ScoreTerm; depth: number }) {
	const terms = term.from.filter((part): part is ScoreTerm => typeof part !== "string");
	const sources = term.from.filter((part): part is string => typeof part === "string");
	const line = (
		<span class="term-line">
			<span>{term.name}</span>
			<span class="dim">{terms.length === 0 ? sources.map(sourceName).join(", ") : ruleWords(term.rule)}</span>
			<span class="num">{formatTerm(term)}</span>
		</span>
	);
	if (terms.length === 0 || depth >= DEEPEST) return <li>{line}</li>;
	return (
		<li>
			<details open={depth < 2}>
				<summary>{line}</summary>
				<ul>
					{terms.map((part, i) => (
						<Term key={i} term={part} depth={depth + 1} />
					))}
				</ul>
			</details>
		</li>
	);
}

/** Millionths are shares and scores here, some above 1: as the number that they are. */
const formatTerm = ({ value, unit, name }: ScoreTerm) =>
	unit === "ppm" ? formatScore(value) : formatFigure(value, unit, name);

function sourceName(source: string): string {
	if (/^[0-9a-f]{64}$/.test(source)) return `evidence ${shortId(source)}`;
	return source.replace(/^params:/, "parameter ").replace(/^state:/, "");
}
