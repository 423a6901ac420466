// A prover of `train` challenges in TypeScript, slow and exact: it runs the program with the reference
// machine. `change` may falsify what an op gave, and the run then goes on from there, as a cheater's would.
import type { TrainSpec } from "../../../protocol/probe/evidence.ts";
import type { OpeningRecord } from "../../../protocol/probe/records.ts";
import { trainSamples } from "../../../protocol/probe/samples.ts";
import type { Elements } from "../../../work/operators/tensor-type.ts";
import { orThrow } from "../../../work/program/fault.ts";
import { sealProgram } from "../../../work/program/open-program.ts";
import { createMachine, type Machine } from "../../../work/program/run-program.ts";
import { machineState } from "../../../work/trace/run-trace.ts";
import { type TensorTree, tensorRoot, tensorTree } from "../../../work/trace/tensor-tree.ts";
import { spotCheck } from "../../work/spot-check.ts";
import { committedTensors } from "../../work/traced-segment.ts";
import { drawnOps, elementSeed, traced } from "../checks/check-train.ts";
import { type SegmentRoots, traceRecords } from "./trace-records.ts";
import { type TrainingRun, trainingRun } from "./training-run.ts";

export interface TrainAnswer {
	readonly roots: readonly Uint8Array[];
	readonly trace: readonly OpeningRecord[];
	readonly leaves: readonly OpeningRecord[];
}

/** Told of every output before it is used; may change it in place. */
export type Change = (segment: number, op: number, output: Elements) => void;

interface OpRun {
	readonly inputs: readonly Elements[];
	readonly output: Elements;
}

interface Ran {
	readonly before: readonly Uint8Array[];
	readonly ops: readonly OpRun[];
	readonly after: Uint8Array;
}

function machineOf({ program, seed, elements }: TrainingRun): Machine {
	const given = Object.fromEntries([...elements].map(([tensor, of]) => [program.tensors[tensor]!.name, of]));
	return createMachine(orThrow(sealProgram(program)), seed, given);
}

function runAll(run: TrainingRun, rounds: number, change: Change): Ran[] {
	const machine = machineOf(run);
	return Array.from({ length: rounds + 1 }, (_, segment): Ran => {
		const before = committedTensors(run.program).map((tensor) => tensorRoot(machine.tensors[tensor]!));
		const ops: OpRun[] = [];
		machine.runSegment(({ number, inputs, output }) => {
			change(segment, number, output);
			ops.push({ inputs, output });
		});
		return { before, ops, after: machineState(machine) };
	});
}

const trees = new WeakMap<Elements, TensorTree>();
function treeOf(elements: Elements): TensorTree {
	const tree = trees.get(elements) ?? tensorTree(elements);
	trees.set(elements, tree);
	return tree;
}

export function toyTraining(
	spec: TrainSpec,
	seed: Uint8Array,
	openSeed: (lastRoot: Uint8Array) => Uint8Array,
	change: Change = () => {},
): TrainAnswer {
	const run = trainingRun(spec, seed);
	const ran = runAll(run, spec.rounds, change);
	const roots = ran.map(({ after }) => after);
	const opening = openSeed(roots.at(-1)!);
	const drawn = trainSamples(opening, spec.rounds, run.program.k, spec.draws);
	const segments = drawn.map(({ segment }): SegmentRoots => {
		const { before, ops } = ran[segment]!;
		return { segment, before, outputs: ops.map(({ output }) => treeOf(output).root) };
	});
	const trace = segments.flatMap(traceRecords);
	const ops = drawnOps(run, segments, drawn, elementSeed(opening, trace), spec.samples);
	const leaves = segments.flatMap((one, i) => {
		const records: OpeningRecord[] = [];
		const check = spotCheck(traced(run, one), seed, ops[i]!);
		for (let next = check.next(); !next.done; ) {
			const { op, places } = next.value;
			const { inputs, output } = ran[one.segment]!.ops[op]!;
			const shown = places.map(({ of, leaf }) => {
				const tree = treeOf(of === "output" ? output : inputs[of]!);
				records.push({ round: op, index: leaf, leaf: tree.leaf(leaf), path: tree.path(leaf) });
				return { bytes: tree.leaf(leaf), path: tree.path(leaf) };
			});
			next = check.next(shown);
		}
		return records;
	});
	return { roots, trace, leaves };
}
