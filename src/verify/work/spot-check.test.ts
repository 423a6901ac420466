// Traced segments of the sample programs: honest ones pass, and one changed element, leaf, path or root is
// found with its kind.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mixedSample, mlpSample, type Sample } from "../../work/builder/samples.test-kit.ts";
import type { Elements } from "../../work/operators/tensor-type.ts";
import { orThrow } from "../../work/program/fault.ts";
import { sealProgram } from "../../work/program/open-program.ts";
import { createMachine } from "../../work/program/run-program.ts";
import type { ShownLeaf } from "../../work/trace/judge.ts";
import { machineState, traceSegment } from "../../work/trace/run-trace.ts";
import { type TensorTree, tensorRoot, tensorTree } from "../../work/trace/tensor-tree.ts";
import { type DrawnOp, type LeavesAsked, type SpotFault, spotCheck } from "./spot-check.ts";
import { committedTensors, falseEnd, phaseOf, type TracedSegment, tracedOutputs } from "./traced-segment.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 7 * i);

interface Run {
	readonly traced: TracedSegment;
	readonly committed: readonly [Uint8Array, Uint8Array];
	/** What each op read and gave: step · ops + op. */
	readonly ops: readonly { readonly inputs: readonly Elements[]; readonly output: Elements }[];
}

function runOf({ program, given }: Sample, segment: number): Run {
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	while (machine.next < segment) machine.runSegment();
	const roots = new Map(
		program.tensors.flatMap(({ kind, name }, i) =>
			kind === "constant" || kind === "input" ? [[i, tensorRoot(given[name]!)] as const] : [],
		),
	);
	const before = committedTensors(program).map((tensor) => tensorRoot(machine.tensors[tensor]!));
	const start = machineState(machine);
	const ops: { inputs: readonly Elements[]; output: Elements }[] = [];
	const { leaves } = traceSegment(machine, (_leaf, inputs, output) => ops.push({ inputs, output }));
	const outputs = leaves.map(({ output }) => output);
	assert.equal(outputs.length, tracedOutputs(program, segment));
	return {
		traced: { program, segment, given: roots, before, outputs },
		committed: [start, machineState(machine)],
		ops,
	};
}

function drawnOps({ program, segment }: TracedSegment): DrawnOp[] {
	const ops = program[phaseOf(segment)];
	const steps = segment === 0 ? 1 : program.k;
	return Array.from({ length: steps * ops.length }, (_, i) => {
		const op = i % ops.length;
		const count = ops[op]!.output.dims.reduce((a, b) => a * b, 1);
		return { step: Math.floor(i / ops.length), op, elements: [0, count - 1, (count * 5) >> 3] };
	});
}

const trees = new WeakMap<Elements, TensorTree>();
function treeOf(elements: Elements): TensorTree {
	const tree = trees.get(elements) ?? tensorTree(elements);
	trees.set(elements, tree);
	return tree;
}

const honestLeaf = ({ traced, ops }: Run, { step, op }: LeavesAsked, of: number | "output", leaf: number) => {
	const { inputs, output } = ops[step * traced.program[phaseOf(traced.segment)].length + op]!;
	const tree = treeOf(of === "output" ? output : inputs[of]!);
	return { bytes: tree.leaf(leaf), path: tree.path(leaf) };
};

function check(run: Run, spoil: (leaf: ShownLeaf, asked: LeavesAsked, i: number) => ShownLeaf | null = (leaf) => leaf) {
	const going = spotCheck(run.traced, SEED, drawnOps(run.traced));
	let asked = 0;
	for (let next = going.next(); ; ) {
		if (next.done) return { fault: next.value as SpotFault | null, asked };
		const question = next.value;
		asked += question.places.length;
		const shown = question.places.map(({ of, leaf }, i) => spoil(honestLeaf(run, question, of, leaf), question, i));
		next = going.next(shown.filter((leaf) => leaf !== null));
	}
}

for (const [name, sample] of [
	["MLP", mlpSample()],
	["every operator", mixedSample(4)],
] as const) {
	test(`${name}: an honest trace has the committed ends, and its elements are right`, () => {
		for (const segment of [0, 1, 2]) {
			const run = runOf(sample, segment);
			assert.equal(falseEnd(run.traced, run.committed), null);
			const { fault, asked } = check(run);
			assert.equal(fault, null);
			assert.ok(asked >= drawnOps(run.traced).length);
		}
	});

	test(`${name}: one changed element in any op is found, and so is a trace that leads elsewhere`, () => {
		const run = runOf(sample, 1);
		for (const [number, { output }] of run.ops.entries()) {
			const copy = output.slice();
			if (copy instanceof BigInt64Array) copy[0] = copy[0]! ^ 1n;
			else copy[0] = copy[0]! ^ 1;
			const outputs = [...run.traced.outputs];
			outputs[number] = tensorRoot(copy);
			const ops = [...run.ops];
			ops[number] = { ...ops[number]!, output: copy };
			const lying = { ...run, traced: { ...run.traced, outputs }, ops };
			assert.equal(check(lying).fault?.kind, "element", `op ${number}`);
		}
		const [start, end] = run.committed;
		const other = run.traced.before.with(0, new Uint8Array(32));
		assert.equal(falseEnd({ ...run.traced, before: other }, run.committed), "before");
		assert.equal(falseEnd(run.traced, [start, start]), "after");
		assert.equal(falseEnd(run.traced, [end, end]), "before");
	});

	test(`${name}: leaves that are changed, cut, moved or missing are refused`, () => {
		const run = runOf(sample, 1);
		const flip = (bytes: Uint8Array) => bytes.map((byte, i) => (i === 5 ? byte ^ 1 : byte));
		assert.equal(check(run, (leaf) => ({ ...leaf, bytes: flip(leaf.bytes) })).fault?.kind, "root");
		assert.equal(check(run, (leaf) => ({ ...leaf, bytes: leaf.bytes.subarray(1) })).fault?.kind, "leaf");
		const longer = ({ bytes, path }: ShownLeaf) => ({ bytes, path: [...path, bytes.subarray(0, 32)] });
		assert.equal(check(run, longer).fault?.kind, "leaf");
		assert.equal(check(run, () => null).fault?.kind, "leaf");
		// Only of operands: the output is right, and what it was made from is not shown.
		const inOperands = (leaf: ShownLeaf, { places }: LeavesAsked, i: number) =>
			places[i]!.of === "output" ? leaf : { ...leaf, bytes: flip(leaf.bytes) };
		assert.equal(check(run, inOperands).fault?.kind, "root");
	});
}
