// The program that a `train` challenge runs (docs/hardware-proof.md §14): a small GPT over bytes that
// everybody can make, AdamW with a fixed rate. It follows from the spec; the seed gives the first weights and
// the order of samples, so that no step of one run serves another. The model is work/models/, the numbers
// docs/training.md.
import { philoxBlock, philoxKey } from "../../../protocol/hash/philox.ts";
import type { TrainSpec } from "../../../protocol/probe/evidence.ts";
import { gptProgram } from "../../../work/models/gpt.ts";
import type { Optimizer } from "../../../work/models/optimizer.ts";
import { orderTable } from "../../../work/models/order.ts";
import type { Elements } from "../../../work/operators/tensor-type.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { tensorRoot } from "../../../work/trace/tensor-tree.ts";

const VOCABULARY = 256;
/** Samples to choose from: each step sees others. */
const WINDOWS = 509;
const ADAMW: Optimizer = { kind: "adamw", rate: 2 ** -10, warmup: 0, floor: 1, beta1: 0.9, beta2: 0.999, decay: 0.01 };
/** Every step's rate, decay and ε: whole numbers, so that no machine rounds them otherwise. */
const RATES = [2 ** 24, 2 ** 17, 1] as const;

export interface TrainingRun {
	readonly program: Program;
	readonly seed: Uint8Array;
	/** Constants and inputs by their number. */
	readonly given: ReadonlyMap<number, Uint8Array>;
	readonly elements: ReadonlyMap<number, Elements>;
}

/** Philox words of key 0, a byte each. */
function dataOf(count: number): Int16Array {
	const tokens = new Int16Array(count);
	const key = philoxKey(new Uint8Array(32));
	const block = new Uint32Array(4);
	for (let i = 0; i < count; i++) {
		if (i % 4 === 0) philoxBlock(key, i / 4, 0, 0, 0, block, 0);
		tokens[i] = block[i % 4]! & 255;
	}
	return tokens;
}

/**
 * Programs of the last specs: a file has the same one several times, and making one takes a third of a
 * second.
 */
const made = new Map<string, ReturnType<typeof gptProgram>>();
const MOST_MADE = 4;

function programOf({ layers, width, heads, context, batch, rounds }: TrainSpec): ReturnType<typeof gptProgram> {
	const name = [layers, width, heads, context, batch, rounds].join(" ");
	const known = made.get(name);
	if (known !== undefined) return known;
	const shape = { layers, width, heads, context, vocabulary: VOCABULARY };
	const schedule = { batch, steps: rounds, k: 1, seed: new Uint8Array(32) };
	const one = gptProgram(shape, schedule, ADAMW, dataOf(WINDOWS * context + 1));
	if (made.size >= MOST_MADE) made.delete(made.keys().next().value!);
	made.set(name, one);
	return one;
}

export function trainingRun(spec: TrainSpec, seed: Uint8Array): TrainingRun {
	const { batch, rounds } = spec;
	const { program, given } = programOf(spec);
	const rates = Int32Array.from({ length: RATES.length * rounds }, (_, i) => RATES[i % RATES.length]!);
	const order = orderTable("affine", seed, WINDOWS, Math.ceil((rounds * batch) / WINDOWS));
	const all: Readonly<Record<string, Elements>> = { ...given, rates, order };
	const elements = new Map<number, Elements>();
	for (const [tensor, { kind, name }] of program.tensors.entries())
		if (kind === "constant" || kind === "input") elements.set(tensor, all[name]!);
	const roots = [...elements].map(([tensor, of]) => [tensor, tensorRoot(of)] as const);
	return { program, seed, given: new Map(roots), elements };
}
