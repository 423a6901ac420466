// Everybody who cheats in jobs, played to the end of its window for each method and with both voices, in
// whole networks (tests/jobs/played/): who was convicted, who was paid, and what everybody had before
// and after. Networks mostly wait, so several run at once, each a process of its own.
//   bash scripts/node.sh bench/jobs/liars.ts [--at-once 4] [--only TEXT] [--into FILE]     writes
//     bench/results/network-job-liars-<date>.json, unless --only chooses some; exit code 1 when anything is
//     wrong in any of them. FILE keeps each network as a line: what is in it is not played again.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { NETWORKS } from "../../tests/jobs/played/play-networks.ts";
import { type PlayReport, playOut } from "../../tests/jobs/played/play-out.ts";
import { writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({
	options: {
		"at-once": { type: "string", default: "4" },
		only: { type: "string", default: "" },
		into: { type: "string" },
		/** One network, in this process. */
		play: { type: "string" },
	},
});

const onProgress = (line: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

function played(name: string): Promise<PlayReport> {
	const { promise, resolve, reject } = Promise.withResolvers<PlayReport>();
	const args = [import.meta.filename, "--play", name];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
	let report: PlayReport | null = null;
	createInterface({ input: child.stdout }).on("line", (line) => {
		report = JSON.parse(line) as PlayReport;
	});
	child.on("error", reject);
	child.on("close", (code) => (report === null ? reject(new Error(`${name}: exit code ${code}`)) : resolve(report)));
	return promise;
}

const { into } = values;
const lines = into !== undefined && existsSync(into) ? readFileSync(into, "utf8").trim().split("\n") : [];
const kept = lines.map((line) => JSON.parse(line) as PlayReport);

const broken: string[] = [];
async function playAll(names: readonly string[]): Promise<PlayReport[]> {
	const reports = [...kept];
	// Those of many first: the others fill the end.
	const left = names
		.filter((name) => !kept.some((one) => one.name === name))
		.toSorted((a, b) => Number(b.endsWith("providers")) - Number(a.endsWith("providers")));
	const one = async () => {
		for (let name = left.shift(); name !== undefined; name = left.shift()) {
			const report = await played(name).catch((error: unknown) => void broken.push(String(error)));
			if (!report) continue;
			reports.push(report);
			if (into !== undefined) appendFileSync(into, `${JSON.stringify(report)}\n`);
			onProgress(`${name}: ${report.wrong.length === 0 ? "right" : report.wrong.join("; ")}, ${report.seconds} s`);
		}
	};
	await Promise.all(Array.from({ length: Number(values["at-once"]) }, one));
	return names.flatMap((name) => reports.filter((report) => report.name === name));
}

const round = (value: number): number => Number(value.toFixed(6));
const brief = ({ parties, jobs, hours, ...rest }: PlayReport) => ({
	...rest,
	hours: Number(hours.toFixed(2)),
	jobs: jobs.map(({ state, attempts }) => `${state} in ${attempts}`).join(", "),
	parties: parties.map(({ before, after, outcomes, ended, ...party }) => ({
		...party,
		...(ended && { ended }),
		outcomes: outcomes.join(", "),
		...{ before: round(before), after: round(after), gain: round(after - before) },
	})),
});

function sumOf(reports: readonly PlayReport[]) {
	const tries = reports.flatMap(({ parties }) => parties.filter(({ ended }) => ended !== null));
	const ends = Map.groupBy(tries, ({ ended }) => ended!);
	const honest = reports.flatMap(({ parties, isBlessed }) =>
		parties.filter(({ role }) => ["worker", "auditor"].includes(role) || (role === "validator" && !isBlessed)),
	);
	return {
		networks: reports.length,
		tries: tries.length,
		ended: Object.fromEntries([...ends].map(([end, of]) => [end, of.length])),
		gained: tries.filter(({ before, after }) => after > before).map(({ name, ended }) => `${name}: ${ended}`),
		honest: honest.length,
		honestThatLost: honest.filter(({ before, after }) => after < before).length,
	};
}

if (values.play !== undefined) {
	const play = NETWORKS.find(({ name }) => name === values.play)!;
	console.log(JSON.stringify(await playOut({ ...play, onProgress })));
	process.exit(0);
}
const names = NETWORKS.map(({ name }) => name).filter((name) => name.includes(values.only));
const began = performance.now();
const reports = await playAll(names);
const wrong = [...broken, ...reports.flatMap(({ name, wrong: all }) => all.map((one) => `${name}: ${one}`))];
const seconds = Math.round((performance.now() - began) / 1000);
const result = { command: `bench/jobs/liars.ts --at-once ${values["at-once"]}`, seconds, ...sumOf(reports), wrong };
console.log(JSON.stringify(result, null, "\t"));
if (values.only === "") console.log(writeNetworkResult("job-liars", { ...result, played: reports.map(brief) }));
process.exitCode = wrong.length === 0 ? 0 : 1;
