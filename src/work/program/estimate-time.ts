// How long a step takes on a card, before it runs: a guess from shapes and the card's data sheet,
// docs/workloads.md. The shares are those of an H200 that ran GPT-2 124M's training step
// (bench/results/h200-2026-11-16-training.json); within a factor of two there, untried on other cards.
// Nothing depends on it: a price or a deadline is not made of guesses.
import type { Instruction } from "../operators/instruction.ts";
import { bytesOf, elementCount, type Interval } from "../operators/tensor-type.ts";
import type { Op, Operand, Program } from "./shapes.ts";

/** Peaks of the data sheet. */
export interface CardRates {
	readonly int8OpsPerS: number;
	readonly int32OpsPerS: number;
	readonly bytesPerS: number;
}

/** Seconds of a step. */
export interface StepTime {
	readonly products: number;
	/** Maps, reductions and scattered sums. */
	readonly others: number;
	/** Of the state, at a segment's end; its share of a step. */
	readonly hashing: number;
	readonly starting: number;
	readonly all: number;
}

/** Of the int8 peak, by products of byte planes: 61 T multiplications in 114 ms. */
const PRODUCT_SHARE = 0.54;
/** Of the bandwidth, by what neighbours in one kernel leave: half of the bytes never reach memory. */
const BYTES_SHARE = 0.9;
const FUSED = 0.5;
/** Of the int32 peak, by the weights below: where intervals allow it, 32 bits do. */
const INT32_SHARE = 0.8;
/** 0.9 TB/s of 4.8. */
const HASH_SHARE = 0.19;
/** Kernel after kernel, and two ops a kernel. */
const S_PER_OP = 1.5e-6;

/** What an instruction takes of 32-bit ones; those not named take two. */
const WEIGHTS: Readonly<Partial<Record<Instruction["op"], number>>> = {
	const: 0,
	iota: 1,
	segment: 0,
	step: 0,
	turn: 0,
	load: 6,
	mul: 6,
	rand: 60,
	div: 70,
	rdiv: 80,
	isqrt: 60,
	rsh: 4,
	rshv: 6,
	clamp: 4,
};

const weightOf = (code: readonly Instruction[]): number => code.reduce((sum, { op }) => sum + (WEIGHTS[op] ?? 2), 0);

function instructionsOf(op: Op): number {
	const count = elementCount(op.output.dims);
	if (op.operator !== "map") return 2 * elementCount(op.operands[0]!.dims);
	const { before, turns, body, after } = op.code;
	return count * (weightOf(before) + turns * weightOf(body) + weightOf(after));
}

/** Byte planes that an operand's interval needs. */
const planesOf = ({ lo, hi }: Interval): number =>
	[1, 2, 3].find((bytes) => lo >= -(1n << BigInt(8 * bytes - 1)) && hi < 1n << BigInt(8 * bytes - 1)) ?? 4;

export function estimateStep({ k, tensors, step }: Program, card: CardRates): StepTime {
	const intervalOf = ({ source, index }: Operand): Interval =>
		source === "op" ? step[index]!.output : tensors[index]!;
	let [products, others] = [0, 0];
	for (const op of step) {
		if (op.operator === "matmul") {
			const planes = op.operands.reduce((all, operand) => all * planesOf(intervalOf(operand)), 1);
			const multiplications = elementCount(op.output.dims) * op.operands[0]!.dims[2]! * planes;
			products += (2 * multiplications) / (card.int8OpsPerS * PRODUCT_SHARE);
			continue;
		}
		const sizes = [op.output, ...op.operands].map(({ type, dims }) => elementCount(dims) * bytesOf(type));
		const bytes = sizes.reduce((sum, size) => sum + size, 0);
		others += Math.max(
			(bytes * FUSED) / (card.bytesPerS * BYTES_SHARE),
			instructionsOf(op) / (card.int32OpsPerS * INT32_SHARE),
		);
	}
	const kept = tensors.filter(({ kind }) => kind === "state" || kind === "result");
	const state = kept.reduce((sum, { type, dims }) => sum + elementCount(dims) * bytesOf(type), 0);
	const hashing = state / k / (card.bytesPerS * HASH_SHARE);
	const starting = step.length * S_PER_OP;
	return { products, others, hashing, starting, all: products + others + hashing + starting };
}
