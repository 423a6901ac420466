// What every session of an exact program must do, whoever runs it: src/work's reference decides. Toy and
// engine pass the same suite.
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
import type { MetricLine, OpenWorkSession, RunSegments, WorkSession } from "./work-session.ts";

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

export interface WorkHouse {
	/** Its sessions share one store. */
	readonly open: OpenWorkSession;
	/** Bytes into the store, under any name. */
	put(root: Uint8Array, bytes: Uint8Array): void;
	close(): Promise<void>;
}

export function workSessionSuite(of: string, start: () => Promise<WorkHouse>): void {
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

	test(`${of}: another seed gives the run of that seed, from its start`, async () => {
		const sample = mlpSample();
		const { open } = await starting;
		const session = await openSample(open, sample);
		await session.run({ first: 0, count: 3 });
		const seed = SEED.toReversed();
		await session.seed(seed);
		await assert.rejects(session.run({ first: 3, count: 1 }), { code: "ENGINE_REFUSED" });
		const state = numbersOf(sample, "state");
		await assert.rejects(session.fetch(state[0]!, 0, 4), { code: "TENSOR_SIZE" });
		const machine = createMachine(orThrow(sealProgram(sample.program)), seed, sample.given);
		for (let i = 0; i < 3; i++) machine.runSegment();
		let last: readonly Uint8Array[] = [];
		await session.run({
			first: 0,
			count: 3,
			onSegment: ({ stateRoots }) => {
				last = stateRoots;
			},
		});
		assert.deepEqual(
			last,
			state.map((i) => tensorTree(machine.tensors[i]!).root),
		);
	});

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

	const refused = { code: "ENGINE_REFUSED" };
	const size = { code: "TENSOR_SIZE" };
	const range = { code: "TENSOR_RANGE" };
	const states = async (session: WorkSession, o: Omit<RunSegments, "onSegment">): Promise<readonly Uint8Array[]> => {
		const found: Uint8Array[] = [];
		await session.run({ ...o, onSegment: ({ stateRoots }) => found.push(...stateRoots) });
		return found;
	};

	test(`${of}: nothing outside its interval, its place or its order is written`, async () => {
		const sample = mlpSample();
		const { open } = await starting;
		const session = await open({ device: 0, program: encodeProgram(sample.program), seed: SEED });
		await assert.rejects(session.run({ first: 0, count: 1 }), size);
		const [data, w1, loss] = ["data", "w1", "loss"].map((name) =>
			sample.program.tensors.findIndex((one) => one.name === name),
		);
		const bytes = elementsToBytes(sample.given.data!);
		const outside = bytes.slice();
		outside[477] = 101;
		await assert.rejects(session.write(data!, outside), range);
		outside[477] = 0x9b; // -101
		await assert.rejects(session.write(data!, outside), range);
		await assert.rejects(session.write(data!, bytes.subarray(0, 100), 4), refused);
		await session.write(data!, bytes.subarray(0, 100));
		await assert.rejects(session.root(data!), size);
		await assert.rejects(session.run({ first: 0, count: 1 }), size);
		await assert.rejects(session.write(data!, bytes.subarray(101), 101), refused);
		await assert.rejects(session.write(data!, bytes, 1), size);
		await assert.rejects(session.write(data!, bytes, 2 ** 52), size);
		await assert.rejects(session.write(data!, new Uint8Array(0)), size);
		await session.write(data!, bytes.subarray(100), 100);
		assert.deepEqual(await session.root(data!), tensorTree(sample.given.data!).root);
		// Of i32, whole elements only.
		for (const [length, offset] of [
			[3, 0],
			[4, 2],
			[4, 768],
		] as const)
			await assert.rejects(session.write(w1!, new Uint8Array(length), offset), size);
		const large = new Int32Array([2 ** 20 + 1]);
		await assert.rejects(session.write(w1!, elementsToBytes(large), 764), range);
		await assert.rejects(session.write(loss!, new Uint8Array(8)), refused);
		await assert.rejects(session.write(sample.program.tensors.length, new Uint8Array(8)), refused);
		await assert.rejects(session.fetch(data!, 0, bytes.length + 1), size);
		await assert.rejects(session.fetch(data!, bytes.length, 1), size);
		await assert.rejects(session.fetch(data!, 0, 0), size);
		assert.deepEqual(await session.fetch(data!, 13, 77), bytes.slice(13, 90));
		await session.release();
		await assert.rejects(session.root(data!), refused);
	});

	test(`${of}: constants must have their root, whatever their bytes`, async () => {
		const sample = mixedSample(3);
		const session = await openSample((await starting).open, sample);
		const lookup = sample.program.tensors.findIndex(({ name }) => name === "lookup");
		const bytes = elementsToBytes(sample.given.lookup!);
		const other = bytes.slice();
		other[5]! ^= 1;
		await session.write(lookup, other);
		await assert.rejects(session.run({ first: 0, count: 1 }), { code: "TENSOR_ROOT" });
		await assert.rejects(
			session.trace(0, () => {}),
			{ code: "TENSOR_ROOT" },
		);
		await assert.rejects(session.ask({ segment: 0, step: 0, op: 0 }, [{ of: "output", leaf: 0 }]), {
			code: "TENSOR_ROOT",
		});
		await session.write(lookup, bytes);
		await session.run({ first: 0, count: 1 });
		// After a run too.
		await session.write(lookup, other);
		await assert.rejects(session.run({ first: 1, count: 1 }), { code: "TENSOR_ROOT" });
		await session.release();
	});

	test(`${of}: a segment runs only where the session stands, or from all state anew`, async () => {
		const sample = mlpSample();
		const session = await openSample((await starting).open, sample);
		const [w1, w2] = numbersOf(sample, "state");
		const at = (segment: number, step = 0, op = 0) => ({ segment, step, op });
		const leaf = [{ of: "output", leaf: 0 }] as const;
		for (const act of [
			() => session.run({ first: 1, count: 1 }),
			() => session.run({ first: 0, count: 0 }),
			() => session.run({ first: 0, count: 2 ** 31 + 1 }),
			() => session.trace(1, () => {}),
			() => session.ask(at(1), leaf),
		])
			await assert.rejects(act(), refused);
		const truth = await states(session, { first: 0, count: 4 });
		const before = await Promise.all(
			[w1!, w2!].map((w) => session.fetch(w, 0, 4 * elementCount(sample.program.tensors[w]!.dims))),
		);
		for (const first of [1, 3, 5, 2 ** 31 - 1]) await assert.rejects(session.run({ first, count: 1 }), refused);
		// One of two, and all but the last element of the other: not all state.
		await session.write(w1!, before[0]!);
		await session.write(w2!, before[1]!.subarray(0, -4));
		await assert.rejects(session.run({ first: 9, count: 1 }), refused);
		const next = await states(session, { first: 4, count: 1 });
		for (const [i, w] of [w1!, w2!].entries()) await session.write(w, before[i]!);
		assert.deepEqual(await states(session, { first: 4, count: 1 }), next);
		// ASK goes forward; afterwards the session stands nowhere.
		for (const [i, w] of [w1!, w2!].entries()) await session.write(w, before[i]!);
		for (const wrong of [at(4, 2), at(4, 0, sample.program.step.length)])
			await assert.rejects(session.ask(wrong, leaf), refused);
		for (const place of [
			{ of: 1, leaf: 0 },
			{ of: 254, leaf: 0 },
			{ of: 0, leaf: 1 },
			{ of: "output", leaf: 2 ** 32 - 1 },
		] as const)
			await assert.rejects(session.ask(at(4), [place]), refused);
		const shown = await session.ask(at(4, 1, 5), leaf);
		assert.deepEqual(await session.ask(at(4, 1, 5), leaf), shown);
		await assert.rejects(session.ask(at(4, 1, 4), leaf), refused);
		await assert.rejects(session.ask(at(4), leaf), refused);
		await assert.rejects(session.root(w1!), size);
		await assert.rejects(session.fetch(w2!, 0, 4), size);
		await assert.rejects(session.save(), size);
		for (const first of [4, 5]) await assert.rejects(session.run({ first, count: 1 }), refused);
		// Half a state ends the asking and is no state.
		await session.write(w1!, before[0]!);
		await assert.rejects(session.ask(at(4, 1, 6), leaf), refused);
		await assert.rejects(session.run({ first: 4, count: 1 }), refused);
		await session.write(w2!, before[1]!);
		assert.deepEqual(await states(session, { first: 4, count: 1 }), next);
		// Init from anywhere, as if nothing had been.
		assert.deepEqual(await states(session, { first: 0, count: 4 }), truth);
		await session.release();
	});

	test(`${of}: a run that is stopped ends after a segment and goes on from there`, async () => {
		const sample = mlpSample();
		const session = await openSample((await starting).open, sample);
		const stop = new AbortController();
		const found: Uint8Array[] = [];
		await session.run({
			first: 0,
			count: 2 ** 20,
			signal: stop.signal,
			onSegment({ segment, stateRoots }) {
				found.push(...stateRoots);
				if (segment === 2) stop.abort();
			},
		});
		const done = found.length / 2;
		assert.ok(done >= 3 && done < 2 ** 20);
		const more = await states(session, { first: done, count: 2 });
		assert.deepEqual(await states(session, { first: 0, count: done + 2 }), [...found, ...more]);
		// A callback that throws ends it too, and is told.
		const fail = () => {
			throw new Error("full");
		};
		await assert.rejects(session.run({ first: 0, count: 2 ** 20, onSegment: fail }), /full/);
		await session.release();
	});

	test(`${of}: blobs that are cut, changed, of another tensor or out of range are refused`, async () => {
		const sample = mlpSample();
		const { open, put } = await starting;
		const session = await openSample(open, sample);
		const [w1, w2] = numbersOf(sample, "state");
		await session.run({ first: 0, count: 2 });
		const roots = [await session.root(w1!), await session.root(w2!)];
		const bytes = await session.fetch(w1!, 0, 768);
		await session.save();
		await assert.rejects(session.load(w1!, new Uint8Array(32).fill(9)), { code: "BLOB_MISSING" });
		await assert.rejects(session.load(w1!, roots[1]!), size);
		// None of these has touched anything.
		await session.run({ first: 2, count: 1 });
		const changed = bytes.slice();
		changed[0]! ^= 1;
		const outside = elementsToBytes(new Int32Array(192).fill(2 ** 20 + 1));
		for (const [put1, code] of [
			[bytes.slice(0, -1), "TENSOR_SIZE"],
			[new Uint8Array(0), "TENSOR_SIZE"],
			[new Uint8Array([...bytes, 0]), "TENSOR_SIZE"],
			[changed, "BLOB_CUT"],
			[outside, "TENSOR_RANGE"],
		] as const) {
			put(roots[0]!, put1);
			await assert.rejects(session.load(w1!, roots[0]!), { code }, code);
		}
		// What was half written is no state.
		await assert.rejects(session.run({ first: 3, count: 1 }), refused);
		// Its root as it truly is makes no difference to the interval.
		const root = tensorTree(new Int32Array(192).fill(2 ** 20 + 1)).root;
		put(root, outside);
		await assert.rejects(session.load(w1!, root), range);
		put(roots[0]!, bytes);
		for (const [i, w] of [w1!, w2!].entries()) await session.load(w, roots[i]!);
		await session.run({ first: 2, count: 1 });
		await session.release();
	});
}
