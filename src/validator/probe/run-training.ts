// A `train` challenge on one engine, docs/hardware-proof.md §14: first the run, timed from the moment in
// which the engine learns the seed; later, when all states are committed, the traces of drawn segments and
// leaves of drawn elements. Whatever came is recorded as it came; verify/hardware judges it.

import type { Answer } from "../../engine/client/engine-answers.ts";
import { endingOf } from "../../engine/client/open-work-session.ts";
import type { OpenWorkSession, ShownLeaf, WorkSession } from "../../engine/client/work-session.ts";
import type { TrainSpec } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import type { OpeningRecord, RootRecord } from "../../protocol/probe/records.ts";
import { trainSamples } from "../../protocol/probe/samples.ts";
import { drawnOps, elementSeed, traced } from "../../verify/hardware/checks/check-train.ts";
import { type SegmentRoots, traceRecords } from "../../verify/hardware/training/trace-records.ts";
import { type TrainingRun, trainingRun } from "../../verify/hardware/training/training-run.ts";
import { type DrawnOp, spotCheck } from "../../verify/work/spot-check.ts";
import { rootsOfZeros, stateOf } from "../../verify/work/traced-segment.ts";
import { elementsToBytes } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";

type Open = AnsweredChallenge["opens"][number];

/** A run whose session still stands. */
export interface HeldTraining {
	readonly session: WorkSession;
	readonly run: TrainingRun;
	/** Roots before each segment: of state, then of results. */
	readonly before: readonly (readonly Uint8Array[])[];
}

interface Options {
	readonly clockUs: () => number;
	readonly onSeed: (atUs: number) => void;
	readonly onRoot: (root: RootRecord) => void;
}

/**
 * A session's requests have no deadline of their own: an engine that only answers pings is hung up on when
 * the time is over.
 */
export async function beforeDeadline<T>(deadlineMs: number, hangUp: () => unknown, act: () => Promise<T>): Promise<T> {
	const timer = setTimeout(() => void hangUp(), deadlineMs);
	try {
		return await act();
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Program, tables and data, and one step under another seed, so that nothing of this is in the measured time.
 */
async function prepare(open: OpenWorkSession, spec: TrainSpec): Promise<WorkSession> {
	const nobody = new Uint8Array(32);
	const { program, elements } = trainingRun(spec, nobody);
	const session = await open({ device: spec.device, program: encodeProgram(program), seed: nobody });
	for (const [tensor, of] of elements) await session.write(tensor, elementsToBytes(of));
	await session.run({ first: 0, count: 2 });
	return session;
}

/** The engine learns the seed, and what follows from it: then the state is that before segment 0. */
async function begin(session: WorkSession, { program, seed, elements }: TrainingRun): Promise<void> {
	await session.seed(seed);
	const order = program.tensors.findIndex(({ name }) => name === "order");
	await session.write(order, elementsToBytes(elements.get(order)!));
}

export async function runTraining(
	open: OpenWorkSession,
	spec: TrainSpec,
	seed: Uint8Array,
	{ clockUs, onSeed, onRoot }: Options,
): Promise<{ readonly answer: Answer; readonly held: HeldTraining | null }> {
	let sentAtUs = clockUs();
	const seen: { readonly atUs: number; readonly roots: readonly Uint8Array[] }[] = [];
	const run = trainingRun(spec, seed);
	const answerOf = (ending: Pick<Answer, "end" | "code" | "detail" | "engineError">): Answer => {
		const roots = seen.map(({ atUs, roots: of }, index) => ({
			index,
			atUs,
			root: stateOf(run.program, index + 1, of),
		}));
		return { ...ending, sentAtUs, endedAtUs: clockUs(), roots };
	};
	try {
		const session = await prepare(open, spec);
		sentAtUs = clockUs();
		onSeed(sentAtUs);
		await begin(session, run);
		await session.run({
			first: 0,
			count: spec.rounds + 1,
			onSegment: ({ stateRoots, resultRoots }) => {
				// Hashed later: hashing here would delay the stamps of the next.
				const atUs = clockUs();
				seen.push({ atUs, roots: [...stateRoots, ...resultRoots] });
				onRoot({ index: seen.length - 1, atUs, root: new Uint8Array(32) });
			},
		});
		const before = [rootsOfZeros(run.program), ...seen.map(({ roots }) => roots)];
		return { answer: answerOf({ end: "complete", code: null, detail: "" }), held: { session, run, before } };
	} catch (error) {
		return { answer: answerOf(endingOf(error)), held: null };
	}
}

/** Both openings, one after the other; `record` is called with each as it ends. */
export async function openTraining(
	{ session, run, before }: HeldTraining,
	spec: TrainSpec,
	seed: Uint8Array,
	clockUs: () => number,
	record: (open: Open) => void,
): Promise<void> {
	const drawn = trainSamples(seed, spec.rounds, run.program.k, spec.draws);
	const segments: SegmentRoots[] = [];
	const opened = async (what: Open["what"], records: OpeningRecord[], act: () => Promise<void>): Promise<boolean> => {
		const sentAtUs = clockUs();
		const end = await act().then(
			() => "complete" as const,
			(error: unknown) => endingOf(error).end,
		);
		record({ what, sentAtUs, receivedAtUs: clockUs(), records, end });
		return end === "complete";
	};
	const traces: OpeningRecord[] = [];
	const traceAll = async (): Promise<void> => {
		await atEach(session, drawn, async ({ segment }) => {
			const outputs: Uint8Array[] = [];
			await session.trace(segment, (_step, _op, root) => outputs.push(root));
			const one = { segment, before: before[segment]!, outputs };
			segments.push(one);
			traces.push(...traceRecords(one));
		});
	};
	if (!(await opened("trace", traces, traceAll))) return;
	const ops = drawnOps(run, segments, drawn, elementSeed(seed, traces), spec.samples);
	const leaves: OpeningRecord[] = [];
	await opened("leaves", leaves, () =>
		atEach(session, drawn, async (_, i) => {
			leaves.push(...(await askLeaves(session, run, segments[i]!, ops[i]!)));
		}),
	);
}

/** Runs from the start to each drawn segment: a session that was asked about one stands nowhere. */
async function atEach<D extends { readonly segment: number }>(
	session: WorkSession,
	drawn: readonly D[],
	act: (one: D, i: number) => Promise<void>,
): Promise<void> {
	for (const [i, one] of drawn.entries()) {
		if (one.segment > 0) await session.run({ first: 0, count: one.segment });
		await act(one, i);
	}
}

/** What the spot-check asks for, until it has all or finds a leaf that is wrong: verify finds the same. */
async function askLeaves(
	session: WorkSession,
	run: TrainingRun,
	segment: SegmentRoots,
	ops: readonly DrawnOp[],
): Promise<OpeningRecord[]> {
	const records: OpeningRecord[] = [];
	const check = spotCheck(traced(run, segment), run.seed, ops);
	for (let next = check.next(); !next.done; ) {
		const { step, op, places } = next.value;
		const shown: readonly ShownLeaf[] = await session.ask({ segment: segment.segment, step, op }, places);
		for (const [i, { bytes, path }] of shown.entries())
			records.push({ round: op, index: places[i]!.leaf, leaf: bytes, path });
		next = check.next(shown);
	}
	return records;
}
