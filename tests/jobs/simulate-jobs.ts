// Jobs among strangers, simulated: every cheater of job-cheats.ts among honest providers before a real
// validator and the embedded chain. Each cheater is drawn once at least, in every round under a new name:
// honest ones that can lock a bond come when all that cheat had their try. Says how each ended, and what
// everybody had before and after, in tokens and gas. Page: docs/jobs.md §9; the command: npm run simulate --
// --jobs N --rounds R.
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "../../src/api/types.ts";
import { readEvents } from "../../src/chain/contracts/contracts.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { JobDesk } from "../../src/provider/jobs/job-desk.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { type Customer, submit, TOY_SEGMENTS, toyJob, upload } from "./customer.ts";
import { CUSTOMER_CHEATS } from "./customer-cheats.ts";
import { NETWORK_CHEATS, type NetworkCheat } from "./job-cheats.ts";
import { type Handlers, type JobMarket, type MarketParty, openJobMarket, UNIT } from "./job-market.ts";
import { tryValidators } from "./validator-cheats.ts";

export interface SimulateJobs {
	/**
	 * Jobs in flight: as long as somebody has not had its try, a new one is handed in for each that ended or
	 * stands still.
	 */
	readonly jobs: number;
	/** How often every cheater comes; 1 unless given. */
	readonly rounds?: number;
	/**
	 * Rounds that wait for their tries side by side; 1 unless given. Another comes when there is room for it.
	 */
	readonly atOnce?: number;
	/** No round comes later than that; those that came are tried to their end. */
	readonly roundsWithinMs?: number;
	/** Default: all. */
	readonly cheats?: readonly string[];
	readonly onProgress?: (line: string) => void;
}

export interface PartyReport {
	readonly name: string;
	/** Of a cheater: what it does. */
	readonly kind: string | null;
	readonly isHonest: boolean;
	/** Its parts and audits, by how they ended. */
	readonly outcomes: readonly string[];
	/** As the cheat's `ends`; null: it had no try. */
	readonly ended: string | null;
	/** Tokens; what it has now less what it had. */
	readonly gain: number;
	/** Of all its transactions. */
	readonly gas: number;
}

/** One kind of cheater over all rounds. */
export interface KindReport {
	readonly kind: string;
	readonly ends: string;
	readonly tries: number;
	readonly caught: number;
	readonly chance: number;
	readonly sigmas: number;
	/** Tokens a try. */
	readonly gain: number;
}

export interface JobsReport {
	readonly jobs: readonly { readonly states: readonly string[]; readonly attempts: number }[];
	readonly parties: readonly PartyReport[];
	readonly kinds: readonly KindReport[];
	/** Tokens that the accuser gave on to those who had audited what fell. */
	readonly passedOn: number;
	/** Cheaters that ended otherwise than they must. */
	readonly missed: readonly string[];
	/**
	 * Honest parties that were convicted or have less than before, gas taken off; the customer: less than by
	 * what it was quoted, beside the gas of funding.
	 */
	readonly wronged: readonly string[];
	readonly seconds: number;
	readonly ok: boolean;
}

/**
 * Honest ones: a claim is looked at by three, each does one thing at a time, and providers that cheat stand
 * on the same lists and decline.
 */
const LEAST_AUDITORS = 4;
const AUDITORS_A_JOB = 2;
const JOINING = 8;
/** What honest ones have to finish when all that cheat had their try. */
const JOBS_A_PROVIDER = 6;
/** All cheaters one after the other take minutes: only what hangs takes longer. */
const LIMIT_MS = 1_200_000;
/** A look asks for every job: at many of them less often. */
const lookEveryMs = (jobs: number): number => 100 * Math.min(20, Math.max(5, jobs));
/** What a transaction costs, as on paper: a thousandth of a token for a million gas. */
const TOKENS_A_GAS = 1e-9;

type JobKind = "small" | "large" | "redundant";
const KINDS = {
	small: () => toyJob({ name: "sampled", count: 1 }),
	large: () => toyJob({ name: "sampled", count: 1 }, { segments: 2 * TOY_SEGMENTS }),
	redundant: () => toyJob({ name: "redundant", count: 2 }),
} as const;
/** The kind of job in which a cheater can do what it does. */
const kindFor = ({ method, mayEarn }: NetworkCheat): JobKind =>
	method === "redundant" ? "redundant" : mayEarn ? "large" : "small";

interface Cast {
	readonly party: MarketParty;
	readonly cheat: NetworkCheat | null;
	readonly before: bigint;
}

type Rows = Awaited<ReturnType<JobMarket["validator"]["store"]["jobs"]["partsOf"]>>;

/** How the parts of each ended, by its key: read for all at once. */
async function rowsOf({ validator }: JobMarket, cast: readonly Cast[]): Promise<ReadonlyMap<string, Rows>> {
	const rows = await validator.store.jobs.partsOf(cast.map(({ party }) => party.id));
	return Map.groupBy(rows, ({ provider }) => provider);
}

/** What became of the tries of one: from the rows that everybody can read. */
function endOf(rows: Rows, jobs: readonly Job[], { party, cheat }: Cast) {
	const parts = jobs.flatMap(({ record }) => record.parts);
	const outcomes = rows.map(({ outcome }) => outcome as string);
	for (const { audits } of parts)
		for (const { auditor, tried, agrees } of audits) {
			if (tried.includes(party.id)) outcomes.push("replaced");
			if (auditor === party.id && agrees === true) outcomes.push("agreed");
		}
	if (parts.some(({ provider, state, isChecked }) => provider === party.id && state === "claimed" && !isChecked))
		outcomes.push("unchecked");
	const ended = (): string | null => {
		if (cheat?.party === "auditor") return outcomes.includes("replaced") ? "unpaid" : null;
		const isLost = outcomes.some((one) => one === "lost" || one === "late" || one === "silent");
		if (cheat?.mayEarn) return isLost ? "lost" : null;
		for (const end of ["paid", "convicted", "unchecked"]) if (outcomes.includes(end)) return end;
		return isLost ? "lost" : null;
	};
	return { outcomes, ended: cheat === null ? null : ended() };
}

/**
 * A provider that cheats audits nothing: what it earned as an honest auditor would hide what its lie brings.
 * It says so at once, like an owner whose limits an offer passes: another is asked without a wait.
 */
export function cheatOnly(cheat: NetworkCheat): NetworkCheat {
	if (cheat.party === "auditor") return cheat;
	return {
		...cheat,
		desk: (honest, api) => {
			const own = cheat.desk?.(honest, api) ?? honest;
			const offer: JobDesk["offer"] = async (asked, signal) => {
				if (asked.audit === null) return own.offer(asked, signal);
				await honest.decline(asked, "it audits nothing");
				throw new AssayError("JOB_DECLINED", "it audits nothing");
			};
			return { ...own, offer };
		},
		handlers: (honest) => {
			const own = cheat.handlers?.(honest) ?? honest;
			const job: Handlers["job"] = (asked) => (asked.audit === null ? own : honest).job!(asked);
			return { ...own, job };
		},
	};
}

/**
 * Who has gone answers for nothing: a claim of its that stands, true or not, would be given up for its
 * silence.
 */
const isAtWork = (jobs: readonly Job[], { id }: MarketParty): boolean =>
	jobs.some(
		({ isOver, record }) =>
			!isOver &&
			record.parts.some(
				({ provider, audits }) =>
					provider === id || audits.some(({ auditor, agrees }) => auditor === id && agrees === null),
			),
	);

class Simulation {
	readonly market: JobMarket;
	readonly cast: Cast[] = [];
	readonly ids: string[] = [];
	/** What the customer may have to pay at most. */
	quoted = 0n;
	readonly customer: Customer;
	private readonly made = new Map<JobKind, Awaited<ReturnType<typeof toyJob>>>();
	private readonly kinds = new Map<string, JobKind>();
	private readonly over = new Map<string, Job>();
	private readonly gone = new Set<Cast>();
	private readonly tried = new Set<Cast>();

	constructor(market: JobMarket, customer: Customer) {
		this.market = market;
		this.customer = customer;
	}

	async join(name: string, cheat: NetworkCheat | null, isAuditor: boolean): Promise<void> {
		const methods = cheat?.party === "provider" ? { methods: [cheat.method ?? "sampled"] as const } : {};
		const party = await this.market.provide(name, { isAuditor, ...methods, ...(cheat && { cheat: cheatOnly(cheat) }) });
		this.cast.push({ party, cheat, before: await this.market.worth(party.account.address) });
	}

	async jobOf(kind: JobKind) {
		const known = this.made.get(kind) ?? (await KINDS[kind]());
		if (!this.made.has(kind)) await upload(this.customer, known);
		this.made.set(kind, known);
		return known;
	}

	async handIn(kind: JobKind): Promise<void> {
		const { spec } = await this.jobOf(kind);
		const funded = (most: bigint) => {
			this.quoted += most;
		};
		// A validator may know of a new host a moment later.
		const id = await eventually(() =>
			submit(this.market, this.customer, spec, funded).catch((error: unknown) => {
				if (error instanceof AssayError && error.code === "JOB_NO_PROVIDER") return null;
				throw error;
			}),
		);
		this.ids.push(id);
		this.kinds.set(id, kind);
	}

	async jobs(): Promise<Job[]> {
		const all: Job[] = [];
		for (const id of this.ids) {
			const job = this.over.get(id) ?? (await this.customer.client.getJob({ params: { id } }));
			if (job.isOver) this.over.set(id, job);
			all.push(job);
		}
		return all;
	}

	/** Held up by a claim that nobody can convict and nobody checks. */
	isStuck({ record }: Job): boolean {
		const stuck = this.cast.filter(({ cheat }) => cheat?.ends === "unchecked").map(({ party }) => party.id);
		return record.parts.some(
			({ state, provider, isChecked }) => state === "claimed" && !isChecked && stuck.includes(provider!),
		);
	}

	/** Those that had no part yet, or not one in which they cheat. */
	async untried(jobs: readonly Job[]): Promise<Cast[]> {
		const parts = jobs.flatMap(({ record }) => record.parts);
		const left: Cast[] = [];
		const cheating = this.cast.filter(
			(one) => one.cheat?.party === "provider" && !this.gone.has(one) && !this.tried.has(one),
		);
		const all = await rowsOf(this.market, cheating);
		for (const one of cheating) {
			const rows = all.get(one.party.id) ?? [];
			const had = one.cheat!.mayEarn
				? rows.some(({ outcome }) => outcome === "lost" || outcome === "late")
				: rows.some(({ outcome }) => outcome !== "declined") ||
					parts.some(
						({ provider, state }) => provider === one.party.id && (state === "running" || state === "claimed"),
					);
			if (had) this.tried.add(one);
			else left.push(one);
		}
		return left;
	}

	/**
	 * Who was paid, replaced or convicted, or lost its part, has nothing more to say: with it gone nobody waits
	 * for it again, nor asks it for audits that it will not do.
	 */
	async retire(known?: readonly Job[]): Promise<void> {
		const jobs = known ?? (await this.jobs());
		const all = await rowsOf(this.market, this.cast);
		for (const one of this.cast) {
			if (one.cheat === null || this.gone.has(one)) continue;
			const { ended } = endOf(all.get(one.party.id) ?? [], jobs, one);
			if (ended === null || ended === "unchecked" || isAtWork(jobs, one.party)) continue;
			this.gone.add(one);
			// Not waited for: some beat on until their time is over.
			void one.party.close().catch(() => {});
		}
	}

	/**
	 * Until no round is left, and each provider that cheats had a part. There is always a job for those that
	 * had none. `more`: the next round; false: none is left.
	 */
	async allTried(
		most: number,
		{ room, more, say }: { readonly room: number; more(): Promise<boolean>; say(line: string): void },
	): Promise<void> {
		let last = "";
		let isLastRound = false;
		const isDone = await within(lookEveryMs(most), async () => {
			const all = await this.jobs();
			let left = await this.untried(all);
			await this.retire(all);
			while (!isLastRound && left.length <= room) {
				isLastRound = !(await more());
				left = await this.untried(all);
			}
			const live = all.filter((job) => !job.isOver && !this.isStuck(job));
			const states = live.map(({ record }) =>
				record.parts.map(({ state, attempt }) => `${state} ${attempt}`).join(" "),
			);
			const names = left.map(({ party }) => party.name);
			const now = `${all.length} jobs, at work: ${states.join(", ")}; not tried yet: ${names.join(", ") || "nobody"}`;
			if (now !== last) say(now);
			last = now;
			const wanted = new Set(left.map(({ cheat }) => kindFor(cheat!)));
			const missing = [...wanted].filter((kind) => !live.some(({ id }) => this.kinds.get(id) === kind));
			for (const kind of missing) await this.handIn(kind);
			for (let i = live.length + missing.length; i < most && left.length > 0; i++)
				await this.handIn(kindFor(left[i % left.length]!.cheat!));
			return isLastRound && left.length === 0;
		});
		// They are told as such: what the others did is not lost.
		if (isDone === null) say("some had no try in time");
	}
}

export async function simulateJobs(o: SimulateJobs): Promise<JobsReport> {
	const say = o.onProgress ?? (() => {});
	const began = performance.now();
	const took = () => (performance.now() - began) / 1000;
	const cheats = NETWORK_CHEATS.filter(({ name }) => o.cheats?.includes(name) ?? true);
	const market = await openJobMarket();
	try {
		const customer = await market.customer("customer");
		const simulation = new Simulation(market, customer);
		const auditors = Math.max(LEAST_AUDITORS, AUDITORS_A_JOB * o.jobs);
		await sideBySide(
			Array.from({ length: auditors }, (_, i) => () => simulation.join(`honest auditor ${i + 1}`, null, true)),
		);
		const paid = { customer: await market.worth(customer.account.address), validator: 0n };
		paid.validator = await market.worth(market.validatorAccount);
		const { rounds = 1, atOnce = 1, roundsWithinMs = LIMIT_MS } = o;
		let round = 0;
		await simulation.allTried(o.jobs, {
			room: (atOnce - 1) * cheats.filter(({ party }) => party === "provider").length,
			more: async () => {
				if (round >= rounds || 1000 * took() > roundsWithinMs) return false;
				round += 1;
				const nameOf = (name: string) => (round === 1 ? name : `${name} ${round}`);
				await sideBySide(
					cheats.map((cheat) => () => simulation.join(nameOf(cheat.name), cheat, cheat.party === "auditor")),
				);
				say(`round ${round}: ${simulation.cast.length} providers after ${took().toFixed(0)} s`);
				return true;
			},
			say,
		});
		await simulation.retire();
		const honest = Math.ceil(o.jobs / JOBS_A_PROVIDER);
		const names = Array.from({ length: honest }, (_, i) => (i === 0 ? "honest provider" : `honest provider ${i + 1}`));
		await sideBySide(names.map((name) => () => simulation.join(name, null, false)));
		say(`honest providers came after ${took().toFixed(0)} s: ${honest}`);
		const jobs = await within(lookEveryMs(o.jobs), async () => {
			const all = await simulation.jobs();
			await simulation.retire(all);
			return all.every((job) => job.isOver || simulation.isStuck(job)) && all;
		});
		if (jobs === null) throw new Error("the simulation does not end");
		say(`all jobs are over after ${took().toFixed(0)} s`);
		const strangers = [
			...(await tryCustomers(market, await simulation.jobOf("small"))),
			...(await tryDraws(simulation, jobs)),
		];
		return await reportOf(simulation, jobs, { paid, strangers, seconds: took() });
	} catch (error) {
		say(`failed: ${error}`);
		throw error;
	} finally {
		for (const trouble of market.troubles.slice(0, 20)) say(trouble);
		await market.close();
	}
}

/** Each waits for blocks and for the validator to know it. */
async function sideBySide(tasks: readonly (() => Promise<void>)[]): Promise<void> {
	let next = 0;
	await Promise.all(
		Array.from({ length: JOINING }, async () => {
			for (let task = tasks[next++]; task !== undefined; task = tasks[next++]) await task();
		}),
	);
}

/** The validator as it is, and as it would be if it changed what it had published. */
async function tryDraws({ market, customer }: Simulation, jobs: readonly Job[]): Promise<(PartyReport & Wanted)[]> {
	const paid = jobs.find(({ isOver, record }) => isOver && record.parts.every(({ state }) => state === "paid"));
	if (paid === undefined) return [];
	return (await tryValidators(customer, market.contracts, paid.id)).map(({ name, ends, ended }) => ({
		...{ name: `validator: ${name}`, kind: null, isHonest: false, outcomes: [], ended, ends, gain: 0, gas: 0 },
	}));
}

interface Wanted {
	/** What it must come to. */
	readonly ends: string;
}

/** Somebody who tries everything, and pays for the one job that it hands in. */
async function tryCustomers(
	market: JobMarket,
	job: Awaited<ReturnType<typeof toyJob>>,
): Promise<(PartyReport & Wanted)[]> {
	const customer = await market.customer("customer that cheats");
	const tried: (PartyReport & Wanted)[] = [];
	for (const { name, ends, act } of CUSTOMER_CHEATS) {
		const ended = await act({ market, customer, job });
		tried.push({
			name: `customer: ${name}`,
			...{ kind: null, isHonest: false, outcomes: [], ended, ends, gain: 0, gas: 0 },
		});
	}
	return tried;
}

/** Null: not in time. */
async function within<T>(everyMs: number, ask: () => Promise<T | false>): Promise<T | null> {
	for (const endMs = Date.now() + LIMIT_MS; Date.now() < endMs; await sleep(everyMs)) {
		const found = await ask();
		if (found) return found;
	}
	return null;
}

async function passedOn({ contracts, validatorAccount }: JobMarket, cast: readonly Cast[]): Promise<bigint> {
	const accounts = new Set(cast.map(({ party }) => party.account.address.toLowerCase()));
	const moved = await readEvents(contracts, "token", "Transfer", { from: validatorAccount });
	return moved
		.filter(({ args }) => accounts.has(args.to.toLowerCase()))
		.reduce((sum, { args }) => sum + args.value, 0n);
}

/** How often each kind was found out, against what docs/jobs.md §9 says. Who had no try counts in nothing. */
function kindsOf(cast: readonly Cast[], parties: readonly PartyReport[]): KindReport[] {
	const cheats = new Map(cast.flatMap(({ cheat }) => (cheat === null ? [] : [[cheat.name, cheat] as const])));
	return [...cheats].map(([kind, { ends, chance = 1 }]) => {
		const tried = parties.filter((one) => one.kind === kind && one.ended !== null);
		const caught = tried.filter(({ ended }) => ended === ends).length;
		const off = caught - chance * tried.length;
		const sigma = Math.sqrt(tried.length * chance * (1 - chance));
		return {
			...{ kind, ends, tries: tried.length, caught, chance },
			sigmas: off === 0 ? 0 : sigma === 0 ? Number.POSITIVE_INFINITY : off / sigma,
			gain: tried.reduce((sum, one) => sum + one.gain, 0) / Math.max(1, tried.length),
		};
	});
}

/**
 * Cheaters that ended otherwise than they must: auditors are drawn or not, and one without a try was missed
 * by nobody.
 */
function missedOf(
	cast: readonly Cast[],
	parties: readonly PartyReport[],
	strangers: readonly (PartyReport & Wanted)[],
	kinds: readonly KindReport[],
): string[] {
	const cheats = new Map(cast.map(({ party, cheat }) => [party.name, cheat]));
	const wanted = new Map(strangers.map(({ name, ends }) => [name, ends]));
	const isMissed = ({ name, isHonest, ended, outcomes, gain }: PartyReport): boolean => {
		if (isHonest) return false;
		const cheat = cheats.get(name);
		if (cheat == null) return ended !== wanted.get(name);
		if (ended === null) return cheat.party !== "auditor";
		if (ended === "convicted" && gain >= 0) return true;
		// Where the claim was false in the same window, a validator without an engine cannot tell that its
		// auditor lied too: it pays it, of the bond that fell.
		if (cheat.party === "auditor") return ended !== cheat.ends || outcomes.includes("agreed");
		// Whether it is found out is left to chance: its kind is looked at as a whole.
		if ((cheat.chance ?? 1) < 1 && ended === "paid") return false;
		return ended !== cheat.ends || (gain > 0 && !cheat.mayEarn);
	};
	return [
		...parties.filter(isMissed).map(({ name, ended, gain }) => `${name}: ${ended ?? "no try"}, ${gain} tokens`),
		...kinds
			.filter(({ sigmas }) => Math.abs(sigmas) > 3)
			.map(({ kind, caught, tries, sigmas }) => `${kind}: ${caught} of ${tries}, ${sigmas.toFixed(1)} σ off`),
	];
}

async function reportOf(
	{ market, cast, customer, quoted }: Simulation,
	jobs: readonly Job[],
	rest: {
		readonly paid: { customer: bigint; validator: bigint };
		readonly strangers: readonly (PartyReport & Wanted)[];
		readonly seconds: number;
	},
): Promise<JobsReport> {
	const tokens = (units: bigint): number => Number(units) / Number(UNIT);
	const spent = await market.gasSpent();
	const gasOf = (account: string): number => Number(spent.get(account.toLowerCase()) ?? 0n);
	const parties: PartyReport[] = [];
	const rows = await rowsOf(market, cast);
	for (const one of cast) {
		const { name, account } = one.party;
		const gain = tokens((await market.worth(account.address)) - one.before);
		const who = { name, kind: one.cheat?.name ?? null, isHonest: one.cheat === null };
		parties.push({ ...who, gain, gas: gasOf(account.address), ...endOf(rows.get(one.party.id) ?? [], jobs, one) });
	}
	const others = [
		["customer", customer.account.address, rest.paid.customer],
		["validator", market.validatorAccount, rest.paid.validator],
	] as const;
	for (const [name, account, before] of others) {
		const gain = tokens((await market.worth(account)) - before);
		parties.push({ ...{ name, kind: null, isHonest: true, outcomes: [], ended: null, gain, gas: gasOf(account) } });
	}
	parties.push(...rest.strangers);
	const kinds = kindsOf(cast, parties);
	const missed = missedOf(cast, parties, rest.strangers, kinds);
	const net = ({ name, gain, gas }: PartyReport): number =>
		name === "customer" ? gain + tokens(quoted) : gain - gas * TOKENS_A_GAS;
	const wronged = parties
		.filter((one) => one.isHonest && (one.outcomes.includes("convicted") || net(one) < 0))
		.map((one) => `${one.name}: ${net(one)} tokens with gas, ${one.outcomes.join(", ")}`);
	return {
		jobs: jobs.map(({ record }) => ({
			states: record.parts.map(({ state }) => state),
			attempts: Math.max(...record.parts.map(({ attempt }) => attempt)),
		})),
		passedOn: tokens(await passedOn(market, cast)),
		...{ parties, kinds, missed, wronged, seconds: rest.seconds, ok: missed.length === 0 && wronged.length === 0 },
	};
}
