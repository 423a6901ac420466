// Claim and audit differ: who lied, docs/jobs.md §6 and §14. Never a majority: the one whose own words
// contradict each other or arithmetic. The validator's own engine runs the segments in question where they
// are small; else the two answer each other's search, and one element that is computed here decides. Who does
// not answer, or answers what does not fit its own words, loses as well, but by no proof: it is asked on
// chain then (jobs/disputes).
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { Answers } from "../../../verify/optimistic/answers.ts";
import { verifyFraud } from "../../../verify/optimistic/fraud/judge-fraud.ts";
import { interrogate } from "../../../verify/optimistic/next-question.ts";
import type { Ask, RemoteAnswers } from "../../../verify/optimistic/questions.ts";
import { firstOtherSegment, type JobAtHand } from "../../../verify/optimistic/search.ts";
import { claimHash } from "../../../work/trace/commitments.ts";
import { replayAnswers } from "../open-run.ts";
import { TwoWords } from "./ask-party.ts";
import { type AuditAtHand, auditorOf, windowClaim } from "./auditor-of.ts";
import { type ClaimAtHand, type EvidenceMeans, jobAtHand } from "./claim-at-hand.ts";
import { Unable } from "./own-run.ts";
import { claimantOf, ownStates, WITHHELD, withOwnReplay } from "./rerun.ts";
import { isProvable, signedFile, twoWordsFile } from "./signed-file.ts";

export interface Ruling {
	/** Who lied. `none`: nothing separates them, or nobody could be found. */
	readonly verdict: "provider" | "auditor" | "both" | "none";
	/** Judged valid by verifyFraud; null where the provider lost by silence, or did not lie. */
	readonly file: Uint8Array | null;
	/** The chain convicts by this file. */
	readonly isProvable: boolean;
	readonly why: string;
}

/** What was found about one of them. */
interface Found {
	readonly isFalse: boolean;
	readonly file: Uint8Array | null;
	readonly why: string;
}

const INNOCENT: Found = { isFalse: false, file: null, why: "" };
/** Replays, and questions to both: each has its own patience. */
const REFEREE_MS = 3_600_000;
/** On chain a claimant may take half an hour for each answer, and a game 36 hours: docs/chain.md §12. */
const GAME_MS = 48 * 3_600_000;

class Dispute {
	private readonly job: JobAtHand;
	readonly claimant: RemoteAnswers;
	readonly auditor: RemoteAnswers | null;

	constructor(means: EvidenceMeans, at: ClaimAtHand, audit: AuditAtHand, job: JobAtHand) {
		this.job = job;
		this.claimant = claimantOf(means, at, job);
		this.auditor = auditorOf(means, at, audit, job);
	}

	/** Whether what `accused` says of a segment contradicts itself, as `own` leads the search. */
	async judge(own: Answers, accused: RemoteAnswers, segment: number): Promise<Found> {
		try {
			const ask: Ask = (question, mine) => accused.answer(question, mine);
			const end = await interrogate({ job: this.job, answers: own, segment }, accused, ask);
			if (end.move === "rest") return INNOCENT;
			if (end.move === "misfit") return { isFalse: true, file: null, why: end.why };
			const { file } = end;
			const verdict = verifyFraud(file, { claim: bytesToHex(claimHash(accused.claim)) });
			if (verdict.status !== "valid") return { ...INNOCENT, why: `${verdict.code}: ${verdict.detail}` };
			return { isFalse: true, file, why: `${verdict.kind} in segment ${verdict.segment}` };
		} catch (error) {
			// Numbers that no program can lead to, on which both agree: nothing is shown by them.
			if (error instanceof RangeError) return { ...INNOCENT, why: error.message };
			if (!(error instanceof AssayError && error.code === "NO_ANSWER")) throw error;
			// Of two strangers the one that failed is known.
			return { isFalse: accused.failed !== null, file: null, why: error.message };
		}
	}
}

/** Counted in the whole job. */
const insideOf = ({ claim }: ClaimAtHand, { inside }: AuditAtHand): number | null =>
	inside === undefined ? null : claim.first + inside;

/**
 * With one's own run of the window: whoever's states are others than one's own is accused, each where it
 * first differs.
 */
async function byOwnEngine(means: EvidenceMeans, at: ClaimAtHand, audit: AuditAtHand): Promise<[Found, Found]> {
	const mostMs = means.road === undefined ? REFEREE_MS : REFEREE_MS + GAME_MS;
	return withOwnReplay(means, at, audit, mostMs, async (own) => {
		means.beforeWaits?.add(() => own.replay.close());
		const dispute = new Dispute(means, at, audit, own.job);
		const states = await ownStates(own, at, audit.count);
		// What this engine does not give twice it accuses nobody of.
		if (audit.auditor === null && firstOtherSegment(states, audit.states) !== null)
			return [INNOCENT, { isFalse: true, file: null, why: "this engine ends elsewhere the second time" }];
		const claim = windowClaim(at, { ...audit, states });
		const inside = insideOf(at, audit);
		const answers: Answers = { claim, states, ...replayAnswers(own.replay) };
		const accuse = async (said: readonly Uint8Array[], accused: RemoteAnswers | null): Promise<Found> => {
			const index = firstOtherSegment(states, said);
			// Of who says what all say only the inside can be false.
			if (index === null)
				return inside === null || accused === null ? INNOCENT : dispute.judge(answers, accused, inside);
			const segment = claim.first + index;
			const why = `segment ${segment} ends elsewhere`;
			if (accused === null) return { isFalse: true, file: null, why };
			// This engine has spoken: a search that leads nowhere clears nobody.
			return { ...(await dispute.judge(answers, accused, segment)), isFalse: true };
		};
		const said = at.states.slice(audit.first, audit.first + audit.count + 1);
		return [await accuse(said, dispute.claimant), await accuse(audit.states, dispute.auditor)];
	});
}

/** Two strangers: each leads the search against the other. */
async function byEachOther(means: EvidenceMeans, at: ClaimAtHand, audit: AuditAtHand): Promise<[Found, Found]> {
	const dispute = new Dispute(means, at, audit, await jobAtHand(means, at));
	const { claimant, auditor } = dispute;
	if (auditor === null) return [INNOCENT, INNOCENT];
	const said = at.states.slice(audit.first, audit.first + audit.count + 1);
	const segment = insideOf(at, audit) ?? at.claim.first + audit.first + firstOtherSegment(said, audit.states)!;
	const provider = await dispute.judge(auditor, claimant, segment);
	// A claimant that fails here has lost already, and need not be asked on behalf of whom it accuses.
	const other = provider.isFalse ? INNOCENT : await dispute.judge(claimant, auditor, segment);
	return [provider, auditor.failed === null ? other : { isFalse: true, file: null, why: auditor.failed }];
}

const named = (verdict: Ruling["verdict"], why: string, file: Uint8Array | null = null): Ruling => ({
	...{ verdict, file, why, isProvable: file !== null && isProvable(file) },
});

async function found(means: EvidenceMeans, at: ClaimAtHand, audit: AuditAtHand): Promise<[Found, Found]> {
	try {
		return await byOwnEngine(means, at, audit);
	} catch (error) {
		if (error instanceof Unable) return byEachOther(means, at, audit);
		if (!(error instanceof AssayError)) throw error;
		// The state before the window, which nobody else can give.
		if (WITHHELD.has(error.code)) {
			// By the road on chain an auditor leads the search, who was given that state in time.
			if (means.road !== undefined && audit.auditor !== null) return byEachOther(means, at, audit);
			return [{ isFalse: true, file: null, why: error.message }, INNOCENT];
		}
		// An engine that is broken here clears nobody and accuses nobody.
		if (audit.auditor === null) throw error;
		return byEachOther(means, at, audit);
	}
}

/** Throws what is nobody's fault: try again. */
export async function referee(means: EvidenceMeans, at: ClaimAtHand, audit: AuditAtHand): Promise<Ruling> {
	const said = at.states.slice(audit.first, audit.first + audit.count + 1);
	if (audit.states.length !== audit.count + 1 || said.length !== audit.states.length)
		return named("auditor", "it told another number of states");
	const index = firstOtherSegment(said, audit.states);
	if (index === null && audit.inside === undefined) return named("none", "they agree");
	// It was given that state.
	if (index !== null && index < 0) return named("auditor", "it began with another state than it was given");
	try {
		const [provider, auditor] = await found(means, at, audit);
		const why = [provider.why && `provider: ${provider.why}`, auditor.why && `auditor: ${auditor.why}`];
		const told = why.filter((one) => one !== "").join("; ");
		if (!provider.isFalse) return named(auditor.isFalse ? "auditor" : "none", told);
		const file = provider.file && (await signedFile(means, at, provider.file));
		return named(auditor.isFalse ? "both" : "provider", told, file);
	} catch (error) {
		if (!(error instanceof TwoWords)) throw error;
		const file = twoWordsFile(means, at, await jobAtHand(means, at), error.words);
		return named("provider", error.message, file);
	}
}
