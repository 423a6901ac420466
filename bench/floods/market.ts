// A market of jobs under what strangers may do for nothing (market-flooder.ts): a real `assay up` with three
// CPU hosts, jobs at work, and somebody else's reads. In one run, by turns: the idle market, jobs alone, jobs
// beside a flood. Reads under a flood take at most five times as long as in the idle market (p99), beside a
// hundred hostile quotes three times; no part of a job is lost, late or unpaid.
//   bash scripts/node.sh bench/floods/market.ts [--seconds 30] [--rounds 2] [--only NAME,…] [--quotes 100]
//     [--nice 0]
// `--nice=-10` gives the validator, its database and the readers that priority, on a machine with other work:
// they stand for machines of their own. Hosts, customers and attackers keep theirs.
// The blobs lie on a disk of their own of 6 GiB, so it runs as root. Exit code 1 when something is not so.
// Results: bench/results/network-market-floods-….json. Floods of everything else: bench/floods.ts.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startChild } from "../../tests/network/child-program.ts";
import { openTrialNetwork, type TrialNetwork } from "../jobs/trial-network.ts";
import { quantile, writeNetworkResult } from "../network-result.ts";
import { MANY_HOLDERS } from "./holder-keys.ts";
import { JOBS_AT_ONCE, rssMiB, startJobs, startUploads, type Used, watchUsage } from "./honest-load.ts";
import type { FloodName, QuoteAnswer, Target } from "./market-flooder.ts";
import { proveHosts } from "./prove-hosts.ts";
import { type Log, seen, together, type Watched } from "./seen.ts";
import { HELD_BLOBS, mountSmallDisk } from "./small-disk.ts";

const { values } = parseArgs({
	options: {
		seconds: { type: "string", default: "30" },
		rounds: { type: "string", default: "2" },
		only: { type: "string" },
		quotes: { type: "string", default: "100" },
		nice: { type: "string", default: "0" },
	},
});
const SECONDS = Number(values.seconds);
const ROUNDS = Number(values.rounds);
const QUOTES = Number(values.quotes);
const HOSTS = 3;
const HOSTS_WITHIN_MS = 900_000;

/** What its users look at. */
const PAGES = ["/v1/network", "/v1/job-hosts", "/v1/job-market", "/v1/claims?limit=20", "/v1/providers?limit=50"];
const OWN_PAGES = ["/v1/jobs?limit=20"];

interface Flood {
	readonly what: string;
	/** Reads, p99, of the idle market's. */
	readonly maxRatio: number;
	/** Beside jobs, or in a market that is idle but for it. */
	readonly isBesideJobs: boolean;
}
const FLOODS: Readonly<Record<FloodName | "fullDisk" | "quotes" | "quotesBesideJobs", Flood>> = {
	quotes: {
		what: `${QUOTES} hostile programs quoted at once, each by a key and an address of its own`,
		maxRatio: 3,
		isBesideJobs: false,
	},
	quotesBesideJobs: { what: "the same beside jobs", maxRatio: 5, isBesideJobs: true },
	freshKeys: { what: "H1: one address, a fresh key for every 64 MiB", maxRatio: 5, isBesideJobs: true },
	fullDisk: { what: "H1: something else fills the disk of blobs to its last MiB", maxRatio: 5, isBesideJobs: true },
	unsignedJson: {
		what: "H2: 10 connections of one address, JSON of 0.9 MB with a made-up signature",
		maxRatio: 5,
		isBesideJobs: true,
	},
	signedJson: { what: "H2: the same, rightly signed by fresh keys", maxRatio: 5, isBesideJobs: true },
	announced: {
		what: "M1: 520 connections of 74 addresses announce a MiB and send none, half of them signed",
		maxRatio: 5,
		isBesideJobs: true,
	},
	manyBlobs: {
		what: `M3: ${MANY_HOLDERS} holders of ${HELD_BLOBS} blobs list them and begin more, 8 at once each`,
		maxRatio: 5,
		isBesideJobs: true,
	},
	wideBegins: { what: "M5: one address begins uploads of 32 GiB, a fresh key each", maxRatio: 5, isBesideJobs: true },
};
type Name = keyof typeof FLOODS;

/** All that runs for the validator itself: not the hosts, which are its children too. */
function prefer({ pid, dataDir }: Pick<TrialNetwork, "pid" | "dataDir">): void {
	const server = Number(readFileSync(join(dataDir, "postgres/data/postmaster.pid"), "utf8").split("\n")[0]);
	const backends = execFileSync("ps", ["-o", "pid=", "--ppid", String(server)], { encoding: "utf8" });
	const threads = readdirSync(`/proc/${pid}/task`);
	for (const one of [...threads, server, ...backends.trim().split(/\s+/)])
		setPriority(Number(one), Number(values.nice));
}

interface Phase {
	readonly watched: Watched;
	readonly usage: Used;
}

/** Reads while something happens, or for so long. */
async function reads(network: TrialNetwork, target: Target, act: () => Promise<unknown>): Promise<Phase> {
	const watcher = startChild(import.meta.resolve("./watcher.ts"));
	setPriority(watcher.pid, Number(values.nice));
	prefer(network);
	try {
		const watched = { ...target, pages: PAGES, ownPages: OWN_PAGES };
		// Its own code is compiled first.
		await watcher.ask("start", watched);
		await sleep(2000);
		await watcher.ask("stop");
		const stop = watchUsage(network);
		await watcher.ask("start", watched);
		await act();
		return { watched: await watcher.ask<Watched>("stop"), usage: stop() };
	} finally {
		watcher.kill("SIGKILL");
	}
}

const mounted: { disk?: ReturnType<typeof mountSmallDisk> } = {};
let quoted = 0;
async function underFlood(
	name: Name,
	network: TrialNetwork,
	target: Target,
): Promise<Phase & { readonly answers: object }> {
	const seconds = () => sleep(1000 * SECONDS);
	if (name === "fullDisk") {
		let phase: Phase | null = null;
		await mounted.disk!.fill(async () => {
			phase = await reads(network, target, seconds);
		});
		return { ...phase!, answers: {} };
	}
	const flooder = startChild(import.meta.resolve("./market-flooder.ts"));
	try {
		if (name === "quotes" || name === "quotesBesideJobs") {
			await flooder.ask("prepareQuotes", { target, count: QUOTES, first: quoted });
			quoted += QUOTES;
			let answers: QuoteAnswer[] = [];
			const phase = await reads(network, target, async () => {
				answers = await flooder.ask<QuoteAnswer[]>("quote", target);
			});
			return { ...phase, answers };
		}
		await flooder.ask("start", { name, target });
		await sleep(2000);
		const phase = await reads(network, target, seconds);
		return { ...phase, answers: await flooder.ask<object>("counts") };
	} finally {
		flooder.kill("SIGKILL");
		await flooder.ended;
	}
}

async function round(name: Name, network: TrialNetwork, target: Target) {
	const { isBesideJobs } = FLOODS[name];
	const seconds = () => sleep(1000 * SECONDS);
	const idle = await reads(network, target, seconds);
	const jobs = isBesideJobs ? startJobs(network) : null;
	// The first of them are prepared and uploaded.
	if (isBesideJobs) await sleep(5000);
	const besideJobs = isBesideJobs ? await reads(network, target, seconds) : null;
	const uploads = startUploads(target);
	const flood = await underFlood(name, network, target);
	const uploaded = await uploads.end();
	const done = (await jobs?.end()) ?? [];
	const rssAfterMiB = rssMiB(network);
	const p99 = ({ watched }: Phase) => quantile(watched.reads.ms, 0.99);
	console.error(
		`${name}: reads p99 idle ${p99(idle)}, jobs ${besideJobs && p99(besideJobs)}, flood ${p99(flood)} ms, loop ${flood.usage.loopP99Ms} ms, load ${flood.usage.medianLoad}; ` +
			`${done.filter(({ exit }) => exit === 0).length} of ${done.length} jobs; uploads p50 ${quantile(uploaded.ms, 0.5)} ms ${JSON.stringify(uploaded.failed)}; ` +
			`${flood.usage.maxRssMiB}, then ${rssAfterMiB} MiB; ${Array.isArray(flood.answers) ? "" : JSON.stringify(flood.answers)} ${JSON.stringify(flood.watched.reads.failed)}`,
	);
	return { idle, besideJobs, flood, uploaded, done, rssAfterMiB };
}
type Round = Awaited<ReturnType<typeof round>>;

/** By program: how many were answered and refused, how long they took, what they would cost. */
function summaryOf(answers: readonly QuoteAnswer[]) {
	return Object.fromEntries(
		[...Map.groupBy(answers, ({ program }) => program)].map(([program, all]) => {
			const codes: Record<string, number> = {};
			for (const { status, code } of all) codes[code ?? status] = (codes[code ?? status] ?? 0) + 1;
			const prices = [...new Set(all.flatMap(({ totalMicros }) => totalMicros ?? []))];
			const times = [...new Set(all.flatMap(({ referenceMs }) => referenceMs ?? []))];
			return [
				program,
				{
					codes,
					medianS: quantile(
						all.map(({ seconds }) => seconds),
						0.5,
					),
					totalMicros: prices,
					referenceMs: times,
				},
			];
		}),
	);
}

function rowOf(name: Name, rounds: readonly Round[], allIdle: readonly Phase[]) {
	const { what, maxRatio, isBesideJobs } = FLOODS[name];
	const readsOf = (phases: readonly Phase[]) => together(phases.map(({ watched }) => watched.reads));
	const p99 = (log: Log) => quantile(log.ms, 0.99)!;
	const floods = rounds.map(({ flood }) => flood);
	const beside = rounds.flatMap(({ besideJobs }) => besideJobs ?? []);
	const [idle, flood] = [readsOf(allIdle), readsOf(floods)];
	const ratio = (one: number, other: number) => Number((one / other).toFixed(2));
	const ratios = rounds.map((one) => ratio(p99(one.flood.watched.reads), p99(one.idle.watched.reads)));
	const done = rounds.flatMap((one) => one.done);
	const uploads = together(rounds.map(({ uploaded }) => uploaded));
	const answers = floods.map((one) => one.answers);
	const quotes = answers.flat().filter((one): one is QuoteAnswer => "program" in one);
	const ratioToIdle = ratio(p99(flood), p99(idle));
	const unpaid = done.filter(({ exit }) => exit !== 0);
	const wrong = [
		ratioToIdle > maxRatio && `reads p99 ${ratioToIdle} times the idle market's`,
		unpaid.length > 0 && `${unpaid.length} of ${done.length} jobs were not done`,
		isBesideJobs && done.length === 0 && "no job was done",
		Object.keys(flood.failed).length > 0 && `reads were refused: ${JSON.stringify(flood.failed)}`,
		Object.keys(uploads.failed).length > 0 && `uploads failed: ${JSON.stringify(uploads.failed)}`,
		quotes.some(({ status, code }) => status !== "200" && code === null) &&
			"a quote was neither answered nor refused with a code",
	].filter((one) => one !== false);
	return {
		...{ name, what, maxRatio, ratioToIdle, ratios },
		...(beside.length > 0 && { ratioToJobsAlone: ratio(p99(flood), p99(readsOf(beside))) }),
		...{
			idle: seen(readsOf(rounds.map((one) => one.idle))),
			jobsAlone: beside.length === 0 ? null : seen(readsOf(beside)),
			flood: seen(flood),
		},
		health: seen(together(floods.map(({ watched }) => watched.health))),
		usage: {
			idle: rounds.map((one) => one.idle.usage),
			jobsAlone: beside.map((one) => one.usage),
			flood: floods.map((one) => one.usage),
			rssAfterMiB: rounds.map((one) => one.rssAfterMiB),
		},
		jobs: {
			handedIn: done.length,
			paid: done.length - unpaid.length,
			medianS: quantile(
				done.map(({ seconds }) => seconds),
				0.5,
			),
			unpaid,
		},
		honestUploads: seen(uploads),
		...(quotes.length > 0 ? { quotes: summaryOf(quotes) } : { answered: answers }),
		wrong,
	};
}

/** Outcomes of all parts, as the market itself publishes them. */
async function outcomesOf({ client }: TrialNetwork) {
	const { jobs, outcomes } = await client.getJobMarket();
	return { jobs, parts: outcomes.total };
}

const only = values.only?.split(",");
const names = (Object.keys(FLOODS) as Name[]).filter((name) => only?.includes(name) ?? true);
/** Writes what there is so far; false where something is not as it should be. */
async function tell(network: TrialNetwork, all: ReadonlyMap<Name, Round[]>, rssBefore: number): Promise<boolean> {
	const { jobs, parts } = await outcomesOf(network);
	const allIdle = [...all.values()].flat().map(({ idle }) => idle);
	const floods = [...all].flatMap(([name, rounds]) => (rounds.length === 0 ? [] : [rowOf(name, rounds, allIdle)]));
	const { lost, late, convicted } = parts;
	const wrong = [
		lost + late + convicted > 0 && `of parts ${lost} were lost, ${late} late, ${convicted} convicted`,
		jobs.open > 0 && `${jobs.open} jobs are open`,
	].filter((one) => one !== false);
	const result = {
		settings: {
			seconds: SECONDS,
			rounds: Math.max(...[...all.values()].map(({ length }) => length)),
			nice: Number(values.nice),
			hosts: HOSTS,
			jobsAtOnce: JOBS_AT_ONCE,
			diskGiB: mounted.disk!.gib,
			pages: [...PAGES, ...OWN_PAGES],
		},
		idle: seen(together(allIdle.map(({ watched }) => watched.reads))),
		...{ jobs, parts, rssMiB: { before: rssBefore, end: rssMiB(network) }, floods, wrong },
	};
	for (const { name, ratioToIdle, ratios, wrong } of floods)
		console.error(
			`${name}: ${ratioToIdle} times the idle market's p99, by rounds ${ratios.join(", ")}; ${wrong.join(", ") || "ok"}`,
		);
	if (only) writeFileSync(join(network.folder, "..", "market-floods.json"), JSON.stringify(result, null, "\t"));
	else console.log(writeNetworkResult("market-floods", result));
	return wrong.length === 0 && floods.every((one) => one.wrong.length === 0);
}

let network: TrialNetwork | null = null;
try {
	network = await openTrialNetwork({
		prepare(dataDir) {
			mounted.disk = mountSmallDisk(join(dataDir, "blobs"));
		},
		said: (line) => console.error(`up: ${line}`),
	});
	const target: Target = { url: network.url, key: network.key };
	// Stopped before its end, it leaves nothing running nor mounted.
	for (const signal of ["SIGINT", "SIGTERM"] as const)
		process.once(signal, async () => {
			const closing = network?.close();
			mounted.disk?.unmount();
			await closing;
			process.exit(1);
		});
	if (!(await proveHosts(network, HOSTS, HOSTS_WITHIN_MS))) throw new Error("its hosts were not proven");
	const before = rssMiB(network);
	const rounds = new Map<Name, Round[]>(names.map((name) => [name, []]));
	for (let n = 0; n < ROUNDS; n++)
		for (const name of names) {
			rounds.get(name)!.push(await round(name, network, target));
			// After each: a busy machine may be wanted back before the last one.
			process.exitCode = (await tell(network, rounds, before)) ? 0 : 1;
		}
} finally {
	// Out of sight before its folder is removed; what is busy on it goes with the processes.
	const closing = network?.close();
	mounted.disk?.unmount();
	await closing;
}
process.exit();
