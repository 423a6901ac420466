// npm run simulate [-- --providers 1000 --cheaters 0.3 --validators 1 --processes 2 --json] npm run simulate
// -- --jobs 6 [--rounds 1 --at-once 1 --rounds-within SECONDS --cheat NAME --tries 1000 --seed 1 --json]:
// cheaters of jobs instead, on paper and in a network (tests/jobs/). npm run simulate -- --jobs 6 --rounds 4
// --series 25 [--minutes 60 --into FILE]: so many networks one after the other, each a process of its own;
// FILE keeps what they found. Exit code 0: every cheater was caught and no honest provider accused; 1: not
// so; 64: it was asked wrongly.
import { parseArgs } from "node:util";
import { seriesTable, simulateJobMarket } from "../jobs/simulate-jobs-main.ts";
import { simulateSeries } from "../jobs/simulate-series.ts";
import { type KindReport, type SimulationReport, simulate } from "./simulate.ts";
import { CHEAT_KINDS } from "./simulated-kinds.ts";

function numberOf(text: string, name: string, least: number, most: number): number {
	const value = Number(text);
	if (!(value >= least && value <= most)) {
		console.error(`--${name} must be a number from ${least} to ${most}`);
		process.exit(64);
	}
	return value;
}

const { values } = parseArgs({
	options: {
		providers: { type: "string", default: "1000" },
		cheaters: { type: "string", default: "0.3" },
		validators: { type: "string", default: "1" },
		processes: { type: "string", default: "2" },
		json: { type: "boolean", default: false },
		jobs: { type: "string" },
		rounds: { type: "string", default: "1" },
		"at-once": { type: "string", default: "1" },
		"rounds-within": { type: "string", default: "1200" },
		cheat: { type: "string", multiple: true },
		tries: { type: "string", default: "1000" },
		seed: { type: "string", default: "1" },
		series: { type: "string" },
		minutes: { type: "string", default: "60" },
		into: { type: "string" },
		/** One of a series: those who cheat together are left out. */
		alone: { type: "boolean", default: false },
	},
});
if (values.jobs !== undefined && values.series !== undefined) {
	const sum = await simulateSeries({
		networks: numberOf(values.series, "series", 0, 100_000),
		jobs: numberOf(values.jobs, "jobs", 1, 1000),
		rounds: numberOf(values.rounds, "rounds", 1, 1000),
		atOnce: numberOf(values["at-once"], "at-once", 1, 1000),
		roundsWithinMs: 1000 * numberOf(values["rounds-within"], "rounds-within", 0, 100_000),
		cheats: values.cheat ?? null,
		limitMs: 60_000 * numberOf(values.minutes, "minutes", 1, 10_000),
		into: values.into ?? null,
		onProgress: (line) => console.error(line),
	});
	console.log(values.json ? JSON.stringify(sum, null, "\t") : seriesTable(sum));
	process.exit(sum.ok ? 0 : 1);
}
if (values.jobs !== undefined) {
	const isRight = await simulateJobMarket({
		jobs: numberOf(values.jobs, "jobs", 1, 1000),
		rounds: numberOf(values.rounds, "rounds", 1, 1000),
		atOnce: numberOf(values["at-once"], "at-once", 1, 1000),
		roundsWithinMs: 1000 * numberOf(values["rounds-within"], "rounds-within", 0, 100_000),
		cheats: values.cheat ?? null,
		// 0: none on paper.
		tries: numberOf(values.tries, "tries", 0, 1_000_000),
		seed: numberOf(values.seed, "seed", 0, 2 ** 31),
		...{ isJson: values.json, isAlone: values.alone },
	});
	process.exit(isRight ? 0 : 1);
}
const report = await simulate({
	providers: numberOf(values.providers, "providers", 1, 100_000),
	cheaters: numberOf(values.cheaters, "cheaters", 0, 0.99),
	validators: numberOf(values.validators, "validators", 1, 64),
	processes: numberOf(values.processes, "processes", 1, 64),
	onProgress: (line) => console.error(line),
});
console.log(values.json ? JSON.stringify(report, null, "\t") : tableOf(report));
process.exit(report.ok ? 0 : 1);

function tableOf(r: SimulationReport): string {
	const line = (k: KindReport) => {
		const how = k.isHonest
			? `${k.proven} proven${k.accused ? `, ${k.accused} ACCUSED` : ""}${k.unproven ? `, ${k.unproven} NOT PROVEN` : ""}`
			: `${k.accused} accused, ${k.unproven} never proven${k.proven ? `, ${k.proven} PASSED` : ""}`;
		const codes = Object.entries(k.outcomes).map(([outcome, count]) => `${outcome} ×${count}`);
		return `  ${k.kind.padEnd(24)} ${String(k.providers).padStart(5)}  ${how.padEnd(32)} ${codes.join(", ")}`;
	};
	const honest = r.kinds.filter((k) => k.isHonest);
	const cheating = r.kinds.filter((k) => !k.isHonest);
	const sum = (kinds: readonly KindReport[], of: "providers") => kinds.reduce((total, k) => total + k[of], 0);
	const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
	return [
		`honest providers: ${sum(honest, "providers")}`,
		...honest.map(line),
		`cheaters: ${sum(cheating, "providers")} of ${cheating.length} kinds (of ${CHEAT_KINDS.length})`,
		...cheating.map(line),
		`passed although cheating: ${r.missed.length}${r.missed.map((one) => `\n  ${one}`).join("")}`,
		`accused or unproven although honest: ${r.wronged.length}${r.wronged.map((one) => `\n  ${one}`).join("")}`,
		`without a verdict: ${r.waiting}; honest ones that were forgiven a late or broken answer: ${r.forgiven}`,
		`${r.probes} probes in ${r.seconds.toFixed(1)} s, ${r.probesPerS.toFixed(1)} a second; due to begun: median ${r.lagS.p50.toFixed(1)} s, p99 ${r.lagS.p99.toFixed(1)} s`,
		`validator: ${r.validator.cpuS.toFixed(1)} s of CPU, ${mib(r.validator.rssBytes)}; simulated providers: ${r.simulated.cpuS.toFixed(1)} s, ${mib(r.simulated.rssBytes)}`,
		r.ok ? "OK: every cheater was caught, no honest provider was accused" : "NOT OK",
	].join("\n");
}
