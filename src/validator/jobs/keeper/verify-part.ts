// Verifies a part by its method: draws what is run again after the claim, has it run, compares, calls the
// referee, and signs that the evidence is there. The method says what is next (verify/methods); this carries
// it out, one transition at a time. docs/jobs.md §9.

import { drawWindows, isAuditedByChance } from "../../../market/jobs/draw.ts";
import { auditChancePpm, isTooFast } from "../../../market/jobs/economics.ts";
import { leastMs } from "../../../market/jobs/fitting-hosts.ts";
import { auditMs, partRange } from "../../../market/jobs/job-rules.ts";
import * as transitions from "../../../market/jobs/transitions.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import type { JobAudit, JobPart } from "../../../protocol/network/job.ts";
import type { AttestedLevel } from "../../../protocol/probe/verdict.ts";
import type { MethodAction, PartView } from "../../../verify/methods/method.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { auditHolder } from "../blobs/blob-holders.ts";
import { putOwnBlob } from "../blobs/own-blob.ts";
import { nextAuditor } from "./audit-draw.ts";
import { checkedPay } from "./audit-pay.ts";
import { claimAtHand, isBeginOpen, releaseClaim } from "./claim-at-hand.ts";
import { goOnDrawing } from "./draw-part.ts";
import { asJson, changeJob, type Job, type JobContext } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import { nudge } from "./nudges.ts";
import { signedLevel } from "./signed-level.ts";
import { type ClaimBody, readStates } from "./take-claim.ts";

/** `asked`: the audits that are begun now, of which one auditor may get all. */
const auditUntilMs = (
	{ env, config }: JobContext,
	{ offer }: Job,
	part: JobPart,
	asked: readonly Pick<JobAudit, "count">[],
): number => env.nowMs() + auditMs(offer, part.part, asked, config.params);

/** Whether a claim came quicker than its provider's proven speed allows: then it is run again whole. */
async function cameTooFast(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const host = (await context.hosts.known()).find(({ provider }) => provider === part.provider);
	if (host === undefined) return false;
	const { ops, bytes, peakBytes } = await context.works.ofJob(job);
	const { count } = partRange(job.offer.terms, part.part);
	const least = leastMs({ peakBytes, ops: ops * count, bytes: bytes * count }, host);
	return isTooFast(part.claimedAtMs - part.assignedAtMs, least, context.config.params);
}

/** What its devices signed at both ends, as it was judged when the claim came. */
async function levelOfClaim({ store, config }: JobContext, { claim }: JobPart): Promise<AttestedLevel> {
	const { attestation = null } = (await store.jobs.claim(claim!))!.body as unknown as ClaimBody;
	return signedLevel(attestation, config.jobs.takesSimulated).attested;
}

async function chanceOfAudit(context: JobContext, { offer }: Job, part: JobPart): Promise<number> {
	const host = (await context.hosts.known()).find(({ provider }) => provider === part.provider);
	const { priceMicros, bondMicros } = offer.terms;
	const money = { costMicros: priceMicros, rewardMicros: priceMicros, bondMicros };
	return auditChancePpm(host?.reputation.checkedInARow ?? 0, money, context.config.params);
}

/** True: something was done, look again. False: wait. */
export async function verifyPart(context: JobContext, job: Job, number: number): Promise<boolean> {
	const part = job.record.parts[number]!;
	// Its claimant was silent: what it says later makes its claim no better.
	if (part.isDisputed && !part.audits.some(({ agrees }) => agrees === false)) return false;
	const { method } = job.offer.terms;
	const segments = partRange(job.offer.terms, number).count;
	if (!(await isBeginOpen(context, job, number))) return false;
	const rules = methodOf(method);
	const isAtOnce = rules.runners(method.count) > 1;
	/** What is run again, and whether, is drawn once the claim is there. */
	const isFresh = part.state === "claimed" && (isAtOnce || part.audits.length === 0);
	const place = { part: number, attempt: part.attempt, role: 2 } as const;
	const drawn = isFresh ? await goOnDrawing(context, job, place, { list: async () => [] }) : null;
	if (isFresh && (drawn === null || drawn === "nobody")) return false;
	const seed = drawn === null || drawn === "nobody" ? null : drawn.seed;
	const view: PartView = {
		...{ part, method, segments },
		isTooFast: isFresh && !isAtOnce && (await cameTooFast(context, job, part)),
		attested: isFresh && rules.needsHosted ? await levelOfClaim(context, part) : "none",
	};
	const chance = isFresh && !rules.drawsWindows ? await chanceOfAudit(context, job, part) : 0;
	const actions = rules.next(view, {
		windows: (count) => drawWindows(seed!, segments, job.offer.perWindow, count),
		isAudited: () => isAuditedByChance(seed!, chance),
	});
	const audits = actions.filter((one) => one.kind === "audit");
	if (audits.length > 0) return beginAudits(context, job, part, audits);
	for (const action of actions) {
		if (action.kind === "compare") return compare(context, job, part, action.at);
		if (action.kind === "referee") return rule(context, job, part, action.at);
		if (action.kind === "check") return !part.isDisputed && check(context, job, part);
	}
	// Nothing is run again: nobody has to be kept from copying.
	if (isFresh && part.audits.length === 0 && actions.length === 0) await releaseClaim(context, job, number);
	return goOnAuditing(context, job, part);
}

type AuditAction = Extract<MethodAction, { kind: "audit" }>;

async function beginAudits(
	context: JobContext,
	job: Job,
	part: JobPart,
	wanted: readonly AuditAction[],
): Promise<boolean> {
	const untilMs = auditUntilMs(context, job, part, wanted);
	const audits: JobAudit[] = [];
	for (const { first, count, by } of wanted) {
		// What the validator itself can run it runs; else somebody is drawn, when that turns out.
		const auditor = by === "anyone" ? null : await nextAuditor(context, job, part, [...part.audits, ...audits]);
		if (auditor === "wait") return false;
		audits.push({ ...{ auditor, first, count, untilMs, tried: [] }, answer: null, agrees: null });
	}
	await changeJob(context, job, transitions.audited(job.record, part.part, audits));
	return true;
}

/** Has audits run that nobody has answered yet, and asks others where somebody does not. */
async function goOnAuditing(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	let isChanged: boolean | "wait" = false;
	const asked = new Set<string>();
	for (const [at, audit] of part.audits.entries()) {
		if (isChanged !== false) break;
		if (audit.answer !== null) continue;
		if (audit.auditor === null) {
			if (part.state === "claimed") isChanged = await runOurselves(context, job, part, at);
			continue;
		}
		if (context.env.nowMs() > audit.untilMs) {
			isChanged = await replace(context, job, part, at, "silent");
			continue;
		}
		// One after the other: a host runs one at a time.
		if (asked.has(audit.auditor)) continue;
		asked.add(audit.auditor);
		if (audit.first > 0 && !(await hasBegin(context, job, part, at))) {
			isChanged = await withheld(context, job, part, NO_BEGIN);
			continue;
		}
		const word = { job: job.id, part: part.part, attempt: part.attempt, audit: at };
		if ((await nudge(context, audit.auditor, word)) === "declined")
			isChanged = await replace(context, job, part, at, "declined");
	}
	return isChanged === true;
}

/** "wait": the draw goes on when the job is looked at again, and nobody else is asked before. */
type Replaced = boolean | "wait";

async function replace(context: JobContext, job: Job, part: JobPart, at: number, why: string): Promise<Replaced> {
	const audit = part.audits[at]!;
	const tried = audit.auditor === null ? audit.tried : [...audit.tried, audit.auditor];
	const others = part.audits.with(at, { ...audit, auditor: null, tried });
	const auditor = await nextAuditor(context, job, part, others);
	if (auditor === "wait") return auditor;
	// Nobody is left: the validator tries, and where it cannot, the window runs its full length.
	if (auditor === null && audit.auditor === null) return false;
	const unanswered = part.audits.filter((one, i) => i === at || one.answer === null);
	const by = { auditor, untilMs: auditUntilMs(context, job, part, unanswered) };
	await changeJob(context, job, transitions.auditReplaced(job.record, part.part, at, by, why));
	return true;
}

async function runOurselves(context: JobContext, job: Job, part: JobPart, at: number): Promise<Replaced> {
	const { evidence, blobs, log, ownRuns } = context;
	const { first, count } = part.audits[at]!;
	const name = `${job.id}/${part.part}/${part.attempt}/${at}`;
	if (!ownRuns.mayTry(name)) return false;
	const claim = await claimAtHand(context, job, part.part);
	const ran = await evidence.rerun({ claim, window: { first, count } });
	if (ran.kind === "ran") {
		ownRuns.succeeded(silenceOf(job, part));
		const states = await putOwnBlob(blobs, auditHolder(job.id), concatBytes(...ran.states));
		await changeJob(context, job, transitions.answered(job.record, part.part, at, states.root));
		return true;
	}
	log.info({ job: job.id, part: part.part, audit: at, why: ran.why }, `jobs: ${ran.kind}`);
	if (ran.kind === "unable") return drawAuditor(context, job, part, at, ran.why);
	ownRuns.failed(name);
	return withheld(context, job, part, ran.why);
}

/**
 * ATTACK: a claimant that gives no state would keep one host for every window from other work, for as long as
 * it is waited for. So nobody is drawn before the state is there.
 */
async function drawAuditor(context: JobContext, job: Job, part: JobPart, at: number, why: string): Promise<Replaced> {
	if (part.audits[at]!.first > 0 && !(await hasBegin(context, job, part, at)))
		return withheld(context, job, part, NO_BEGIN);
	return replace(context, job, part, at, why);
}

const NO_BEGIN = "no auditor gets the state that it would begin with";
const silenceOf = ({ id }: Job, { part, attempt }: JobPart): string => `${id}/${part}/${attempt}/silence`;

/** Whether the claimant gave the state that a drawn auditor begins with. */
async function hasBegin({ auditBegins, ownRuns }: JobContext, job: Job, part: JobPart, at: number): Promise<boolean> {
	const name = `${job.id}/${part.part}/${part.attempt}/${at}/begin`;
	if (!ownRuns.mayTry(name)) return false;
	if ((await auditBegins.get(job, part.part, at)) !== null) {
		ownRuns.succeeded(silenceOf(job, part));
		return true;
	}
	ownRuns.failed(name);
	return false;
}

/**
 * Whoever gives no state, or no answer, for `jobSilenceMs` cannot be checked. Without a chain it loses the
 * part. On chain silence convicts nobody yet (docs/chain.md §12): the claim is never checked and waits for
 * its whole window, and the record says why.
 */
async function withheld(context: JobContext, job: Job, part: JobPart, why: string): Promise<boolean> {
	const { ownRuns } = context;
	const name = silenceOf(job, part);
	if (part.isDisputed || !ownRuns.mayTry(name)) return false;
	if (!ownRuns.isGivenUp(name)) {
		ownRuns.failed(name);
		return false;
	}
	const isOurs = job.offer.escrow === null;
	const transition = isOurs
		? transitions.convicted(job.record, part.part)
		: transitions.disputed(job.record, part.part, { fraud: null, isProvable: false, why });
	if ((await changeJob(context, job, transition)) !== null && !isOurs) ownRuns.done(name);
	return true;
}

async function statesOf(context: JobContext, job: Job, { answer, count }: JobAudit): Promise<Uint8Array[]> {
	return readStates(context.blobs, auditHolder(job.id), { root: answer!, size: 32 * (count + 1) }, count + 1);
}

async function compare(context: JobContext, job: Job, part: JobPart, at: number): Promise<boolean> {
	const audit = part.audits[at]!;
	const claim = await claimAtHand(context, job, part.part);
	const said = await statesOf(context, job, audit);
	const agrees = said.every((state, i) => equalBytes(state, claim.states[audit.first + i]!));
	await changeJob(context, job, transitions.compared(job.record, part.part, at, agrees));
	return true;
}

async function rule(context: JobContext, job: Job, part: JobPart, at: number): Promise<boolean> {
	const { evidence, ownRuns, env, log, store } = context;
	const name = `${job.id}/${part.part}/${part.attempt}/${at}/referee`;
	if (!ownRuns.mayTry(name)) return false;
	const audit = part.audits[at]!;
	const claim = await claimAtHand(context, job, part.part);
	const states = await statesOf(context, job, audit);
	const { auditor, first, count } = audit;
	const ruling = await evidence.referee({ claim, audit: { at, auditor, first, count, states } });
	log.warn({ job: job.id, part: part.part, audit: at, verdict: ruling.verdict, why: ruling.why }, "jobs: referee");
	const lied = ruling.verdict === "provider" || ruling.verdict === "both";
	if (!lied) {
		ownRuns.failed(name);
		const why = ruling.verdict === "auditor" ? "it lied" : ruling.why.slice(0, 200);
		return (await replace(context, job, part, at, why)) === true;
	}
	const { file, isProvable, why } = ruling;
	if (file === null) {
		ownRuns.failed(name);
		return withheld(context, job, part, why);
	}
	const liars = ruling.verdict === "both" && auditor !== null ? [auditor] : [];
	const fraud = {
		...{ hash: bytesToHex(sha256Of(file)), claim: part.claim!, job: job.id, part: part.part, attempt: part.attempt },
		...{ accused: part.provider!, atMs: env.nowMs(), body: asJson({ why, isProvable, liars }), file },
	};
	if (job.offer.escrow === null) {
		await changeJob(context, job, transitions.convicted(job.record, part.part), { fraud });
		return true;
	}
	// Tried again until the chain has it: then the part is open there, and the record follows.
	ownRuns.failed(name);
	if ((await store.jobs.fraud(fraud.hash)) === null) {
		const told = transitions.disputed(job.record, part.part, { fraud: fraud.hash, isProvable, why });
		if ((await changeJob(context, job, told, { fraud })) === null) return true;
	}
	if (isProvable) await evidence.prove({ claim, file });
	ownRuns.done(name);
	return true;
}

async function check(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const { jobChain, env, store } = context;
	await releaseClaim(context, job, part.part);
	const terms = escrowTermsOf(job.offer);
	if (terms === null || jobChain === null) {
		const nowMs = env.nowMs();
		// Its window ended while it was looked at: the next look pays it.
		if (nowMs > part.untilMs) return false;
		await changeJob(context, job, transitions.checked(job.record, part.part, nowMs));
		return true;
	}
	const row = await store.jobs.claim(part.claim!);
	const { last } = row!.body as unknown as { readonly last: string };
	const id = BigInt(`0x${job.id}`);
	const found = await jobChain.part(id, part.part);
	if (found.state !== "claimed") return true;
	const audits = await checkedPay(context, job, part);
	const attempt = { job: id, part: part.part, attempt: found.attempt };
	await jobChain.check(terms, attempt, { claim: `0x${part.claim!}`, last: `0x${last}`, audits });
	// The record follows the chain.
	return true;
}
