// Jobs among strangers, simulated: every cheater of job-cheats.ts among honest providers before a real validator and the embedded chain. Each cheater is
// drawn once at least: honest ones that can lock a bond come when all that cheat had their try. Says how each ended, and what everybody had before and
// after, in tokens. Page: docs/jobs.md §9; the command: npm run simulate -- --jobs N.
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "../../src/api/types.ts";
import { readEvents } from "../../src/chain/contracts/contracts.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import { type Customer, submit, toyJob, upload } from "./customer.ts";
import { CUSTOMER_CHEATS } from "./customer-cheats.ts";
import { NETWORK_CHEATS, type NetworkCheat } from "./job-cheats.ts";
import { type Handlers, type JobMarket, type MarketParty, openJobMarket, UNIT } from "./job-market.ts";

export interface SimulateJobs {
	/** Jobs that are handed in. */
	readonly jobs: number;
	/** Default: all. */
	readonly cheats?: readonly string[];
	readonly onProgress?: (line: string) => void;
}

export interface PartyReport {
	readonly name: string;
	readonly isHonest: boolean;
	/** Its parts and audits, by how they ended. */
	readonly outcomes: readonly string[];
	/** As the cheat's `ends`; null: it had no try. */
	readonly ended: string | null;
	/** Tokens; what it has now less what it had. */
	readonly gain: number;
}

export interface JobsReport {
	readonly jobs: readonly { readonly states: readonly string[]; readonly attempts: number }[];
	readonly parties: readonly PartyReport[];
	/** Tokens that the accuser gave on to those who had audited what fell. */
	readonly passedOn: number;
	/** Cheaters that ended otherwise than they must. */
	readonly missed: readonly string[];
	/** Honest parties that lost tokens, or were convicted. */
	readonly wronged: readonly string[];
	readonly seconds: number;
	readonly ok: boolean;
}

const AUDITORS = 4;
/** All cheaters one after the other take minutes: only what hangs takes longer. */
const LIMIT_MS = 1_200_000;
const LOOK_MS = 200;
const METHOD: JobMethod = { name: "sampled", count: 1 };

interface Cast {
	readonly party: MarketParty;
	readonly cheat: NetworkCheat | null;
	readonly before: bigint;
}

/** What became of the tries of one: from the rows that everybody can read. */
async function endOf({ validator }: JobMarket, jobs: readonly Job[], { party, cheat }: Cast) {
	const rows = await validator.store.jobs.partsOf([party.id]);
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
		for (const end of ["paid", "convicted", "unchecked"]) if (outcomes.includes(end)) return end;
		return outcomes.some((one) => one === "lost" || one === "late" || one === "silent") ? "lost" : null;
	};
	return { outcomes, ended: cheat === null ? null : ended() };
}

/** Whether every part is over, or held up by a claim that nobody can convict and nobody checks. */
const isSettled = ({ record }: Job, stuck: ReadonlySet<string>): boolean =>
	record.parts.every(
		({ state, provider, isChecked }) =>
			state === "paid" || state === "refunded" || (state === "claimed" && !isChecked && stuck.has(provider!)),
	);

/** A provider that cheats audits nothing: what it earned as an honest auditor would hide what its lie brings. */
function cheatOnly(cheat: NetworkCheat): NetworkCheat {
	if (cheat.party === "auditor") return cheat;
	return {
		...cheat,
		handlers: (honest) => {
			const own = cheat.handlers?.(honest) ?? honest;
			const job: Handlers["job"] = async (asked) => {
				if (asked.audit !== null) throw new AssayError("JOB_DECLINED", "it audits nothing");
				await own.job!(asked);
			};
			return { ...own, job };
		},
	};
}

export async function simulateJobs(o: SimulateJobs): Promise<JobsReport> {
	const say = o.onProgress ?? (() => {});
	const began = performance.now();
	const cheats = NETWORK_CHEATS.filter(({ name }) => o.cheats?.includes(name) ?? true);
	const market = await openJobMarket();
	try {
		const cast: Cast[] = [];
		const join = async (name: string, cheat: NetworkCheat | null, isAuditor: boolean) => {
			const party = await market.provide(name, { isAuditor, ...(cheat && { cheat: cheatOnly(cheat) }) });
			cast.push({ party, cheat, before: await market.worth(party.account.address) });
		};
		for (const cheat of cheats) await join(cheat.name, cheat, cheat.party === "auditor");
		for (let i = 0; i < AUDITORS; i++) await join(`honest auditor ${i + 1}`, null, true);
		const customer = await market.customer("customer");
		const paid = { customer: await market.worth(customer.account.address), validator: 0n };
		paid.validator = await market.worth(market.validatorAccount);
		const job = await toyJob(METHOD);
		await upload(customer, job);
		const ids: string[] = [];
		for (let i = 0; i < o.jobs; i++) ids.push(await submit(market, customer, job.spec));
		say(`${cast.length} providers, ${ids.length} jobs after ${((performance.now() - began) / 1000).toFixed(0)} s`);
		await allTried(customer, ids, cast, say);
		await join("honest provider", null, false);
		const stuck = new Set(cast.flatMap(({ cheat, party }) => (cheat?.ends === "unchecked" ? [party.id] : [])));
		const jobs = await until(async () => {
			const all = await Promise.all(ids.map((id) => customer.client.getJob({ params: { id } })));
			return all.every((one) => isSettled(one, stuck)) && all;
		});
		const strangers = await tryCustomers(market, job);
		const seconds = (performance.now() - began) / 1000;
		return await reportOf(market, jobs, cast, { customer, paid, strangers, seconds });
	} catch (error) {
		say(`failed: ${error}`);
		throw error;
	} finally {
		for (const trouble of market.troubles.slice(0, 20)) say(trouble);
		await market.close();
	}
}

/** Somebody who tries everything, and pays for the one job that it hands in. */
async function tryCustomers(market: JobMarket, job: Awaited<ReturnType<typeof toyJob>>): Promise<PartyReport[]> {
	const customer = await market.customer("customer that cheats");
	const tried: PartyReport[] = [];
	for (const { name, act } of CUSTOMER_CHEATS) {
		const ended = await act({ market, customer, job });
		tried.push({ name: `customer: ${name}`, isHonest: false, outcomes: [], ended, gain: 0 });
	}
	return tried;
}

async function until<T>(ask: () => Promise<T | false>): Promise<T> {
	for (const endMs = Date.now() + LIMIT_MS; Date.now() < endMs; await sleep(LOOK_MS)) {
		const found = await ask();
		if (found) return found;
	}
	throw new Error("the simulation does not end");
}

/** Until each provider that cheats had a part. */
async function allTried(
	{ client }: Customer,
	ids: readonly string[],
	cast: readonly Cast[],
	say: (line: string) => void,
): Promise<void> {
	const providers = cast.filter(({ cheat }) => cheat?.party === "provider").map(({ party }) => party);
	let last = "";
	await until(async () => {
		const all = await Promise.all(ids.map((id) => client.getJob({ params: { id } })));
		const parts = all.flatMap(({ record }) => record.parts);
		const had = new Set(
			parts.flatMap(({ provider, excluded }) => [...excluded, ...(provider === null ? [] : [provider])]),
		);
		const left = providers.filter(({ id }) => !had.has(id));
		const states = all.map(({ record }) => record.parts.map(({ state, attempt }) => `${state} ${attempt}`).join(" "));
		const now = `jobs: ${states.join(", ")}; not drawn yet: ${left.map(({ name }) => name).join(", ") || "nobody"}`;
		if (now !== last) say(now);
		last = now;
		return left.length === 0;
	});
}

async function passedOn({ contracts, validatorAccount }: JobMarket, cast: readonly Cast[]): Promise<bigint> {
	const accounts = new Set(cast.map(({ party }) => party.account.address.toLowerCase()));
	const moved = await readEvents(contracts, "token", "Transfer", { from: validatorAccount });
	return moved
		.filter(({ args }) => accounts.has(args.to.toLowerCase()))
		.reduce((sum, { args }) => sum + args.value, 0n);
}

async function reportOf(
	market: JobMarket,
	jobs: readonly Job[],
	cast: readonly Cast[],
	rest: {
		readonly customer: Customer;
		readonly paid: { customer: bigint; validator: bigint };
		readonly strangers: readonly PartyReport[];
		readonly seconds: number;
	},
): Promise<JobsReport> {
	const tokens = (units: bigint): number => Number(units) / Number(UNIT);
	const parties: PartyReport[] = [];
	for (const one of cast) {
		const gain = tokens((await market.worth(one.party.account.address)) - one.before);
		parties.push({ name: one.party.name, isHonest: one.cheat === null, gain, ...(await endOf(market, jobs, one)) });
	}
	const others = [
		["customer", tokens((await market.worth(rest.customer.account.address)) - rest.paid.customer)],
		["validator", tokens((await market.worth(market.validatorAccount)) - rest.paid.validator)],
	] as const;
	for (const [name, gain] of others) parties.push({ name, isHonest: true, outcomes: [], ended: null, gain });
	parties.push(...rest.strangers);
	const wanted = new Map<string, string | undefined>([
		...cast.map(({ party, cheat }) => [party.name, cheat?.ends] as const),
		...CUSTOMER_CHEATS.map(({ name, ends }) => [`customer: ${name}`, ends] as const),
	]);
	// Auditors are drawn or not: one without a try was missed by nobody.
	const isIdle = ({ name, ended }: PartyReport): boolean => ended === null && wanted.get(name) === "unpaid";
	const missed = parties
		.filter((one) => !one.isHonest && !isIdle(one) && (one.ended !== wanted.get(one.name) || one.gain > 0))
		.map(({ name, ended, gain }) => `${name}: ${ended ?? "no try"}, ${gain} tokens`);
	const wronged = parties
		.filter(({ name, isHonest, gain, outcomes }) => {
			if (!isHonest) return false;
			// An auditor that is replaced because the claimant gives no state to begin with loses nothing by it.
			return outcomes.includes("convicted") || (name !== "customer" && gain < 0);
		})
		.map(({ name, gain, outcomes }) => `${name}: ${gain} tokens, ${outcomes.join(", ")}`);
	return {
		jobs: jobs.map(({ record }) => ({
			states: record.parts.map(({ state }) => state),
			attempts: Math.max(...record.parts.map(({ attempt }) => attempt)),
		})),
		passedOn: tokens(await passedOn(market, cast)),
		...{ parties, missed, wronged, seconds: rest.seconds, ok: missed.length === 0 && wronged.length === 0 },
	};
}
