// What every session of an exact program must do, whoever runs it: src/work's reference decides. Toy and engine pass the same suite.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mixedSample, mlpSample, type Sample } from "../../work/builder/samples.test-kit.ts";
import { bytesOf, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { orThrow } from "../../work/program/fault.ts";
import { sealProgram } from "../../work/program/open-program.ts";
import { createMachine } from "../../work/program/run-program.ts";
import type { TensorKind } from "../../work/program/shapes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { machineState, traceSegment } from "../../work/trace/run-trace.ts";
import { rootOfLeaf, tensorTree } from "../../work/trace/tensor-tree.ts";
import type { MetricLine, OpenWorkSession, WorkSession } from "./work-session.ts";

export const SEED = new Uint8Array(32).map((_, i) => 7 * i);
const SAMPLES: Readonly<Record<string, () => Sample>> = { mlp: mlpSample, mixed: mixedSample };

export async function openSample(open: OpenWorkSession, { program, given }: Sample): Promise<WorkSession> {
	const session = await open({ device: 0, program: encodeProgram(program), seed: SEED });
	for (const [tensor, { name }] of program.tensors.entries())
		if (given[name]) await session.write(tensor, elementsToBytes(given[name]));
	return session;
}
const machineOf = ({ program, given }: Sample) => createMachine(orThrow(sealProgram(program)), SEED, given);

export const numbersOf = ({ program }: Sample, kind: TensorKind): number[] =>
	program.tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));

/** `start` gives an opener whose sessions share one store. */
export function workSessionSuite(
	of: string,
	start: () => Promise<{ open: OpenWorkSession; close(): Promise<void> }>,
): void {
	const starting = start();
	after(async () => (await starting).close());

	for (const [name, make] of Object.entries(SAMPLES)) {
		test(`${of}, ${name}: states, metrics, trace and leaves are those of the reference`, async () => {
			const sample = make();
			const machine = machineOf(sample);
			const session = await openSample((await starting).open, sample);
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
			const state = numbersOf(sample, "state");
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

	test(`${of}: a run goes on from a saved state as if it had never ended`, async () => {
		const sample = mlpSample();
		const { open } = await starting;
		const first = await openSample(open, sample);
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
		const second = await openSample(open, sample);
		const state = numbersOf(sample, "state");
		await assert.rejects(second.run({ first: 3, count: 2 }), { code: "ENGINE_REFUSED" });
		for (const [n, tensor] of state.entries()) await second.load(tensor, saved[n]!);
		const again: Uint8Array[] = [];
		await second.run({ first: 3, count: 2, onSegment: ({ stateRoots }) => again.push(...stateRoots) });
		assert.deepEqual(again, all.slice(-again.length));
		await assert.rejects(second.load(state[0]!, new Uint8Array(32)), { code: "BLOB_MISSING" });
		await assert.rejects(second.load(state[0]!, saved[1]!), { code: "TENSOR_SIZE" });
	});
}
