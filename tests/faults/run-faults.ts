// One run: a network, the faults of a seed while jobs are handed in and payments made, then calm, until
// everything has come to its end, and the checker's word. As a program: node tests/faults/run-faults.ts
// --seed N [--log info].
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { seeded } from "../network/crash-run.ts";
import { type Facts, wrongIn } from "./checker.ts";
import { type FaultNetwork, type NetworkOptions, openFaultNetwork } from "./fault-network.ts";
import { gatherFacts } from "./gather-facts.ts";
import { drawSchedule, type NodeFault, type OtherFault, type Schedule } from "./schedule.ts";

type Say = (line: string) => void;
interface RunOptions {
	readonly say?: Say;
	readonly log?: NetworkOptions["log"];
	/** Ends it, and whatever it started. */
	readonly signal?: AbortSignal;
}
/**
 * From the end of the faults to the end of the last job: far longer than all times of a job together, also
 * where each of its hosts is lost once on a machine that stands still at times. It only ends what hangs.
 */
const MAX_CALM_MS = 600_000;

/** Hosts dial in again, and are found to be there, within some seconds. */
const CALM_TRIES = 60;
/** What a command said last, without a stack. */
const lastOf = (said: string) =>
	said
		.split("\n")
		.filter((line) => /\[[A-Z_]+\]|rror/.test(line))
		.at(-1)
		?.slice(0, 400) ?? "";
const accountAt = (seed: number, n: number) =>
	accountOf(
		`0x${(BigInt(seed) * 1000n + BigInt(n) + (1n << 200n)).toString(16).padStart(64, "0")}`,
	).address.toLowerCase();

async function failNode({ net, bad }: FaultNetwork, fault: NodeFault, random: () => number): Promise<void> {
	if ("fork" in fault) {
		await net.fork(fault.fork, () => random() < 0.8);
		return;
	}
	bad.set(fault.node);
	await sleep(fault.forMs);
	bad.set({});
}

async function failOther({ places, hosts }: FaultNetwork, { kind, at, forMs }: OtherFault): Promise<void> {
	const place = places[at % places.length]!;
	const { line } = hosts[at]!;
	switch (kind) {
		case "database cut":
			return place.database.cut(forMs / 2);
		case "database frozen":
			// As a host that vanished: what it had open says nothing any more, and is never told to be over.
			return place.database.freeze();
		case "database slow":
			place.database.delay(50);
			await sleep(forMs);
			return place.database.delay(0);
		case "validator killed":
			return place.kill(forMs / 2);
		case "validator frozen":
			return place.freeze(forMs);
		case "disk full":
			place.limitFiles("4096");
			await sleep(forMs);
			return void place.limitFiles("unlimited");
		case "clock an hour ahead":
		case "clock an hour back":
			place.shiftClock(kind === "clock an hour back" ? -3_600_000 : 3_600_000);
			await sleep(forMs);
			return place.shiftClock(0);
		case "link broken":
			for (const untilMs = Date.now() + forMs; Date.now() < untilMs; await sleep(200)) line.drop();
			return;
		case "host frozen":
			line.freeze();
			await sleep(forMs);
			return line.thaw();
	}
}

/**
 * As a person does: types it again when it failed, until it went through. Not null: it failed in calm weather
 * too.
 */
async function customer(network: FaultNetwork, at: number, calm: Promise<unknown>, say: Say): Promise<string | null> {
	let last = "";
	let isCalm = false;
	void calm.then(() => {
		isCalm = true;
	});
	for (let left = CALM_TRIES; left > 0; await sleep(2000)) {
		if (isCalm) left -= 1;
		const { code, said } = await network.type(at, ...["job", "submit", "life.json", "--yes", "--detach"]);
		last = lastOf(said);
		say(`job submit: ${code} ${code === 0 ? "" : last}`);
		if (code === 0) return null;
	}
	return `a job could not be handed in although all was calm: ${last}`;
}

async function pay(network: FaultNetwork, at: number, to: string, say: Say): Promise<Facts["payments"][number]> {
	const { code, said } = await network.type(at, ...["chain", "send", to, "5"]);
	const isUnknown = /0x[0-9a-f]{64}/.test(said) && /CHAIN_UNKNOWN|is not deep enough/.test(said);
	const outcome = code === 0 ? "done" : isUnknown ? "unknown" : "refused";
	say(`chain send: ${outcome} ${code === 0 ? "" : lastOf(said)}`);
	return { to, value: 5n * 10n ** 18n, outcome };
}

/** Every job that the validator knows is over; false: not in that time. */
export async function areOver({ sql }: FaultNetwork): Promise<boolean> {
	for (const untilMs = Date.now() + MAX_CALM_MS; Date.now() < untilMs; await sleep(300)) {
		const { rows } = await sql.query("SELECT count(*)::integer AS open FROM jobs WHERE NOT is_over");
		if (rows[0].open === 0) return true;
	}
	return false;
}

async function disturb(network: FaultNetwork, schedule: Schedule, say: Say): Promise<void> {
	const fromMs = Date.now();
	const random = seeded(-schedule.seed - 1);
	const track = async <T extends { readonly atMs: number }>(
		faults: readonly T[],
		fail: (fault: T) => Promise<void>,
	) => {
		for (const fault of faults) {
			await sleep(Math.max(0, fromMs + fault.atMs - Date.now()));
			say(JSON.stringify(fault));
			await fail(fault);
		}
	};
	await Promise.all([
		track(schedule.node, (fault) => failNode(network, fault, random)),
		track(schedule.others, (fault) => failOther(network, fault)),
	]);
}

export async function runFaults(seed: number, { say = () => {}, log, signal }: RunOptions = {}) {
	const schedule = drawSchedule(seed);
	const { validators, confirmations, jobs, payments } = schedule;
	const beganMs = Date.now();
	const told: Say = (line) => say(`${((Date.now() - beganMs) / 1000).toFixed(1)} s ${line}`);
	told(`seed ${seed}: ${JSON.stringify(schedule)}`);
	const network = await openFaultNetwork({ validators, confirmations, draw: seeded(seed + 0.5), ...(log && { log }) });
	signal?.addEventListener("abort", () => void network.close());
	try {
		told("the network runs");
		const disturbed = disturb(network, schedule, told);
		const calm = disturbed.then(async () => {
			for (const place of network.places) await place.ready();
			told("calm");
		});
		const ordered = Promise.all(jobs.map((ms, i) => sleep(ms).then(() => customer(network, i, calm, told))));
		const paid = Promise.all(payments.map((ms, i) => sleep(ms).then(() => pay(network, i, accountAt(seed, i), told))));
		await calm;
		const refused = (await ordered).filter((one) => one !== null);
		const sent = await paid;
		told("everything was typed");
		await areOver(network);
		told("at its end");
		const facts = await gatherFacts(network, sent);
		return { seed, schedule, facts, wrong: [...refused, ...wrongIn(facts)], seconds: (Date.now() - beganMs) / 1000 };
	} finally {
		await network.close();
	}
}

if (process.argv[1] === import.meta.filename) {
	const { values } = parseArgs({ options: { seed: { type: "string", default: "1" }, log: { type: "string" } } });
	const log = values.log as NetworkOptions["log"];
	// Its server is a process of its own, and would live on.
	const stop = new AbortController();
	process.once("SIGTERM", () => stop.abort());
	const more = { say: console.log, signal: stop.signal, ...(log && { log }) };
	const { wrong, seconds } = await runFaults(Number(values.seed), more);
	console.log(`${seconds.toFixed(0)} s; ${wrong.length === 0 ? "nothing wrong" : wrong.join("\n")}`);
	process.exit(wrong.length === 0 ? 0 : 1);
}
