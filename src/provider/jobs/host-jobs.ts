// Jobs on this host: takes parts that validators offer, one for each of its devices and within its owner's
// limits, carries on with what the book has after a restart, answers for what it claimed until that is final,
// and then clears it away. Not here: the life of one part (work-part.ts), its answers (answer-part.ts).
import type { JobsOffer } from "../../engine/agent/agent-messages.ts";
import type { AgentHandlers } from "../../engine/agent/dial-agent.ts";
import { isInTime, sleep } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { TokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { ChainQuestion } from "../../protocol/network/chain-question.ts";
import { readQuestion } from "../../protocol/network/job-question.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { createEndKeeper } from "../proofs/keep-end.ts";
import { errorToEvent, type ProviderEvent } from "../provider-event.ts";
import { GameAnswers } from "./answer-games.ts";
import { PartAnswers } from "./answer-part.ts";
import { blobsOf, checkOffer, declined } from "./check-offer.ts";
import { PartClearer } from "./cleared-part.ts";
import { type AskedPart, type JobDesk, ownTime, type PartOffer } from "./job-desk.ts";
import { askedOf, entryName, PartBook, type PartEntry } from "./part-book.ts";
import { type PartMeans, PartWork, type Placed } from "./work-part.ts";
import { claimedEndOf, isByProofs } from "./zk-part.ts";

export interface HostJobsOptions
	extends Pick<PartMeans, "limits" | "chain" | "powersFor" | "startEngine" | "after" | "nowMs"> {
	readonly dataFolder: string;
	/**
	 * The devices that work, by their numbers in the host's claim: one at least. Each has a part of its own.
	 */
	readonly devices: readonly number[];
	readonly hold: (how?: { readonly evenIfRented?: boolean }) => Promise<() => void>;
	/** The API of the validator whose agent link has this URL. */
	readonly deskOf: (url: string, validatorKey: string) => JobDesk;
	readonly onEvent: (event: ProviderEvent) => void;
	readonly sweepMs?: number;
	readonly answers?: { readonly idleMs?: number; readonly answerMs?: number };
}

const SWEEP_MS = 30_000;
/**
 * A fetched offer that comes to nothing costs bandwidth: so many an hour of one validator and for each
 * device, and some at once. One that ends with a claim or an audit's answer is not counted, however many
 * there are.
 */
const OFFERS = { perS: 60 / 3600, burst: 30 };
const OFFER_WITHIN_MS = 20_000;
const ASSIGNED_MS = 1000;
/** Uploads of what was run last; whoever offers meanwhile waits for so long. */
const HAND_IN_MS = 20_000;
/**
 * Without a chain nobody can tell whether a claim is final but by its window; audits have none of their own.
 */
const MARGIN_MS = 3_600_000;
/** After that its folder goes. */
const OVER_MS = 600_000;

/** What the wiring of a provider needs of it. */
export type HostJobs = Awaited<ReturnType<typeof openHostJobs>>;

/** Takes over what the book has. Throws FILE_UNREADABLE. */
export async function openHostJobs(options: HostJobsOptions) {
	const jobs = new Jobs(options, new PartBook(options.dataFolder));
	await jobs.takeOver();
	return {
		/** What validators are told when the provider connects. */
		offer: jobs.offer(),
		handlers: (url: string): Pick<AgentHandlers, "job" | "ask" | "stop"> => ({
			job: async ({ validatorKey, ...asked }) => jobs.nudge(url, validatorKey, asked),
			ask: async ({ question, job, part, attempt }) => {
				const { audit } = readQuestion(question);
				return jobs.answer({ job, part, attempt, audit }, question);
			},
			stop: async ({ validatorKey, job, part, attempt }) => jobs.halt(validatorKey, { job, part, attempt }),
		}),
		/** Looks now whether claims are final. */
		sweep: () => jobs.sweep(),
		get isWorking() {
			return jobs.isWorking;
		},
		/** Ends after the segments at hand; what is saved is gone on with at the next start. */
		stop: () => jobs.stop(),
	};
}

interface CurrentPart {
	readonly name: string;
	work: PartWork | null;
	readonly done: Promise<void>;
}

class Jobs {
	private readonly options: HostJobsOptions;
	private readonly book: PartBook;
	private readonly means: PartMeans;
	private readonly stopping = new AbortController();
	private readonly entries = new Map<string, PartEntry>();
	private readonly answers = new Map<string, PartAnswers>();
	private readonly stuck = new Set<string>();
	private readonly games: GameAnswers | null;
	private readonly ends: ReturnType<typeof createEndKeeper> | null;
	private readonly clearer: PartClearer | null;
	private readonly buckets = new Map<string, TokenBucket>();
	/** Of each device that has one: the part that is fetched, run or handed in now. */
	private readonly current = new Map<number, CurrentPart>();
	private sweeping: { stop(): Promise<void> } | null = null;

	constructor(options: HostJobsOptions, book: PartBook) {
		const { chain, limits, startEngine, hold, after, nowMs, onEvent } = options;
		this.options = options;
		this.book = book;
		this.games =
			chain && new GameAnswers({ chain, nowMs, mostGas: limits.answerGas, onTrouble: (e) => this.trouble(e) });
		const { powersFor } = options;
		this.ends = chain?.zk === undefined || powersFor === undefined ? null : createEndKeeper(chain.zk, powersFor);
		this.clearer =
			chain?.disputes === undefined || powersFor === undefined || !limits.provesDisputes
				? null
				: new PartClearer({
						...{ chain: chain.disputes, powersFor, startEngine, device: options.devices[0]! },
						hold: () => hold({ evenIfRented: true }),
					});
		this.means = {
			...{ book, chain, limits, powersFor, startEngine, hold: () => hold(), after, nowMs },
			onEntry: (entry) => void this.entries.set(entry.name, entry),
			tell: (asked, state, detail) => onEvent({ kind: "job", ...asked, state, detail }),
			onTrouble: (error) => this.trouble(error),
		};
	}

	private trouble(error: unknown): void {
		this.options.onEvent({ kind: "trouble", ...errorToEvent(error, "JOB_STATE") });
	}

	get isWorking(): boolean {
		return this.current.size > 0;
	}

	offer(): JobsOffer {
		const { chain, limits, devices } = this.options;
		const { pricePerHourMicros, mostBondMicros, memoryBytes, minutes } = limits;
		const methods = limits.methods.filter((name) => methodOf({ name }).driver === "audits" || this.ends !== null);
		return {
			...{ account: chain?.account.slice(2) ?? null, consent: chain?.consent ?? null },
			...{ pricePerHourMicros, mostBondMicros, memoryBytes, minutes, methods },
			devices: [...devices],
		};
	}

	async takeOver(): Promise<void> {
		const { after, sweepMs = SWEEP_MS } = this.options;
		for (const entry of await this.book.read()) this.entries.set(entry.name, entry);
		for (const device of this.options.devices) {
			const alarm = await this.book.alarm(device);
			if (alarm !== null) this.trouble(alarmed(device, this.book.alarmPath(device), alarm));
		}
		this.goOn();
		this.sweeping = repeat({ everyMs: sweepMs, after, onError: (error) => this.trouble(error) }, () => this.sweep());
	}

	/**
	 * Where a part works and is answered for: a device that is not there any more has its parts done by
	 * another.
	 */
	private deviceOf({ page: { offer } }: PartEntry): number {
		const { devices } = this.options;
		return devices.includes(offer.device) ? offer.device : devices[0]!;
	}

	/** Every device that does nothing takes up what the book has for it. */
	private goOn(): void {
		for (const device of this.options.devices) if (!this.current.has(device)) this.begin(device, null);
	}

	/** The next unfinished part of the book for a device, or a new one. */
	private begin(device: number, fresh: { readonly name: string; readonly act: () => Promise<void> } | null): void {
		const left = [...this.entries.values()].find(
			(one) =>
				one.page.state !== "claimed" &&
				one.page.state !== "over" &&
				!this.stuck.has(one.name) &&
				this.deviceOf(one) === device,
		);
		const name = fresh?.name ?? left?.name;
		if (name === undefined || this.stopping.signal.aborted) return;
		const act = fresh?.act ?? (() => this.carryOn(device, left!));
		const done = act()
			.catch((error) => {
				// A full disk, say: it is tried again later, not at once.
				this.stuck.add(name);
				this.trouble(error);
			})
			.then(() => {
				this.current.delete(device);
				this.begin(device, null);
			});
		this.current.set(device, { name, work: null, done });
	}

	private async carryOn(device: number, entry: PartEntry): Promise<void> {
		const { url, validatorKey } = entry.page;
		const work = new PartWork(this.means, this.options.deskOf(url, validatorKey), entry, device);
		// Set by `begin` in the same turn.
		await null;
		const current = this.current.get(device);
		if (current !== undefined) current.work = work;
		await work.run(this.stopping.signal);
	}

	/**
	 * Nothing is promised by taking note: the part is ours once its bond is locked and the validator has been
	 * told.
	 */
	async nudge(url: string, validatorKey: string, asked: Placed): Promise<void> {
		const { nowMs, devices } = this.options;
		const { device } = asked;
		const name = entryName(asked);
		if (this.stopping.signal.aborted) throw new AssayError("PROVIDER_STOPPING", "this provider is being stopped");
		if (this.entries.has(name) || [...this.current.values()].some((one) => one.name === name)) return;
		if (!devices.includes(device)) throw declined(`device ${device} of this host takes no jobs`);
		// The next part may be offered in the moment in which the last one was claimed.
		const before = this.current.get(device);
		if (before?.work?.isRun) await isInTime(before.done, HAND_IN_MS);
		const alarm = await this.book.alarm(device);
		if (alarm !== null)
			throw declined(`device ${device} of this host gave different results, and its owner has not looked yet`);
		// Not declined: it may be asked again.
		if (this.current.has(device)) throw codedError("PROVIDER_BUSY", "this device works on another part");
		if (!this.buckets.has(validatorKey))
			this.buckets.set(
				validatorKey,
				new TokenBucket({ perS: OFFERS.perS * devices.length, burst: OFFERS.burst * devices.length }),
			);
		const bucket = this.buckets.get(validatorKey)!;
		if (!bucket.take(nowMs())) throw declined("too many offers of this validator came to nothing");
		const act = async () => {
			await this.take(url, validatorKey, asked);
			if (this.entries.get(name)?.page.state === "claimed") bucket.giveBack();
		};
		this.begin(device, { name, act });
	}

	private async take(url: string, validatorKey: string, asked: Placed): Promise<void> {
		const { limits, chain, nowMs } = this.options;
		const desk = this.options.deskOf(url, validatorKey);
		// Whoever cannot be asked, or has it no more, need not be told anything; a nudge that is meant comes
		// again.
		const offer = await this.offerOf(desk, asked);
		let entry: PartEntry;
		try {
			checkOffer(offer, asked, limits, chain);
			const needed = blobsOf(offer).reduce((sum, { size }) => sum + size, 0);
			const held = await this.book.bytes(
				[...this.entries.values()].filter((one) => this.deviceOf(one) === asked.device).map(({ path }) => path),
			);
			if (held + needed > limits.diskBytes)
				throw declined(`${held} bytes of ${limits.diskBytes} are in use, and it needs ${needed}`);
			const untilMs = ownTime(offer, nowMs());
			entry = await this.book.write(asked, {
				...{ url, validatorKey, state: "assigning", untilMs, atMs: nowMs(), claim: null, offer },
			});
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			await desk.decline(asked, why.replace(/[^\x20-\x7e]/g, " ").slice(0, 200)).catch(() => {});
			this.means.tell(asked, "declined", why);
			return;
		}
		this.entries.set(entry.name, entry);
		this.means.tell(asked, "taken", "");
		await this.carryOn(asked.device, entry);
	}

	/** With its assignment, which is signed once nobody else has the part on the chain any more. */
	private async offerOf(desk: JobDesk, asked: AskedPart): Promise<PartOffer> {
		const { after } = this.options;
		for (;;) {
			const offer = await desk.offer(asked, AbortSignal.timeout(OFFER_WITHIN_MS));
			const isWhole =
				this.options.chain === null || offer.escrow === null || offer.audit !== null || offer.assignment !== null;
			if (isWhole || offer.nowMs > offer.untilMs) return offer;
			if (!(await sleep(ASSIGNED_MS, this.stopping.signal, after))) throw declined("this provider is being stopped");
		}
	}

	/** By the validator that gave it: what is claimed stays, whoever says stop. */
	halt(validatorKey: string, about: Omit<AskedPart, "audit">): void {
		for (const { work } of this.current.values()) {
			if (work?.page.validatorKey !== validatorKey) continue;
			const { job, part, attempt } = work.asked;
			if (job === about.job && part === about.part && attempt === about.attempt) work.stop("the validator says stop");
		}
	}

	private placed(entry: PartEntry): Placed {
		return { ...askedOf(entry.page.offer), device: this.deviceOf(entry) };
	}

	async answer(asked: AskedPart, question: string): Promise<{ answer: string; signature: string | null }> {
		const name = entryName(asked);
		const entry = this.entries.get(name);
		if (entry?.page.state === "done") throw codedError("PROVIDER_BUSY", "it is just being claimed");
		if (entry?.page.state !== "claimed") throw codedError("JOB_STATE", "this provider has no claim there");
		if ((await this.book.alarm(this.deviceOf(entry))) !== null)
			throw new AssayError("RUN_UNSTEADY", "its hardware gave different results");
		return this.alarming(entry, (answers) => answers.answer(question));
	}

	private answersOf(entry: PartEntry): PartAnswers {
		const found = this.answers.get(entry.name);
		if (found !== undefined) return found;
		const { url, validatorKey } = entry.page;
		const { chain, startEngine, hold, after } = this.options;
		// Whoever does not answer may lose its bond: that waits for no rental.
		const anyway = () => hold({ evenIfRented: true });
		const means = { chain, startEngine, hold: anyway, after, onTrouble: (error: unknown) => this.trouble(error) };
		const answers = new PartAnswers(
			{ ...means, device: this.deviceOf(entry), ...this.options.answers },
			this.options.deskOf(url, validatorKey),
			entry,
		);
		this.answers.set(entry.name, answers);
		return answers;
	}

	/** A device that does not give again what it claimed answers nothing more until its owner has looked. */
	private async alarming<T>(entry: PartEntry, act: (answers: PartAnswers) => Promise<T>): Promise<T> {
		const { name } = entry;
		try {
			return await act(this.answersOf(entry));
		} catch (error) {
			if (error instanceof AssayError && error.code === "RUN_UNSTEADY") {
				const device = this.deviceOf(entry);
				await this.book.raiseAlarm(device, `${name}: ${error.message}`);
				this.trouble(alarmed(device, this.book.alarmPath(device), error.message));
			}
			throw error;
		}
	}

	/**
	 * Whatever is asked on chain about a claim is answered there: silence would convict an honest provider too.
	 */
	private async answerGames(entry: PartEntry): Promise<() => Promise<void>> {
		const { offer, claim } = entry.page;
		const attempt = offer.assignment?.attempt;
		if (this.games === null || claim === null || attempt === undefined) return async () => {};
		const about = { name: entry.name, job: offer.id, part: offer.part, attempt };
		const tell = (detail: string) => this.means.tell(this.placed(entry), "asked", detail);
		const answerTo = (question: ChainQuestion) =>
			this.alarming(entry, async (answers) =>
				(await this.clearer?.isProven(entry, question, tell)) ? "proven" : answers.answerOnChain(question),
			);
		const send = await this.games.answer(about, answerTo, tell);
		await this.alarming(entry, async () => this.clearer?.proveDemanded(entry, tell));
		return send;
	}

	/** What is final is over; what has been over for a while goes. */
	async sweep(): Promise<void> {
		const { nowMs } = this.options;
		this.stuck.clear();
		this.goOn();
		// Of all claims at once: each waits until its answers are deep in the chain.
		const sending: Promise<void>[] = [];
		for (const entry of [...this.entries.values()]) {
			const { state, atMs, offer } = entry.page;
			if (state === "over" && nowMs() > atMs + OVER_MS) {
				this.entries.delete(entry.name);
				await this.book.remove(entry.path);
			}
			if (state !== "claimed") continue;
			const end = await this.endOf(entry).catch(() => null);
			if (end === null) {
				// One that cannot be answered now is tried again with the next sweep; its owner is told.
				const send = await this.answerGames(entry).catch((error) => this.trouble(error));
				if (send) sending.push(send().catch((error) => this.trouble(error)));
				sending.push(this.keepEnd(entry).catch((error) => this.trouble(error)));
				sending.push(this.settle(entry).catch((error) => this.trouble(error)));
				continue;
			}
			if (end === "settled") await this.collectDeposits(entry).catch((error) => this.trouble(error));
			await this.clearer?.collect().catch((error) => this.trouble(error));
			await this.takeEndBack(entry).catch((error) => this.trouble(error));
			await this.answers.get(entry.name)?.close();
			this.answers.delete(entry.name);
			const page = { ...entry.page, state: "over" as const, atMs: nowMs() };
			this.entries.set(entry.name, await this.book.write(askedOf(offer), page));
			this.means.tell(this.placed(entry), "over", end);
		}
		await Promise.all(sending);
	}

	/** Of a zk job: its trees are posted and answered for, and it is concluded when its segments are proven. */
	private async keepEnd(entry: PartEntry): Promise<void> {
		const of = this.ends === null || !isByProofs(entry.page.offer) ? null : await claimedEndOf(entry);
		const done = of && (await this.ends!.keep(of));
		if (done) this.means.tell(this.placed(entry), "proven", done);
	}

	/** A validator that does not have it paid holds nobody's money: its window is over for anybody. */
	private async settle(entry: PartEntry): Promise<void> {
		const { offer, claim } = entry.page;
		const attempt = offer.assignment?.attempt;
		if (claim === null || attempt === undefined || offer.escrow === null || isByProofs(offer)) return;
		const isPaid = await this.options.chain?.settle(offer.escrow.terms, offer.part, attempt, MARGIN_MS / 1000);
		if (isPaid) this.means.tell(this.placed(entry), "over", "settled by this host: no validator did");
	}

	private async takeEndBack(entry: PartEntry): Promise<void> {
		const of = this.ends === null || !isByProofs(entry.page.offer) ? null : await claimedEndOf(entry);
		if (of !== null) await this.ends!.takeBack(of);
	}

	private async collectDeposits({ page: { offer, claim } }: PartEntry): Promise<void> {
		const attempt = offer.assignment?.attempt;
		if (claim !== null && attempt !== undefined)
			await this.options.chain?.collectDeposits(offer.id, offer.part, attempt);
	}

	/** How a claim ended; null: it may still be asked about. */
	private async endOf({ page: { offer, atMs } }: PartEntry): Promise<string | null> {
		const { chain, nowMs } = this.options;
		const isPast = nowMs() > atMs + offer.terms.windowMs + MARGIN_MS;
		if (chain === null || offer.escrow === null) return isPast ? "its window is over" : null;
		// Nothing of a claim is thrown away for a block that may be taken back: who cannot answer loses its bond.
		const found = await chain.part(offer.id, offer.part, true);
		if (found.state === "settled" || found.state === "refunded") return found.state;
		if (offer.audit !== null) return isPast ? "its window is over" : null;
		const own = offer.assignment?.attempt ?? 0;
		return found.attempt > own || (found.attempt === own && found.state === "open") ? "it fell" : null;
	}

	async stop(): Promise<void> {
		this.stopping.abort();
		await this.sweeping?.stop();
		await Promise.all([...this.current.values()].map(({ done }) => done));
		for (const answers of this.answers.values()) await answers.close();
	}
}

function alarmed(device: number, path: string, why: string): AssayError {
	return new AssayError("RUN_UNSTEADY", `device ${device} of this host takes no jobs: ${why}`, {
		hint: `Test it and the host's memory; then remove ${path}.`,
	});
}
