// The precisions, their numbers on the wire (engine/FRAMES.md) and what §3 and §6 of docs/hardware-proof.md
// say of each. The lists are written here and nowhere else in TypeScript (precision.test.ts).

export const GEMM_PRECISIONS = ["int8", "fp8", "fp16", "bf16", "tf32"] as const;
export const FMA_PRECISIONS = ["fp32", "fp64", "int32"] as const;
export const PRECISIONS = [...GEMM_PRECISIONS, ...FMA_PRECISIONS] as const;

export type GemmPrecision = (typeof GEMM_PRECISIONS)[number];
export type FmaPrecision = (typeof FMA_PRECISIONS)[number];
export type Precision = (typeof PRECISIONS)[number];

/** Of matrix products in floats; int8 is the one in whole numbers. */
export const FLOAT_GEMM_PRECISIONS: readonly GemmPrecision[] = GEMM_PRECISIONS.filter((one) => one !== "int8");

/** Their places in the list. */
export const PRECISION_NUMBER = Object.fromEntries(PRECISIONS.map((one, number) => [one, number])) as Readonly<
	Record<Precision, number>
>;

/** Entries that one Philox block gives: 16 of 8 bits or 8 of 16 bits. */
export function entriesPerBlock(precision: GemmPrecision): 16 | 8 {
	return precision === "int8" || precision === "fp8" ? 16 : 8;
}

/** The largest K for which every order of summation is exact. */
export function largestK(precision: GemmPrecision): number {
	return entriesPerBlock(precision) === 16 ? 65536 : 16384;
}
