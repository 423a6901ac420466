// Honest probes of every card of docs/profiles.md, of slices and of cards that it does not list: simulated,
// with the plan and the rules of the product, at full and half power, alone and in two time slices, near and
// far. Is anybody accused? Prints and keeps how they were judged.
//   node bench/honest/cards.ts [PROBES] [FILE]   default 200 of a card under each condition, and
//                                                bench/results/honest-cards-<date>.json; exit code 1 when
//                                                one was accused
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import {
	CONDITIONS,
	HONEST_CARDS,
	type SimulatedVerdict,
	simulateProbe,
} from "../../src/verify/hardware/memory/simulated-probe.test-kit.ts";

const count = Number(process.argv[2] ?? 200);
const date = new Date().toISOString().slice(0, 10);
const file = process.argv[3] ?? new URL(`../results/honest-cards-${date}.json`, import.meta.url);

const tally = (words: readonly string[]): Record<string, number> => {
	const counts: Record<string, number> = {};
	for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
	return counts;
};
const isAccused = ({ code }: SimulatedVerdict) => code !== null;
const percent = (part: number, whole: number) => Math.round((1000 * part) / whole) / 10;

let accused = 0;
const conditions = Object.entries(CONDITIONS).map(([name, given], j) => {
	const byCard = HONEST_CARDS.map((card, i) => ({
		card,
		verdicts: Array.from({ length: count }, (_, seed) => simulateProbe(card, 1e6 * i + 1e4 * j + seed, given)),
	}));
	const all = byCard.flatMap(({ verdicts }) => verdicts);
	const invalid = all.filter(isAccused);
	accused += invalid.length;
	const memoryShownPercent = Object.fromEntries(
		byCard.flatMap(({ card, verdicts }) => {
			const shown = verdicts.filter(({ residentBytes }) => residentBytes !== null);
			if (shown.length === verdicts.length) return [];
			return [[card.id, percent(shown.length, verdicts.length)]];
		}),
	);
	const result = {
		...{ conditions: name, cards: byCard.length, probes: all.length, invalid: invalid.length },
		invalidBy: tally(invalid.map(({ code }) => code ?? "")),
		states: tally(all.map(({ state }) => state)),
		findings: tally(all.flatMap(({ findings }) => [...new Set(findings)])),
		/** Probes with a figure of the memory, of cards where not all have one. */
		memoryShownPercent,
	};
	console.log(`${name}: ${result.invalid} of ${result.probes} invalid`, JSON.stringify(result.states));
	return result;
});

const machine = `${process.arch}, ${availableParallelism()} cores`;
const result = { machine, date, probesOfEach: count, cards: HONEST_CARDS.length, accused, conditions };
writeFileSync(file, `${JSON.stringify(result, null, "\t")}\n`);
console.log(`${accused} accused`);
process.exitCode = accused === 0 ? 0 : 1;
