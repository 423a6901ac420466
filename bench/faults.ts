// The service under faults: clocks that jump, a disk without room, few descriptors, a damaged journal. A real
// `assay validate` in a process of its own.
//   bash scripts/node.sh bench/faults.ts [--only NAME,…]
// Exit code 1 when something is not as it should be. Results: bench/results/network-faults-….json. Floods:
// bench/floods.ts.
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startChild } from "../tests/network/child-program.ts";
import { seen, type Watched } from "./floods/seen.ts";
import { makeDataFolder, pagesOf, startService } from "./floods/service.ts";
import { writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({ options: { only: { type: "string" } } });
const only = values.only?.split(",");
const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
const DAY = 86_400_000;

const statusOf = async (url: string, path: string) => (await fetch(url + path)).status;
async function untilStatus(url: string, path: string, status: number, withinMs = 30_000): Promise<boolean> {
	for (const fromMs = performance.now(); performance.now() - fromMs < withinMs; await sleep(200))
		if ((await statusOf(url, path).catch(() => 0)) === status) return true;
	return false;
}

const data = await makeDataFolder();

/** Agents that are there and refuse every engine: each attempt to probe one is a probe of its own. */
async function clocks() {
	const rows = [];
	for (const [name, offMs] of [
		["a day ahead", DAY],
		["a day back", -DAY],
		["30 years ahead", 30 * 365 * DAY],
		["30 years back", -30 * 365 * DAY],
	] as const) {
		const folder = data.copy();
		const clock = join(folder.path, "clock");
		const agents = startChild(import.meta.resolve("./floods/flooder.ts"));
		process.env.CLOCK_FILE = clock;
		writeFileSync(clock, "0");
		const preload = fileURLToPath(new URL("./floods/shifted-clock.mjs", import.meta.url));
		let service = await startService(folder.path, { nodeArguments: ["--import", preload] });
		try {
			const probes = async () => {
				const text = await (await fetch(`${service.url}/metrics`)).text();
				return [...text.matchAll(/^assay_probes_total\{[^}]*\} (\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
			};
			await agents.ask("start", {
				name: "busyAgents",
				target: { url: service.url, key: service.key, known: data.known },
			});
			await sleep(8000);
			const before = await probes();
			writeFileSync(clock, String(offMs));
			await sleep(10_000);
			const whileWrong = (await probes()) - before;
			const isReady = (await statusOf(service.url, "/v1/ready")) === 200;
			// It is started anew while the clock is wrong, and again when it is right.
			await service.stop();
			service = await startService(folder.path, { nodeArguments: ["--import", preload] });
			await service.stop();
			writeFileSync(clock, "0");
			service = await startService(folder.path, { nodeArguments: ["--import", preload] });
			const isReadyAgain = await untilStatus(service.url, "/v1/ready", 200);
			const { stopS } = await service.stop();
			// Ten agents with a retry after a minute at the soonest: nobody's turn comes twice in ten seconds.
			rows.push({
				name,
				before,
				whileWrong,
				isReady,
				isReadyAgain,
				stopS,
				ok: isReady && isReadyAgain && whileWrong <= 10,
			});
		} finally {
			agents.kill("SIGKILL");
			await service.kill();
			folder.remove();
		}
	}
	return rows;
}

async function fullDisk() {
	const folder = data.copy();
	const service = await startService(folder.path);
	const limit = (bytes: string) => execFileSync("prlimit", ["--pid", String(service.pid), `--fsize=${bytes}:`]);
	try {
		const before = await statusOf(service.url, "/v1/ready");
		limit("4096");
		const isTold = await untilStatus(service.url, "/v1/ready", 503);
		const health = await statusOf(service.url, "/v1/health");
		limit("unlimited");
		const isBack = await untilStatus(service.url, "/v1/ready", 200);
		const { stopS } = await service.stop();
		return [
			{ name: "no room for evidence", before, isTold, health, isBack, stopS, ok: isTold && health === 200 && isBack },
		];
	} finally {
		await service.kill();
		folder.remove();
	}
}

async function fewDescriptors() {
	const folder = data.copy();
	const service = await startService(folder.path, { descriptors: 1024 });
	const target = { url: service.url, key: service.key, known: data.known, pages: pagesOf(data.known) };
	const flooder = startChild(import.meta.resolve("./floods/flooder.ts"));
	const watcher = startChild(import.meta.resolve("./floods/watcher.ts"));
	try {
		await flooder.ask("start", { name: "fewIdle", target });
		await sleep(4000);
		await watcher.ask("start", target);
		await sleep(10_000);
		const watched = await watcher.ask<Watched>("stop");
		const [health, reads] = [seen(watched.health), seen(watched.reads)];
		const ready = await statusOf(service.url, "/v1/ready");
		const files = globSync(`/proc/${service.pid}/fd/*`).length;
		const { stopS } = await service.stop();
		const failed = { ...health.failed, ...reads.failed };
		const ok = ready === 200 && files < 1024 - 100 && Object.keys(failed).length === 0;
		return [{ name: "1,024 descriptors, 1,500 idle connections", ready, files, health, reads, stopS, ok }];
	} finally {
		for (const child of [flooder, watcher]) child.kill("SIGKILL");
		await service.kill();
		folder.remove();
	}
}

/** A chain that was killed, and one bit of its journal. */
async function damagedJournal() {
	const folder = data.copy();
	let service = await startService(folder.path, { arguments: ["--chain"] });
	try {
		await service.kill();
		const journal = join(folder.path, "chain/embedded/blocks.jsonl");
		const bytes = readFileSync(journal);
		bytes[Math.floor(bytes.length / 2)]! ^= 1;
		writeFileSync(journal, bytes);
		const refused = await startService(folder.path, { arguments: ["--chain"] }).then(
			async (started) => {
				await started.kill();
				return "";
			},
			(error: Error) => /\[([A-Z_]+)\]/.exec(error.message)?.[1] ?? error.message.slice(0, 200),
		);
		const repair = spawnSync(process.execPath, [main, "chain", "repair", "--data", folder.path], { encoding: "utf8" });
		service = await startService(folder.path, { arguments: ["--chain"] });
		const isReady = await untilStatus(service.url, "/v1/ready", 200);
		const { stopS } = await service.stop();
		const ok = refused.startsWith("CHAIN") && repair.status === 0 && isReady;
		return [{ name: "a flipped bit in the journal", refused, repair: repair.stdout.trim(), isReady, stopS, ok }];
	} finally {
		await service.kill();
		folder.remove();
	}
}

const FAULTS = { clocks, fullDisk, fewDescriptors, damagedJournal };
try {
	const rows = [];
	for (const [name, run] of Object.entries(FAULTS)) {
		if (only && !only.includes(name)) continue;
		const found = await run().catch((error: Error) => [{ name, ok: false, why: error.stack }]);
		for (const row of found) console.error(JSON.stringify(row));
		rows.push(...found);
	}
	if (!only) console.log(writeNetworkResult("faults", { faults: rows }));
	process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;
} finally {
	data.remove();
}
process.exit();
