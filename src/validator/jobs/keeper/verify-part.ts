// Verifies a part by its method: draws what is run again after the claim, has it run, compares, calls the
// referee, and signs that the evidence is there. The method says what is next (verify/methods); this carries
// it out, one transition at a time. docs/jobs.md §9.

import { drawWindows, isAuditedByChance } from "../../../market/jobs/draw.ts";
import { auditMs, partRange } from "../../../market/jobs/job-rules.ts";
import type { Transition } from "../../../market/jobs/transitions.ts";
import * as transitions from "../../../market/jobs/transitions.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { Json } from "../../../protocol/bytes/canonical-json.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import type { JobAudit, JobPart } from "../../../protocol/network/job.ts";
import type { AttestedLevel } from "../../../protocol/probe/verdict.ts";
import type { JobChange } from "../../../store/jobs/change-job.ts";
import type { MethodAction, PartView } from "../../../verify/methods/method.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { auditHolder } from "../blobs/blob-holders.ts";
import { putOwnBlob } from "../blobs/own-blob.ts";
import { disputePart, isPlayable } from "../disputes/dispute-part.ts";
import type { AuditAtHand } from "../evidence/auditor-of.ts";
import { cameTooFast, chanceOfAudit, nextAuditor } from "./audit-draw.ts";
import { checkedPay } from "./audit-pay.ts";
import { claimAtHand, isBeginOpen, releaseClaim } from "./claim-at-hand.ts";
import { goOnDrawing } from "./draw-part.ts";
import { asJson, changeJob, type Job, type JobContext } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import { nudge } from "./nudges.ts";
import { disputeGasMicros } from "./quote-job.ts";
import { signedLevel } from "./signed-level.ts";
import { type ClaimBody, readStates } from "./take-claim.ts";

/** What may be asked of the validator about one part of a job, and done to it: each bound to that part. */
type PartTools = ReturnType<typeof toolsFor>;

function toolsFor(context: JobContext, job: Job, number: number) {
	const { env, config, store, blobs, evidence, auditBegins, jobChain } = context;
	const { record, offer } = job;
	const { terms, escrow } = offer;
	const part = record.parts[number]!;
	const { attempt } = part;
	const holder = auditHolder(job.id);
	return {
		...{ record, part, terms, perWindow: offer.perWindow, segments: partRange(terms, number).count },
		...{ nowMs: env.nowMs, params: config.params, ownRuns: context.ownRuns, isOnChain: escrow !== null },
		/** Of this attempt, for what is tried again and again. */
		name: `${job.id}/${number}/${attempt}`,
		/** False: somebody was quicker. */
		change: async (transition: Transition, more?: Pick<JobChange, "fraud">) =>
			(await changeJob(context, job, transition, more)) !== null,
		log: context.log.child({ job: job.id, part: number }),
		isBeginOpen: () => isBeginOpen(context, job, number),
		/** What decides of what is run again: drawn once the claim is there. Null: not yet. */
		async seed(): Promise<Uint8Array | null> {
			const drawn = await goOnDrawing(context, job, { part: number, attempt, role: 2 }, async () => []);
			return drawn === null || drawn === "nobody" ? null : drawn.seed;
		},
		cameTooFast: () => cameTooFast(context, job, part),
		chanceOfAudit: async () => chanceOfAudit(context, job, part, await disputeGasMicros(context)),
		/** What its devices signed at both ends, as it was judged when the claim came. */
		async signedLevel(): Promise<AttestedLevel> {
			const { attestation = null } = (await store.jobs.claim(part.claim!))!.body as unknown as ClaimBody;
			return signedLevel(attestation, config.jobs.takesSimulated).attested;
		},
		nextAuditor: (audits: readonly JobAudit[]) => nextAuditor(context, job, part, audits),
		nudge: (auditor: string, audit: number, device: number) =>
			nudge(context, auditor, { job: job.id, part: number, attempt, audit, device }),
		claim: () => claimAtHand(context, job, number),
		release: () => releaseClaim(context, job, number),
		hasBegin: async (at: number) => (await auditBegins.get(job, number, at)) !== null,
		...{ rerun: evidence.rerun, referee: evidence.referee, confirmAudit: evidence.confirm },
		/** Null: nobody asked on chain about the claim that stands. */
		askedOnChain: async () => (jobChain === null ? null : jobChain.asked(BigInt(`0x${job.id}`), number)),
		keepStates: async (states: readonly Uint8Array[]) => (await putOwnBlob(blobs, holder, concatBytes(...states))).root,
		statesOf: ({ answer, count }: JobAudit) =>
			readStates(blobs, holder, { root: answer!, size: 32 * (count + 1) }, count + 1),
		fraudOf: (file: Uint8Array, body: Json) => ({
			...{ hash: bytesToHex(sha256Of(file)), claim: part.claim!, job: job.id, part: number, attempt },
			...{ accused: part.provider!, atMs: env.nowMs(), body, file },
		}),
		checkOnChain: () => checkOnChain(context, job, part),
		dispute: () => disputePart(context, jobChain!, job, number),
	};
}

/** True: something was done, look again. False: wait. */
export const verifyPart = (context: JobContext, job: Job, number: number): Promise<boolean> =>
	new PartCheck(toolsFor(context, job, number)).step();

type AuditAction = Extract<MethodAction, { kind: "audit" }>;
/** "wait": the draw goes on when the job is looked at again, and nobody else is asked before. */
type Replaced = boolean | "wait";

/** The validator itself, or nobody yet. */
const NOBODY = { auditor: null };
/** A block's time and this machine's. Too much costs a question, too little an auditor that copies. */
const CLOCKS_DIFFER_MS = 60_000;
const NO_BEGIN = "no auditor gets the state that it would begin with";

class PartCheck {
	private readonly tools: PartTools;
	private readonly part: JobPart;
	private readonly at: number;

	constructor(tools: PartTools) {
		this.tools = tools;
		this.part = tools.part;
		this.at = tools.part.part;
	}

	async step(): Promise<boolean> {
		const { part, tools } = this;
		// Everybody may read it by now: nobody's audit makes it any better.
		if (part.disputedAtMs !== undefined) return tools.dispute();
		if (!(await tools.isBeginOpen())) return false;
		const { method } = tools.terms;
		const rules = methodOf(method);
		const isAtOnce = rules.runners(method.count) > 1;
		/** What is run again, and whether, is drawn once the claim is there. */
		const isFresh = part.state === "claimed" && (isAtOnce || part.audits.length === 0);
		const seed = isFresh ? await tools.seed() : null;
		if (isFresh && seed === null) return false;
		const view: PartView = {
			...{ part, method, segments: tools.segments },
			isTooFast: isFresh && !isAtOnce && (await tools.cameTooFast()),
			attested: isFresh && rules.needsHosted ? await tools.signedLevel() : "none",
		};
		const chance = isFresh && !rules.drawsWindows ? await tools.chanceOfAudit() : 0;
		const actions = rules.next(view, {
			windows: (count) => drawWindows(seed!, tools.segments, tools.perWindow, count),
			isAudited: () => isAuditedByChance(seed!, chance),
		});
		const audits = actions.filter((one) => one.kind === "audit");
		if (audits.length > 0) return this.beginAudits(audits);
		for (const action of actions) {
			if (action.kind === "compare") return this.compare(action.at);
			if (action.kind === "referee") {
				const differing = part.audits.findIndex(isPlayable);
				return this.rule(differing < 0 ? action.at : differing);
			}
			if (action.kind === "check") return this.check();
		}
		// Nothing is run again: nobody has to be kept from copying.
		if (isFresh && part.audits.length === 0 && actions.length === 0) await tools.release();
		return this.goOnAuditing();
	}

	/** `asked`: the audits that are begun now, of which one auditor may get all. */
	private auditUntilMs(asked: readonly Pick<JobAudit, "count">[]): number {
		const { nowMs, terms, params } = this.tools;
		return nowMs() + auditMs({ terms }, this.at, asked, params);
	}

	private async beginAudits(wanted: readonly AuditAction[]): Promise<boolean> {
		const { part, tools } = this;
		const untilMs = this.auditUntilMs(wanted);
		const audits: JobAudit[] = [];
		for (const { first, count, by } of wanted) {
			// What the validator itself can run it runs; else somebody is drawn, when that turns out.
			const chosen = by === "anyone" ? null : await tools.nextAuditor([...part.audits, ...audits]);
			if (chosen === "wait") return false;
			audits.push({ ...{ ...(chosen ?? NOBODY), first, count, untilMs, tried: [] }, answer: null, agrees: null });
		}
		await tools.change(transitions.audited(tools.record, this.at, audits));
		return true;
	}

	/** Has audits run that nobody has answered yet, and asks others where somebody does not. */
	private async goOnAuditing(): Promise<boolean> {
		const { part, tools } = this;
		let isChanged: Replaced = false;
		const asked = new Set<string>();
		for (const [at, audit] of part.audits.entries()) {
			if (isChanged !== false) break;
			if (audit.answer !== null) continue;
			const whole = this.isWhole(audit) ? -1 : part.audits.findIndex(this.isWhole);
			if (whole >= 0) {
				isChanged = await this.readOff(at, part.audits[whole]!);
				continue;
			}
			if (audit.auditor === null) {
				if (part.state === "claimed") isChanged = await this.runOurselves(at);
				continue;
			}
			if (tools.nowMs() > audit.untilMs) {
				isChanged = await this.replace(at, "silent");
				continue;
			}
			// One after the other: a host runs one at a time.
			if (asked.has(audit.auditor)) continue;
			asked.add(audit.auditor);
			if (audit.first > 0 && !(await this.hasBegin(at))) {
				isChanged = await this.withheld(NO_BEGIN);
				continue;
			}
			if ((await tools.nudge(audit.auditor, at, audit.device ?? 0)) === "declined")
				isChanged = await this.replace(at, "declined");
		}
		return isChanged === true;
	}

	private async replace(at: number, why: string): Promise<Replaced> {
		const { part, tools } = this;
		const audit = part.audits[at]!;
		const tried = audit.auditor === null ? audit.tried : [...audit.tried, audit.auditor];
		const chosen = await tools.nextAuditor(part.audits.with(at, { ...audit, auditor: null, tried }));
		if (chosen === "wait") return chosen;
		// Nobody is left: the validator tries, and where it cannot, the window runs its full length.
		if (chosen === null && audit.auditor === null) return false;
		const unanswered = part.audits.filter((one, i) => i === at || one.answer === null);
		const by = { ...(chosen ?? NOBODY), untilMs: this.auditUntilMs(unanswered) };
		await tools.change(transitions.auditReplaced(tools.record, this.at, at, by, why));
		return true;
	}

	private readonly isWhole = ({ first, count }: JobAudit): boolean => first === 0 && count === this.tools.segments;

	/**
	 * What a run of the whole part says of one of its windows. Whoever is drawn to run the whole part runs it:
	 * several that do are there to differ.
	 */
	private async readOff(at: number, whole: JobAudit): Promise<boolean> {
		const { record, statesOf, keepStates, change } = this.tools;
		if (whole.agrees !== true) return false;
		const { first, count } = this.part.audits[at]!;
		const states = (await statesOf(whole)).slice(first, first + count + 1);
		await change(transitions.answered(record, this.at, at, await keepStates(states)));
		return true;
	}

	private async runOurselves(at: number): Promise<Replaced> {
		const { part, tools } = this;
		const { ownRuns } = tools;
		const { first, count } = part.audits[at]!;
		const name = `${tools.name}/${at}`;
		if (!ownRuns.mayTry(name)) return false;
		const ran = await tools.rerun({ claim: await tools.claim(), window: { first, count } });
		if (ran.kind === "ran") {
			// A window that begins with the part takes nothing from the claimant.
			if (first > 0) ownRuns.succeeded(this.silence);
			const root = await tools.keepStates(ran.states);
			await tools.change(transitions.answered(tools.record, this.at, at, root));
			return true;
		}
		tools.log.info({ audit: at, why: ran.why }, `jobs: ${ran.kind}`);
		if (ran.kind === "unable") return this.drawAuditor(at, ran.why);
		ownRuns.failed(name);
		return this.withheld(ran.why);
	}

	/**
	 * ATTACK: a claimant that gives no state would keep one host for every window from other work, for as long
	 * as it is waited for. So nobody is drawn before the state is there.
	 */
	private async drawAuditor(at: number, why: string): Promise<Replaced> {
		if (this.part.audits[at]!.first > 0 && !(await this.hasBegin(at))) return this.withheld(NO_BEGIN);
		return this.replace(at, why);
	}

	private get silence(): string {
		return `${this.tools.name}/silence`;
	}

	/** Whether the claimant gave the state that a drawn auditor begins with. */
	private async hasBegin(at: number): Promise<boolean> {
		const { ownRuns, hasBegin } = this.tools;
		const name = `${this.tools.name}/${at}/begin`;
		if (!ownRuns.mayTry(name)) return false;
		const isThere = await hasBegin(at);
		if (isThere) ownRuns.succeeded(this.silence);
		else ownRuns.failed(name);
		return isThere;
	}

	/** Whether the claimant was silent for long. */
	private isSilent(): boolean {
		const { ownRuns } = this.tools;
		if (!ownRuns.mayTry(this.silence)) return false;
		if (ownRuns.isGivenUp(this.silence)) return true;
		ownRuns.failed(this.silence);
		return false;
	}

	/**
	 * Whoever gives no state to begin with for `jobSilenceMs` loses the part where there is no chain. On chain
	 * that takes a game, and a game takes somebody else's run: so the part is run again from its own start.
	 */
	private async withheld(why: string): Promise<boolean> {
		const { record, isOnChain, change } = this.tools;
		if (this.part.audits.some(this.isWhole) || !this.isSilent()) return false;
		if (!isOnChain) await change(transitions.convicted(record, this.at));
		else {
			const untilMs = this.auditUntilMs([{ count: this.tools.segments }]);
			await change(transitions.auditedWhole(record, this.at, untilMs, why));
		}
		return true;
	}

	/** It answers nothing about a difference: without a chain it loses the part; there it is asked on chain. */
	private async unanswered(at: number, why: string): Promise<boolean> {
		const { record, isOnChain, change, nowMs } = this.tools;
		if (isOnChain && !isPlayable(this.part.audits[at]!)) return this.withheld(why);
		if (!this.isSilent()) return false;
		const found = { fraud: null, isProvable: false, why };
		await change(
			isOnChain ? transitions.disputed(record, this.at, found, nowMs()) : transitions.convicted(record, this.at),
		);
		return true;
	}

	private async compare(at: number): Promise<boolean> {
		const { record, claim, statesOf, change } = this.tools;
		const audit = this.part.audits[at]!;
		const { states } = await claim();
		const said = await statesOf(audit);
		const agrees = said.every((state, i) => equalBytes(state, states[audit.first + i]!));
		if (agrees && (await this.mayBeCopied(audit))) return this.confirm(at);
		await change(transitions.compared(record, this.at, at, agrees));
		return true;
	}

	/**
	 * ATTACK: what is asked on chain about a claim is answered there, and an auditor that waits for it has
	 * nothing to run. What came before anybody asked is its own. Who had the part before had a claim, too, that
	 * others may have read.
	 */
	private async mayBeCopied({ auditor, answeredAtMs }: JobAudit): Promise<boolean> {
		if (auditor === null || !this.tools.isOnChain) return false;
		if (this.part.attempt > 1) return true;
		const asked = await this.tools.askedOnChain();
		return asked !== null && 1000 * asked.sinceS <= (answeredAtMs ?? Number.POSITIVE_INFINITY) + CLOCKS_DIFFER_MS;
	}

	/** It is asked for something that only who ran the window knows, for as long as anybody may be away. */
	private async confirm(at: number): Promise<boolean> {
		const { record, ownRuns, change, ...tools } = this.tools;
		const name = `${tools.name}/${at}/${this.part.audits[at]!.auditor}/confirm`;
		if (!ownRuns.mayTry(name)) return false;
		const askedOnChain = async () => (await tools.askedOnChain())?.questions ?? [];
		const found = await tools.confirmAudit({
			claim: await tools.claim(),
			audit: await this.auditAtHand(at),
			askedOnChain,
		});
		if (found.kind === "ran") {
			await change(transitions.compared(record, this.at, at, true));
			return true;
		}
		tools.log.info({ audit: at, ...found }, "jobs: an audit that may be a copy");
		if (found.kind === "differs" && !found.isSilent) {
			await change(transitions.compared(record, this.at, at, false, found.segment));
			return true;
		}
		const isOver = ownRuns.isGivenUp(name);
		ownRuns.failed(name);
		if (!isOver) return false;
		if (found.kind === "unshown") return (await this.replace(at, "it did not show that it ran its window")) === true;
		await change(transitions.compared(record, this.at, at, false, found.segment));
		return true;
	}

	private async auditAtHand(at: number): Promise<AuditAtHand> {
		const audit = this.part.audits[at]!;
		const { auditor, first, count, inside } = audit;
		return { at, auditor, first, count, inside, states: await this.tools.statesOf(audit) };
	}

	private async rule(at: number): Promise<boolean> {
		const { record, ownRuns, isOnChain, change, ...tools } = this.tools;
		const name = `${tools.name}/${at}/referee`;
		if (!ownRuns.mayTry(name)) return false;
		const { auditor } = this.part.audits[at]!;
		const ruling = await tools.referee({ claim: await tools.claim(), audit: await this.auditAtHand(at) });
		tools.log.warn({ audit: at, verdict: ruling.verdict, why: ruling.why }, "jobs: referee");
		const lied = ruling.verdict === "provider" || ruling.verdict === "both";
		if (!lied) {
			ownRuns.failed(name);
			const why = ruling.verdict === "auditor" ? "it lied" : ruling.why.slice(0, 200);
			return (await this.replace(at, why)) === true;
		}
		const { file, isProvable, why } = ruling;
		if (file === null) {
			ownRuns.failed(name);
			return this.unanswered(at, why);
		}
		const liars = ruling.verdict === "both" && auditor !== null ? [auditor] : [];
		const fraud = tools.fraudOf(file, asJson({ why, isProvable, liars }));
		if (!isOnChain) {
			await change(transitions.convicted(record, this.at), { fraud });
			return true;
		}
		const told = { fraud: fraud.hash, isProvable, why };
		await change(transitions.disputed(record, this.at, told, tools.nowMs()), { fraud });
		return true;
	}

	private async check(): Promise<boolean> {
		const { part, tools } = this;
		await tools.release();
		if (await tools.checkOnChain()) return true;
		const nowMs = tools.nowMs();
		// Its window ended while it was looked at: the next look pays it.
		if (nowMs > part.untilMs) return false;
		await tools.change(transitions.checked(tools.record, this.at, nowMs));
		return true;
	}
}

/** False: there is no chain to sign for, and the record alone says it. */
async function checkOnChain(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const { jobChain, store } = context;
	const terms = escrowTermsOf(job.offer);
	if (terms === null || jobChain === null) return false;
	const row = await store.jobs.claim(part.claim!);
	const { last } = row!.body as unknown as { readonly last: string };
	const id = BigInt(`0x${job.id}`);
	const found = await jobChain.part(id, part.part);
	if (found.state !== "claimed") return true;
	const audits = await checkedPay(context, job, part, await jobChain.auditSpent(id, part.part));
	const attempt = { job: id, part: part.part, attempt: found.attempt };
	await jobChain.check(terms, attempt, { claim: `0x${part.claim!}`, last: `0x${last}`, audits });
	// The record follows the chain.
	return true;
}
