// Figures that others have published, or that we proved on a card of our own. For tests only.
import type { Figure } from "../../../protocol/probe/evidence.ts";

/**
 * 10¹² op/s as one network's benchmark reaches them with a vendor library: id, fp16, fp32 (a matrix product,
 * not scalar work).
 */
export const PUBLISHED_TERA: readonly (readonly [string, number, number])[] = [
	["B200", 1205, 67.2],
	["H200", 610, 49.6],
	["H100 80GB HBM3", 570, 49],
	["H100 PCIe", 330, 37.2],
	["A100-SXM4-80GB", 238.8, 18.2],
	["A100 80GB PCIe", 197, 16.9],
	["A100-SXM4-40GB", 257, 18.2],
	["GeForce RTX 5090", 220, 65],
	["L40S", 171, 35.5],
	["L40", 116, 27],
	["RTX 6000 Ada Generation", 112, 26],
	["RTX A6000", 48.5, 21.3],
	["A40", 40, 22.8],
	["GeForce RTX 4090", 157, 48.5],
	["GeForce RTX 3090", 66.4, 21.7],
	["RTX A5000", 60, 15.8],
	["RTX A4500", 44, 14.3],
	["RTX 4000 Ada Generation", 70, 14.6],
	["L4", 51, 9],
];

/** Pairs that those two figures cannot tell apart. */
export const PUBLISHED_ALIKE: readonly (readonly [string, string])[] = [
	["L40", "RTX 6000 Ada Generation"],
	["RTX 4000 Ada Generation", "RTX A5000"],
	["A100 80GB PCIe", "A100-SXM4-80GB"],
	["H100 PCIe", "H100 80GB HBM3"],
	["A40", "RTX A6000"],
];

/**
 * A whole probe of an H200, driver 580.159.04, as proven on the verifier's clock, and the total that its
 * driver reported.
 */
export const H200_PROVEN: Readonly<Record<string, number>> = {
	"gemm.int8": 1231.8e12,
	"gemm.fp8": 1043.3e12,
	"gemm.fp16": 658.6e12,
	"gemm.bf16": 661.1e12,
	"gemm.tf32": 379.1e12,
	"fma.fp32": 42.88e12,
	"fma.fp64": 25.51e12,
	"fma.int32": 26.03e12,
	"memory.resident": 144e9,
	"memory.bandwidth": 4148e9,
};
export const H200_TOTAL_BYTES = 150_109_880_320;

export function figuresFrom(values: Readonly<Record<string, number>>): Figure[] {
	return Object.entries(values).map(([name, value], challenge) => ({
		device: 0,
		name,
		value: Math.floor(value),
		unit: name === "memory.resident" ? "B" : name === "memory.bandwidth" ? "B/s" : "op/s",
		challenge,
	}));
}
