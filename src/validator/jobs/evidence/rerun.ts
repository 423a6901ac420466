// The state before a segment of a claim, from whoever claimed it; and a window run again on the validator's
// own engine from there. docs/jobs.md §14. What is loaded is what the claim's S commits to: a state that
// folds to another S is none.
import { RunReplay } from "../../../engine/client/replay-run.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { noAnswer } from "../../../verify/optimistic/answers.ts";
import { RemoteAnswers } from "../../../verify/optimistic/questions.ts";
import type { JobAtHand } from "../../../verify/optimistic/search.ts";
import { stateHashOf } from "../../../work/trace/commitments.ts";
import { askParty, TwoWords } from "./ask-party.ts";
import {
	type ClaimAtHand,
	type EvidenceMeans,
	holderOfJob,
	jobAtHand,
	rootsOfBlobs,
	type StateBlobs,
	stateBlobs,
} from "./claim-at-hand.ts";
import { givenOf, mustBeSmall, type PartWindow, Unable, withOwnEngine } from "./own-run.ts";
import { statesByPrefill } from "./prefill-window.ts";

export type Rerun =
	/** S before the window, and after each of its segments. */
	| { readonly kind: "ran"; readonly states: readonly Uint8Array[] }
	/** The claimant did not give the state that its own S commits to. */
	| { readonly kind: "withheld"; readonly why: string }
	/** Nobody's fault: no engine, too large, too slow. Somebody else must run it. */
	| { readonly kind: "unable"; readonly why: string };

/** What the claimant says that it ran, over its agent's link. */
export function claimantOf(means: EvidenceMeans, at: ClaimAtHand, { program }: JobAtHand): RemoteAnswers {
	const { claim, states, provider } = at;
	const { first, segments } = claim;
	const plain = askParty(means, at, program, { provider, audit: null, first, segments });
	const ask = means.road?.(at, program, plain) ?? plain;
	return new RemoteAnswers(program, { claim, states, audit: null }, ask);
}

/**
 * The state before a segment that is not the job's first; the job holds it then. Throws NO_ANSWER: the
 * claimant is silent, or gave something that does not fold to its own S.
 */
export async function stateOf(
	means: EvidenceMeans,
	at: ClaimAtHand,
	job: JobAtHand,
	segment: number,
): Promise<StateBlobs> {
	if (segment === at.claim.first && at.begin !== null) return at.begin;
	const roots = await claimantOf(means, at, job).uploadedState(segment);
	const named = stateBlobs(job.program, roots);
	const all = [...named.state, ...named.results];
	for (const blob of all)
		try {
			await means.blobs.share(at.provider, blob, holderOfJob(at.job));
		} catch (error) {
			if (!(error instanceof AssayError && error.code === "BLOB_UNKNOWN")) throw error;
			throw noAnswer(`a tensor of the state before segment ${segment} was not uploaded`);
		}
	// A host that is asked for many states of some gigabytes has no room for them all.
	for (const blob of all) await means.blobs.release(at.provider, blob);
	return named;
}

interface OwnReplay {
	readonly job: JobAtHand;
	/** Stands at the window's first segment, absolute. */
	readonly first: number;
	readonly replay: RunReplay;
}

/**
 * One's own engine with all that a window needs in its store, gone when `act` ends. Throws Unable, NO_ANSWER,
 * what engines throw.
 */
export async function withOwnReplay<T>(
	means: EvidenceMeans,
	at: ClaimAtHand,
	window: PartWindow,
	mostMs: number,
	act: (own: OwnReplay) => Promise<T>,
): Promise<T> {
	if (means.engine === null) throw new Unable("this validator has no engine of its own");
	const job = await jobAtHand(means, at);
	mustBeSmall(means, job.program);
	const first = at.claim.first + window.first;
	const begin = first === 0 ? null : await stateOf(means, at, job, first);
	const holder = holderOfJob(at.job);
	const kept = [...(begin?.state ?? []), ...(begin?.results ?? [])].map((blob) => ({ ...blob, holder }));
	return withOwnEngine(means, [...givenOf(at), ...kept], mostMs, ({ open, device, readBlob }) => {
		const run = {
			...{ ...job, kept: first === 0 ? [] : [first], readBlob, rootsBefore: () => rootsOfBlobs(begin!) },
		};
		return act({ job, first, replay: new RunReplay(run, open, device) });
	});
}

/** A state outside of its declared interval, that no run can have led to, is as good as none. */
export const WITHHELD: ReadonlySet<string> = new Set(["NO_ANSWER", "TENSOR_RANGE"]);

export async function rerun(means: EvidenceMeans, at: ClaimAtHand, window: PartWindow): Promise<Rerun> {
	try {
		const mostMs = means.engine?.mostMs ?? 0;
		const prefilled = await statesByPrefill(means, at, window, mostMs);
		if (prefilled !== null) return { kind: "ran", states: prefilled };
		const states = await withOwnReplay(means, at, window, mostMs, (own) => ownStates(own, at, window.count));
		return { kind: "ran", states };
	} catch (error) {
		if (error instanceof Unable) return { kind: "unable", why: error.message };
		if (error instanceof TwoWords) return { kind: "withheld", why: error.message };
		if (!(error instanceof AssayError)) throw error;
		return { kind: WITHHELD.has(error.code) ? "withheld" : "unable", why: `${error.code}: ${error.message}` };
	}
}

/** S before and after each segment of the window, computed here. */
export async function ownStates(
	{ job, first, replay }: OwnReplay,
	at: ClaimAtHand,
	count: number,
): Promise<Uint8Array[]> {
	const begin = first === 0 ? replay.zeros() : replay.run.rootsBefore(first);
	const states = [stateHashOf(job.program, first, begin.state, begin.results)];
	// What was loaded is what the claim says, or nothing is worth comparing.
	if (!equalBytes(states[0]!, at.states[first - at.claim.first]!))
		throw noAnswer(`the state before segment ${first} is not the claim's`);
	await replay.replay(first, first + count, {
		onSegment: ({ segment, stateRoots, resultRoots }) =>
			void states.push(stateHashOf(job.program, segment + 1, stateRoots, resultRoots)),
	});
	return states;
}
