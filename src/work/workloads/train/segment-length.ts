// How many steps a segment has: the least power of two that keeps the hashing of the state at or below 3 % of
// the time, by estimates of an H200 (docs/training.md §7). A rule of thumb: a job file may say otherwise, and
// nothing depends on it but speed.
import { LIMITS } from "../../program/shapes.ts";
import type { TrainSize } from "./train-spec.ts";

const HASH_BYTES_PER_S = 0.9e12;
/** 124M parameters, 32,768 tokens: 24.4 TFLOP in 130 ms. */
const FLOP_PER_S = 1.9e14;
const S_PER_OP = 1.5e-6;
const MOST = 0.03;
/** Weight, and what the optimiser keeps of it. */
const BYTES = { "exact-sgd": 4, sgd: 4, momentum: 8, adamw: 16 } as const;

export function stepsPerSegment({ parameters, rows, ops }: TrainSize, optimizer: keyof typeof BYTES): number {
	const step = Math.max(ops * S_PER_OP, (6 * parameters * rows) / FLOP_PER_S);
	const hash = (parameters * BYTES[optimizer]) / HASH_BYTES_PER_S;
	const least = hash / (MOST * step);
	return Math.min(LIMITS.steps, 2 ** Math.max(0, Math.ceil(Math.log2(least))));
}
