// The service under floods: a real `assay validate`, attackers and readers in processes of their own, on one
// machine.
//   bash scripts/node.sh bench/floods.ts [--seconds 20] [--only NAME,…]
// Each flood runs for a while beside somebody else's reads, and goes on while the service is stopped. Exit
// code 1 when a figure is beyond what docs/network.md §4 promises. Results:
// bench/results/network-floods-….json; the promises themselves are tested without times in `npm test`. Faults
// (clocks, disks, journals): bench/faults.ts.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startChild } from "../tests/network/child-program.ts";
import type { FloodName } from "./floods/flooder.ts";
import { seen, type Watched } from "./floods/seen.ts";
import { type DataFolder, forgetPeak, makeDataFolder, pagesOf, startService } from "./floods/service.ts";
import { writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: { seconds: { type: "string", default: "20" }, only: { type: "string" } },
});
const SECONDS = Number(values.seconds);
/** The service makes its caches and compiles its code first. */
const WARM_UP_MS = 3000;

/** docs/network.md §4. */
const MOST = { memoryMiB: 800, healthP99Ms: 100, readsP99Ms: 200, stopS: 5 };

const FLOODS: Readonly<Partial<Record<FloodName | "nobody", string>>> = {
	nobody: "no flood, to compare with",
	readersAndRoutes: "2,000 readers that do not read and 100 requests a second on every route, one address",
	slowReaders: "2,000 readers of evidence that do not read, one address",
	everyRoute: "100 requests a second on every route, one address",
	manyAddresses: "100 requests a second from each of 20 addresses",
	newConnections: "a connection for each request, 40 at a time, one address",
	idleConnections: "12,000 connections from 100 addresses that say nothing (N13)",
	slowHeads: "2,000 requests whose head never ends, one address",
	eventStreams: "1,000 event streams that nobody reads, 20 addresses",
	changedAgents: "20 proven agents that say `changed` 45 times a second (N3)",
	squattedDoor: "320 agent links of five addresses that prove nothing (N18)",
	newProviders: "a new provider ten times a second, one address (N10)",
};

async function runFlood(name: FloodName | "nobody", data: DataFolder) {
	const folder = data.copy();
	const service = await startService(folder.path);
	const target = { url: service.url, key: service.key, known: data.known, pages: pagesOf(data.known) };
	const watcher = startChild(import.meta.resolve("./floods/watcher.ts"));
	const flooder = name === "nobody" ? null : startChild(import.meta.resolve("./floods/flooder.ts"));
	try {
		await watcher.ask("start", target);
		await sleep(WARM_UP_MS);
		await watcher.ask("stop");
		forgetPeak(service.pid);
		await flooder?.ask("start", { name, target });
		await sleep(1000);
		await watcher.ask("start", target);
		const fromS = service.cpuS();
		await sleep(SECONDS * 1000);
		const coresUsed = Number(((service.cpuS() - fromS) / SECONDS).toFixed(2));
		const watched = await watcher.ask<Watched>("stop");
		const [health, reads] = [seen(watched.health), seen(watched.reads)];
		const memoryMiB = service.memoryMiB();
		const answered = (await flooder?.ask<Record<string, number>>("counts")) ?? {};
		const { stopS, ending } = await service.stop();
		const wrong = [
			memoryMiB > MOST.memoryMiB && `${memoryMiB} MiB`,
			(health.p99Ms ?? Infinity) > MOST.healthP99Ms && `health p99 ${health.p99Ms} ms`,
			(reads.p99Ms ?? Infinity) > MOST.readsP99Ms && `reads p99 ${reads.p99Ms} ms`,
			Object.keys({ ...health.failed, ...reads.failed }).length > 0 && "others were refused",
			(stopS > MOST.stopS || ending !== 0) && `stop ${stopS} s, ${ending}`,
		].filter((one) => one !== false);
		return { name, what: FLOODS[name], memoryMiB, coresUsed, health, reads, stopS, answered, wrong };
	} finally {
		flooder?.kill("SIGKILL");
		watcher.kill("SIGKILL");
		await service.kill();
		folder.remove();
	}
}

const only = values.only?.split(",");
const data = await makeDataFolder();
try {
	const rows = [];
	for (const name of Object.keys(FLOODS) as (keyof typeof FLOODS)[]) {
		if (only && !only.includes(name)) continue;
		const row = await runFlood(name, data);
		const { health, reads, memoryMiB, coresUsed, stopS, wrong } = row;
		console.error(
			`${name}: health p50 ${health.p50Ms} p99 ${health.p99Ms} ms, reads p50 ${reads.p50Ms} p99 ${reads.p99Ms} ms, ${memoryMiB} MiB, ${coresUsed} cores, stop ${stopS} s; ` +
				`${JSON.stringify(row.answered)} ${JSON.stringify({ ...health.failed, ...reads.failed })} ${wrong.join(", ") || "ok"}`,
		);
		rows.push(row);
	}
	const result = { seconds: SECONDS, most: MOST, floods: rows };
	if (!only) console.log(writeNetworkResult("floods", result));
	process.exitCode = rows.some(({ wrong }) => wrong.length > 0) ? 1 : 0;
} finally {
	data.remove();
}
process.exit();
