// A small MLP by exact SGD, trained on the reference machine, and what a proof of one of its segments is made
// of.
import type { OpenProveSession } from "../../src/engine/client/open-prove-session.ts";
import type { OpenWorkSession } from "../../src/engine/client/work-session.ts";
import { type ProvenSegment, proveSegment } from "../../src/provider/proofs/prove-segment.ts";
import { devCommit } from "../../src/verify/zk/segment.test-kit.ts";
import type { ProverPowers } from "../../src/verify/zk/srs.ts";
import { exactMlpProgram } from "../../src/work/models/exact-mlp.ts";
import { Trial } from "../../src/work/models/training.test-kit.ts";
import type { Elements } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { leftRange, runSegment, type Shape } from "../../vectors/naive-plan.ts";
import { type SegmentCheat, SegmentProver } from "../../vectors/naive-segment.ts";

export const SIZES = [4, 4, 2] as const;
const BATCH = 2;
const STEPS = 2;
const ROWS = 8;
const SHIFT = 4;
/** Of the groups that are committed: the weights after the segment. */
const AFTER = 3;
/** One whose first weights keep all values in their ranges. */
export const SEED = new Uint8Array(32).fill(1);

/** Two classes; a feature tells which. */
const features = Int16Array.from({ length: ROWS * SIZES[0] }, (_, i) => {
	const isFirst = i % SIZES[0] === 0;
	return isFirst ? (Math.floor(i / SIZES[0]) % 3 === 0 ? 600 : -600) : 40 * (i % 11) - 200;
});
const labels = Int16Array.from({ length: ROWS }, (_, row) => (features[SIZES[0] * row]! > 0 ? 1 : 0));

/** Its program and all that it is given, for segments of two rows. */
export const trainedModel = () =>
	exactMlpProgram(SIZES, { batch: BATCH, steps: 16, k: STEPS, seed: SEED, order: "cube" }, SHIFT, { features, labels });

/** Weights of 64 bits: segments of 64 rows, more than 32 bits have a proof of. */
export function trained(segments: number, weightBits: 32 | 64 = 32) {
	const sizes = weightBits === 32 ? { batch: BATCH, steps: 16, k: STEPS } : { batch: 8, steps: 16, k: 8 };
	const rows = weightBits === 32 ? 1 : 8;
	const repeated = (list: Int16Array) =>
		Int16Array.from({ length: rows * list.length }, (_, i) => list[i % list.length]!);
	const data = { features: repeated(features), labels: repeated(labels) };
	const model = exactMlpProgram(SIZES, { ...sizes, seed: SEED, order: "cube" }, SHIFT, data, weightBits);
	const trial = new Trial(model, SEED);
	const weights = (): Elements[] => model.parameters.map(({ name }) => trial.tensor(name).slice());
	const states = [{ hash: trial.stateHash(), weights: weights() }];
	for (let i = 0; i < segments; i++) {
		trial.machine.runSegment();
		states.push({ hash: trial.stateHash(), weights: weights() });
	}
	return { program: model.program, ...data, states };
}

/** One segment more, from other weights than those of the seed. */
export function trainedFrom(weights: readonly Elements[]): Trained {
	const model = trainedModel();
	const trial = new Trial(model, SEED);
	const names = model.parameters.map(({ name }) => name);
	for (const [i, name] of names.entries()) trial.set(name, weights[i]!.slice());
	const states = [{ hash: trial.stateHash(), weights }];
	trial.machine.runSegment();
	states.push({ hash: trial.stateHash(), weights: names.map((name) => trial.tensor(name).slice()) });
	return {
		program: model.program,
		features,
		labels,
		states: states.map((one) => ({ ...one, weights: [...one.weights] })),
	};
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

export type Trained = ReturnType<typeof trained>;

/** By the engine. Segment 1 is the first with steps. */
export async function proveByEngine(
	{ program, states, ...data }: Trained,
	segment: number,
	chunkBits: number,
	by: { readonly open: OpenProveSession; readonly openWork: OpenWorkSession; readonly powers: ProverPowers },
	made: { readonly chainId: bigint; readonly job: bigint } = { chainId: 0n, job: 0n },
): Promise<ProvenSegment> {
	const of = {
		...{ program, plan: compilePlan(program, chunkBits) as ZkPlan, seed: SEED, segment, ...made, ...data },
		...{ before: states[segment - 1]!.weights, after: states[segment]!.weights },
	};
	return (await proveSegment(of, { ...by, device: 0 }))!;
}

/**
 * By the reference prover, which can be given other data than the statement names, and commit to what comes
 * out so that nobody else can go on from there.
 */
export function proveTrained(
	run: Trained,
	segment: number,
	chunkBits: number,
	poison: Partial<Record<"features" | "labels", readonly [number, number]>> = {},
	{
		cheat,
		blinder,
		...said
	}: Partial<Parameters<SegmentProver["prove"]>[0]> & {
		readonly cheat?: SegmentCheat;
		/** Of each commitment to the weights after the segment: times [τ^(2^chunkBits)]. */
		readonly blinder?: bigint;
	} = {},
) {
	const plan = compilePlan(run.program, chunkBits) as ZkPlan;
	const { h, d, activation, gradient, limbs, scale, epochs } = plan;
	const shape: Shape = {
		...{
			sizes: SIZES,
			batch: BATCH,
			steps: STEPS,
			rows: ROWS,
			epochs,
			scale,
			h,
			d,
			activation,
			gradient,
			limbs,
			chunkBits,
		},
		root: Buffer.from(plan.programRoot, "hex"),
	};
	const [before, after] = [run.states[segment - 1]!, run.states[segment]!];
	const changed = <T extends Int16Array>(list: T, change: readonly [number, number] | undefined): number[] =>
		change === undefined ? [...list] : [...list].with(change[0], change[1]);
	const pixels = changed(run.features, poison.features);
	const entering = (row: number, k: number) => {
		const whole = ((pixels[row * SIZES[0] + k]! + 4) >> 3) + (k === SIZES[0] - 1 ? 256 : 0);
		return BigInt(Math.min(2047, Math.max(-2047, whole)));
	};
	const start = {
		features: Array.from({ length: ROWS }, (_, row) => Array.from({ length: SIZES[0] }, (_, k) => entering(row, k))),
		labels: changed(run.labels, poison.labels),
		weights: before.weights.map((flat, l) =>
			Array.from({ length: SIZES[l + 1]! }, (_, i) =>
				[...(flat as Int32Array).subarray(i * SIZES[l]!, (i + 1) * SIZES[l]!)].map(BigInt),
			),
		),
		...{ seed: SEED, firstStep: (segment - 1) * STEPS },
	};
	const left = leftRange(shape, runSegment(shape, start));
	if (left !== null) throw new Error(`no proof: ${left} left its range`);
	const prover = new SegmentProver(shape, start, devCommit, cheat);
	const told = {
		chainId: "0",
		job: "0",
		srs: "dev",
		features: hex(tensorRoot(run.features)),
		labels: hex(tensorRoot(run.labels)),
	};
	const hiding =
		blinder === undefined ? null : { nonce: null, blinder: (group: number) => (group === AFTER ? blinder : 0n) };
	return { plan, ...prover.prove({ ...told, stateBefore: before.hash, stateAfter: after.hash, ...said }, hiding) };
}
