// One job from its quote to its end on paper: the market's rules (src/market/jobs), its methods
// (src/verify/methods) and its draws as they are, with a made-up machine (paper-machine.ts) and a ledger
// instead of an escrow. Cheaters plug in as functions (paper-cheats.ts). What needs bytes, signatures and a
// chain is in simulate-jobs.ts.
import { createHash } from "node:crypto";
import gas from "../../contracts/gas.json" with { type: "json" };
import { drawFrom, drawSeed, drawWindows, isAuditedByChance, listHash } from "../../src/market/jobs/draw.ts";
import { auditChancePpm, auditMicros, convictedShares, isTooFast } from "../../src/market/jobs/economics.ts";
import { fittingHosts, type JobHost, partWork } from "../../src/market/jobs/fitting-hosts.ts";
import * as rules from "../../src/market/jobs/job-rules.ts";
import { type JobQuote, type QuoteInput, quoteJob } from "../../src/market/jobs/quote.ts";
import { DEFAULT_PARAMS } from "../../src/market/params.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { JobMethod, JobPart, JobRecord } from "../../src/protocol/network/job.ts";
import type { MethodAction } from "../../src/verify/methods/method.ts";
import { METHODS } from "../../src/verify/methods/methods.ts";
import { PROVEN_H200, timeOfInt8 } from "../../src/work/cost/work-time.ts";
import { chanceFrom, honestly, type PaperTask, refereeOnPaper, statesOf } from "./paper-machine.ts";

/** Long parts: how many a job has is the cheat's to say. */
export const PARAMS = { ...DEFAULT_PARAMS, jobPartMs: 1_200_000 };
/** A million gas, in micro-units of the token: what the parties reckon with, as nobody's contract knows. */
const MICROS_PER_MGAS = 1000;
const gasMicros = (...names: readonly (keyof typeof gas)[]): number =>
	Math.ceil((names.reduce((sum, name) => sum + gas[name], 0) * MICROS_PER_MGAS) / 1e6);
const GAS = {
	fund: gasMicros("stake", "jobFund"),
	work: gasMicros("jobAssign", "jobClaim"),
	check: gasMicros("jobCheck"),
	end: gasMicros("jobSettle", "jobShare"),
	prove: gasMicros("stake", "proveReduce"),
};

const nameOf = (n: number): string => createHash("sha256").update(`paper host ${n}`).digest("hex");
export const HOSTS: readonly JobHost[] = Array.from({ length: 6 }, (_, n) => ({
	...{ provider: nameOf(n), owner: `owner ${n}`, network: `10.0.${n}.0/24`, isFree: true },
	...{ pricePerHourMicros: 3_600_000, reliabilityPpm: 900_000, freeBondMicros: 1e12 },
	...{ memoryBytes: 80e9, ...PROVEN_H200 },
}));
export const SEGMENTS = 200;
export const PER_WINDOW = 2;
/** Of a segment: some 17 minutes a part. */
const OPS = 5e12;
/** Of a price, what honest work costs whoever does it. */
const COST = 0.8;

/**
 * What a provider of this kind claims, and which share of the work it saved; null: nothing, and its time runs
 * out.
 */
export interface Ran {
	readonly states: readonly number[];
	readonly saved: number;
	/** False: it did as it must this time. */
	readonly isTry: boolean;
}

export interface Circumstances {
	readonly chance: () => number;
	/** Who runs the same at once. */
	readonly others: readonly string[];
	readonly isFriend: (provider: string) => boolean;
	readonly priceMicros: number;
	readonly attempt: number;
}

/** How cheaters behave; whatever is left out is done honestly. */
export interface PaperCheat {
	readonly method: JobMethod;
	readonly parts?: number;
	/** Half of the jobs are as much larger. */
	readonly larger?: number;
	/** How many of the hosts are the cheater's. */
	readonly hosts: number;
	readonly run?: (task: PaperTask, of: Circumstances) => Ran | null;
	/** Of the time that its proven speed allows. */
	readonly pace?: number;
	/** `claimed` is what its friend told it; null: the claim is a stranger's, and nobody shows it. */
	readonly audit?: (honest: readonly number[], claimed: readonly number[] | null) => readonly number[] | null;
	/** Tried by the customer, whenever it can. Throws what it was refused with. */
	readonly customer?: (job: JobRecord, nowMs: number) => JobRecord;
	/** The validator signs `Checked` without looking; a watcher runs it again in the window that is left. */
	readonly isBlessed?: boolean;
}

class Ledger {
	readonly money = new Map<string, number>();
	move(from: string, to: string, micros: number): void {
		this.money.set(from, this.of(from) - micros);
		this.money.set(to, this.of(to) + micros);
	}
	of(name: string): number {
		return this.money.get(name) ?? 0;
	}
}

export interface Played {
	/** Cheats that were tried, and those that failed: refused, found, or without gain. */
	readonly tried: number;
	readonly caught: number;
	/** Parts that were paid although their states are false. */
	readonly falsePaid: number;
	readonly convicted: number;
	/** Who was convicted, excluded or not paid although it did all as it must. */
	readonly wronged: readonly string[];
	readonly ledger: Ledger;
	readonly record: JobRecord;
	readonly quotedMicros: number;
}

const sha = (...words: readonly (string | number)[]): string =>
	createHash("sha256").update(words.join(" ")).digest("hex");

/** An operation takes a picosecond, and the init phase nothing. */
const timeOf = (ops: number) => ({ init: timeOfInt8(0), segment: { ...timeOfInt8(0), productsNs: ops / 1000 } });

const quotes = new Map<string, JobQuote>();
function quoteOf(method: JobMethod, ops: number): JobQuote {
	const input: QuoteInput = {
		...{ segments: SEGMENTS, time: timeOf(ops), peakBytes: 1e9 },
		...{ stateBytes: 1e6, givenBytes: 0 },
		...{ method, mostMicros: null, gasMicros: GAS.prove, nowMs: 0 },
	};
	const name = `${method.name} ${method.count} ${ops}`;
	const known = quotes.get(name) ?? quoteJob(input, HOSTS, PARAMS);
	quotes.set(name, known);
	return known;
}

export class PaperJob {
	readonly ledger = new Ledger();
	readonly quote: JobQuote;
	private readonly cheat: PaperCheat;
	private readonly number: string;
	/** Of a segment. */
	private readonly ops: number;
	private readonly chance: () => number;
	private record: JobRecord;
	private nowMs = 0;
	private readonly claims = new Map<number, { states: readonly number[]; isFalse: boolean; by: string }>();
	/** By part and place among its audits. */
	private answers = new Map<number, readonly number[]>();
	/** Who may audit this attempt, in the order of the draw. */
	private auditors: readonly string[] = [];
	private auditSpent = 0;
	private drawnFirst: string | undefined;
	private tried = 0;
	private caught = 0;
	private falsePaid = 0;
	private convicted = 0;
	private readonly wronged: string[] = [];

	constructor(cheat: PaperCheat, seed: number, number: number) {
		this.cheat = cheat;
		this.number = sha("paper job", seed, number);
		this.chance = chanceFrom(Number(`0x${this.number.slice(0, 8)}`));
		this.ops = OPS * (cheat.larger !== undefined && this.chance() < 0.5 ? cheat.larger : 1);
		this.quote = quoteOf(cheat.method, (cheat.parts ?? 1) * this.ops);
		const { totalMicros, estimatedMs, hosts, tenthFound, ...terms } = this.quote;
		this.record = rules.newJob(this.number, { ...terms, customer: "customer", program: sha("p"), inputs: sha("i") });
		this.ledger.move("customer", "escrow", totalMicros);
		this.ledger.move("customer", "gas", GAS.fund);
	}

	isCheating(provider: string): boolean {
		return HOSTS.findIndex((host) => host.provider === provider) < this.cheat.hosts;
	}

	/** As the keeper draws. `role` 0: a provider; 1: auditors. */
	private draw(part: JobPart, role: 0 | 1, count: number, not: readonly string[]): string[] {
		const { workMs, priceMicros, bondMicros } = this.quote;
		const limits = { workMs, priceMicros, bondMicros, excluded: new Set([...part.excluded, ...not]) };
		const { count: segments } = rules.partRange(this.record.terms, part.part);
		const work = partWork({ peakBytes: 1e9, time: timeOf(this.ops * (this.cheat.parts ?? 1)) }, segments);
		const list = fittingHosts(HOSTS, work, limits, PARAMS).map(({ provider }) => ({ provider, weightPpm: 1_000_000 }));
		const of = { job: this.number, part: part.part, attempt: part.attempt + (role === 0 ? 1 : 0), role };
		const block = sha("block", this.number, part.attempt, role, not.length, part.audits.length);
		return drawFrom(list, drawSeed(of, listHash(list), sha("secret", this.number), block), count);
	}

	private task(part: number): PaperTask {
		const before = part === 0 ? 7 : this.claims.get(part - 1)!.states.at(-1)!;
		const { first, count } = rules.partRange(this.record.terms, part);
		return { given: Number(`0x${this.number.slice(8, 16)}`), start: before, first, count };
	}

	private part(number: number): JobPart {
		return this.record.parts[number]!;
	}

	/** The customer tries what it likes, at every moment. */
	private disturb(): void {
		if (this.cheat.customer === undefined) return;
		this.tried += 1;
		try {
			this.record = this.cheat.customer(this.record, this.nowMs);
		} catch (error) {
			if (!(error instanceof AssayError) || error.code !== "JOB_STATE") throw error;
			this.caught += 1;
		}
	}

	/** Gives the claimed part, or null where its time ran out. */
	private work(number: number, provider: string): boolean {
		const { cheat, chance } = this;
		this.record = rules.offer(this.record, number, provider, this.nowMs, PARAMS);
		this.record = rules.accept(this.record, number, this.nowMs);
		this.ledger.move(provider, "gas", GAS.work / 2);
		this.ledger.move(provider, "bonds", this.quote.bondMicros);
		this.auditors = this.draw(this.part(number), 1, HOSTS.length, [provider]);
		this.verify(number);
		const task = this.task(number);
		const isCheating = this.isCheating(provider) && cheat.run !== undefined;
		const others = this.part(number).audits.flatMap(({ auditor }) => auditor ?? []);
		const friend = (one: string) => this.isCheating(one);
		const of = {
			chance,
			others,
			isFriend: friend,
			priceMicros: this.quote.priceMicros,
			attempt: this.part(number).attempt,
		};
		const right = statesOf(task, honestly(task));
		const ran = isCheating ? cheat.run!(task, of) : { states: right, saved: 0, isTry: false };
		const cost = Math.round((1 - (ran?.saved ?? 1)) * COST * this.quote.priceMicros);
		this.ledger.move(provider, "power", cost);
		const isFalse = ran?.states.some((state, i) => state !== right[i]) ?? false;
		const paceMs = this.quote.estimatedMs * (isCheating ? (cheat.pace ?? 1) : 1);
		const lateMs = ran === null ? this.quote.workMs + 1 : paceMs;
		this.nowMs += lateMs;
		for (
			let at = this.nowMs - lateMs;
			at < Math.min(this.nowMs, this.part(number).untilMs);
			at += this.quote.workMs / 4
		)
			this.record = rules.beat(this.record, number, Math.min(task.count, this.part(number).done + 1), at);
		if (ran?.isTry ?? true) this.tried += 1;
		this.disturb();
		if (ran === null || this.nowMs > this.part(number).untilMs) return this.lose(number, provider);
		// As the escrow: a part begins with what the one before ended with.
		if (ran.states[0] !== task.start) return this.lose(number, provider);
		this.record = rules.claim(this.record, number, sha("claim", this.number, ran.states.at(-1)!), this.nowMs);
		this.ledger.move(provider, "gas", GAS.work / 2);
		this.claims.set(number, { states: ran.states, isFalse, by: provider });
		this.disturb();
		return true;
	}

	/** Late, silent, or refused: somebody else's; the bond is free again. */
	private lose(number: number, provider: string): false {
		if (this.isCheating(provider) && this.cheat.run !== undefined) this.caught += 1;
		else this.wronged.push(`${provider} lost part ${number}`);
		this.nowMs = Math.max(this.nowMs, this.part(number).untilMs + 1);
		this.record = rules.reopen(this.record, number, this.nowMs, PARAMS);
		this.ledger.move("bonds", provider, this.quote.bondMicros);
		return false;
	}

	/** The method's word, until it has nothing to say. False: the claim fell. */
	private verify(number: number): boolean {
		for (;;) {
			const part = this.part(number);
			const { count: segments } = rules.partRange(this.record.terms, number);
			const tookMs = part.claimedAtMs - part.assignedAtMs;
			const view = {
				...{ part, method: this.cheat.method, segments },
				isTooFast: part.state === "claimed" && isTooFast(tookMs, this.quote.estimatedMs, PARAMS),
			};
			const place = { job: this.number, part: number, attempt: part.attempt, role: 2 as const };
			const seed = () => drawSeed(place, listHash([]), sha("secret", this.number), sha("after", part.claim ?? ""));
			const { priceMicros, bondMicros } = this.quote;
			const sums = { costMicros: priceMicros, rewardMicros: priceMicros, bondMicros };
			const actions = METHODS[this.cheat.method.name].next(view, {
				windows: (count) => drawWindows(seed(), segments, this.quote.perWindow, count),
				isAudited: () => isAuditedByChance(seed(), auditChancePpm(0, sums, PARAMS)),
			});
			if (this.cheat.isBlessed && part.state === "claimed" && !part.isChecked) return this.bless(number);
			if (actions.length === 0) return true;
			let isWaiting = true;
			for (const action of actions) {
				const did = this.carryOut(number, action);
				if (did === "fell") return false;
				if (did === "done") isWaiting = false;
				if (action.kind === "check" || action.kind === "referee") break;
			}
			if (isWaiting) return true;
		}
	}

	private carryOut(number: number, action: MethodAction): "done" | "fell" | "waits" {
		const part = this.part(number);
		if (action.kind === "audit") {
			const auditor = this.auditors[part.audits.length % this.auditors.length]!;
			const { first, count } = action;
			const audit = { auditor, first, count, untilMs: 0, tried: [], answer: null, agrees: null };
			this.record = rules.addAudits(this.record, number, [audit]);
			if (part.state === "claimed") this.answer(number, part.audits.length);
			return "done";
		}
		if (action.kind === "compare") return this.compare(number, action.at);
		if (action.kind === "referee") return this.referee(number, action.at);
		this.check(number);
		return "done";
	}

	/** Blind: from the state before the window, which the claimant hands over. */
	private answer(number: number, at: number): void {
		const part = this.part(number);
		const { auditor, first, count } = part.audits[at]!;
		const task = this.task(number);
		const { states, by } = this.claims.get(number)!;
		const window = { ...task, start: states[first]!, first: task.first + first, count };
		const right = statesOf(window, honestly(window));
		const friends = this.isCheating(auditor!) && this.isCheating(by);
		const isLying = this.isCheating(auditor!) && this.cheat.audit !== undefined;
		const said = isLying ? this.cheat.audit!(right, friends ? states.slice(first, first + count + 1) : null) : right;
		const pay = auditMicros(this.quote.priceMicros, count, task.count, PARAMS);
		// Who says what the claim says helps a friend: that is the provider's try.
		if (isLying && said?.some((state, i) => state !== states[first + i]) !== false) this.tried += 1;
		if (said === right) this.ledger.move(auditor!, "power", Math.floor((COST * pay) / 1.2));
		if (said === null) {
			this.replace(number, at);
			return;
		}
		this.answers.set(at, said);
		this.record = rules.answerAudit(this.record, number, at, sha("answer", said.length, said.at(-1)!));
	}

	private replace(number: number, at: number): void {
		const part = this.part(number);
		this.caught += 1;
		const old = part.audits[at]!.auditor!;
		this.auditors = this.auditors.filter((auditor) => auditor !== old);
		const [auditor] = this.auditors;
		if (auditor === undefined) throw new Error("nobody is left to audit");
		this.record = rules.replaceAudit(this.record, number, at, { auditor, untilMs: 0 });
		this.answer(number, at);
	}

	private compare(number: number, at: number): "done" {
		const { first, count } = this.part(number).audits[at]!;
		const claimed = this.claims.get(number)!.states.slice(first, first + count + 1);
		const said = this.answers.get(at)!;
		const agrees = said.length === claimed.length && claimed.every((state, i) => state === said[i]);
		this.record = rules.compareAudit(this.record, number, at, agrees);
		return "done";
	}

	private referee(number: number, at: number): "done" | "fell" {
		const { first, count } = this.part(number).audits[at]!;
		const { states } = this.claims.get(number)!;
		const task = { ...this.task(number), first: this.task(number).first + first };
		const liar = refereeOnPaper(task, states.slice(first, first + count + 1), this.answers.get(at)!);
		if (liar === "auditor") {
			this.replace(number, at);
			return "done";
		}
		this.convict(number);
		return "fell";
	}

	/** A proof of fraud by the validator, or by a watcher. */
	private convict(number: number): void {
		const part = this.part(number);
		const { by, isFalse } = this.claims.get(number)!;
		if (!isFalse) this.wronged.push(`${by} was convicted`);
		if (this.isCheating(by)) this.caught += 1;
		this.convicted += 1;
		this.ledger.move("validator", "gas", GAS.prove);
		const shares = convictedShares(this.quote.bondMicros, GAS.prove, PARAMS);
		for (const who of ["accuser", "customer", "burned"] as const)
			this.ledger.move("bonds", who === "accuser" ? "validator" : who, shares[who]);
		for (const [at, { auditor, count, answer, agrees }] of part.audits.entries()) {
			const said = this.answers.get(at);
			if (auditor === null || answer === null || said === undefined || (this.isCheating(auditor) && agrees)) continue;
			// Nobody checks what fell, so the escrow does not pay them: the accuser passes on what it was given for
			// that.
			this.ledger.move("validator", auditor, this.payOf(number, count));
		}
		this.record = rules.convict(this.record, number);
		this.answers = new Map();
	}

	private payOf(number: number, count: number): number {
		return auditMicros(this.quote.priceMicros, count, this.task(number).count, PARAMS);
	}

	private check(number: number): void {
		const audits = this.part(number).audits.map(({ auditor, count }) => ({
			...{ auditor: auditor!, micros: this.payOf(number, count) },
		}));
		for (const { auditor, micros } of audits) {
			if (this.auditSpent + micros > this.quote.auditMicros)
				this.wronged.push(`${auditor} is owed ${micros}, ${this.quote.auditMicros - this.auditSpent} are left`);
			this.auditSpent += micros;
			this.ledger.move("escrow", auditor, micros);
		}
		this.ledger.move("validator", "gas", GAS.check);
		this.record = rules.markChecked(this.record, number, this.nowMs);
	}

	/** `Checked` for whatever was claimed; a watcher re-runs it while the shorter window lasts. */
	private bless(number: number): boolean {
		this.record = rules.markChecked(this.record, number, this.nowMs);
		const { isFalse } = this.claims.get(number)!;
		if (isFalse) this.convict(number);
		return !isFalse;
	}

	private settle(number: number): void {
		this.nowMs = this.part(number).untilMs + 1;
		this.disturb();
		this.record = rules.settle(this.record, number, this.nowMs);
		const { by, isFalse } = this.claims.get(number)!;
		if (isFalse) this.falsePaid += 1;
		this.ledger.move("escrow", by, this.quote.priceMicros);
		this.ledger.move("bonds", by, this.quote.bondMicros);
		this.ledger.move("escrow", "validator", this.quote.feeMicros);
		this.ledger.move("validator", "gas", GAS.end);
		this.ledger.move("escrow", "customer", this.quote.auditMicros - this.auditSpent);
		this.auditSpent = 0;
	}

	/** Too late for another: everything that is open is the customer's again. */
	private refund(number: number): void {
		this.record = rules.refund(this.record, number, this.nowMs, "anyone");
		const { priceMicros, feeMicros, auditMicros: most } = this.quote;
		this.ledger.move("escrow", "customer", priceMicros + feeMicros + most - this.auditSpent);
		this.auditSpent = 0;
	}

	/** Gas that the customer pays beside its quote. */
	readonly fundingGas = GAS.fund;

	/** What a part brings whoever runs it as it must. */
	get honestMicros(): number {
		return this.quote.priceMicros - Math.round(COST * this.quote.priceMicros) - GAS.work;
	}

	/** Nothing is left open, and nobody was paid for a part that nobody claimed. */
	isPaidOrRefunded(): boolean {
		return this.record.parts.every(({ state, claim }) => (state === "paid" ? claim !== null : state === "refunded"));
	}

	/** Who is drawn first. */
	first(): string {
		this.drawnFirst ??= this.draw(this.part(0), 0, 1, [])[0]!;
		return this.drawnFirst;
	}

	play(): Played {
		for (let number = 0; number < this.record.parts.length; number++)
			while (this.part(number).state !== "paid") {
				if (this.nowMs > this.record.terms.startByMs) this.refund(number);
				if (this.part(number).state === "refunded") break;
				const isFirst = number === 0 && this.part(0).attempt === 0;
				const provider = isFirst ? this.first() : this.draw(this.part(number), 0, 1, [])[0];
				if (provider === undefined) throw new Error("nobody is left to work");
				this.answers = new Map();
				if (!this.work(number, provider)) continue;
				for (const at of this.part(number).audits.keys()) this.answer(number, at);
				if (this.verify(number)) this.settle(number);
			}
		const { tried, caught, falsePaid, convicted, wronged, ledger, record } = this;
		return {
			...{ tried, caught, falsePaid, convicted, wronged, ledger, record },
			quotedMicros: this.quote.totalMicros,
		};
	}
}
