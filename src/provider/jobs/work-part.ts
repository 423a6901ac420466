// The life of one part that this host was offered: fetched and checked, its bond locked, run, claimed.
// Whatever it promises stands in the book first. Killed at any moment and begun again it ends with the same
// claim. An audit is a part without bond and claim: its states are the answer. docs/provider.md.

import { loadTensor } from "../../engine/client/load-tensor.ts";
import type { WorkPlan, WorkSession } from "../../engine/client/work-session.ts";
import { hoursMicros, modelledMs, partWork } from "../../market/jobs/fitting-hosts.ts";
import { type After, sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { wholeSpan } from "../../protocol/format-number.ts";
import { isPassing } from "../../protocol/passing.ts";
import { openRunFolder, type RunWriter } from "../../store/runs/run-folder.ts";
import { elementCount } from "../../work/operators/tensor-type.ts";
import { segmentWork } from "../../work/program/job-work.ts";
import type { Program } from "../../work/program/shapes.ts";
import { readJournal } from "../../work/runs/journal.ts";
import type { WorkloadMetric } from "../../work/workloads/workload.ts";
import type { PowersFor } from "../proofs/powers.ts";
import { attestPart, boundPart } from "./attest-part.ts";
import { type Beats, createBeats } from "./beat-part.ts";
import { declined, type JobLimits, mustTraceInTime } from "./check-offer.ts";
import { handInAudit, handInClaim } from "./claim-part.ts";
import { fetchPart } from "./fetch-part.ts";
import type { JobChain } from "./job-chain.ts";
import { type AskedPart, type JobDesk, ownTime, type PartOffer, type PartReply } from "./job-desk.ts";
import type { JobEngine, StartJobEngine } from "./job-engine.ts";
import { createPace } from "./pace.ts";
import { askedOf, type EntryState, type PartBook, type PartEntry, type PartPage } from "./part-book.ts";
import { type FetchTensor, type KeptRoots, type RunEnd, type RunEvent, runPart } from "./run-part.ts";
import { ENDS_FILE, isByProofs, listedEnds, mustBeOrdered, type ZkMeans } from "./zk-part.ts";

export interface PartMeans {
	readonly book: PartBook;
	readonly chain: JobChain | null;
	readonly limits: JobLimits;
	/** Absent: it takes no job that is paid by proof. */
	readonly powersFor?: PowersFor | undefined;
	readonly startEngine: StartJobEngine;
	/** The host's engine, as long as it is needed; gives back how to let go. Throws PROVIDER_BUSY. */
	readonly hold: () => Promise<() => void>;
	readonly after: After;
	readonly nowMs: () => number;
	/** Its page is another now. */
	readonly onEntry: (entry: PartEntry) => void;
	/** Told when a state is reached that its owner should hear of. */
	readonly tell: (offer: Placed, state: PartNews, detail: string) => void;
	readonly onTrouble: (error: unknown) => void;
}

/** Which part, or audit, and on which device. */
export type Placed = AskedPart & Pick<PartOffer, "device">;

export type PartNews =
	| "taken"
	| "running"
	| "claimed"
	| "answered"
	| "asked"
	| "proven"
	| "declined"
	| "returned"
	| "lost"
	| "over";

/** An engine that died is started again; one that dies each time is not. */
const MOST_STARTS = 5;
/** As the time limit has it of the slowest host: `jobTimePpm`. */
const MAX_OVER_PAID = 5;
const RETRY_MS = 2000;
const MOST_RETRY_MS = 30_000;
/** Pictures of how it goes: larger ones are not shown. */
const MOST_PREVIEW = 16 << 20;

export class PartWork {
	readonly asked: AskedPart;
	readonly desk: JobDesk;
	private readonly means: PartMeans;
	private readonly stopping = new AbortController();
	/** The device that works. */
	private readonly device: number;
	entry: PartEntry;
	private program: Program | null = null;
	/** Why it hands the part back. */
	private returning: string | null = null;
	/** Null: it has not begun to run. */
	private paidUntilMs: number | null = null;
	private dropTimer = () => {};

	constructor(means: PartMeans, desk: JobDesk, entry: PartEntry, device: number) {
		this.means = means;
		this.device = device;
		this.desk = desk;
		this.entry = entry;
		this.asked = askedOf(entry.page.offer);
	}

	/** Ends it after the segment at hand. What is claimed stays. */
	stop(why: string): void {
		this.stopping.abort(new AssayError("JOB_STATE", why));
	}

	/** Whoever has it next has more use of the time that is left; what is paid too little is for nobody. */
	private handBack(why: string): void {
		this.returning = why;
		this.stop(why);
	}

	/**
	 * How long the part's pay lasts at the owner's price, times what work may take longer than it is modelled.
	 *
	 * ATTACK: the time limit follows the slowest host that may be drawn, so a program that is counted too low
	 * would keep a quick one for hundreds of times what it pays for. Who asks nothing works until the limit.
	 */
	private get worthMs(): number {
		const { pricePerHourMicros } = this.means.limits;
		if (pricePerHourMicros === 0) return Number.POSITIVE_INFINITY;
		return (MAX_OVER_PAID * 3_600_000 * this.offer.terms.priceMicros) / pricePerHourMicros;
	}

	/**
	 * The page says what is next. Resolves when it is claimed, answered, declined or lost; rejects when this
	 * provider is stopped.
	 */
	async run(shutdown: AbortSignal): Promise<void> {
		const signal = AbortSignal.any([shutdown, this.stopping.signal]);
		try {
			if (this.page.state === "assigning" || this.page.state === "running") await this.work(signal, shutdown);
			if (this.page.state === "done") await this.handIn(signal);
		} catch (error) {
			if (shutdown.aborted) return;
			await this.giveUp(error);
		}
	}

	/** The engine is not needed any more. */
	get isRun(): boolean {
		return this.page.state === "done" || this.page.state === "claimed" || this.page.state === "over";
	}

	get page(): PartPage {
		return this.entry.page;
	}

	private get placed(): Placed {
		return { ...this.asked, device: this.device };
	}

	private get offer(): PartOffer {
		return this.page.offer;
	}

	/** Durable before anything follows from it. */
	private async become(state: EntryState, more: Partial<PartPage> = {}): Promise<void> {
		this.entry = await this.means.book.write(this.asked, { ...this.page, ...more, state, atMs: this.means.nowMs() });
		this.means.onEntry(this.entry);
	}

	private async giveUp(error: unknown): Promise<void> {
		const { tell, onTrouble } = this.means;
		const why = error instanceof Error ? error.message : String(error);
		const isDeclined = this.page.state === "assigning";
		// A machine that gives other bits the second time says nothing more.
		if (error instanceof AssayError && error.code === "RUN_UNSTEADY") {
			await this.means.book.raiseAlarm(this.device, `${this.entry.name}: ${why}`);
			onTrouble(error);
		}
		const isReturned = this.returning !== null && this.page.state === "running";
		if (isReturned) await this.freeBond();
		if (isDeclined || isReturned) await this.desk.decline(this.asked, plain(why)).catch(() => {});
		await this.become("over");
		tell(this.placed, isDeclined ? "declined" : isReturned ? "returned" : "lost", why);
	}

	/** The validator releases it, too, once it has heard: what goes wrong here is told, and no more. */
	private async freeBond(): Promise<void> {
		const { chain, onTrouble } = this.means;
		const { escrow, assignment, part } = this.offer;
		if (chain === null || escrow === null || assignment === null) return;
		await chain.release(escrow.terms, part, assignment.attempt).catch(onTrouble);
	}

	/**
	 * Fetch, check, lock, run: until all segments are run. Engines that die are started again; a disk that is
	 * full is waited for.
	 */
	private async work(signal: AbortSignal, shutdown: AbortSignal): Promise<void> {
		const { nowMs } = this.means;
		const isNew = this.page.state === "assigning";
		// What is not here in time to be accepted need not come any more.
		const timer = AbortSignal.timeout(Math.max(1, Math.min(this.page.untilMs - nowMs(), 2 ** 31 - 1)));
		this.program = await fetchPart(this.desk, this.offer, this.entry.path, AbortSignal.any([signal, timer]));
		const folder = await openRunFolder(this.entry.path);
		let letGo = () => {};
		try {
			letGo = await this.holdEngine(isNew ? this.page.untilMs : Number.POSITIVE_INFINITY, signal);
			for (let starts = 1; ; starts++) {
				try {
					if (await this.runOnce(folder, signal)) {
						await this.become("done");
						break;
					}
					signal.throwIfAborted();
				} catch (error) {
					const isOver = signal.aborted || shutdown.aborted || this.page.state === "assigning";
					const isFull = error instanceof AssayError && error.code === "FILE_UNWRITABLE";
					const mayGoOn = isFull ? nowMs() < this.page.untilMs : starts < MOST_STARTS && isEngineGone(error);
					if (isOver || !mayGoOn) throw error;
					this.means.onTrouble(error);
					await sleep(RETRY_MS, signal, this.means.after);
				}
			}
		} finally {
			letGo();
			await folder.close();
		}
	}

	/** A probe under way is waited for. */
	private async holdEngine(untilMs: number, signal: AbortSignal): Promise<() => void> {
		for (;;) {
			try {
				return await this.means.hold();
			} catch (error) {
				const isBusy = error instanceof AssayError && error.code === "PROVIDER_BUSY";
				if (!isBusy || this.means.nowMs() >= untilMs) throw error;
				await sleep(1000, signal, this.means.after);
				signal.throwIfAborted();
			}
		}
	}

	/** False: it was stopped before its end. */
	private async runOnce(folder: RunWriter, signal: AbortSignal): Promise<boolean> {
		const { means, offer } = this;
		const minutes =
			this.page.state === "running" ? (this.page.untilMs - means.nowMs()) / 60_000 : offer.terms.workMs / 60_000;
		if (minutes <= 0) throw declined("its time is over");
		const engine = await means.startEngine({
			...{ device: this.device, storePath: folder.storePath, minutes },
			onKilled: (why) => means.onTrouble(new AssayError("LINK_CLOSED", `the engine of a job was killed: ${why}`)),
		});
		const beats = this.beats(await doneBefore(folder), (why) => this.stop(why));
		try {
			const end = await this.runSegments(folder, engine, signal, beats);
			if (end.isDone && end.claimHash !== null) {
				await this.attest(folder, engine, bytesToHex(end.claimHash));
				await this.writeEnds(folder, engine);
			}
			return end.isDone;
		} finally {
			this.dropTimer();
			await beats.stop();
			await engine.close();
		}
	}

	private beats(done: number, onStop: (why: string) => void): Beats {
		const { means, asked, desk, offer } = this;
		return createBeats({
			...{ desk, asked, first: offer.first, done, after: means.after, onError: means.onTrouble },
			everyMs: Math.max(100, Math.floor(offer.beatMs / 2)),
			onStop,
		});
	}

	/** What goes wrong with it is told, and takes nothing from the work. */
	private async attest(folder: RunWriter, engine: JobEngine, claim: string | null): Promise<void> {
		const bound = boundPart(this.desk, this.asked, this.offer);
		await attestPart(folder, engine, bound, claim).catch(this.means.onTrouble);
	}

	private runSegments(folder: RunWriter, engine: JobEngine, signal: AbortSignal, beats: Beats): Promise<RunEnd> {
		const { means, offer, asked } = this;
		const { spec, first, count, begin, escrow } = offer;
		const program = this.program!;
		const pace = createPace({ first, count });
		const named = (all: readonly { readonly root: string }[]) => all.map(({ root }) => root);
		const kept: KeptRoots | null = begin && { state: named(begin.state), results: named(begin.results) };
		return runPart({
			...{ folder, program, seed: hexToBytes(spec.seed, 32)!, first, count, begin: kept, open: engine.open },
			of: asked.audit === null ? claimNames(offer.id, asked.part, escrow) : null,
			give: (session) => this.give(session, folder),
			ready: async (plan) => {
				await this.ready(plan, engine, folder);
				if (asked.audit !== null) return;
				beats.begin();
				await this.attest(folder, engine, null);
			},
			metrics: metricsOf(offer, program),
			saved: (fetch) => this.preview(fetch, beats, signal),
			...{ device: engine.device, diskBytes: means.limits.diskBytes, nowMs: means.nowMs, signal },
			onEvent: (event) => {
				beats.onEvent(event);
				if (asked.audit === null) this.watchPace(event, pace, signal);
			},
		});
	}

	/** Hands the part back once the windows so far show that it takes longer than its time, or than its pay. */
	private watchPace(event: RunEvent, pace: ReturnType<typeof createPace>, signal: AbortSignal): void {
		const { nowMs, after } = this.means;
		const now = nowMs();
		if (event.kind === "begun") {
			this.paidUntilMs ??= now + this.worthMs;
			this.dropTimer = after(this.paidUntilMs - now, () => this.handBack("it takes longer than its pay is worth"));
		}
		const paidUntilMs = this.paidUntilMs ?? Number.POSITIVE_INFINITY;
		const found = pace(event, now, Math.min(this.page.untilMs, paidUntilMs));
		if (found === null || signal.aborted) return;
		const needs = `the rest takes ${wholeSpan(found.needsMs)} here, and ${wholeSpan(found.leftMs)}`;
		this.handBack(
			paidUntilMs < this.page.untilMs ? `${needs} more are all that its pay is worth` : `${needs} are left`,
		);
	}

	/** Constants and inputs, which lie in the store; the engine hashes each as it loads it. */
	private async give(session: WorkSession, folder: RunWriter): Promise<ReadonlyMap<number, Uint8Array>> {
		const roots = new Map<number, Uint8Array>();
		for (const { tensor, root } of this.offer.spec.given) {
			const bytes = hexToBytes(root, 32)!;
			await loadTensor(session, this.program!, tensor, bytes, (name) => folder.blob(name));
			roots.set(tensor, bytes);
		}
		return roots;
	}

	/** Everything is here and right: now the plan, the bond, and the validator's word that it is ours. */
	private async ready(plan: WorkPlan, engine: JobEngine, folder: RunWriter): Promise<void> {
		const { limits, chain, tell } = this.means;
		const { offer, asked } = this;
		if (plan.peakBytes > limits.memoryBytes)
			throw declined(`it takes ${plan.peakBytes} bytes of the device, ${limits.memoryBytes} are allowed here`);
		if (3 * plan.stateBytes > limits.diskBytes)
			throw declined(`its states take ${plan.stateBytes} bytes each, ${limits.diskBytes} are allowed here`);
		engine.allow(plan.peakBytes);
		if (this.page.state !== "assigning") return;
		if (asked.audit !== null) return this.become("running");
		await this.mustPay();
		await this.mustAnswerInTime();
		await this.mustBeOrdered(engine, folder);
		if (chain !== null && offer.escrow !== null && offer.assignment !== null) {
			const free = await chain.freeBondMicros();
			const mine = await chain.part(asked.job, asked.part);
			const isLocked = mine.provider === chain.account && mine.attempt === offer.assignment.attempt;
			if (!isLocked && free < offer.terms.bondMicros)
				throw declined(`the bond is ${offer.terms.bondMicros} micro-units, ${free} of the deposit are free`);
			const isRight =
				asked.part === 0 || (await chain.isEndOfPartBefore(asked.job, asked.part, offer.previous ?? "", offer.start));
			if (!isRight) throw declined("it would begin elsewhere than the part before ended, as the chain has it");
			await chain.assign(offer.escrow.terms, offer.assignment);
		}
		const untilMs = ownTime(await this.accepted(), this.means.nowMs());
		await this.become("running", { untilMs });
		tell(this.placed, "running", "");
	}

	/** By the same figures and the same model as a validator that quotes honestly. */
	private async mustPay(): Promise<void> {
		const { pricePerHourMicros } = this.means.limits;
		if (pricePerHourMicros === 0) return;
		const speed = await this.desk.proven(this.device);
		if (speed === null) throw declined("the validator says that nothing is proven of this host's device");
		const { count, terms } = this.offer;
		const asks = hoursMicros(modelledMs(partWork(segmentWork(this.program!), count), speed), pricePerHourMicros);
		const least = asks - Math.floor(asks / FIGURES_DIFFER);
		if (terms.priceMicros < least)
			throw declined(`it brings ${terms.priceMicros} micro-units, ${least} is the least at the owner's price an hour`);
	}

	/**
	 * Whoever asks on chain for the trace of a segment gets it before the clock, or this provider loses its
	 * bond.
	 */
	private async mustAnswerInTime(): Promise<void> {
		const { chain } = this.means;
		if (chain === null || this.offer.escrow === null) return;
		const speed = await this.desk.proven(this.device).catch(() => null);
		if (speed === null) return;
		mustTraceInTime(modelledMs(partWork(segmentWork(this.program!), 1), speed), await chain.traceMs());
	}

	/** What a zk job's customer ordered is what this program and these data are. */
	private async mustBeOrdered(engine: JobEngine, folder: RunWriter): Promise<void> {
		if (isByProofs(this.offer)) await mustBeOrdered(this.offer, this.program!, this.zkMeans(engine, folder));
	}

	private zkMeans(engine: JobEngine, { blob: read }: RunWriter): ZkMeans {
		const { chain, powersFor } = this.means;
		if (chain?.zk === undefined || powersFor === undefined) throw declined("this provider takes no zk jobs");
		return { zk: chain.zk, engine, powersFor, read };
	}

	/** Of a zk job: what its segments end with, for the list that provers go by. */
	private async writeEnds(folder: RunWriter, engine: JobEngine): Promise<void> {
		if (!isByProofs(this.offer)) return;
		await folder.write(ENDS_FILE, await listedEnds(this.offer, this.program!, this.zkMeans(engine, folder)));
	}

	/** With a bond locked, a validator that cannot be reached for a moment is asked again. */
	private async accepted(): Promise<PartReply> {
		for (;;) {
			try {
				return await this.desk.accept(this.asked);
			} catch (error) {
				const isAway = isPassing(error) || (error instanceof AssayError && OTHERWISE_SOON.has(error.code));
				if (!isAway || this.stopping.signal.aborted || this.means.nowMs() > this.page.untilMs) throw error;
				await sleep(RETRY_MS, this.stopping.signal, this.means.after);
			}
		}
	}

	/** How far it is, for the customer. What does not get through is left out. */
	private async preview(fetch: FetchTensor, beats: Beats, signal: AbortSignal): Promise<void> {
		if (this.asked.audit !== null) return;
		const { desk, means } = this;
		const shown: { tensor: number; root: string; size: number }[] = [];
		try {
			for (const tensor of this.offer.spec.previews) {
				const { kind, dims, type } = this.program!.tensors[tensor] ?? {};
				if ((kind !== "state" && kind !== "result") || dims === undefined || type === undefined) return;
				if (8 * elementCount(dims) > MOST_PREVIEW) return;
				const bytes = await fetch(tensor);
				shown.push({ tensor, ...(await desk.upload({ bytes }, signal, PREVIEW_PATIENCE_MS)) });
			}
			beats.show(shown);
		} catch (error) {
			means.onTrouble(error);
		}
	}

	/** A result may take longer to upload than a host may be silent. */
	private async handIn(signal: AbortSignal): Promise<void> {
		// A part that the validator counts as claimed does not run any more: "stop" says no more than that.
		const beats = this.beats(this.offer.count, () => {});
		if (this.asked.audit === null) beats.begin();
		try {
			await this.handInWhole(signal);
		} finally {
			await beats.stop();
		}
	}

	/** Until the validator has it, or says that it is not wanted any more. */
	private async handInWhole(signal: AbortSignal): Promise<void> {
		const { chain, tell, nowMs, after, onTrouble } = this.means;
		const { asked, desk, offer } = this;
		this.program ??= await fetchPart(desk, offer, this.entry.path, signal);
		const work = { desk, chain, asked, offer, program: this.program, path: this.entry.path, signal };
		for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(MOST_RETRY_MS, 2 * pauseMs)) {
			try {
				if (asked.audit === null) await this.become("claimed", { claim: await handInClaim(work) });
				else {
					await handInAudit(work);
					await this.become("claimed");
				}
				return tell(this.placed, asked.audit === null ? "claimed" : "answered", "");
			} catch (error) {
				const isFinal = error instanceof AssayError && FINAL.has(error.code);
				if (isFinal || signal.aborted || nowMs() > this.page.untilMs + GRACE_MS) throw error;
				onTrouble(error);
				await sleep(pauseMs, signal, after);
			}
		}
	}
}

/** From one probe to the next by one part of so many: who was drawn by the last one's figures did not lie. */
const FIGURES_DIFFER = 10;
/** After its time a claim may still be on its way. */
const GRACE_MS = 5 * 60_000;
/** Trying again cannot help. */
const FINAL: ReadonlySet<string> = new Set([
	...[
		"JOB_STATE",
		"JOB_UNKNOWN",
		"JOB_CLAIM",
		"ROLE_WRONG",
		"CLAIM_ROOT",
		"CLAIM_MALFORMED",
		"BLOB_CUT",
		"RUN_DAMAGED",
	],
]);
/**
 * Where a bond is locked they pass too. JOB_STATE: the validator's node may be behind ours; what is declined
 * or gone stays so until the time is over.
 */
const OTHERWISE_SOON: ReadonlySet<string> = new Set(["SERVER_FAILED", "JOB_STATE"]);

/** The run stands still meanwhile, and a part that does not advance goes to another. */
const PREVIEW_PATIENCE_MS = 10_000;

const plain = (why: string): string => why.replace(/[^\x20-\x7e]/g, " ").slice(0, 200);

const ENGINE_GONE: ReadonlySet<string> = new Set(["LINK_CLOSED", "ENGINE_NOT_STARTED", "ENGINE_SILENT", "LINK_SILENT"]);
const isEngineGone = (error: unknown): boolean => error instanceof AssayError && ENGINE_GONE.has(error.code);

/** Segments that an earlier start may have told of. */
async function doneBefore(folder: RunWriter): Promise<number> {
	const journal = readJournal(bytesToUtf8((await folder.read("journal.jsonl")) ?? new Uint8Array()) ?? "");
	return journal === null ? 0 : (journal.checkpoints.at(-1) ?? journal.head.first) - journal.head.first;
}

/** How its claim names a part; without a chain by the job's number alone. */
function claimNames(job: string, part: number, escrow: PartOffer["escrow"]) {
	const number = BigInt(`0x${job}`);
	if (escrow === null) return { chainId: 0n, escrow: new Uint8Array(20), job: number, part };
	return {
		...{ chainId: BigInt(escrow.chainId), escrow: hexToBytes(escrow.contract.slice(2).toLowerCase(), 20)! },
		...{ job: number, part },
	};
}

/** As the spec reads them: one element, times a factor. */
function metricsOf({ spec }: PartOffer, { tensors }: Program): WorkloadMetric[] {
	return spec.metrics
		.filter(({ tensor }) =>
			tensors.some(({ name, kind, dims }) => name === tensor && kind === "metric" && elementCount(dims) === 1),
		)
		.map(({ tensor: name, label, unit, scale }) => {
			const factor = Number(scale);
			return { name, label, unit, read: (elements) => Number(elements[0]!) * (Number.isFinite(factor) ? factor : 1) };
		});
}
