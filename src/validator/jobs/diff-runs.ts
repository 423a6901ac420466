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

function mustBeOneJob(a: OpenedRun, b: OpenedRun): void {
	for (const field of ["chainId", "escrow", "job", "part", "program", "inputs", "first", "segments"] as const) {
		const [x, y] = [a.claim[field], b.claim[field]];
		const isSame = x instanceof Uint8Array ? equalBytes(x, y as Uint8Array) : x === y;
		if (!isSame)
			throw new AssayError("RUN_OTHER", `the two runs are of different jobs: ${field}`, { hint: codes.RUN_OTHER.hint });
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

export async function diffRuns({ a, b, device }: DiffRuns): Promise<RunDiff> {
	mustBeOneJob(a.run, b.run);
	const found = firstOtherSegment(a.run.states, b.run.states);
	const isSameResult = equalBytes(a.run.claim.resultRoot, b.run.claim.resultRoot);
	if (found === null && isSameResult) return { segment: null, accused: [], replayed: 0 };
	const segment = found ?? a.run.claim.segments - 1;
	const { replay, answers: own } = await ownAnswers(a, device, segment);
	try {
		const accused: (Accused & { replayed: number })[] = [];
		for (const [name, side] of Object.entries({ a, b }) as ["a" | "b", Side][]) {
			// Only as far as both agreed, and the segment after it: what comes later follows from that.
			const upTo = { ...own, states: own.states.map((state, i) => (i <= segment + 1 ? state : side.run.states[i]!)) };
			const isEqual = upTo.states.every((state, i) => equalBytes(state, side.run.states[i]!));
			const hasResult = found !== null || equalBytes(upTo.claim.resultRoot, side.run.claim.resultRoot);
			if (!(isEqual && hasResult)) accused.push(await accuse(side, name, upTo, { device, segment }));
		}
		const replayed = accused.reduce((sum, one) => sum + one.replayed, replay.replayed);
		return { segment, accused, replayed };
	} finally {
		await replay.close();
	}
}
