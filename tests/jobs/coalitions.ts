// Those who cheat together, before a real validator and the embedded chain: a provider and whoever audits it,
// all that a draw holds, a customer and its provider, a validator that blesses what is false. What each of
// them as a whole gains and loses, and how often it is found: docs/jobs.md §15.
//
// One provider has a deposit at a time, so that it gets the part; who audits is drawn of those that are
// there. A provider comes under a new name for every try.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readEvents } from "../../src/chain/contracts/contracts.ts";
import { checkPartCall, readJobPart, signChecked } from "../../src/chain/contracts/job-escrow.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { Distort } from "../../src/engine/client/toy-work-session.test-kit.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import type { JobOffer } from "../../src/protocol/network/job-offer.ts";
import { toyOpener } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { toyEngine } from "../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { escrowTermsOf } from "../../src/validator/jobs/keeper/job-offers.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher } from "../../src/validator/jobs/watch/watcher.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { type Customer, submit, TOY_SEGMENTS, toyJob, upload } from "./customer.ts";
import { lastOf, spoiled } from "./job-lies.ts";
import { type JobCheat, type JobMarket, type MarketParty, openJobMarket, UNIT } from "./job-market.ts";

export interface CoalitionReport {
	readonly name: string;
	/** How a try may end. */
	readonly ended: Readonly<Record<string, number>>;
	readonly tries: number;
	/** That a try is found out, by docs/jobs.md §9; how far off that is what happened. */
	readonly chance: number;
	readonly sigmas: number;
	/**
	 * Tokens a try: of all its members, of its customer where that is none, of honest auditors and the
	 * validator.
	 */
	readonly gain: number;
	readonly customer: number;
	readonly others: number;
	/** Why it did not end as it must. */
	readonly wrong: readonly string[];
}

interface Coalition {
	readonly name: string;
	readonly method: JobMethod;
	readonly lie: Distort;
	/** Honest ones that may be drawn to audit, beside one friend. */
	readonly strangers: number;
	readonly chance: number;
}

const REDUNDANT = { name: "redundant", count: 2 } as const;
const SAMPLED = { name: "sampled", count: 1 } as const;
/** docs/jobs.md §9: one claim in ten is run once more. */
const AFTERWARDS = 0.1;

/** Of one friend and one stranger, who is drawn. */
const COALITIONS: readonly Coalition[] = [
	{
		...{ name: "two of three, redundant", method: REDUNDANT, lie: spoiled, strangers: 1 },
		chance: 1 / 2 + (1 / 2) * AFTERWARDS,
	},
	{
		// The last window is always run again: by the friend, or by the stranger.
		...{ name: "provider and an auditor, last segment", method: SAMPLED, lie: lastOf(TOY_SEGMENTS), strangers: 1 },
		chance: 1 / 2,
	},
	{
		// Windows are dealt out in turns: one of three is the stranger's.
		...{ name: "provider and an auditor, all segments", method: SAMPLED, lie: spoiled, strangers: 1, chance: 1 },
	},
	{
		// By nobody but the one that is drawn afterwards, and here there is nobody else.
		...{ name: "all that can be drawn, redundant", method: REDUNDANT, lie: spoiled, strangers: 0, chance: AFTERWARDS },
	},
];

/** The same lie in parts and in audits. */
const together = (lie: Distort): JobCheat => ({
	engine: (honest, { storePath }) => ({ ...honest, open: toyOpener(storePath, lie) }),
});
const worksOnly = (cheat: JobCheat): JobCheat => ({
	...cheat,
	handlers: (honest) => ({
		...honest,
		async job(asked) {
			if (asked.audit !== null) throw new AssayError("JOB_DECLINED", "it audits nothing");
			await honest.job!(asked);
		},
	}),
});

const LIMIT_MS = 600_000;
const LOOK_MS = 200;
async function until<T>(ask: () => Promise<T | false>): Promise<T> {
	for (const endMs = Date.now() + LIMIT_MS; Date.now() < endMs; await sleep(LOOK_MS)) {
		const found = await ask();
		if (found) return found;
	}
	throw new Error("a coalition's try does not end");
}

const tokens = (units: bigint): number => Number(units) / Number(UNIT);
async function worthOf(market: JobMarket, accounts: readonly `0x${string}`[]): Promise<bigint> {
	let sum = 0n;
	for (const account of accounts) sum += await market.worth(account);
	return sum;
}

/** A validator may know of a new host a moment later. */
const handIn = (market: JobMarket, customer: Customer, spec: Parameters<typeof submit>[2]): Promise<string> =>
	eventually(() =>
		submit(market, customer, spec).catch((error: unknown) => {
			if (error instanceof AssayError && error.code === "JOB_NO_PROVIDER") return null;
			throw error;
		}),
	);

/**
 * How the liar's part ended. A claim that is to be run once more where nobody is there who could stays
 * unchecked for its long window.
 */
async function endOf(
	{ validator }: JobMarket,
	customer: Customer,
	{ job, liar, isAlone }: { readonly job: string; readonly liar: MarketParty; readonly isAlone: boolean },
): Promise<string> {
	return until<string>(async () => {
		const rows = await validator.store.jobs.partsOf([liar.id]);
		const found = rows.find(({ outcome }) => outcome !== "declined" && outcome !== "checked");
		const [part] = (await customer.client.getJob({ params: { id: job } })).record.parts;
		// A conviction is told of before the chain has it.
		if (found?.outcome === "convicted") return part!.excluded.includes(liar.id) && found.outcome;
		if (found !== undefined) return found.outcome as string;
		return isAlone && part!.provider === liar.id && part!.state === "claimed" && part!.audits.length > 1 && "unchecked";
	});
}

interface Worth {
	readonly own: bigint;
	readonly customer: bigint;
	readonly others: bigint;
}

/**
 * One liar after the other; the open part of one that was convicted is the next one's, and the last of them
 * an honest one's.
 */
async function tryCoalition(
	market: JobMarket,
	customer: Customer,
	{ name, method, lie, strangers, chance }: Coalition,
	{ tries, say }: { readonly tries: number; readonly say: (line: string) => void },
): Promise<CoalitionReport> {
	const friend = await market.provide(`${name}, friend`, { isAuditor: true, cheat: together(lie) });
	const honest: MarketParty[] = [];
	for (let i = 0; i < strangers; i++)
		honest.push(await market.provide(`${name}, stranger ${i + 1}`, { isAuditor: true }));
	const job = await toyJob(method);
	await upload(customer, job);
	const isOver = async (id: string) => (await customer.client.getJob({ params: { id } })).isOver;
	const ended: Record<string, number> = {};
	const wrong: string[] = [];
	const gains: number[] = [];
	let open: string | null = null;
	const sumsOf = async (): Promise<Worth> => ({
		own: await market.worth(friend.account.address),
		customer: await market.worth(customer.account.address),
		others: await worthOf(market, [...honest.map(({ account }) => account.address), market.validatorAccount]),
	});
	const before = await sumsOf();
	for (let i = 0; i < tries; i++) {
		const cheat = worksOnly(together(lie));
		const liar = await market.provide(`${name}, ${i + 1}`, { methods: [method.name], cheat });
		const had = await market.worth(liar.account.address);
		open ??= await handIn(market, customer, job.spec);
		const id: string = open;
		const end = await endOf(market, customer, { job: id, liar, isAlone: strangers === 0 });
		if (end === "paid") await until(() => isOver(id));
		await liar.close();
		const gain = tokens((await market.worth(liar.account.address)) - had);
		ended[end] = (ended[end] ?? 0) + 1;
		gains.push(gain);
		if (end === "convicted" && gain >= 0) wrong.push(`try ${i + 1} was convicted and lost nothing`);
		if (end !== "convicted") open = null;
		say(`${name}: try ${i + 1} ${end}, ${gain.toFixed(6)} tokens`);
	}
	if (open !== null) {
		const last: string = open;
		const finisher = await market.provide(`${name}, honest`, { methods: [method.name], cheat: worksOnly({}) });
		await until(() => isOver(last));
		await finisher.close();
	}
	const after = await sumsOf();
	for (const party of [friend, ...honest]) await party.close();
	const caught = tries - (ended.paid ?? 0);
	const off = caught - chance * tries;
	const sigma = Math.sqrt(tries * chance * (1 - chance));
	const sigmas = off === 0 ? 0 : sigma === 0 ? Number.POSITIVE_INFINITY : off / sigma;
	if (Math.abs(sigmas) > 3) wrong.push(`found ${caught} of ${tries}, ${sigmas.toFixed(1)} σ off`);
	const own = gains.reduce((sum, one) => sum + one, tokens(after.own - before.own));
	return {
		...{ name, ended, tries, chance, sigmas, wrong, gain: own / tries },
		customer: tokens(after.customer - before.customer) / tries,
		others: tokens(after.others - before.others) / tries,
	};
}

const fixed = (name: string, ended: string, wrong: readonly (string | false)[]) => ({
	...{ name, ended: { [ended]: 1 }, tries: 1, chance: ended === "convicted" ? 1 : 0, sigmas: 0 },
	wrong: wrong.filter((one) => one !== false),
});

/** A customer gives work to its own provider, who does it as it must: what does that bring the two? */
async function ownWork(market: JobMarket): Promise<CoalitionReport> {
	const name = "customer and its provider: own work";
	const customer = await market.customer(name);
	const honest = [
		await market.provide(`${name}, stranger 1`, { isAuditor: true }),
		await market.provide(`${name}, stranger 2`, { isAuditor: true }),
	];
	const provider = await market.provide(`${name}, provider`, { methods: ["sampled"], cheat: worksOnly({}) });
	const own = [customer.account.address, provider.account.address];
	const strangers = [...honest.map(({ account }) => account.address), market.validatorAccount];
	const before = { own: await worthOf(market, own), others: await worthOf(market, strangers) };
	const job = await toyJob(SAMPLED);
	await upload(customer, job);
	const id = await handIn(market, customer, job.spec);
	const done = await until(async () => {
		const found = await customer.client.getJob({ params: { id } });
		return found.isOver && found;
	});
	const gain = tokens((await worthOf(market, own)) - before.own);
	const others = tokens((await worthOf(market, strangers)) - before.others);
	for (const party of [provider, ...honest]) await party.close();
	const [part] = done.record.parts;
	return {
		...fixed(name, part!.state, [gain >= 0 && "it earned tokens", others <= 0 && "others lost by it"]),
		...{ gain, customer: 0, others },
	};
}

/**
 * A validator signs that a false claim was checked, though nobody has run it. That makes the window shorter,
 * and no more: the customer runs its own job again, and convicts. What the two that lied lose, the customer
 * has in part.
 */
async function blessing(): Promise<CoalitionReport> {
	const name = "validator and its provider: a false claim is blessed";
	const folder = mkdtempSync(join(tmpdir(), "assay-blessing-"));
	const market = await openJobMarket({ jobCheckedMs: 600_000 });
	try {
		const { contracts } = market;
		const customer = await market.customer("customer");
		const liar = await market.provide("liar", { methods: ["sampled"], cheat: worksOnly(together(spoiled)) });
		const own = [liar.account.address, market.validatorAccount];
		const before = { own: await worthOf(market, own), customer: await market.worth(customer.account.address) };
		const job = await toyJob(SAMPLED);
		await upload(customer, job);
		const id = await handIn(market, customer, job.spec);
		const place = { job: BigInt(`0x${id}`), part: 0 };
		const claimed = await until(async () => {
			const found = await readJobPart(contracts, place.job, 0);
			return found.state === "claimed" && found;
		});
		const { store } = market.validator;
		const row = await until(async () => (await store.jobs.claims({ job: id })).rows[0] ?? false);
		const terms = escrowTermsOf((await store.jobs.get(id))!.offer as unknown as JobOffer)!;
		const { last } = row.body as unknown as { readonly last: string };
		const said = { claim: `0x${row.hash}`, last: `0x${last}`, audits: [] } as const;
		const account = await market.validatorKey();
		const signature = await signChecked(account, contracts, { ...place, attempt: claimed.attempt }, said);
		await sendCall(contracts.client, account, checkPartCall(contracts, terms, 0, said, [signature]));
		const blessed = await readJobPart(contracts, place.job, 0);
		const book = await openWatchBook(join(folder, "watched.jsonl"), Date.now);
		const events: string[] = [];
		const watcher = createWatcher({
			...{ api: customer.client, folder, book, engine: toyEngine(), isDry: false, secret: new Uint8Array(32) },
			chain: await openWatchChain(contracts, customer.account, { gasADay: 1e8, book }),
			...{ policy: { jobs: "mine", sharePpm: 0 }, nowMs: Date.now, sleep: (ms) => sleep(Math.min(ms, 200)) },
			onEvent: ({ state, detail }) => events.push(`${state} ${detail}`),
		});
		await until(async () => {
			await watcher.round();
			await watcher.settle();
			return (await readEvents(contracts, "jobEscrow", "Convicted", { job: place.job })).length > 0;
		});
		const gain = tokens((await worthOf(market, own)) - before.own);
		const ofCustomer = tokens((await market.worth(customer.account.address)) - before.customer);
		return {
			...fixed(name, "convicted", [
				!blessed.isChecked && "the chain does not say that it was checked",
				blessed.untilS >= claimed.untilS && "the window is no shorter",
				gain >= 0 && "they lost nothing",
				!events.some((one) => one.startsWith("proven")) && `the watcher: ${events.join("; ")}`,
			]),
			...{ gain, customer: ofCustomer, others: 0 },
		};
	} finally {
		await market.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

export async function tryCoalitions(o: {
	readonly tries: number;
	readonly onProgress?: (line: string) => void;
}): Promise<CoalitionReport[]> {
	const say = o.onProgress ?? (() => {});
	const market = await openJobMarket();
	const found: CoalitionReport[] = [];
	try {
		const customer = await market.customer("customer");
		for (const one of COALITIONS) found.push(await tryCoalition(market, customer, one, { tries: o.tries, say }));
		found.push(await ownWork(market));
		say(`${found.at(-1)!.name}: ${found.at(-1)!.gain.toFixed(6)} tokens`);
	} finally {
		for (const trouble of market.troubles.slice(0, 20)) say(trouble);
		await market.close();
	}
	found.push(await blessing());
	say(`${found.at(-1)!.name}: ${found.at(-1)!.gain.toFixed(6)} tokens`);
	return found;
}
