// A score in one sentence: what it is made of, the weakest part first. Pure; the tree of terms stands behind
// it.
import type { Score } from "../../src/api/types.ts";
import { formatScore } from "../parts/format.ts";

/** Factors of a score as people call them; others are called as the score calls them. */
const WORDS: Readonly<Record<string, string>> = {
	gpu: "its GPUs, as a share of a full host",
	host: "CPU, RAM and disk",
	reliability: "reliability",
	"roll calls": "roll calls answered",
};

export function scoreSentence({ scorePpm, terms, mode }: Score): string {
	// Scores by model, and of a host that is rented, may be above 1.
	const head = mode === "holistic" && scorePpm <= 1_000_000 ? `${formatScore(scorePpm)} of 1` : formatScore(scorePpm);
	if (terms.why !== "") return `${head}: ${terms.why}`;
	const factors = terms.root.from
		.filter((part) => typeof part !== "string")
		.filter(({ unit, value }) => unit === "ppm" && value < 1_000_000)
		.sort((a, b) => a.value - b.value)
		.map(({ name, value }) => `${WORDS[name] ?? name} ${(value / 1e4).toFixed(value < 1e5 ? 1 : 0)} %`);
	if (factors.length === 0) return `${head}: nothing takes anything off.`;
	return `${head}: ${factors.join(" × ")}.`;
}
