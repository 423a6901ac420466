// Reads each of which tells where the next one goes, over all that a device keeps: shows that it is one
// memory, and how far away. docs/hardware-proof.md §13. After the streams, before anything is released. A CPU
// is asked on hosts without a GPU only: nothing hangs on its latency, and a probe of cards shall be short.
import { INTERVAL_HOPS } from "../../../protocol/hash/chase.ts";
import type { ChaseSpec } from "../../../protocol/probe/evidence.ts";
import { POLICY } from "../policy.ts";
import type { Budgets } from "./budgets.ts";
import { devicesOf, filled, type Phase, stage } from "./plan-stage.ts";
import type { Seen } from "./probe-plan.ts";

/**
 * An opened interval is 64 leaves with their paths, 120 kB of evidence: few of them, each catches the share
 * that was skipped.
 */
const MAX_SAMPLES = 16;
/** 0.6 µs on an H200; only sizes the run. */
const HOP_US = 0.6;
const MAX_INTERVALS = 65536;

/** Doubled until the round trip, which counts once, is a tenth of the run. */
function intervalsFor(least: number, rttUs: number): number {
	let intervals = least;
	while (intervals < MAX_INTERVALS && 64 * intervals * HOP_US < 10 * rttUs) intervals *= 2;
	return intervals;
}

/** How often the engine's distance is tried; the shortest counts. */
const REACHES = 4;
/**
 * 512 hops: 0.3 ms in a memory that is there. Whoever does not hold the bytes makes 512 leaves one after the
 * other, some ms each.
 */
const REACH_INTERVALS = 8;

/**
 * The same once more over the same bytes, very short, one after the other: how far away the memory is from
 * the verifier. Only who holds the bytes can answer at once; an echo anybody could give
 * (verify/hardware/reach.ts).
 */
export function reachPhases(kind: "gpu" | "cpu"): Phase[] {
	return Array.from({ length: REACHES }, (_, i) => ({
		name: `${kind} reach ${i + 1}`,
		step: (seen) => {
			const first = seen.challenges.find(({ spec, end }) => spec.kind === "chase" && end === "complete")?.spec;
			if (first?.kind !== "chase" || seen.claim.devices[first.device]?.kind !== kind) return null;
			return stage(seen, [{ ...first, intervals: REACH_INTERVALS, samples: 1 }], { hold: true, deadlineMs: 60_000 });
		},
	}));
}

/** Chases of GPUs over all that they keep, each of which took too long for one memory. */
function slowChases(seen: Seen): ChaseSpec[] {
	return seen.challenges.flatMap(({ spec, end, seconds }) => {
		if (spec.kind !== "chase" || spec.newest !== 0 || end !== "complete") return [];
		const isSlow = (1e12 * seconds) / (INTERVAL_HOPS * spec.intervals) > POLICY.maxHopPs;
		return isSlow && seen.claim.devices[spec.device]?.kind === "gpu" ? [spec] : [];
	});
}

/** A packet that was lost in the first weighs a quarter as much in a run of this length. */
const AGAIN_LONGER = 4;
const AGAINS = 2;

/**
 * Slow once may be the network: what is still slow in longer runs, is the memory. Only who is slow is
 * asked.
 */
const againPhases: readonly Phase[] = Array.from({ length: AGAINS }, (_, i) => ({
	name: `gpu chase again ${i + 1}`,
	step: (seen) => {
		const slow = slowChases(seen);
		// In a run of before it was fast, or not asked.
		const specs = slow.filter(({ device }) => slow.filter((one) => one.device === device).length === i + 1);
		const firsts = specs.filter(({ device }, at) => specs.findIndex((one) => one.device === device) === at);
		const longer = ({ intervals }: ChaseSpec) => Math.min(MAX_INTERVALS, AGAIN_LONGER * intervals);
		return stage(
			seen,
			firsts.map((spec) => ({ ...spec, intervals: longer(spec), samples: 1 })),
			{ hold: true, deadlineMs: 60_000 },
		);
	},
}));

/** A hop within a part of the bytes, for comparison: of this share, which no cache holds. */
const PART_SHARE = 1 / 64;
const PART_INTERVALS = 1024;

/**
 * And then over its newest products alone: what slows the card slows both, and what lies elsewhere slows the
 * whole (verify/hardware/memory/). Only where all runs were slow.
 */
const partPhase: Phase = {
	name: "gpu chase, part",
	step: (seen) => {
		const slow = slowChases(seen);
		const specs = slow.flatMap((spec, at): ChaseSpec[] => {
			const { device } = spec;
			const runs = slow.filter((one) => one.device === device).length;
			if (runs <= AGAINS || slow.findIndex((one) => one.device === device) !== at) return [];
			const fill = filled(seen, device);
			const newest = fill === null ? 0 : Math.ceil(PART_SHARE * fill.spec.keep);
			if (fill === null || newest >= fill.spec.keep) return [];
			return [{ ...spec, newest, intervals: intervalsFor(PART_INTERVALS, seen.rttUs), samples: 1 }];
		});
		return stage(seen, specs, { hold: true, deadlineMs: 60_000 });
	},
};

/**
 * What a GPU is asked whose first chase was slow. All of it after that one, so that none is a measure of
 * latency.
 */
export const slowChasePhases: readonly Phase[] = [...againPhases, partPhase];

export function chasePhase(kind: "gpu" | "cpu", { chaseIntervals }: Budgets, samples: number): Phase {
	return {
		name: `${kind} chase`,
		step: (seen) => {
			if (kind === "cpu" && devicesOf(seen, "gpu").length > 0) return null;
			const specs = devicesOf(seen, kind).flatMap((device): ChaseSpec[] => {
				const fill = filled(seen, device);
				const intervals = intervalsFor(chaseIntervals[kind], seen.rttUs);
				const few = Math.min(samples, MAX_SAMPLES);
				return fill ? [{ kind: "chase", device, of: fill.index, newest: 0, intervals, samples: few }] : [];
			});
			return stage(seen, specs, { hold: true, deadlineMs: 60_000 });
		},
	};
}
