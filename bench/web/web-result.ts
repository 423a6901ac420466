// What the benches of the dashboard write: figures by name, with machine, load and commit, as
// bench/results/<name>-<date>.json.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { printTimes, timesOf } from "./browser-times.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Times that are printed as they come, and kept. */
export function createFigures() {
	const figures: Record<string, unknown> = {};
	return {
		figures,
		put(what: string, all: readonly number[]): void {
			printTimes(what, all);
			figures[what] = { ...timesOf(all), unit: "ms" };
		},
	};
}

export function writeWebResult(name: string, what: string, result: object): void {
	const date = new Date().toISOString().slice(0, 10);
	const commit = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
	const load = loadavg().map((one) => Number(one.toFixed(1)));
	const machine = { cpu: process.arch, cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30) };
	const facts = { what, command: process.argv.slice(2).join(" "), date, commit, machine, node: process.version };
	const path = `bench/results/${name}-${date}.json`;
	writeFileSync(`${root}${path}`, `${JSON.stringify({ ...facts, loadAtTheEnd: load, ...result }, null, "\t")}\n`);
	console.log(path);
}
