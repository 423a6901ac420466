// Whole networks in which everybody who cheats is played to the end of its window: a real validator, the
// embedded chain, providers as owners run them with one thing replaced (play-cast.ts). The clock is the
// network's own. It is set on only while nobody honest has anything to do: nobody is late for it. At the end
// everybody's tokens are counted. What it came to: docs/jobs.md §15.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "../../../src/api/types.ts";
import { bookOf, readGames } from "../../../src/chain/contracts/dispute-games.ts";
import { checkPartCall, readJobPart, signChecked } from "../../../src/chain/contracts/job-escrow.ts";
import { sendCall } from "../../../src/chain/sending/send-call.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import type { JobMethod, JobPart } from "../../../src/protocol/network/job.ts";
import type { JobOffer } from "../../../src/protocol/network/job-offer.ts";
import { attestation } from "../../../src/store/sample-rows.test-kit.ts";
import { toyEngine } from "../../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { escrowTermsOf } from "../../../src/validator/jobs/keeper/job-offers.ts";
import { openWatchBook } from "../../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher } from "../../../src/validator/jobs/watch/watcher.ts";
import { eventually } from "../../validator/toy-agent.test-kit.ts";
import { type Customer, submit, TOY_SEGMENTS, toyJob, upload } from "../customer.ts";
import { CUSTOMER_CHEATS } from "../customer-cheats.ts";
import { type JobMarket, type MarketParty, openJobMarket, UNIT } from "../job-market.ts";
import { tryValidators } from "../validator-cheats.ts";
import type { Player } from "./play-cast.ts";

export interface Play {
	readonly name: string;
	readonly method: JobMethod;
	readonly voice: string;
	readonly liars: readonly Player[];
	/** They audit from the start; honest workers come when all that cheat had their try. */
	readonly strangers: number;
	/** The customer watches its jobs, as `assay watch --jobs mine` does. */
	readonly isWatched?: boolean;
	/** The validator cheats too: it signs at once that the claims of those that lie were checked. */
	readonly isBlessed?: boolean;
	/** Chance has every claim run again, also where the method leaves it to chance. */
	readonly isAlwaysAudited?: boolean;
	/** Customers that cheat come to the workers, and draws are changed afterwards. */
	readonly hasStrangers?: boolean;
	/** Those that cheat are one: what they gain counts together. */
	readonly isTogether?: boolean;
	readonly onProgress?: (line: string) => void;
}

interface Cast {
	readonly party: MarketParty;
	readonly player: Player | null;
	readonly before: bigint;
}

interface PartyEnd {
	readonly name: string;
	readonly role: "liar" | "auditor that lies" | "worker" | "auditor" | "customer" | "validator" | "stranger";
	/** How its parts and audits ended. */
	readonly outcomes: readonly string[];
	/** Of who cheats; null: it had no try. */
	readonly ended: string | null;
	readonly before: number;
	readonly after: number;
}

export interface PlayReport extends Pick<Play, "name" | "voice"> {
	readonly method: string;
	readonly isWatched: boolean;
	readonly isBlessed: boolean;
	readonly jobs: readonly { readonly attempts: number; readonly state: string }[];
	readonly parties: readonly PartyEnd[];
	/** Hours by which the clock was set on. */
	readonly hours: number;
	readonly seconds: number;
	/** Who cheated and ended otherwise than it must, or gained; honest ones that lost anything. */
	readonly wrong: readonly string[];
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** The times of a network as they are, but for the long window and for who is silent over its link. */
const TIMES = {
	...{ jobAcceptMs: 600_000, jobBeatMs: 6000, jobBeatMisses: 100, jobLeastWorkMs: 600_000, jobCheckedMs: 600_000 },
	...{ jobWindowMs: 4 * HOUR_MS, jobStartMs: 720 * HOUR_MS, jobSilenceMs: 10_000, jobReliabilityPpm: 1 },
};
const SIGNED = attestation([], { level: "none", shown: "hosted", isSimulated: true });
const WORKERS = 3;
const LOOK_MS = 300;
/** Of this machine's time. */
const LIMIT_MS = 2_400_000;
/** For what should come by itself, before the clock is set on all the same. */
const PATIENCE_MS = 45_000;
/** For whoever proves or asks: here the window of a checked claim must not end meanwhile. */
const ACCUSER_MS = 600_000;
const PROOFS_LAST_MS = 20 * MINUTE_MS;
const tokens = (units: bigint): number => Number(units) / Number(UNIT);

type Rows = Awaited<ReturnType<JobMarket["validator"]["store"]["jobs"]["partsOf"]>>;

class Network {
	readonly play: Play;
	readonly market: JobMarket;
	readonly customer: Customer;
	readonly cast: Cast[] = [];
	readonly ids: string[] = [];
	/** What each job may cost. */
	readonly quoted = new Map<string, bigint>();
	/** What a watcher said of each claim. */
	readonly watched = new Map<string, string>();
	readonly clock: { skippedMs: number };
	private readonly waiting = new Map<string, number>();
	private readonly specs = new Map<number, Awaited<ReturnType<typeof toyJob>>>();
	private provenAtMs = 0;
	private last = "";

	constructor(play: Play, market: JobMarket, customer: Customer, clock: { skippedMs: number }) {
		this.play = play;
		this.market = market;
		this.customer = customer;
		this.clock = clock;
	}

	say(line: string): void {
		if (line !== this.last) this.play.onProgress?.(`${this.play.name}: ${line}`);
		this.last = line;
	}

	async join(name: string, player: Player | null, isAuditor: boolean): Promise<void> {
		const { name: method } = this.play.method;
		const own = player === null ? {} : { cheat: player.cheat };
		const party = await this.market.provide(name, { isAuditor, methods: [method], ...own });
		this.cast.push({ party, player, before: await this.market.worth(party.account.address) });
	}

	async handIn(segments = TOY_SEGMENTS): Promise<string> {
		const known = this.specs.get(segments) ?? (await toyJob(this.play.method, { segments }));
		if (!this.specs.has(segments)) await upload(this.customer, known);
		this.specs.set(segments, known);
		let most = 0n;
		const id = await eventually(() =>
			submit(this.market, this.customer, known.spec, (cost) => {
				most = cost;
			}).catch((error: unknown) => {
				if (error instanceof AssayError && error.code === "JOB_NO_PROVIDER") return null;
				throw error;
			}),
		);
		this.ids.push(id);
		this.quoted.set(id, most);
		return id;
	}

	jobs(): Promise<Job[]> {
		return Promise.all(this.ids.map((id) => this.customer.client.getJob({ params: { id } })));
	}

	async rows(): Promise<ReadonlyMap<string, Rows>> {
		const rows = await this.market.validator.store.jobs.partsOf(this.cast.map(({ party }) => party.id));
		return Map.groupBy(rows, ({ provider }) => provider);
	}

	isLiar(id: string | null): boolean {
		return this.cast.some(({ party, player }) => party.id === id && player !== null);
	}

	/** Those that cheat and had no part, or no audit, yet. */
	async untried(party: Player["party"]): Promise<Cast[]> {
		const [jobs, rows] = [await this.jobs(), await this.rows()];
		return this.cast.filter((one) => {
			if (one.player?.party !== party) return false;
			const { outcomes } = outcomesOf(rows.get(one.party.id) ?? [], jobs, one.party.id, party);
			const idle = party === "auditor" ? ["declined"] : ["declined", "replaced"];
			return outcomes.every((outcome) => idle.includes(outcome));
		});
	}

	/** For so long it has been as it is. */
	private since(what: string): number {
		if (!this.waiting.has(what)) this.waiting.set(what, Date.now());
		return Date.now() - this.waiting.get(what)!;
	}

	/** By how much time may be set on as far as this part is concerned, and why not. */
	private async mayPass(job: string, part: JobPart): Promise<{ readonly ms: number; readonly why: string }> {
		const { attempt, state, provider } = part;
		const patient = (why: string, ms: number, patienceMs = PATIENCE_MS) => ({
			ms: this.since(`${job}/${attempt}/${why}`) > patienceMs ? ms : 0,
			why,
		});
		if (state === "open") return patient("open", 0);
		if (state === "assigned" || state === "running")
			return this.isLiar(provider) ? patient(`${state} by a liar`, 2 * MINUTE_MS, 20_000) : { ms: 0, why: state };
		if (state !== "claimed") return { ms: HOUR_MS, why: state };
		if (part.isDisputed || this.isWatchedClaim(part)) return this.mayPassInDispute(job, part);
		if (part.isChecked) return { ms: 10 * MINUTE_MS, why: "checked" };
		const open = part.audits.filter(({ answer }) => answer === null);
		if (open.some(({ auditor }) => auditor !== null && !this.isLiar(auditor))) return { ms: 0, why: "an audit" };
		if (open.some(({ auditor }) => auditor === null)) return patient("an audit by nobody", MINUTE_MS);
		if (open.length > 0) return patient("an audit by a liar", MINUTE_MS, 15_000);
		return patient("claimed", 10 * MINUTE_MS);
	}

	/** Whether its customer is expected to have it convicted. */
	private isWatchedClaim({ claim, provider }: JobPart): boolean {
		return this.play.isWatched === true && this.isLiar(provider) && this.watched.get(claim!) !== "right";
	}

	/** Only while whoever cheats owes an answer on the chain. */
	private async mayPassInDispute(job: string, part: JobPart): Promise<{ readonly ms: number; readonly why: string }> {
		const { contracts } = this.market;
		const id = BigInt(`0x${job}`);
		const { provider, attempt } = await readJobPart(contracts, id, part.part);
		const games = await readGames(contracts, {
			book: bookOf({ job: id, part: part.part, attempt, provider: provider as `0x${string}` }),
		});
		const open = games.flatMap(({ rounds }) => rounds.slice(-1)).filter(({ answer }) => answer === null);
		const rounds = games.reduce((sum, { rounds: all }) => sum + all.length, 0);
		if (open.length === 0)
			return {
				ms: this.since(`${job}/${attempt}/${rounds}/in dispute`) > ACCUSER_MS ? 5 * MINUTE_MS : 0,
				why: `in dispute, ${rounds} rounds`,
			};
		return this.since(`${job}/${attempt}/${rounds}/asked`) > (this.isSilent() ? 2000 : PATIENCE_MS) &&
			this.isLiar(part.provider)
			? { ms: 10 * MINUTE_MS, why: "asked" }
			: { ms: 0, why: "asked" };
	}

	private isSilent(): boolean {
		return this.play.voice === "silent";
	}

	/** One look: sets the clock on where nobody honest has anything to do. */
	async turn(jobs: readonly Job[]): Promise<void> {
		const left = jobs.filter(({ isOver }) => !isOver);
		const all = await Promise.all(left.flatMap(({ id, record }) => record.parts.map((part) => this.mayPass(id, part))));
		const most = Math.min(...all.map(({ ms }) => ms));
		const counted = [...Map.groupBy(all, ({ why }) => why)].map(([why, same]) => `${why} ×${same.length}`);
		this.say(`${(this.clock.skippedMs / HOUR_MS).toFixed(1)} h; ${counted.sort().join(", ")}`);
		await sleep(LOOK_MS);
		if (most === 0 || all.length === 0) return;
		this.clock.skippedMs += most;
		await this.proveAll();
		await sleep(1500);
	}

	async proveAll(): Promise<void> {
		if (this.clock.skippedMs - this.provenAtMs < PROOFS_LAST_MS) return;
		this.provenAtMs = this.clock.skippedMs;
		for (const { party, player } of this.cast) if (player === null) await this.market.prove(party);
	}

	async until(what: string, isDone: (jobs: readonly Job[]) => Promise<boolean>): Promise<void> {
		for (const endMs = Date.now() + LIMIT_MS; Date.now() < endMs; ) {
			try {
				const jobs = await this.jobs();
				if (await isDone(jobs)) return;
				await this.turn(jobs);
			} catch (error) {
				// A busy machine, and the clock that is set on while something is asked.
				this.say(`again: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
				await sleep(LOOK_MS);
			}
		}
		this.say(`${what} in time`);
	}
}

/** Who works as it lies may be drawn to audit, which it will not. */
const ENDS = {
	provider: ["convicted", "paid", "late", "silent", "lost"],
	auditor: ["convicted", "replaced", "agreed"],
} as const;

function outcomesOf(rows: Rows, jobs: readonly Job[], id: string, party: Player["party"]) {
	const outcomes = rows.map(({ outcome }) => outcome as string);
	for (const { record } of jobs)
		for (const { provider, state, audits } of record.parts) {
			if (provider === id && ["running", "claimed"].includes(state)) outcomes.push(state);
			for (const { auditor, tried, agrees } of audits) {
				if (tried.includes(id)) outcomes.push("replaced");
				if (auditor === id && agrees === true) outcomes.push("agreed");
			}
		}
	return { outcomes, ended: ENDS[party].find((end) => outcomes.includes(end)) ?? null };
}

/** The customer's watcher, until it is stopped. */
async function startWatcher(network: Network, nowMs: () => number) {
	const { customer, market, watched } = network;
	const folder = mkdtempSync(join(tmpdir(), "assay-played-"));
	const book = await openWatchBook(join(folder, "watched.jsonl"), nowMs);
	const stopping = new AbortController();
	const watcher = createWatcher({
		...{ api: customer.client, folder, book, engine: toyEngine(), isDry: false, secret: new Uint8Array(32) },
		chain: await openWatchChain(market.contracts, customer.account, { gasADay: 1e10, book }),
		...{ policy: { jobs: "mine", sharePpm: 0 }, nowMs, sleep: (ms) => sleep(Math.min(ms, 200)) },
		...{ signal: stopping.signal, patienceMs: 20_000, askEveryMs: 2000 },
		onEvent: ({ claim, state }) => watched.set(claim, state),
	});
	const watching = (async () => {
		while (!stopping.signal.aborted) {
			await watcher.round(stopping.signal).catch((error) => network.say(`watcher: ${error}`));
			await sleep(1000);
		}
		await watcher.settle().catch(() => {});
	})();
	return async () => {
		stopping.abort();
		await watching;
		rmSync(folder, { recursive: true, force: true });
	};
}

/** The validator's own key signs under a false claim that it was checked. */
async function bless(network: Network, jobs: readonly Job[], done: Set<string>): Promise<void> {
	const { contracts, validator, validatorKey } = network.market;
	const { store } = validator;
	const account = await validatorKey();
	for (const { id, record } of jobs)
		for (const { part, claim, provider, state } of record.parts) {
			if (state !== "claimed" || claim === null || !network.isLiar(provider) || done.has(provider!)) continue;
			done.add(provider!);
			const { last } = (await store.jobs.claim(claim))!.body as unknown as { readonly last: string };
			const place = { job: BigInt(`0x${id}`), part };
			const { attempt } = await readJobPart(contracts, place.job, part);
			const said = { claim: `0x${claim}`, last: `0x${last}`, audits: [] } as const;
			const signature = await signChecked(account, contracts, { ...place, attempt }, said);
			const terms = escrowTermsOf((await store.jobs.get(id))!.offer as unknown as JobOffer)!;
			await sendCall(contracts.client, account, checkPartCall(contracts, terms, part, said, [signature]));
			network.say(`blessed a claim of ${provider!.slice(0, 8)}`);
		}
}

/** Everybody who cheats takes its part: one job for each of them. */
async function tryProviders(network: Network, each: () => Promise<void>): Promise<void> {
	const liars = network.play.liars.filter(({ party }) => party === "provider");
	for (const one of liars.filter(({ isLarge }) => isLarge)) {
		await network.join(one.name, one, false);
		await network.handIn(2 * TOY_SEGMENTS);
		await eventually(async () => (await network.untried("provider")).length === 0);
	}
	const small = liars.filter(({ isLarge }) => !isLarge);
	await Promise.all(small.map((one) => network.join(one.name, one, false)));
	for (const _ of small) await network.handIn();
	for (const endMs = Date.now() + LIMIT_MS / 4; Date.now() < endMs; await sleep(1000)) {
		await each();
		const [left, jobs] = [await network.untried("provider"), await network.jobs()];
		network.say(`not tried yet: ${left.map(({ party }) => party.name).join(", ") || "nobody"}`);
		if (left.length === 0) return;
		const isFree = (state: string) => state === "open" || state === "assigned";
		if (!jobs.some(({ record }) => record.parts.some(({ state }) => isFree(state)))) await network.handIn();
	}
}

/** Each is drawn for some audit; who was goes, so that the others are. */
async function tryAuditors(network: Network): Promise<void> {
	const isOver = async (jobs: readonly Job[]) => jobs.every((job) => job.isOver);
	const most = 4 * network.play.liars.length;
	for (let i = 0; i < most && (await network.untried("auditor")).length > 0; i++) {
		await network.handIn();
		await network.until("an audited job is not over", isOver);
		const left = await network.untried("auditor");
		const gone = network.cast.filter((one) => one.player?.party === "auditor" && !left.includes(one));
		await Promise.all(gone.map(({ party }) => party.close()));
	}
}

async function endsOf(network: Network, paid: { readonly customer: bigint; readonly validator: bigint }) {
	const { market, cast, customer } = network;
	const [jobs, rows] = [await network.jobs(), await network.rows()];
	const parties: PartyEnd[] = [];
	for (const { party, player, before } of cast) {
		const after = await market.worth(party.account.address);
		const { outcomes, ended } = outcomesOf(rows.get(party.id) ?? [], jobs, party.id, player?.party ?? "provider");
		const isAuditor = party.name.startsWith("auditor ");
		const role =
			player === null ? (isAuditor ? "auditor" : "worker") : player.party === "provider" ? "liar" : "auditor that lies";
		parties.push({
			...{ name: party.name, role, outcomes, before: tokens(before), after: tokens(after) },
			ended: player && ended,
		});
	}
	const others = [
		["customer", customer.account.address, paid.customer],
		["validator", market.validatorAccount, paid.validator],
	] as const;
	for (const [role, account, before] of others) {
		const after = tokens(await market.worth(account));
		parties.push({ ...{ name: role, role, outcomes: [], ended: null }, before: tokens(before), after });
	}
	return { jobs, parties };
}

/** Marks that nobody honest may have. */
const MARKS = ["convicted", "late", "lost", "silent", "replaced"];

function wrongOf({ play, quoted }: Network, jobs: readonly Job[], parties: readonly PartyEnd[]): string[] {
	const players = new Map(play.liars.map((player) => [player.name, player]));
	const paid = jobs.filter(({ record }) => record.parts.every(({ state }) => state === "paid"));
	const cost = tokens(paid.reduce((sum, { id }) => sum + quoted.get(id)!, 0n));
	const friends = parties.filter(({ name }) => players.has(name));
	const together = friends.reduce((sum, { before, after }) => sum + after - before, 0);
	const isLucky = friends.some(({ name, ended }) => ended === "paid" && players.get(name)!.chance !== undefined);
	const gained = play.isTogether && together > 0 && !isLucky ? [`together they gained ${together} tokens`] : [];
	const single = parties.flatMap(({ name, role, ended, outcomes, before, after }): string[] => {
		const gain = after - before;
		const told = (why: string) => [`${name}: ${why}, ${gain} tokens, ${outcomes.join(", ")}`];
		const player = players.get(name);
		if (player !== undefined) {
			if (play.isTogether && player.party === "auditor") return [];
			if (ended === null) return told("it had no try");
			if (player.chance !== undefined && ended === "paid") return [];
			if (ended !== player.ends && !(player.ends === "lost" && ["late", "silent"].includes(ended)))
				return player.ends === "unpaid" && ended === "replaced" && gain <= 0
					? []
					: told(`not ${player.ends} but ${ended}`);
			if (gain > 0) return told("it gained");
			return player.ends === "convicted" && gain === 0 ? told("it kept its bond") : [];
		}
		if (role === "customer") return gain + cost < -1e-9 ? told(`it has less than the ${cost} that it was quoted`) : [];
		if (role === "validator" && play.isBlessed) return [];
		if (gain < 0) return told("it lost");
		return outcomes.some((one) => MARKS.includes(one)) ? told("it is marked") : [];
	});
	return [...gained, ...single];
}

/** What must come of each, and came of it. */
interface Stranger extends PartyEnd {
	readonly ends: string;
}

/** Customers that cheat, one job after another of one account; and what a validator changes of its draws. */
async function tryStrangers({ market, customer, play }: Network, paid: string): Promise<Stranger[]> {
	const hostile = await market.customer("customer that cheats");
	const worth = async () => tokens(await market.worth(hostile.account.address));
	const job = await toyJob(play.method);
	const tried: Stranger[] = [];
	for (const { name, ends, act } of CUSTOMER_CHEATS) {
		const before = await worth();
		const ended = await act({ market, customer: hostile, job });
		const told = { name: `customer: ${name}`, role: "stranger" as const, outcomes: [] };
		tried.push({ ...told, ended, ends, before, after: await worth() });
	}
	const changes = await tryValidators(customer, market.contracts, paid);
	const told = changes.map(({ name, ends, ended }) => ({
		...{ name: `validator: ${name}`, role: "stranger" as const, outcomes: [], ended, ends, before: 0, after: 0 },
	}));
	return [...tried, ...told];
}

async function playIn(network: Network, each: () => Promise<void>): Promise<void> {
	const { play } = network;
	const isAudited = !play.liars.some(({ party }) => party === "provider");
	const strangers = Array.from({ length: play.strangers }, (_, i) => `auditor ${i + 1}`);
	await Promise.all(strangers.map((name) => network.join(name, null, true)));
	const auditors = play.liars.filter(({ party }) => party === "auditor");
	await Promise.all(auditors.map((one) => network.join(one.name, one, true)));
	const workers = Array.from({ length: WORKERS }, (_, i) => `worker ${i + 1}`);
	const joinWorkers = () => Promise.all(workers.map((name) => network.join(name, null, false)));
	if (play.hasStrangers) {
		await joinWorkers();
		await network.handIn();
		const isOver = async (jobs: readonly Job[]) => jobs.every((job) => job.isOver);
		return network.until("the job is not over", isOver);
	}
	if (isAudited) {
		await joinWorkers();
		return tryAuditors(network);
	}
	await tryProviders(network, each);
	await joinWorkers();
	await network.until("some jobs are not over", async (jobs) => {
		await each();
		return jobs.every((job) => job.isOver);
	});
}

export async function playOut(play: Play): Promise<PlayReport> {
	const began = performance.now();
	const clock = { skippedMs: 0 };
	const nowMs = () => Date.now() + clock.skippedMs;
	const attested = play.method.name === "attested" ? { attestation: SIGNED } : {};
	const audits = play.isAlwaysAudited ? { jobAuditPpm: 1_000_000 } : {};
	const market = await openJobMarket({ ...TIMES, ...audits }, { nowMs, sweepMs: 1000, ...attested });
	try {
		const customer = await market.customer("customer");
		const network = new Network(play, market, customer, clock);
		const before = {
			customer: await market.worth(customer.account.address),
			validator: await market.worth(market.validatorAccount),
		};
		const blessed = new Set<string>();
		const each = async () => void (play.isBlessed && (await bless(network, await network.jobs(), blessed)));
		const stopWatching = play.isWatched ? await startWatcher(network, nowMs) : async () => {};
		try {
			await playIn(network, each);
			// The accuser passes on what auditors of a claim that fell are due, and deposits are collected.
			await sleep(5000);
		} finally {
			await stopWatching();
		}
		const strangers = play.hasStrangers ? await tryStrangers(network, network.ids[0]!) : [];
		const { jobs, parties: members } = await endsOf(network, before);
		const parties = [...members, ...strangers.map(({ ends: _, ...one }) => one)];
		const missed = strangers
			.filter(({ ended, ends, before: had, after }) => ended !== ends || after > had)
			.map(({ name, ended, ends }) => `${name}: not ${ends} but ${ended}`);
		const open = jobs.filter((job) => !job.isOver).map(({ id }) => `job ${id.slice(0, 8)} is not over`);
		return {
			...{ name: play.name, method: play.method.name, voice: play.voice, parties },
			...{ isWatched: play.isWatched === true, isBlessed: play.isBlessed === true },
			jobs: jobs.map(({ record }) => ({ attempts: record.parts[0]!.attempt, state: record.parts[0]!.state })),
			hours: clock.skippedMs / HOUR_MS,
			seconds: Math.round((performance.now() - began) / 1000),
			wrong: [...open, ...missed, ...wrongOf(network, jobs, members)],
		};
	} finally {
		for (const trouble of new Set(market.troubles)) play.onProgress?.(`${play.name}: ${trouble}`);
		await market.close();
	}
}
