// How near an honest probe comes to a card's data sheet: the share of each peak, on the verifier's clock,
// hashing included. Only the Hopper line was measured (H200). The others are what mma.sync kernels are known
// to reach, kept wide on purpose; narrow one when that architecture was measured. Not here: what counts
// against a host (rules.ts).
import type { Architecture } from "./profile.ts";

export interface Range {
	readonly low: number;
	readonly high: number;
}

/**
 * Tensor work. Full-rate workstation cards end low because of their power limit (published: 0.27 on an A40,
 * 0.31 on an A6000).
 */
export const MATRIX_SHARE: Readonly<Record<Architecture, Range>> = {
	turing: { low: 0.3, high: 0.95 },
	ampere: { low: 0.3, high: 0.95 },
	ada: { low: 0.3, high: 0.95 },
	hopper: { low: 0.45, high: 0.95 },
	// mma.sync is a guest there: the fast units want tcgen05.
	"blackwell-dc": { low: 0.12, high: 0.95 },
	blackwell: { low: 0.3, high: 0.95 },
};

/** Reads of nearly all memory; inline ECC on GDDR6 takes the lower part of it. Power caps do not touch it. */
export const BANDWIDTH_SHARE: Range = { low: 0.75, high: 0.97 };
/**
 * Register-only recurrences: nothing to wait for but the clock. Measured on an H200: 0.90 (fp32) and 0.93
 * (fp64) of the kernel.
 */
export const SCALAR_SHARE: Range = { low: 0.82, high: 0.97 };
/** One multiply-add and one rotation a step: which pipe the rotation shares differs by architecture. */
export const INT32_SHARE: Range = { low: 0.4, high: 1 };
/**
 * A cap on power or clocks scales all arithmetic together, down to this; a lower one is no longer the card
 * that was rented.
 */
export const LOWEST_CLOCK = 0.6;
/**
 * Bytes kept ÷ total: the probe asks for 95 % or more of what is free; contexts and workspace take the rest.
 */
export const FILL_SHARE: Range = { low: 0.86, high: 0.995 };
