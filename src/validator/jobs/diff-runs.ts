// Two runs of one job that differ, docs/jobs.md §6: which one is false, by one's own engine, and the fraud
// file that shows it. The search itself is verify/optimistic/next-question.ts; who answers for the accused is
// the caller's affair.
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { Answers } from "../../verify/optimistic/answers.ts";
import type { ValidFraud } from "../../verify/optimistic/fraud/fraud-verdict.ts";
import { verifyFraud } from "../../verify/optimistic/fraud/judge-fraud.ts";
import { narrow } from "../../verify/optimistic/next-question.ts";
import { firstOtherSegment } from "../../verify/optimistic/search.ts";
import { firstState, resultRootOf, stateHashOf } from "../../work/trace/commitments.ts";
import { folderAnswers } from "./folder-answers.ts";
import { answersOf, type OpenedRun, replayOf } from "./open-run.ts";

export interface Side {
	readonly run: OpenedRun;
	/** Sessions with that folder's store. */
	readonly open: OpenWorkSession;
	/** Who answers for it; none: its folder, and one's own engine (folder-answers.ts). */
	readonly answers?: Answers;
}

export interface DiffRuns {
	readonly a: Side;
	readonly b: Side;
	readonly device: number;
}

export interface RunDiff {
	/** Null: they are the same. */
	readonly segment: number | null;
	/**
	 * Which of them one's own engine does not agree with, with the file that convicts it or why there is none.
	 */
	readonly accused: readonly Accused[];
	/** Segments that were run again. */
	readonly replayed: number;
}

export interface Accused {
	readonly side: "a" | "b";
	readonly file: Uint8Array | null;
	readonly verdict: ValidFraud | null;
	/** Where there is no file. */
	readonly why: string;
}

/**
 * Runs of one's own must be of one claim but for what they computed. A result of the market names its job and
 * part: there the work is compared, as far as both go.
 */
function mustBeOneJob(a: OpenedRun, b: OpenedRun): void {
	const refuse = (what: string): never => {
		throw new AssayError("RUN_OTHER", `the two runs are of different jobs: ${what}`, { hint: codes.RUN_OTHER.hint });
	};
	const isMarket = a.isFetched || b.isFetched;
	const fields = isMarket
		? (["program", "inputs"] as const)
		: (["chainId", "escrow", "job", "part", "program", "inputs", "first", "segments"] as const);
	for (const field of fields) {
		const [x, y] = [a.claim[field], b.claim[field]];
		const isSame = x instanceof Uint8Array ? equalBytes(x, y as Uint8Array) : x === y;
		if (!isSame) refuse(field);
	}
}

/** One's own run of the segment in question, from the state before it, on which both agree. */
async function ownAnswers(side: Side, device: number, segment: number) {
	const { run } = side;
	const replay = replayOf(run, side.open, device);
	const computed = answersOf(run, replay, "computed");
	const states = [...run.states];
	let resultRoot = run.claim.resultRoot;
	if (segment < 0) states[0] = firstState(run.program);
	else {
		await replay.traceRoot(segment);
		const after = await replay.stateRoots(segment + 1);
		states[segment + 1] = stateHashOf(run.program, segment + 1, after.state, after.results);
		if (segment + 1 === run.claim.segments) resultRoot = resultRootOf(run.program, after.results);
	}
	return { replay, answers: { ...computed, states, claim: { ...run.claim, resultRoot } } };
}

async function accuse(
	side: Side,
	name: "a" | "b",
	own: Answers,
	{ device, segment }: { readonly device: number; readonly segment: number },
): Promise<Accused & { replayed: number }> {
	const { run } = side;
	const replay = replayOf(run, side.open, device);
	try {
		const accused = side.answers ?? (await folderAnswers(run, replay, segment));
		const file = await narrow(run, own, accused);
		if (file === null)
			return { side: name, file, verdict: null, why: "nothing separates it", replayed: replay.replayed };
		const verdict = verifyFraud(file);
		const why = verdict.status === "valid" ? "" : `${verdict.code}: ${verdict.detail}`;
		const found = verdict.status === "valid" ? verdict : null;
		return { side: name, file: found && file, verdict: found, why, replayed: replay.replayed };
	} catch (error) {
		if (!(error instanceof AssayError && error.code === "NO_ANSWER")) throw error;
		return { side: name, file: null, verdict: null, why: error.message, replayed: replay.replayed };
	} finally {
		await replay.close();
	}
}

/** Where they part, as far as both go. */
function firstOther(a: OpenedRun, b: OpenedRun): { readonly segment: number | null; readonly isResult: boolean } {
	const count = Math.min(a.segments, b.segments) + 1;
	const segment = firstOtherSegment(a.states.slice(0, count), b.states.slice(0, count));
	if (segment !== null) return { segment, isResult: false };
	const isResult = a.segments === b.segments && !equalBytes(a.claim.resultRoot, b.claim.resultRoot);
	return { segment: isResult ? a.segments - 1 : null, isResult };
}

const NO_ROOTS =
	"a fetched result has no roots of the states between, which a fraud file shows; `assay watch` asks its host for them while the claim can be disputed";

export async function diffRuns({ a, b, device }: DiffRuns): Promise<RunDiff> {
	mustBeOneJob(a.run, b.run);
	const { segment, isResult } = firstOther(a.run, b.run);
	if (segment === null) return { segment: null, accused: [], replayed: 0 };
	// A folder with kept states answers in one window; a fetched result is run from its start.
	const base = a.run.isFetched ? b : a;
	const { replay, answers: own } = await ownAnswers(base, device, segment);
	try {
		const accused: (Accused & { replayed: number })[] = [];
		for (const [name, side] of Object.entries({ a, b }) as ["a" | "b", Side][]) {
			// Only as far as both agreed, and the segment after it: what comes later follows from that.
			const isEqual = own.states.slice(0, segment + 2).every((state, i) => equalBytes(state, side.run.states[i]!));
			const hasResult = !isResult || equalBytes(own.claim.resultRoot, side.run.claim.resultRoot);
			if (isEqual && hasResult) continue;
			if (side.run.isFetched) {
				accused.push({ side: name, file: null, verdict: null, why: NO_ROOTS, replayed: 0 });
				continue;
			}
			const upTo = { ...own, states: own.states.map((state, i) => (i <= segment + 1 ? state : side.run.states[i]!)) };
			accused.push(await accuse(side, name, upTo, { device, segment }));
		}
		const replayed = accused.reduce((sum, one) => sum + one.replayed, replay.replayed);
		return { segment, accused, replayed };
	} finally {
		await replay.close();
	}
}
