// What `npm run simulate -- --jobs N` prints: cheaters on paper (as many tries of each as were asked for), then all of them once in a network of N jobs.
import { type Campaign, campaignOf } from "./paper-campaign.ts";
import { PAPER_CHEATS } from "./paper-cheats.ts";
import { type JobsReport, type PartyReport, simulateJobs } from "./simulate-jobs.ts";

interface Asked {
	readonly jobs: number;
	readonly tries: number;
	readonly seed: number;
	readonly isJson: boolean;
}

/** True: all is as the page says. */
export async function simulateJobMarket({ jobs, tries, seed, isJson }: Asked): Promise<boolean> {
	const paper = PAPER_CHEATS.map((cheat) => {
		console.error(`on paper: ${cheat.name}`);
		return campaignOf(cheat, { tries, seed });
	});
	const network = await simulateJobs({ jobs, onProgress: (line) => console.error(line) });
	const off = paper.filter(({ sigmas, wronged }) => Math.abs(sigmas) > 3 || wronged.length > 0);
	const ok = off.length === 0 && network.ok;
	console.log(isJson ? JSON.stringify({ paper, network, ok }, null, "\t") : tableOf(paper, network, ok));
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

function partyLine({ name, ended, gain, outcomes }: PartyReport): string {
	const counts = [...Map.groupBy(outcomes, (one) => one)].map(([one, all]) => `${one} ×${all.length}`);
	return `  ${name.padEnd(30)}${(ended ?? "").padEnd(12)}${gain.toFixed(5).padStart(12)}  ${counts.join(", ")}`;
}

function tableOf(paper: readonly Campaign[], network: JobsReport, ok: boolean): string {
	const head = "found  formula     σ  false      gain   honest  customer validator   burned";
	const { parties, jobs, missed, wronged, seconds } = network;
	return [
		`on paper, ${paper[0]?.tries ?? 0} tries of each; tokens a job, gas and work taken off`,
		`  ${"".padEnd(36)}${head}`,
		...paper.map(paperLine),
		`in a network: ${jobs.length} jobs, ${jobs.reduce((sum, { attempts }) => sum + attempts, 0)} attempts in ${seconds.toFixed(0)} s; tokens before and after`,
		...parties.map(partyLine),
		`ended otherwise than they must: ${missed.length}${missed.map((one) => `\n  ${one}`).join("")}`,
		`honest ones that lost: ${wronged.length}${wronged.map((one) => `\n  ${one}`).join("")}`,
		ok ? "OK: every cheater ended as it must, nobody honest lost anything" : "NOT OK",
	].join("\n");
}
