// Sizes of the challenges for the CPU device: pure arithmetic from the claim and the warm-up.
// Not here: the order of stages (plan-probe.ts). Page: docs/hardware-proof.md §4–§6.
//
// The aim is a figure that repeats within 10 % on an idle machine, in runs of 0.3 s (scalar) to a second or
// so (the fill of the RAM, which is the matrix figure too): a scheduler's hiccup of 20 ms then stays small.
import type { GemmSpec } from "../../../protocol/probe/evidence.ts";
import { opsOfRound } from "./probe-plan.ts";

/** 64 leaves of 256 lanes; 8192 steps as on GPUs, so that one round is some 10 ms on two cores. */
export const CPU_FMA = { lanes: 16384, steps: 8192 } as const;

/**
 * Products kept in RAM: a modest share by default (at most a quarter of what is free, and mostBytes), for the
 * rest of a host's RAM is in use by others. `usualBytes` unless that would take twice the budget (then
 * halved), or can be doubled within half of it: steps this wide apart make two probes of one machine ask the
 * same, also when one of them finds it busy. k decides how dear a byte is: k·W/R reads, with R op/s and W B/s
 * as the warm-up showed them. It must stay above 20; 30, because the warm-up reads from cache (so W is too
 * high) and a better program may compute faster than ours.
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
		/** It shall last at least this long; 0: as long as the bytes take. */
		readonly leastS: number;
	},
	samples: number,
): GemmSpec {
	let k = 1024;
	// Beside cards there is time to make them twice as dear, which a slow moment of the disk that is given them
	// then forgives.
	const reads = limits.leastS > 0 ? 60 : 30;
	while (k < 16384 && k * speed.bytesPerS < reads * speed.opsPerS) k *= 2;
	const n = 2048;
	const m = 2048;
	const secondsFor = (bytes: number) => (bytes * k) / speed.opsPerS;
	let bytes = limits.usualBytes;
	while (secondsFor(bytes) > 2 * limits.budgetS && bytes > LEAST_KEEP_BYTES) bytes /= 2;
	while (secondsFor(2 * bytes) < limits.budgetS / 2 && 2 * bytes <= limits.mostBytes) bytes *= 2;
	while (bytes > 0.25 * freeBytes && bytes > LEAST_KEEP_BYTES) bytes /= 2;
	const keep = Math.max(1, Math.floor(((1 - limits.lessBy) * bytes) / (2 * m * n)));
	const rounds = Math.max(keep, Math.ceil((limits.leastS * speed.opsPerS) / opsOfRound({ kind: "gemm", m, n, k })));
	// Rounds that are not kept are computed again to be opened: keep all, where there is room.
	const room = Math.min(MOST_LASTING_BYTES, 0.25 * freeBytes) / (2 * m * n);
	const kept = Math.min(rounds, Math.max(keep, Math.floor((1 - limits.lessBy) * room)));
	return {
		kind: "gemm",
		device,
		precision: "int8",
		m,
		n,
		k,
		rounds: Math.min(rounds, MAX_ROUNDS),
		keep: kept,
		samples,
	};
}

/** Of a fill that must last as long as the cards' does: 1.1 s of a 16-core host at k = 8192. */
const MOST_LASTING_BYTES = 2 ** 31;
/** FRAMES.md: rounds 1 … 2²⁰. */
const MAX_ROUNDS = 2 ** 20;
const MiB = 2 ** 20;
const LEAST_KEEP_BYTES = 16 * MiB;
/**
 * Shares of RAM, see cpuKeepSpec. 256 MiB take 1.3 s on two Neoverse-N1 cores, and no cache holds them. Up to
 * 512 MiB on fast hosts: with 1 GiB a 16-core host spent 2 s on making, reading and opening them.
 */
export const CPU_KEEP = { usualBytes: 256 * MiB, mostBytes: 512 * MiB };
export const CPU_KEEP_QUICK = { usualBytes: 32 * MiB, mostBytes: 64 * MiB };

export function cpuStreamPasses(keptBytes: number, bytesPerS: number, budgetS: number): number {
	return Math.min(4096, Math.max(4, Math.ceil((budgetS * bytesPerS) / keptBytes)));
}
