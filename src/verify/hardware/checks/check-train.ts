// A training run's answer: the traces of the drawn segments begin and end at committed states, and drawn
// elements of every op of a drawn step are computed again. docs/hardware-proof.md §14; the check of elements
// is verify/work/spot-check.ts.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { tagged } from "../../../protocol/hash/tagged-hash.ts";
import type { TrainSpec } from "../../../protocol/probe/evidence.ts";
import type { OpeningRecord } from "../../../protocol/probe/records.ts";
import { elementSamples, trainSamples } from "../../../protocol/probe/samples.ts";
import { elementCount } from "../../../work/operators/tensor-type.ts";
import { type DrawnOp, type SpotFault, spotCheck } from "../../work/spot-check.ts";
import { falseEnd, phaseOf, rootsOfZeros, stateOf, type TracedSegment } from "../../work/traced-segment.ts";
import type { Answered, Opened } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import type { ProbeSeeds } from "../probe-seeds.ts";
import { readTraces, type SegmentRoots } from "../training/trace-records.ts";
import { type TrainingRun, trainingRun } from "../training/training-run.ts";
import type { OnRight } from "./check-gemm.ts";

const CODE = { leaf: "LEAF_LENGTH", root: "ROOT_MISMATCH", element: "ELEMENT_WRONG" } as const;

export function checkTrain(
	answer: Answered,
	spec: TrainSpec,
	seeds: ProbeSeeds,
	onRight: OnRight = () => {},
): Fault | null {
	const run = trainingRun(spec, seeds.first(answer.index));
	const { program } = run;
	const trace: Opened = answer.opens[0]!;
	const leaves: Opened = answer.opens[1]!;
	const openSeed = seeds.open(answer.index);
	const drawn = trainSamples(openSeed, spec.rounds, program.k, spec.draws);
	const traces = readTraces(
		trace.openings,
		program,
		drawn.map(({ segment }) => segment),
	);
	if (typeof traces === "number") {
		const detail = "the trace of a drawn segment is not whole, or not of that segment";
		return fault("TRACE_WRONG", `${trace.where}.record[${traces}]`, detail);
	}
	const states = [stateOf(program, 0, rootsOfZeros(program)), ...answer.roots.map(({ root }) => root)];
	for (const one of traces) {
		const end = falseEnd(traced(run, one), [states[one.segment]!, states[one.segment + 1]!]);
		if (end !== null)
			return fault("TRACE_WRONG", trace.where, `segment ${one.segment}: the state ${end} it is not the committed one`);
	}
	const ops = drawnOps(run, traces, drawn, elementSeed(openSeed, trace.openings), spec.samples);
	const reader = { next: 0 };
	for (const [i, one] of traces.entries()) {
		const found = checkLeaves(run, traced(run, one), ops[i]!, leaves, reader);
		if (found !== null) return found;
		onRight();
	}
	if (reader.next === leaves.openings.length) return null;
	return fault("OPENINGS_SURPLUS", `${leaves.where}.record[${reader.next}]`, `${reader.next} leaves were asked for`);
}

export const traced = ({ program, given, elements }: TrainingRun, roots: SegmentRoots): TracedSegment => ({
	program,
	given,
	known: elements,
	...roots,
});

/**
 * What elements are drawn from: fixed once the traces are. The prover never sees the seed that it follows
 * from.
 */
export function elementSeed(openSeed: Uint8Array, records: readonly Pick<OpeningRecord, "leaf">[]): Uint8Array {
	return tagged("assay/open/1", openSeed, concatBytes(...records.map(({ leaf }) => leaf)));
}

/** For each drawn segment: every op of the drawn step, with its elements. */
export function drawnOps(
	{ program }: Pick<TrainingRun, "program">,
	traces: readonly SegmentRoots[],
	drawn: readonly { readonly step: number }[],
	seed: Uint8Array,
	samples: number,
): DrawnOp[][] {
	const phases = traces.map(({ segment }) => program[phaseOf(segment)]);
	const counts = phases.flatMap((ops) => ops.map(({ output }) => elementCount(output.dims)));
	const elements = elementSamples(seed, counts, samples);
	let at = 0;
	return phases.map((ops, i) => ops.map((_, op) => ({ step: drawn[i]!.step, op, elements: elements[at++]! })));
}

/** The leaves of the file in the order in which the check asks for them. */
function checkLeaves(
	{ seed }: TrainingRun,
	one: TracedSegment,
	ops: readonly DrawnOp[],
	leaves: Opened,
	reader: { next: number },
): Fault | null {
	const first = reader.next;
	const check = spotCheck(one, seed, ops);
	const at = (record: number) => `${leaves.where}.record[${record}]`;
	for (let next = check.next(); ; ) {
		if (next.done) {
			const found: SpotFault | null = next.value;
			return found && fault(CODE[found.kind], at(first + found.shown), `segment ${one.segment}: ${found.detail}`);
		}
		const { op, places } = next.value;
		const shown: { bytes: Uint8Array; path: readonly Uint8Array[] }[] = [];
		for (const { leaf } of places) {
			const record = leaves.openings[reader.next];
			if (record === undefined)
				return fault("OPENINGS_MISSING", at(reader.next), `leaf ${leaf} of op ${op} was left out`);
			if (record.round !== op || record.index !== leaf)
				return fault("OPENING_PLACE", at(reader.next), `leaf ${leaf} of op ${op} was due`);
			shown.push({ bytes: record.leaf, path: record.path });
			reader.next += 1;
		}
		next = check.next(shown);
	}
}
