// What `npm run simulate -- --jobs N` prints: cheaters on paper (as many tries of each as were asked for),
// then all of them, once in every round, in a network with N jobs in flight, then those who cheat together.
import { type CoalitionReport, tryCoalitions } from "./coalitions.ts";
import { type Campaign, campaignOf } from "./paper-campaign.ts";
import { PAPER_CHEATS } from "./paper-cheats.ts";
import { type JobsReport, type KindReport, type PartyReport, simulateJobs } from "./simulate-jobs.ts";
import type { SeriesSum } from "./simulate-series.ts";

interface Asked {
	readonly jobs: number;
	readonly rounds: number;
	readonly atOnce: number;
	/** No round comes later. */
	readonly roundsWithinMs: number;
	/** By their names; null: all. */
	readonly cheats: readonly string[] | null;
	readonly tries: number;
	readonly seed: number;
	readonly isJson: boolean;
	/** Those who cheat together are left out. */
	readonly isAlone: boolean;
}

/** True: all is as the page says. */
export async function simulateJobMarket({
	jobs,
	rounds,
	atOnce,
	roundsWithinMs,
	cheats,
	tries,
	seed,
	isJson,
	isAlone,
}: Asked): Promise<boolean> {
	const paper = (tries === 0 ? [] : PAPER_CHEATS).map((cheat) => {
		console.error(`on paper: ${cheat.name}`);
		return campaignOf(cheat, { tries, seed });
	});
	const network = await simulateJobs({
		...{ jobs, rounds, atOnce, roundsWithinMs },
		...(cheats && { cheats }),
		onProgress: (line) => console.error(line),
	});
	const together =
		cheats || isAlone ? [] : await tryCoalitions({ tries: rounds, onProgress: (line) => console.error(line) });
	const off = paper.filter(({ sigmas, wronged }) => Math.abs(sigmas) > 3 || wronged.length > 0);
	const ok = off.length === 0 && network.ok && together.every(({ wrong }) => wrong.length === 0);
	const found = { paper, network, together, ok };
	console.log(isJson ? JSON.stringify(found, null, "\t") : tableOf(found));
	return ok;
}

const tokens = (micros: number): string => (micros / 1e6).toFixed(3);

function paperLine({ name, tries, caught, chance, sigmas, falsePaid, ...money }: Campaign): string {
	const { gainMicros, honestMicros, customerMicros, validatorMicros, burnedMicros, wronged } = money;
	const found = `${((100 * caught) / tries).toFixed(1)} %`.padStart(8);
	const said = `${(100 * chance).toFixed(1)} %`.padStart(8);
	const sums = [gainMicros, honestMicros, customerMicros, validatorMicros, burnedMicros].map((one) =>
		tokens(one).padStart(9),
	);
	const wrong = wronged.length === 0 ? "" : `  WRONGED: ${wronged[0]}`;
	return `  ${name.padEnd(34)}${found}${said}${sigmas.toFixed(1).padStart(6)}${String(falsePaid).padStart(7)}${sums.join("")}${wrong}`;
}

const counted = (all: readonly string[]): string =>
	[...Map.groupBy(all, (one) => one)].map(([one, same]) => `${one} ×${same.length}`).join(", ");

function kindLine({ kind, ends, tries, caught, chance, sigmas, gain }: KindReport): string {
	const found = `${caught} of ${tries}`.padStart(12);
	const said = `${(100 * chance).toFixed(1)} %`.padStart(9);
	return `  ${kind.padEnd(30)}${ends.padEnd(11)}${found}${said}${sigmas.toFixed(1).padStart(6)}${gain.toFixed(5).padStart(12)}`;
}

function partyLine({ name, ended, gain, gas, outcomes }: PartyReport): string {
	const spent = `${(gas / 1e6).toFixed(2)} M`.padStart(10);
	return `  ${name.padEnd(50)}${(ended ?? "").padEnd(18)}${gain.toFixed(5).padStart(12)}${spent}  ${counted(outcomes)}`;
}

function togetherLine({ name, ended, tries, chance, sigmas, gain, customer, others, wrong }: CoalitionReport): string {
	const found = `${tries - (ended.paid ?? 0)} of ${tries}`.padStart(12);
	const said = `${(100 * chance).toFixed(1)} %`.padStart(9);
	const sums = [gain, customer, others].map((one) => one.toFixed(5).padStart(12)).join("");
	return `  ${name.padEnd(54)}${found}${said}${sigmas.toFixed(1).padStart(6)}${sums}${wrong.map((one) => `  WRONG: ${one}`).join("")}`;
}

/** Of many networks. */
export function seriesTable({
	networks,
	jobs,
	attempts,
	seconds,
	kinds,
	missed,
	wronged,
	broken,
	ok,
}: SeriesSum): string {
	return [
		`${networks} networks: ${jobs} jobs, ${attempts} attempts in ${seconds.toFixed(0)} s`,
		`  ${"cheater".padEnd(30)}${"ends".padEnd(11)}${"caught".padStart(12)}  formula     σ  tokens a try`,
		...kinds.map(kindLine),
		`ended otherwise than they must: ${missed.length}${missed.map((one) => `\n  ${one}`).join("")}`,
		`honest ones that lost: ${wronged.length}${wronged.map((one) => `\n  ${one}`).join("")}`,
		`networks that did not come to their end: ${broken.length}${broken.map((one) => `\n  ${one}`).join("")}`,
		ok ? "OK: every cheater ended as it must, nobody honest lost anything" : "NOT OK",
	].join("\n");
}

interface Found {
	readonly paper: readonly Campaign[];
	readonly network: JobsReport;
	readonly together: readonly CoalitionReport[];
	readonly ok: boolean;
}

function tableOf({ paper, network, together, ok }: Found): string {
	const head = "found  formula     σ  false      gain   honest  customer validator   burned";
	const { parties, kinds, jobs, missed, wronged, seconds } = network;
	const told = parties.filter(({ kind }) => kind === null);
	return [
		`on paper, ${paper[0]?.tries ?? 0} tries of each; tokens a job, gas and work taken off`,
		`  ${"".padEnd(36)}${head}`,
		...paper.map(paperLine),
		`in a network: ${jobs.length} jobs, ${jobs.reduce((sum, { attempts }) => sum + attempts, 0)} attempts in ${seconds.toFixed(0)} s`,
		`  ${"cheater".padEnd(30)}${"ends".padEnd(11)}${"caught".padStart(12)}  formula     σ  tokens a try`,
		...kinds.map(kindLine),
		"  everybody else, with tokens and gas of all jobs",
		...told.map(partyLine),
		"  those who cheat together, tokens a try: their own, their customer's, of auditors and validator",
		...together.map(togetherLine),
		`ended otherwise than they must: ${missed.length}${missed.map((one) => `\n  ${one}`).join("")}`,
		`honest ones that lost: ${wronged.length}${wronged.map((one) => `\n  ${one}`).join("")}`,
		ok ? "OK: every cheater ended as it must, nobody honest lost anything" : "NOT OK",
	].join("\n");
}
