// The numbers of inference, docs/inference.md §2: scales by build, and how a product comes back to the fixed
// scale. They follow from the architecture and the build alone, never from batch or context: else one token's
// logits would depend on what else is computed.
import type { PhaseBuilder, ProgramBuilder } from "../builder/build-program.ts";
import type { Expression, Operandish, Value } from "../builder/expression.ts";
import type { Architecture } from "../imports/architecture.ts";
import type { Elements } from "../operators/tensor-type.ts";

export type WeightKind = "i8" | "i16" | "wide";

export interface Numbers {
	readonly weights: WeightKind;
	/** Bits of an activation's magnitude in products. */
	readonly operand: number;
	/** Between products a value x is x·2^fixed, i64. */
	readonly fixed: number;
	/** Such values stay inside ±limit: 2^18. */
	readonly limit: number;
	/** Scale of logits, i32. */
	readonly logit: number;
	/** Bits of 1/Z in attention. */
	readonly inverse: number;
}

/** The largest value between products is 2^18. */
const HEADROOM = 18;

export function numbersOf(weights: WeightKind): Numbers {
	const [operand, fixed, logit, inverse] = weights === "wide" ? [23, 30, 20, 28] : [15, 24, 16, 24];
	return { weights, operand, fixed, limit: 2 ** (fixed + HEADROOM), logit, inverse };
}

/** What the parts of one forward program share. */
export interface Net {
	readonly b: ProgramBuilder;
	readonly s: PhaseBuilder;
	/** Constants made so far. */
	readonly given: Record<string, Elements>;
	readonly of: Architecture;
	readonly numbers: Numbers;
	readonly batch: number;
	/** Tokens of a sequence that are computed at once: the context, or 1 with a cache. */
	readonly places: number;
}

/** Rounds up: the least n with 2^n ≥ x. */
export const log2Up = (x: number): number => 32 - Math.clz32(Math.max(1, x) - 1);

/** Bits of a magnitude. */
export const bitsOf = ({ lo, hi }: Value): number => (-lo > hi ? -lo : hi).toString(2).length;

/** Largest shift to the left that the fixed values survive. */
export const mostLeft = ({ fixed }: Numbers): number => 62 - fixed - HEADROOM;

/** Bits of a fixed value's magnitude; its limit itself has one more than the headroom. */
export const fixedBits = ({ fixed }: Numbers): number => fixed + HEADROOM + 1;

export const clampFixed = ({ limit }: Numbers, x: Expression): Expression => x.clamp(-limit, limit);

/**
 * a·b·2^−shift, to the nearest, where the magnitude of a has `bits` bits and that of b `factorBits`. What
 * does not fit 62 bits is shifted off first; a shift that leaves 64 bits is set to the end of what is
 * allowed.
 */
export function scaled(
	a: Expression,
	bits: number,
	b: Operandish,
	factorBits: number,
	shift: (by: number) => Expression,
): Expression {
	const before = Math.max(0, bits + factorBits - 62);
	const spare = 62 - Math.min(62, bits + factorBits);
	return a
		.rsh(before)
		.mul(b)
		.rshv(shift(before).clamp(-Math.min(31, spare), 62));
}
