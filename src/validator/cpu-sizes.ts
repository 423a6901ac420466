// Sizes of the challenges for the CPU device: pure arithmetic from the claim and the warm-up.
// Not here: the order of stages (plan-probe.ts). Page: docs/hardware-proof.md §4–§6.
//
// The aim is a figure that repeats: runs of about 2 s with at least 4 rounds, so that a scheduler's hiccup of some 50 ms
// on a 2-core machine stays below 5 %.
import type { GemmSpec } from "../protocol/evidence.ts";
import { opsOfRound } from "./probe-plan.ts";

const GiB = 2 ** 30;

/** 64 leaves of 256 lanes; 8192 steps as on GPUs, so that one round is some 10 ms on two cores. */
export const CPU_FMA = { lanes: 16384, steps: 8192 } as const;

export function cpuGemmSpec(
	device: number,
	freeBytes: number,
	opsPerS: number,
	budgetS: number,
	samples: number,
): GemmSpec {
	// A server's hundred cores would spend a 2048³ product mostly on waking threads.
	const n = opsPerS > 1e12 ? 4096 : 2048;
	let m = n;
	// A round longer than an eighth of the budget makes the number of rounds, and with it the figure, coarse.
	while (m > 128 && opsOfRound({ kind: "gemm", m, n, k: n }) > (budgetS / 8) * opsPerS) m /= 2;
	const shape = { m, n, k: n };
	const rounds = Math.min(4096, Math.max(4, Math.ceil((budgetS * opsPerS) / opsOfRound({ kind: "gemm", ...shape }))));
	// Kept rounds open without being computed again; a quarter of the free memory is a guest's manners.
	const room = Math.max(1, Math.floor((0.25 * freeBytes) / (2 * m * n)));
	return { kind: "gemm", device, precision: "int8", ...shape, rounds, keep: Math.min(rounds, room), samples };
}

/**
 * Products kept in RAM: a modest share by default (at most a quarter of what is free, and 1 GiB), for the rest of a host's RAM is in use
 * by others. `usualBytes` unless that would take twice the budget (then halved), or can be doubled within half of it: steps this wide apart
 * make two probes of one machine ask the same, also when one of them finds it busy.
 * k decides how dear a byte is: k·W/R reads, with R op/s and W B/s as the warm-up showed them. It must stay above 20; 30, because the
 * warm-up reads from cache (so W is too high) and a better program may compute faster than ours.
 */
export function cpuKeepSpec(
	device: number,
	freeBytes: number,
	speed: { readonly opsPerS: number; readonly bytesPerS: number },
	limits: {
		readonly budgetS: number;
		readonly usualBytes: number;
		readonly mostBytes: number;
		readonly lessBy: number;
	},
	samples: number,
): GemmSpec {
	let k = 1024;
	while (k < 16384 && k * speed.bytesPerS < 30 * speed.opsPerS) k *= 2;
	const n = 2048;
	const m = 2048;
	const secondsFor = (bytes: number) => (bytes * k) / speed.opsPerS;
	let bytes = limits.usualBytes;
	while (secondsFor(bytes) > 2 * limits.budgetS && bytes > LEAST_KEEP_BYTES) bytes /= 2;
	while (secondsFor(2 * bytes) < limits.budgetS / 2 && 2 * bytes <= limits.mostBytes) bytes *= 2;
	while (bytes > 0.25 * freeBytes && bytes > LEAST_KEEP_BYTES) bytes /= 2;
	const keep = Math.max(1, Math.floor(((1 - limits.lessBy) * bytes) / (2 * m * n)));
	return { kind: "gemm", device, precision: "int8", m, n, k, rounds: keep, keep, samples };
}

const MiB = 2 ** 20;
const LEAST_KEEP_BYTES = 16 * MiB;
/** Shares of RAM, see cpuKeepSpec. 256 MiB take 1.3 s on two Neoverse-N1 cores, and no cache holds them. */
export const CPU_KEEP = { usualBytes: 256 * MiB, mostBytes: GiB };
export const CPU_KEEP_QUICK = { usualBytes: 32 * MiB, mostBytes: 64 * MiB };

export function cpuStreamPasses(keptBytes: number, bytesPerS: number, budgetS: number): number {
	return Math.min(4096, Math.max(4, Math.ceil((budgetS * bytesPerS) / keptBytes)));
}
