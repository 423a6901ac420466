// The first hour of somebody who types `npm start`: a fresh `assay up`, its three hosts, and jobs of every
// kind in a loop, several at a time, as a user types them. Kept is when hosts were ready for jobs, whether
// one was lost, what came of every job, why probes were made again, what roll calls said, and every line of
// the log with a word that accuses an honest host. Ends with 1 where something of this is not as it should
// be.
//   node bench/jobs/first-hour.ts [--minutes 30] [--busy 0] [--at-once 3] [--kinds gpt,render] [--write]
// `--busy` adds loops that keep a core busy, from the start on; `--write` makes
// bench/results/network-first-hour-<date>.json, or -busy-.
import { rmSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { ApiClient } from "../../src/api/create-client.ts";
import { quantile, writeNetworkResult } from "../network-result.ts";
import { openTrialNetwork, startProgram, type TrialNetwork } from "./trial-network.ts";

const { values } = parseArgs({
	options: {
		minutes: { type: "string", default: "30" },
		busy: { type: "string", default: "0" },
		"at-once": { type: "string", default: "3" },
		kinds: { type: "string" },
		write: { type: "boolean", default: false },
	},
});

const HOSTS = 3;
const READY_WITHIN_S = 180;
/** After that nothing can be tried. */
const GIVE_UP_S = 600;
const LOOK_EVERY_MS = 2000;

/** Sample and method, by kind of work: each method several times. */
const KINDS: Readonly<Record<string, readonly [sample: string, method: string]>> = {
	gpt: ["gpt-mini", "redundant:2"],
	mlp: ["mlp-exact", "optimistic"],
	llama: ["llama-mini", "sampled:4"],
	cnn: ["cnn", "sampled:4"],
	lora: ["lora", "redundant:2"],
	generate: ["generate", "optimistic"],
	embed: ["embed", "redundant:2"],
	classify: ["classify", "sampled:1"],
	simulate: ["gray-scott", "sampled:4"],
	render: ["render-spheres", "redundant:2"],
	// Not among the ten: name it, as it keeps the cores busy for a minute and more.
	zk: ["mlp-proof", "zk"],
};
const DEFAULT_KINDS = Object.keys(KINDS).filter((kind) => kind !== "zk");

/** Nobody lies and nothing fails here: a line with one of these accuses somebody, or says what is not so. */
const FALSE_WORDS =
	/slower than it was|came to nothing|late for roll calls|INVALID|suspicio|accus|slashed|convict|fraud|\bfalse\b|\bwrong\b|absent|CALL_TOO_LITTLE|0 devices together|no roll call was answered|abandoned|ended:|^left /i;
/** `up` says at its start what the watcher is for. */
const NO_FALSE_WORD = /^watcher {3}optimistic jobs are run again here/;

const startMs = Date.now();
const sinceS = () => Number(((Date.now() - startMs) / 1000).toFixed(1));
const log: { readonly s: number; readonly line: string }[] = [];

interface DoneJob {
	readonly kind: string;
	readonly method: string;
	readonly atS: number;
	readonly tookS: number;
	readonly exit: number | null;
	/** Of what it said last; null: it was done. */
	readonly code: string | null;
	readonly said: string;
}

async function submit(network: TrialNetwork, kind: string, number: number): Promise<DoneJob> {
	const [sample, method] = KINDS[kind]!;
	const atS = sinceS();
	const out = join(network.folder, `job-${number}`);
	const args = ["job", "submit", `samples/${sample}.json`, "--method", method, "--yes", "--out", out];
	const { exit, lines } = await network.type(...args);
	rmSync(out, { recursive: true, force: true });
	const end = lines.slice(-3).join(" | ");
	const code = exit === 0 ? null : (/\[([A-Z_]+)\]/.exec(lines.join("\n"))?.[1] ?? "UNKNOWN");
	const tookS = Number((sinceS() - atS).toFixed(1));
	console.log(`${atS} s  ${kind} ${method}: ${exit === 0 ? `done in ${tookS} s` : `${exit} ${code} ${end}`}`);
	return { kind, method, atS, tookS, exit, code, said: exit === 0 ? "" : end };
}

/** Hosts that may be drawn, each time that their number changes. */
function watchHosts(network: TrialNetwork) {
	const changes: { readonly s: number; readonly ready: number }[] = [];
	/** Processes that ran or waited for a core, of the whole machine: other work beside this one shows here. */
	const loads: number[] = [];
	const stopping = new AbortController();
	const watching = (async () => {
		while (!stopping.signal.aborted) {
			const ready = await network.hosts();
			if (ready !== null && ready !== changes.at(-1)?.ready) {
				changes.push({ s: sinceS(), ready });
				console.log(`${sinceS()} s  ${ready} hosts ready`);
			}
			loads.push(loadavg()[0]!);
			await sleep(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
		}
	})();
	const stop = async () => {
		stopping.abort();
		await watching;
	};
	return { changes, loads, stop };
}

async function runJobs(network: TrialNetwork, kinds: readonly string[], untilS: number): Promise<readonly DoneJob[]> {
	const done: DoneJob[] = [];
	let next = 0;
	const work = async () => {
		while (sinceS() < untilS) {
			const number = next++;
			done.push(await submit(network, kinds[number % kinds.length]!, number));
		}
	};
	await Promise.all(Array.from({ length: Number(values["at-once"]) }, work));
	return done;
}

const countBy = (words: readonly string[]): Record<string, number> => {
	const counts: Record<string, number> = {};
	for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
	return counts;
};

/** What the network says of its probes and calls at the end. */
async function told(client: ApiClient) {
	const { probes } = await client.network();
	const { rows: calls } = await client.listRollCalls({ query: { limit: 100 } });
	const states: string[] = [];
	for (const { call } of calls) {
		const { rows } = await client.listRollCallAnswers({ params: { call }, query: { limit: 100 } });
		for (const { state, code } of rows) states.push(code === null ? state : `${state} ${code}`);
	}
	const again = log.flatMap(({ line }) => /^probe .* is made again: (.*)$/.exec(line)?.[1] ?? []);
	return {
		probes: { total: probes.total, madeAgain: countBy(again) },
		rollCalls: { calls: calls.length, answers: countBy(states) },
	};
}

function byKind(jobs: readonly DoneJob[]) {
	return Object.fromEntries(
		[...new Set(jobs.map(({ kind }) => kind))].map((kind) => {
			const own = jobs.filter((job) => job.kind === kind);
			const done = own.filter(({ exit }) => exit === 0).map(({ tookS }) => tookS);
			const failed = countBy(own.flatMap(({ code }) => code ?? []));
			return [
				kind,
				{ jobs: own.length, done: done.length, medianS: quantile(done, 0.5), mostS: quantile(done, 1), failed },
			];
		}),
	);
}

/** What must be so (the issue's own words), each with what was found instead. */
function faultsOf(found: {
	readonly readyS: number | null;
	readonly leastAfter: number | null;
	readonly jobs: readonly DoneJob[];
	readonly falseLines: readonly object[];
	readonly exit: number | null;
}): readonly string[] {
	const failed = found.jobs.filter(({ exit }) => exit !== 0).length;
	return [
		...(found.readyS === null || found.readyS > READY_WITHIN_S
			? [`${HOSTS} hosts were ready after ${found.readyS} s`]
			: []),
		...(found.leastAfter !== null && found.leastAfter < HOSTS ? [`only ${found.leastAfter} hosts were left`] : []),
		...(failed > 0 ? [`${failed} of ${found.jobs.length} jobs were not done`] : []),
		...(found.falseLines.length > 0 ? [`${found.falseLines.length} lines have a false word`] : []),
		...(found.exit === 0 ? [] : [`up ended with ${found.exit}`]),
	];
}

const busy = Array.from({ length: Number(values.busy) }, () => startProgram(["-e", "for (;;);"], () => {}));
const endBusy = () => {
	for (const { child } of busy) child.kill("SIGKILL");
};
process.once("exit", endBusy);
const up = await openTrialNetwork({
	said(line) {
		log.push({ s: sinceS(), line });
		console.log(`${sinceS()} s  up: ${line}`);
	},
});
// Stopped before its end, it leaves nothing running: its own children alone, by their numbers.
for (const signal of ["SIGINT", "SIGTERM"] as const)
	process.once(signal, async () => {
		await up.close();
		process.exit(1);
	});
try {
	const liveS = sinceS();
	const { client } = up;
	const hosts = watchHosts(up);
	const readyAt = () => hosts.changes.find(({ ready }) => ready >= HOSTS)?.s ?? null;
	while (readyAt() === null && sinceS() < GIVE_UP_S && up.isUp()) await sleep(500);
	const readyS = readyAt();
	const kinds = values.kinds?.split(",") ?? DEFAULT_KINDS;
	const jobs = readyS === null ? [] : await runJobs(up, kinds, sinceS() + 60 * Number(values.minutes));
	const jobsEndS = sinceS();
	await hosts.stop();
	const after = readyS === null ? [] : hosts.changes.filter(({ s }) => s >= readyS);
	const end = await told(client);
	const exit = await up.close();
	const falseLines = log.filter(({ line }) => FALSE_WORDS.test(line) && !NO_FALSE_WORD.test(line));
	const leastAfter = after.length === 0 ? null : Math.min(...after.map(({ ready }) => ready));
	const faults = faultsOf({ readyS, leastAfter, jobs, falseLines, exit });
	const result = {
		settings: { minutes: Number(values.minutes), busy: busy.length, atOnce: Number(values["at-once"]), kinds },
		machine: {
			cores: availableParallelism(),
			medianLoad: quantile(hosts.loads, 0.5),
			maxLoad: quantile(hosts.loads, 1),
		},
		seconds: { live: liveS, ready: readyS, end: jobsEndS },
		hosts: { changes: hosts.changes, leastOnceReady: leastAfter },
		jobs: { total: jobs.length, done: jobs.filter((one) => one.exit === 0).length, byKind: byKind(jobs) },
		failed: jobs.filter((one) => one.exit !== 0),
		...end,
		falseLines,
		faults,
	};
	console.log(JSON.stringify(result, null, "\t"));
	if (values.write) console.log(writeNetworkResult(`first-hour${busy.length > 0 ? "-busy" : ""}`, result));
	process.exitCode = faults.length > 0 ? 1 : 0;
} finally {
	await up.close();
	endBusy();
}
