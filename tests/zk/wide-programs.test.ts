// A small CNN by exact SGD and softmax, trained on the reference machine: a proof of its first segment by the
// reference prover (docs/zk.md §14), and the bytes that it is about. What cheaters do is in
// src/verify/zk/removed-wide-checks.test.ts, with smaller numbers.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { proofOpener } from "../../src/engine/client/proof-opener.ts";
import { proveSegment } from "../../src/provider/proofs/prove-segment.ts";
import { encodeProofFile, verifyProofFile } from "../../src/verify/zk/proof-file.ts";
import { devCommit } from "../../src/verify/zk/segment.test-kit.ts";
import { DEV_POWERS } from "../../src/verify/zk/srs.ts";
import { type ExactSizes, exactProgram } from "../../src/work/models/exact-mlp.ts";
import { Trial } from "../../src/work/models/training.test-kit.ts";
import type { Instruction, Place } from "../../src/work/operators/instruction.ts";
import type { Elements } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, planHash, unitsOf, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { provingPlan } from "../../src/work/plan/proving-plan.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { openProgram } from "../../src/work/program/open-program.ts";
import type { MapOp, Operand } from "../../src/work/program/shapes.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { addRest, leftRange, linkOf, runSegment, type Shape, type Start } from "../../vectors/naive-plan.ts";
import { SegmentProver } from "../../vectors/naive-segment.ts";
import { behindCard, startProver } from "./engine-prover.test-kit.ts";

const SEED = new Uint8Array(32).fill(5);
const [ROWS, BATCH, STEPS, SHIFT] = [8, 2, 2, 4];
const CHUNK_BITS = 14;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

function trained(network: ExactSizes, segments = 1) {
	const [inputs, classes] = [network.sizes[0]!, network.sizes.at(-1)!];
	const features = Int16Array.from({ length: ROWS * inputs }, (_, i) => ((i * 7919) % 1201) - 600);
	const labels = Int16Array.from({ length: ROWS }, (_, i) => i % classes);
	const schedule = { batch: BATCH, steps: 16, k: STEPS, seed: SEED, order: "cube" } as const;
	const model = exactProgram(network, schedule, SHIFT, { features, labels }, 64);
	const trial = new Trial(model, SEED);
	const weights = (): Elements[] => model.parameters.map(({ name }) => trial.tensor(name).slice());
	const states = [{ hash: trial.stateHash(), weights: weights() }];
	for (let i = 0; i < segments; i++) {
		trial.machine.runSegment();
		states.push({ hash: trial.stateHash(), weights: weights() });
	}
	return { network, program: model.program, features, labels, states };
}

/** The same run, as the reference prover has it. */
function naiveOf({ network, program, features, labels, states }: ReturnType<typeof trained>): {
	readonly plan: ZkPlan;
	readonly shape: Shape;
	readonly start: Start;
} {
	const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
	assert.ok(!("code" in plan), JSON.stringify(plan));
	const { h, d, activation, gradient, limbs, scale, epochs, quotient } = plan;
	const shape: Shape = {
		...{ sizes: network.sizes, batch: BATCH, steps: STEPS, rows: ROWS, epochs, scale, h, d, activation, gradient },
		...{ limbs, chunkBits: CHUNK_BITS, root: Buffer.from(plan.programRoot, "hex") },
		...(network.windows && { windows: network.windows }),
		...(quotient !== undefined && { quotient }),
	};
	const rowsOf = <T>(list: ArrayLike<T>, width: number): T[][] =>
		Array.from({ length: list.length / width }, (_, i) =>
			Array.from({ length: width }, (_, k) => list[i * width + k]!),
		);
	const start: Start = {
		features: rowsOf(enteringOf(plan, features), network.sizes[0]!).map((row) => row.map(BigInt)),
		labels: [...labels],
		weights: states[0]!.weights.map((flat, l) =>
			rowsOf(flat as BigInt64Array, linkOf(shape, l).inputs).map((row) => row.map(BigInt)),
		),
		...{ seed: SEED, firstStep: 0 },
	};
	return { plan, shape, start };
}

const window = (channels: number, side: number, stride: number) => ({
	...{ channels, height: side, width: side, size: 3, stride, pad: 1 },
});
/** Two convolutions, the second of stride 2; three classes. */
const CNN = { sizes: [16, 32, 8, 3], windows: [window(1, 4, 1), window(2, 4, 2), null], isSoftmax: true };
const run = trained(CNN);
const prover = await startProver();
after(() => prover.close());

test("programs of convolutions and softmax have plans of their own, and no others are believed", () => {
	const { program } = run;
	const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
	assert.deepEqual(plan.links.map(unitsOf), [32, 8, 3]);
	assert.deepEqual(
		plan.links.map(({ inputs }) => inputs),
		[10, 19, 8],
	);
	const opened = openProgram(encodeProgram(program));
	assert.ok(opened.ok);
	assert.deepEqual(compilePlan(opened.value.program, CHUNK_BITS), plan);
	for (const [i, op] of program.step.entries()) {
		const other = { ...op, output: { ...op.output, hi: op.output.hi + 1n } };
		const found = compilePlan({ ...program, step: program.step.with(i, other) });
		assert.equal("code" in found && found.code, "PROGRAM_UNPROVABLE", `%${i}`);
	}
	const hashes = [CNN, { ...CNN, isSoftmax: false }, { sizes: [16, 3], isSoftmax: true }, { sizes: [16, 3] }].map(
		(one) => hex(planHash(compilePlan(trained(one, 0).program, CHUNK_BITS) as ZkPlan)),
	);
	assert.equal(new Set(hashes).size, 4);
	const odd = { sizes: [16, 48, 3], windows: [window(1, 4, 1), null] };
	assert.match((compilePlan(trained(odd, 0).program) as { message: string }).message, /layer0 has channels/);
});

test("sizes that nobody could verify, or that no network has, are refused and nothing is thrown", () => {
	const { program } = run;
	const at = program.step.findIndex(({ output }) => output.dims.length === 6);
	const op = program.step[at] as MapOp;
	const messageOf = (dims: readonly number[], change: (place: Place, axis: number) => Place) => {
		const load = op.code.before[0] as Extract<Instruction, { op: "load" }>;
		const before = op.code.before.with(0, { ...load, place: load.place.map(change) });
		const [first] = op.operands as [Operand];
		const other = { ...op, code: { ...op.code, before }, operands: [{ ...first, dims }] };
		const found = compilePlan({ ...program, step: program.step.with(at, other as MapOp) });
		assert.ok("code" in found);
		return found.message;
	};
	const same = (place: Place) => place;
	assert.match(messageOf([BATCH, 4096, 4096, 1], same), /layer0 has \d+ numbers in its patches: at most 4194304/);
	// A picture that is no multiple of what the data has; a stride by which the window leaves it.
	assert.match(messageOf([BATCH, 5, 4, 1], same), /no network has its sizes|is not what exact SGD does/);
	const far = (place: Place) => ({ ...place, terms: place.terms.map((one) => ({ ...one, times: 9 * one.times })) });
	assert.match(messageOf([BATCH, 4, 4, 1], far), /no network has its sizes|is not what exact SGD does/);
});

test("such a program is ordered on no chain, and the refusal says why", () => {
	const found = provingPlan(run.program);
	assert.ok("code" in found);
	assert.match(found.message, /convolutions or softmax: .* no contract does/);
});

test("weights after a segment are those of the reference machine; its proof is valid with the bytes, and the engine's is the same", async () => {
	const { plan, shape, start } = naiveOf(run);
	const ran = runSegment(shape, start);
	addRest(shape, ran);
	assert.equal(leftRange(shape, ran), null);
	for (const [l, flat] of (run.states[1]!.weights as BigInt64Array[]).entries()) {
		const { inputs, padded } = linkOf(shape, l);
		const own = Array.from(
			flat,
			(_, i) => ran.columns.get(`after ${l}`)![Math.floor(i / inputs) * padded.inputs + (i % inputs)]!,
		);
		assert.deepEqual(own, [...flat], `link ${l}`);
	}
	const [before, end] = run.states as [(typeof run.states)[0], (typeof run.states)[0]];
	const told = { chainId: "0", job: "0", srs: "dev", stateBefore: before.hash, stateAfter: end.hash };
	const roots = { features: hex(tensorRoot(run.features)), labels: hex(tensorRoot(run.labels)) };
	const proven = new SegmentProver(shape, start, devCommit).prove({ ...told, ...roots });
	assert.equal(proven.statement.plan, hex(planHash(plan)));
	const data = { features: run.features, labels: run.labels };
	// Where there is a card, the CPU beside it proves them.
	const { asked, engine } = behindCard(prover);
	const made = await proveSegment(
		{
			...{ program: run.program, plan, seed: SEED, segment: 1, chainId: 0n, job: 0n, ...data },
			...{ before: before.weights, after: end.weights },
		},
		{ ...prover, open: proofOpener(engine), device: 0, powers: DEV_POWERS },
	);
	assert.deepEqual(asked, ["gpu", "cpu"]);
	assert.deepEqual(made!.statement, proven.statement);
	assert.equal(hex(made!.proof), hex(proven.proof));
	const file = encodeProofFile(run.program, CHUNK_BITS, proven);
	const held = { data, before: before.weights, after: end.weights };
	const code = (bytes: typeof held) => {
		const found = verifyProofFile(file, { isDevAllowed: true }, () => bytes);
		return found.status === "valid" ? "valid" : found.code;
	};
	assert.equal(code(held), "valid");
	const poisoned = { ...held.data, features: run.features.with(3, 99) };
	assert.equal(code({ ...held, data: poisoned }), "PROOF_DATA");
	const changed = held.after.with(1, (held.after[1] as BigInt64Array).with(4, 7n));
	assert.equal(code({ ...held, after: changed }), "PROOF_RESULT");
});
