// How the trace of drawn segments stands in an evidence file (docs/hardware-proof.md §14): opening records
// whose leaf is a row of roots. Record 0 of a segment has the roots of its state, then of its results, before
// it; the next ones those of every op's output. Segment 0 starts from zeros and has no record 0. Shared by
// the probe, which writes them, and verify.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import type { OpeningRecord } from "../../../protocol/probe/records.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { committedTensors, rootsOfZeros, type TracedSegment, tracedOutputs } from "../../work/traced-segment.ts";

const ROOT_BYTES = 32;
/** A leaf of a record has at most 65,535 bytes. */
const ROOTS_A_RECORD = 2047;

export type SegmentRoots = Pick<TracedSegment, "segment" | "before" | "outputs">;

export function traceRecords({ segment, before, outputs }: SegmentRoots): OpeningRecord[] {
	const pieces = segment === 0 ? [] : [before];
	for (let at = 0; at < outputs.length; at += ROOTS_A_RECORD) pieces.push(outputs.slice(at, at + ROOTS_A_RECORD));
	const first = segment === 0 ? 1 : 0;
	return pieces.map((roots, i) => ({ round: segment, index: first + i, leaf: concatBytes(...roots), path: [] }));
}

/** The traces of these segments, or the number of the first record that is not as it must be. */
export function readTraces(
	records: readonly OpeningRecord[],
	program: Program,
	segments: readonly number[],
): SegmentRoots[] | number {
	const traces: SegmentRoots[] = [];
	let next = 0;
	const take = (segment: number, index: number, count: number): Uint8Array[] | null => {
		const record = records[next];
		const isDue = record?.round === segment && record.index === index && record.path.length === 0;
		if (!isDue || record.leaf.length !== count * ROOT_BYTES) return null;
		next += 1;
		return Array.from({ length: count }, (_, i) => record.leaf.subarray(ROOT_BYTES * i, ROOT_BYTES * (i + 1)));
	};
	for (const segment of segments) {
		const before = segment === 0 ? rootsOfZeros(program) : take(segment, 0, committedTensors(program).length);
		if (before === null) return next;
		const outputs: Uint8Array[] = [];
		for (let index = 1, left = tracedOutputs(program, segment); left > 0; index++) {
			const piece = take(segment, index, Math.min(left, ROOTS_A_RECORD));
			if (piece === null) return next;
			outputs.push(...piece);
			left -= piece.length;
		}
		traces.push({ segment, before, outputs });
	}
	return next === records.length ? traces : next;
}
