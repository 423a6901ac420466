// Sessions of exact programs against src/work's reference, docs/work.md §7.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { mixedSample, mlpSample, type Sample } from "../../work/builder/samples.test-kit.ts";
import { bytesOf, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { orThrow } from "../../work/program/fault.ts";
import { sealProgram } from "../../work/program/open-program.ts";
import { createMachine } from "../../work/program/run-program.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { machineState, traceSegment } from "../../work/trace/run-trace.ts";
import { rootOfLeaf, tensorTree } from "../../work/trace/tensor-tree.ts";
import { type ToyWork, toyWork } from "./toy-work-session.test-kit.ts";
import type { MetricLine, WorkSession } from "./work-session.ts";

const SEED = new Uint8Array(32).map((_, i) => 7 * i);
const SAMPLES: Readonly<Record<string, () => Sample>> = { mlp: mlpSample, mixed: mixedSample };

async function openSample({ program, given }: Sample, toy: ToyWork = {}): Promise<WorkSession> {
	const session = await toyWork(toy)({ device: 0, program: encodeProgram(program), seed: SEED });
	for (const [tensor, { name }] of program.tensors.entries())
		if (given[name]) await session.write(tensor, elementsToBytes(given[name]));
	return session;
}
const machineOf = ({ program, given }: Sample) => createMachine(orThrow(sealProgram(program)), SEED, given);

for (const [name, make] of Object.entries(SAMPLES)) {
	test(`${name}: states, metrics, trace and leaves are those of the reference`, async () => {
		const sample = make();
		const machine = machineOf(sample);
		const session = await openSample(sample);
		const states: Uint8Array[] = [];
		const metrics: MetricLine[] = [];
		const count = 4;
		await session.run({
			first: 0,
			count,
			onMetric: (line) => metrics.push(line),
			onSegment: ({ segment, stateRoots, resultRoots }) =>
				states.push(stateHashOf(sample.program, segment + 1, stateRoots, resultRoots)),
		});
		for (let segment = 0; segment < count; segment++) {
			machine.runSegment();
			assert.deepEqual(states[segment], machineState(machine));
		}
		const last = metrics.filter(({ segment, step }) => segment === count - 1 && step === sample.program.k - 1);
		assert.ok(last.length > 0);
		assert.equal(metrics.length, last.length * (count - 1) * sample.program.k);
		for (const { tensor, bytes } of last) assert.deepEqual(bytes, elementsToBytes(machine.tensors[tensor]!));
		const state = sample.program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [i] : []));
		const before = new Map(state.map((i) => [i, elementsToBytes(machine.tensors[i]!)]));

		const roots: Uint8Array[] = [];
		await session.trace(count, (_step, _op, root) => roots.push(root));
		const seen: { inputs: readonly { readonly length: number }[]; output: Uint8Array }[] = [];
		const trace = traceSegment(machine, (_, inputs, output) =>
			seen.push({ inputs, output: tensorTree(output).leaf(0) }),
		);
		assert.deepEqual(
			roots,
			trace.leaves.map(({ output }) => output),
		);

		await assert.rejects(session.ask({ segment: count, step: 0, op: 0 }, [{ of: "output", leaf: 0 }]), {
			code: "ENGINE_REFUSED",
		});
		for (const [tensor, bytes] of before) await session.write(tensor, bytes);
		for (const [i, { step, op, inputs, output }] of trace.leaves.entries()) {
			const of = sample.program.step[op]!;
			const places = [...of.operands.map((_, n) => ({ of: n, leaf: 0 })), { of: "output" as const, leaf: 0 }];
			const shown = await session.ask({ segment: count, step, op }, places);
			assert.deepEqual(shown.at(-1)!.bytes, seen[i]!.output);
			for (const [n, { bytes, path }] of shown.entries()) {
				const { dims, type } = n < inputs.length ? of.operands[n]! : of.output;
				const size = elementCount(dims) * bytesOf(type);
				assert.deepEqual(rootOfLeaf(bytes, 0, size, path), n < inputs.length ? inputs[n] : output);
			}
		}
		// It stands nowhere now.
		await assert.rejects(session.run({ first: count, count: 1 }), { code: "ENGINE_REFUSED" });
		await session.run({ first: 0, count: 1 });
	});
}

test("a run goes on from a saved state as if it had never ended", async () => {
	const sample = mlpSample();
	const store = new Map<string, Uint8Array>();
	const first = await openSample(sample, { store });
	let saved: readonly Uint8Array[] = [];
	const all: Uint8Array[] = [];
	await first.run({
		first: 0,
		count: 5,
		saveEvery: 3,
		onSegment: (done) => {
			all.push(...done.stateRoots);
			if (done.saved) saved = done.stateRoots;
		},
	});
	const second = await openSample(sample, { store });
	const state = sample.program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [i] : []));
	await assert.rejects(second.run({ first: 3, count: 2 }), { code: "ENGINE_REFUSED" });
	for (const [n, tensor] of state.entries()) await second.load(tensor, saved[n]!);
	const again: Uint8Array[] = [];
	await second.run({ first: 3, count: 2, onSegment: ({ stateRoots }) => again.push(...stateRoots) });
	assert.deepEqual(again, all.slice(-again.length));
	await assert.rejects(second.load(state[0]!, new Uint8Array(32)), { code: "BLOB_MISSING" });
	await assert.rejects(second.load(state[0]!, saved[1]!), { code: "TENSOR_SIZE" });
});

test("a changed element is in all that a cheating session says from there on", async () => {
	const sample = mlpSample();
	const writer = sample.program.step.findIndex(({ target }) => sample.program.tensors[target ?? -1]?.name === "w1");
	const cheat = { segment: 2, step: 1, op: writer, element: 5 };
	const [honest, cheating] = [await openSample(sample), await openSample(sample, { cheat })];
	const run = async (session: WorkSession) => {
		const states: Uint8Array[] = [];
		await session.run({ first: 0, count: 4, onSegment: ({ stateRoots }) => states.push(stateRoots[0]!) });
		return states;
	};
	const [a, b] = [await run(honest), await run(cheating)];
	assert.deepEqual(
		a.map((root, i) => equalBytes(root, b[i]!)),
		[true, true, false, false],
	);
	for (const session of [honest, cheating]) await session.run({ first: 0, count: 2 });
	const roots = [[] as Uint8Array[], [] as Uint8Array[]];
	for (const [i, session] of [honest, cheating].entries())
		await session.trace(2, (_s, _o, root) => roots[i]!.push(root));
	const firstFalse = roots[0]!.findIndex((root, i) => !equalBytes(root, roots[1]![i]!));
	assert.equal(firstFalse, sample.program.step.length + writer);
});
