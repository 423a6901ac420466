// The precisions, their numbers on the wire (engine/FRAMES.md) and what §3 and §6 of docs/hardware-proof.md
// say of each.

export const GEMM_PRECISIONS = ["int8", "fp8", "fp16", "bf16", "tf32"] as const;
export const FMA_PRECISIONS = ["fp32", "fp64", "int32"] as const;
export const PRECISIONS = [...GEMM_PRECISIONS, ...FMA_PRECISIONS] as const;

export type GemmPrecision = (typeof GEMM_PRECISIONS)[number];
export type FmaPrecision = (typeof FMA_PRECISIONS)[number];
export type Precision = (typeof PRECISIONS)[number];

export const PRECISION_NUMBER: Readonly<Record<Precision, number>> = {
	int8: 0,
	fp8: 1,
	fp16: 2,
	bf16: 3,
	tf32: 4,
	fp32: 5,
	fp64: 6,
	int32: 7,
};

/** Entries that one Philox block gives: 16 of 8 bits or 8 of 16 bits. */
export function entriesPerBlock(precision: GemmPrecision): 16 | 8 {
	return precision === "int8" || precision === "fp8" ? 16 : 8;
}

/** The largest K for which every order of summation is exact. */
export function largestK(precision: GemmPrecision): number {
	return entriesPerBlock(precision) === 16 ? 65536 : 16384;
}
