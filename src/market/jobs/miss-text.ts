// Which limit of a job a host misses, and by how much, in words: for the customer that is told why nobody
// fits, and for lists of hosts. Pure.
import { formatBytes, formatPercent, wholeSpan } from "../../protocol/format-number.ts";
import type { JobMethod } from "../../protocol/network/job.ts";
import { ATTESTED_LEVELS } from "../../protocol/probe/verdict.ts";
import type { Miss } from "./fitting-hosts.ts";

const MICROS = 1_000_000;
/** 1840000 → "1.84 tokens" */
export const tokensText = (micros: number): string => `${(micros / MICROS).toFixed(6).replace(/\.?0+$/, "")} tokens`;

/** Small times are told in full: "3 s" twice would say nothing. */
const spanText = (ms: number): string => (ms < 90_000 ? `${ms / 1000} s` : wholeSpan(ms));

/** What follows "the host": "proved 1.00 GiB of memory, and the job takes 2.00 GiB: 1.00 GiB too little". */
export const missText = ({ why, has, wants }: Miss, method: JobMethod["name"]): string =>
	TEXTS[why](has, wants, method);

const TEXTS: Readonly<Record<Miss["why"], (has: number, wants: number, method: string) => string>> = {
	method: (_has, _wants, method) => `takes no jobs that are checked by ${method}`,
	attested: (has, wants) =>
		`showed level ${ATTESTED_LEVELS[has]} in its last probe, and ${ATTESTED_LEVELS[wants]} is needed`,
	memory: (has, wants) =>
		has === 0
			? `proved no memory (its last probe has no figure memory.resident), and the job takes ${formatBytes(wants)}`
			: `proved or allows ${formatBytes(has)} of memory, and the job takes ${formatBytes(wants)}: ${formatBytes(wants - has)} too little`,
	speed: () => "proved no speed (its last probe lacks the figure gemm.int8 or memory.bandwidth)",
	minutes: (has, wants) =>
		`takes parts of at most ${spanText(has)}, and this one may take ${spanText(wants)}: ${spanText(wants - has)} too long`,
	time: (has, wants) =>
		`takes ${spanText(has)} at its proven speed, and ${spanText(wants)} are left for it: ${spanText(has - wants)} too long`,
	price: (has, wants) =>
		`costs ${tokensText(has)} for a part, and ${tokensText(wants)} are paid: ${tokensText(has - wants)} too dear`,
	reliability: (has, wants) =>
		`has a reliability of ${formatPercent(has / MICROS)}, and ${formatPercent(wants / MICROS)} is the least`,
	bond: (has, wants) =>
		`can lock ${tokensText(has)}, and the bond is ${tokensText(wants)}: ${tokensText(wants - has)} too little`,
	busy: () => "is at work",
	excluded: () => "had this part before",
};

/** A host that is there and takes jobs, and cannot be drawn yet. */
export interface AbsentHost {
	readonly provider: string;
	/** Of its last probe; null: none has ended yet. */
	readonly lastVerdict: string | null;
	/** Names of figures, each of some device. */
	readonly proven: ReadonlySet<string>;
}

const FIGURES: readonly (readonly [figure: string, words: string])[] = [
	["gemm.int8", "int8 speed"],
	["memory.bandwidth", "memory bandwidth"],
];

function lackOf({ lastVerdict, proven }: AbsentHost): string {
	if (lastVerdict === null) return "has not been probed yet";
	if (lastVerdict !== "valid") return `has a last probe that is ${lastVerdict}`;
	const lacking = FIGURES.filter(([figure]) => !proven.has(figure)).map(([, words]) => words);
	return lacking.length === 0
		? "is held back (a dispute, or parts that it lost)"
		: `has not proven ${lacking.join(" and ")} yet`;
}

/** Why none of them may be drawn, each reason once. `what`: " others", beside some that fit. */
export function absentText(hosts: readonly AbsentHost[], what = ""): string | null {
	const counts = new Map<string, number>();
	for (const host of hosts) counts.set(lackOf(host), (counts.get(lackOf(host)) ?? 0) + 1);
	const reasons = [...counts].map(([why, count]) => (count === 1 ? `one ${why}` : `${count} of them: each ${why}`));
	return reasons.length === 0 ? null : `of ${hosts.length}${what} that are there and take jobs, ${reasons.join("; ")}`;
}
