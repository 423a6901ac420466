// What the network's benches share: quantiles, the CPU of PostgreSQL's processes, and the file of results
// with machine and commit.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Rounded to microseconds (or whatever the millionth of the unit is); null of nothing. */
export function quantile<Value>(
	values: readonly Value[],
	share: number,
	of: (value: Value) => number = Number,
): number | null {
	const sorted = values.map(of).sort((a, b) => a - b);
	if (sorted.length === 0) return null;
	const at = Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1);
	return Number(sorted[Math.max(0, at)]!.toFixed(3));
}

const TICKS_PER_S = 100;

/**
 * CPU seconds of all processes called postgres that are alive, and of the ended children of those; of one
 * server and its processes where it is named.
 */
export function postgresCpuS(server?: number): number {
	let ticks = 0;
	for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
		let stat: string;
		try {
			stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		} catch {
			continue; // It ended in between.
		}
		if (!stat.includes("(postgres)")) continue;
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		if (server !== undefined && Number(pid) !== server && Number(fields[1]) !== server) continue;
		for (const at of [11, 12, 13, 14]) ticks += Number(fields[at]);
	}
	return ticks / TICKS_PER_S;
}

/** Writes bench/results/network-<name>-<date>.json and returns its path in the repository. */
export function writeNetworkResult(name: string, result: object): string {
	const [cpu] = cpus();
	const date = new Date().toISOString().slice(0, 10);
	const path = `bench/results/network-${name}-${date}.json`;
	const facts = {
		machine: {
			// Some ARM systems do not name their processor here.
			cpu: cpu?.model === "unknown" || !cpu ? process.arch : cpu.model,
			cores: cpus().length,
			memoryGiB: Math.round(totalmem() / 2 ** 30),
			os: `Linux ${release()}`,
			node: process.version,
			loadAverageAtTheEnd: loadavg().map((load) => Number(load.toFixed(2))),
		},
		commit:
			process.env.COMMIT ??
			execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, encoding: "utf8" }).trim(),
		date,
	};
	writeFileSync(join(root, path), `${JSON.stringify({ ...facts, ...result }, null, "\t")}\n`);
	return path;
}
