// Sizes of the challenges for GPUs: pure arithmetic from what a card claims and what its warm-up showed.
// Not here: the order of stages (plan-probe.ts) or anything that talks to an engine (run-probe.ts).
// Page: docs/hardware-proof.md §4–§6; limits of shapes in engine/FRAMES.md.
import type { FmaPrecision, GemmPrecision } from "../../../protocol/maths/precision.ts";
import type { DeviceClaim, FmaSpec, GemmSpec } from "../../../protocol/probe/evidence.ts";
import { opsOfRound } from "./probe-plan.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;
/** FRAMES.md: rounds 1 … 2²⁰. */
const MAX_ROUNDS = 2 ** 20;

interface Shape {
	readonly m: number;
	readonly n: number;
	readonly k: number;
}

/**
 * The int8 product that fills the memory. Large k makes bytes dear: recomputing one costs k operations, so on
 * a card of R op/s and W B/s it costs k·W/R reads (about 40 to 70 on an H200 at k = 16384). Smaller n on
 * smaller cards keeps what does not fit into a whole product below 5 % of the memory.
 */
export function fillShape(freeBytes: number): Shape {
	if (freeBytes >= 64 * GiB) return { m: 16384, n: 16384, k: 16384 };
	if (freeBytes >= 12 * GiB) return { m: 8192, n: 8192, k: 16384 };
	if (freeBytes >= 4 * GiB) return { m: 4096, n: 4096, k: 8192 };
	return { m: 2048, n: 2048, k: 8192 };
}

/**
 * What a gemm needs beside its kept products: both operands, hashes of two tree levels, and a margin for the
 * driver.
 */
export function workspaceBytes({ m, n, k }: Shape, freeBytes: number): number {
	// 1 % but 64 … 256 MiB: a fixed 256 MiB alone would be the whole 5 % of a 5 GiB card.
	const margin = Math.min(256 * MiB, Math.max(64 * MiB, Math.floor(freeBytes / 100)));
	return (m + n) * k + ((m * n) / 512) * 64 + margin;
}

/**
 * How many products fit; at least 1, so that a card without room refuses (and the record says so) instead of
 * being skipped.
 */
function fillKeep(shape: Shape, freeBytes: number): number {
	const keep = Math.floor((freeBytes - workspaceBytes(shape, freeBytes)) / (2 * shape.m * shape.n));
	return Math.min(MAX_ROUNDS, Math.max(1, keep));
}

export function fillSpec(
	device: number,
	claim: DeviceClaim,
	samples: number,
	limits: { readonly lessBy: number; readonly budgetS: number | null; readonly opsPerS: number },
): GemmSpec {
	const shape = fillShape(claim.freeBytes);
	let keep = Math.max(1, Math.floor(fillKeep(shape, claim.freeBytes) * (1 - limits.lessBy)));
	if (limits.budgetS !== null && limits.opsPerS > 0) {
		const affordable = Math.floor((limits.budgetS * limits.opsPerS) / opsOfRound({ kind: "gemm", ...shape }));
		keep = Math.min(keep, Math.max(2, affordable));
	}
	return { kind: "gemm", device, precision: "int8", ...shape, rounds: keep, keep, samples };
}

/**
 * Passes over the filled memory. The passes of one request are chained without the verifier, so the round
 * trip counts once: it must be small against all of them together. 3 TB/s is an estimate on the fast side
 * (H200: 4.8 TB/s on paper), and only decides how often is read, never what counts.
 */
export function streamPasses(keptBytes: number, rttUs: number, least: number): number {
	const passUs = keptBytes / 3e6;
	return Math.min(4096, Math.max(least, Math.ceil((20 * rttUs) / passUs)));
}

/**
 * Speed of a precision's units against int8 on the cards of the last ten years; only sizes the run, so a
 * guess does.
 */
const SPEED_AGAINST_INT8: Record<GemmPrecision, number> = { int8: 1, fp8: 1, fp16: 0.5, bf16: 0.5, tf32: 0.25 };

export function precisionSpec(
	device: number,
	claim: DeviceClaim,
	precision: GemmPrecision,
	samples: number,
	limits: { readonly budgetS: number; readonly opsPerS: number },
): GemmSpec {
	const big = claim.freeBytes >= 12 * GiB;
	const n = big ? (claim.freeBytes >= 64 * GiB ? 16384 : 8192) : 4096;
	const shape = { m: n, n, k: big ? 16384 : 8192 };
	const opsPerS = limits.opsPerS * SPEED_AGAINST_INT8[precision];
	// Operands take up to 4 bytes an entry (tf32): count them as such before giving the rest to kept products.
	const room = Math.max(
		1,
		Math.floor((0.9 * claim.freeBytes - 4 * workspaceBytes(shape, claim.freeBytes)) / (2 * n * n)),
	);
	const wanted = Math.ceil((limits.budgetS * opsPerS) / opsOfRound({ kind: "gemm", ...shape }));
	const rounds = Math.min(4096, Math.max(2, wanted));
	// Kept rounds open without being computed again.
	return { kind: "gemm", device, precision, ...shape, rounds, keep: Math.min(rounds, room), samples };
}

/**
 * Of a warm-up, and of a card that would take long for more: 2²⁰ lanes are several full waves of the largest
 * cards.
 */
export const GPU_FMA = { lanes: 2 ** 20, steps: 8192 } as const;

/**
 * A round's launches, tree and root cost some 0.15 ms on an H200 (twice that beside busy cores): a round
 * lasts fifty times as long. More steps of a lane cost a card no hashing, but the verifier runs a sampled
 * lane again step by step (POLICY.workNs): 64 lanes of any of these take 0.02 to 0.04 s.
 */
const ROUND_S = 0.015;
const MAX_STEPS: Readonly<Record<FmaPrecision, number>> = { fp32: 32768, fp64: 8192, int32: 16384 };
/**
 * Lanes in whole waves, so that no multiprocessor waits for others at the end. A block of the engine's has
 * 1,024 lanes, and 8 of them (6 on GeForce cards, 4 on Turing) run side by side on a multiprocessor: 24 fit
 * all.
 */
const WAVE_LANES = 24 * 1024;
const MAX_LANES = 2 ** 24;

function gpuFmaSize(units: number, precision: FmaPrecision, opsPerS: number): { lanes: number; steps: number } {
	const wave = WAVE_LANES * units;
	const wanted = (ROUND_S * opsPerS) / 2;
	let { steps }: { steps: number } = GPU_FMA;
	if (units < 1 || wave > MAX_LANES || wave * steps > wanted) return GPU_FMA;
	while (steps < MAX_STEPS[precision] && 2 * steps * wave <= wanted) steps *= 2;
	const waves = Math.floor(Math.min(wanted / steps, MAX_LANES) / wave);
	return { lanes: waves * wave, steps };
}

export function fmaSpec(
	device: number,
	precision: FmaPrecision,
	samples: number,
	size: { readonly lanes: number; readonly steps: number; readonly budgetS: number; readonly opsPerS: number },
): FmaSpec {
	const { lanes, steps } = size;
	const wanted = Math.ceil((size.budgetS * size.opsPerS) / opsOfRound({ kind: "fma", lanes, steps }));
	return { kind: "fma", device, precision, lanes, steps, rounds: Math.min(16384, Math.max(4, wanted)), samples };
}

export function gpuFmaSpec(
	device: number,
	precision: FmaPrecision,
	samples: number,
	size: { readonly units: number; readonly budgetS: number; readonly opsPerS: number },
): FmaSpec {
	return fmaSpec(device, precision, samples, { ...size, ...gpuFmaSize(size.units, precision, size.opsPerS) });
}

/**
 * The sustained run: one product takes about 0.1 s (bounds 50 … 200 ms), so that checkpoints are dense and a
 * stop is quick. Shapes grow by doubling until they take long enough; more than 2²⁰ rounds cannot be asked
 * for, which is a day at this rate.
 */
export function sustainedSpec(device: number, freeBytes: number, opsPerS: number, samples: number): GemmSpec {
	let shape: Shape = { m: 512, n: 512, k: 1024 };
	const longer = (s: Shape): Shape =>
		s.k < 65536 && s.k <= s.n ? { ...s, k: 2 * s.k } : s.m < s.n ? { ...s, m: 2 * s.m } : { ...s, n: 2 * s.n };
	for (;;) {
		const next = longer(shape);
		const fits = next.n <= 32768 && workspaceBytes(next, freeBytes) + 2 * next.m * next.n < freeBytes / 2;
		if (!fits || opsOfRound({ kind: "gemm", ...next }) > 0.13 * opsPerS) break;
		shape = next;
	}
	return { kind: "gemm", device, precision: "int8", ...shape, rounds: 0, keep: 1, samples };
}
