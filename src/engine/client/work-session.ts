// One exact program (docs/work.md) on one device: what a job may ask of it. The engine gives roots and
// leaves; trees over them, claims and judging are src/work/trace/. Types only: open-work-session.ts has the
// engine's own, toy-work-session.test-kit.ts one in TypeScript.
//
// A session stands at a segment: the one that comes next. It stands at 0 from the start; RUN and TRACE move
// it on. Elsewhere it gets by every state tensor written or loaded anew, and RUN, TRACE or ASK with the
// number of the segment that state belongs to.

import type { OpPlace } from "../../protocol/network/chain-question.ts";
import type { MetricBytes } from "../../work/runs/metric-columns.ts";
import type { TensorQuestion } from "../../work/trace/evaluate-tensor.ts";
import type { ShownLeaf } from "../../work/trace/judge.ts";

export type { ShownLeaf };

export interface WorkPlan {
	/** All that the session takes on its device. */
	readonly peakBytes: number;
	/** Of state and result tensors: what SAVE writes. */
	readonly stateBytes: number;
	readonly initOps: number;
	readonly stepOps: number;
}

/** What S_{segment + 1} commits to, in the order of the program. */
export interface SegmentDone {
	readonly segment: number;
	readonly stateRoots: readonly Uint8Array[];
	readonly resultRoots: readonly Uint8Array[];
	/** These tensors lie in the engine's store, durably. */
	readonly saved: boolean;
}

export interface MetricLine extends MetricBytes {
	readonly segment: number;
}

export interface RunSegments {
	/** Where the session stands, or anything once all state was given anew. 0: the init phase, from zeros. */
	readonly first: number;
	readonly count: number;
	/** Saves state and results whenever so many segments of this run are done; 0 or none: never. */
	readonly saveEvery?: number;
	/** Aborting ends the run after the segment at hand; the session then stands at the next. */
	readonly signal?: AbortSignal;
	readonly onMetric?: (line: MetricLine) => void;
	readonly onSegment?: (done: SegmentDone) => void;
}

export interface LeafPlace {
	/** Number of an operand, or what the op gave. */
	readonly of: number | "output";
	readonly leaf: number;
}

/** All throw AssayError. Tensors are named by their number in the program. */
export interface WorkSession {
	readonly plan: WorkPlan;
	/**
	 * Any tensor but scratch and metric. Whole elements inside the declared interval; constants and inputs in
	 * any order, as often as needed.
	 */
	write(tensor: number, bytes: Uint8Array, offset?: number): Promise<void>;
	/**
	 * Another seed; program, constants and inputs stay. Then the session stands nowhere, until segment 0 is
	 * run.
	 */
	seed(seed: Uint8Array): Promise<void>;
	/** Of what the tensor holds now. */
	root(tensor: number): Promise<Uint8Array>;
	/** From the engine's store, where SAVE or a customer's upload has put it. */
	load(tensor: number, root: Uint8Array): Promise<void>;
	run(segments: RunSegments): Promise<void>;
	/** State and results as they are now. */
	save(): Promise<void>;
	fetch(tensor: number, offset: number, length: number): Promise<Uint8Array>;
	/** What the tensor is, as a polynomial at a point, docs/zk.md §6. */
	evaluate(tensor: number, question: TensorQuestion): Promise<bigint>;
	/** Runs the segment where the session stands; the root of every op's output, in order. */
	trace(segment: number, onOp: (step: number, op: number, root: Uint8Array) => void): Promise<void>;
	/**
	 * Leaves of what an op reads and gives, in the order asked. The session must stand at the segment, or have
	 * been asked about it before at this op or an earlier one. Afterwards it stands nowhere: RUN, TRACE, FETCH
	 * and SAVE need all state anew.
	 */
	ask(at: OpPlace, places: readonly LeafPlace[]): Promise<readonly ShownLeaf[]>;
	release(): Promise<void>;
}

export interface OpenWork {
	readonly device: number;
	readonly program: Uint8Array;
	/** 32 bytes. */
	readonly seed: Uint8Array;
}

/** Checks and plans the program; throws its fault (PROGRAM_…), or that the device has no room. */
export type OpenWorkSession = (work: OpenWork) => Promise<WorkSession>;
