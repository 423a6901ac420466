// The journal of a run, docs/jobs.md §2: JSON, one thing a line, only ever appended to. Line 1 says what
// runs; then a line for each segment with S_{j+1} and its metrics, and one for each saved state. Pure: text
// in, text out. A last line that was torn off is no line.
import type { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { hex, int, list, object, oneOf, type Shape, type Typed } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { LIMITS, type Program } from "../program/shapes.ts";
import { stateHashOf } from "../trace/commitments.ts";

const roots = list(hex(32), LIMITS.tensors);
const headFields = {
	format: oneOf("assay-run"),
	program: hex(32),
	inputs: hex(32),
	seed: hex(32),
	/** Of the input tensors, in the program's order: `inputs` follows from them and the seed. */
	inputRoots: roots,
	/** Number of the last segment. */
	last: int(0, LIMITS.segment),
};
const stateRoots = object({ state: roots, results: roots });
/** From segment 0 on. */
const wholeHead = object({ ...headFields, version: oneOf(1) });
/** From a later segment on, and what lies in the store of the state before it. */
const laterHead = object({ ...headFields, version: oneOf(2), first: int(1, LIMITS.segment), begin: stateRoots });
const checkpoint = object({ checkpoint: int(1, LIMITS.segment + 1) });

/** By metric: its value after each step. */
type Metrics = Readonly<Record<string, readonly number[]>>;

export interface JournalHead extends Omit<Typed<typeof wholeHead>, "format" | "version"> {
	/** The segment that it begins with. */
	readonly first: number;
	/** Roots of the state before it; null: all is zero, before segment 0. */
	readonly begin: Typed<typeof stateRoots> | null;
}

/** State and results before that segment lie in the store. */
interface CheckpointLine extends Typed<typeof checkpoint> {}

export interface SegmentLine {
	readonly segment: number;
	/** S_{segment + 1}, and the roots that it commits to: state, then results, each in the program's order. */
	readonly after: string;
	readonly state: readonly string[];
	readonly results: readonly string[];
	readonly metrics: Metrics;
}

export interface Journal {
	readonly head: JournalHead;
	/** Segment `first` + i at place i. */
	readonly segments: readonly SegmentLine[];
	/** Segments before which the state was saved, ascending. */
	readonly checkpoints: readonly number[];
	/** So much of the text is whole lines. */
	readonly wholeChars: number;
}

const metricsShape: Shape<Metrics> = (value, where) => {
	if (typeof value !== "object" || value === null || Array.isArray(value))
		return { where, detail: "must be an object" };
	for (const numbers of Object.values(value))
		if (!Array.isArray(numbers) || numbers.some((one) => typeof one !== "number" && one !== null))
			return { where, detail: "must be lists of numbers" };
	return null;
};
const segmentLine = object({
	...{ segment: int(0, LIMITS.segment), after: hex(32), state: roots, results: roots, metrics: metricsShape },
});

export function headLine({ first, begin, ...of }: JournalHead): string {
	const start = begin === null ? { version: 1 } : { version: 2, first, begin };
	return `${JSON.stringify({ format: "assay-run", ...start, ...of })}\n`;
}
export const segmentText = (line: SegmentLine): string => `${JSON.stringify(line)}\n`;
export const checkpointText = (before: number): string => `${JSON.stringify({ checkpoint: before })}\n`;

/**
 * The only line of a result that was fetched from the market: nothing is left to run, and the state that it
 * would begin with is the one at the end.
 */
export const isFetchedHead = ({ first, last, begin }: JournalHead): boolean => begin !== null && first === last + 1;

export const hexRoots = (all: readonly Uint8Array[]): string[] => all.map(bytesToHex);
export const rootBytes = (all: readonly string[]): Uint8Array[] => all.map((one) => hexToBytes(one, 32)!);

/**
 * What the journal says of state and results before a segment; null: zeros, or it tells nothing of that
 * segment.
 */
export function rootsBefore(
	{ head, segments }: Pick<Journal, "head" | "segments">,
	segment: number,
): Typed<typeof stateRoots> | null {
	return segment === head.first ? head.begin : (segments[segment - head.first - 1] ?? null);
}

/** S_j from roots as a journal has them; null when there are more or fewer than the program has tensors. */
export function foldedState(
	program: Program,
	segment: number,
	state: readonly string[],
	results: readonly string[],
): Uint8Array | null {
	const counts = (["state", "result"] as const).map(
		(kind) => program.tensors.filter((one) => one.kind === kind).length,
	);
	if (state.length !== counts[0] || results.length !== counts[1]) return null;
	return stateHashOf(program, segment, rootBytes(state), rootBytes(results));
}

function damaged(line: number, why: string): AssayError {
	return codedError("RUN_DAMAGED", `line ${line} of the journal ${why}`);
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		return null;
	}
}

function readHead(json: unknown): JournalHead {
	const isLater = laterHead(json, "") === null;
	const wrong = isLater ? null : wholeHead(json, "");
	if (wrong !== null) throw damaged(1, `is no head of a run: ${wrong.where} ${wrong.detail}`);
	const { format: _, version: __, ...of } = json as Typed<typeof laterHead>;
	return isLater ? of : { ...of, first: 0, begin: null };
}

/** Null when not even the first line was written. Throws RUN_DAMAGED. */
export function readJournal(text: string): Journal | null {
	const whole = text.slice(0, text.lastIndexOf("\n") + 1);
	const lines = whole.split("\n").slice(0, -1);
	if (lines.length === 0) return null;
	const head = readHead(parsed(lines[0]!));
	const segments: SegmentLine[] = [];
	const checkpoints = new Set<number>();
	for (const [i, line] of lines.slice(1).entries()) {
		const value = parsed(line);
		if (segmentLine(value, "") === null) {
			const one = value as SegmentLine;
			const next = head.first + segments.length;
			if (one.segment !== next) throw damaged(i + 2, `is segment ${one.segment}, not ${next}`);
			segments.push(one);
		} else if (checkpoint(value, "") === null) checkpoints.add((value as CheckpointLine).checkpoint);
		else throw damaged(i + 2, "says nothing that is known");
	}
	const reached = head.first + segments.length;
	if (reached > head.last + 1) throw damaged(lines.length, "is of a segment after the last");
	const ascending = [...checkpoints].sort((a, b) => a - b);
	if ((ascending[0] ?? reached + 1) <= head.first || (ascending.at(-1) ?? 0) > reached)
		throw damaged(lines.length, "is a state that was not reached");
	return { head, segments, checkpoints: ascending, wholeChars: whole.length };
}
