// What is asked of GPUs, all cards at once in every stage: fill the memory with int8 products, stream over
// it, the other precisions, each card alone, scalar chains, the sustained run. The order, and what runs
// beside, is in plan-probe.ts, sizes are in gpu-sizes.ts. Page: docs/hardware-proof.md.
import type { GemmPrecision, Precision } from "../../../protocol/maths/precision.ts";
import type { StreamSpec } from "../../../protocol/probe/evidence.ts";
import { POLICY } from "../policy.ts";
import type { Budgets } from "./budgets.ts";
import { fillSpec, GPU_FMA, gpuFmaSpec, precisionSpec, streamPasses } from "./gpu-sizes.ts";
import { scalarAgainPhases } from "./plan-again.ts";
import { alonePhases } from "./plan-alone.ts";
import { chasePhase } from "./plan-chase.ts";
import { peerPhases } from "./plan-peers.ts";
import {
	deadlineMs,
	devicesWith,
	filled,
	longerRuns,
	type Phase,
	releasePhase,
	scalarPhases,
	scalarWarmUpPhases,
	speedOf,
	stage,
	streamTrialPhase,
	warm,
} from "./plan-stage.ts";
import { opsOfRound, roundBytes, type Seen, type WarmUp } from "./probe-plan.ts";

/** Of the longer warm-up: one round at most, and all of it at least. */
const LONGEST_ROUND_S = 0.015;
const LONGER_S = 0.03;

/** The round trip counts once in every figure; of a host that is far it is a sixth at most. */
const farS = ({ rttUs }: Pick<Seen, "rttUs">): number => (5 * rttUs) / 1e6;

const claimOf = (seen: Seen, device: number) => seen.claim.devices[device]!;
const gpusWith = (seen: Seen, precision: Precision) => devicesWith(seen, "gpu", precision);

export function gpuPhases(budgets: Budgets, samples: number) {
	const ofPrecision = (precision: GemmPrecision): Phase => ({
		name: `gpu gemm ${precision}`,
		step: (seen) =>
			stage(
				seen,
				gpusWith(seen, precision).map((device) =>
					precisionSpec(device, claimOf(seen, device), precision, samples, {
						budgetS: Math.max(budgets.precisionS[precision], farS(seen)),
						opsPerS: filledAt(seen, device),
					}),
				),
			),
	});
	return {
		...WARM_UPS,
		...memoryPhases(budgets, samples),
		chase: chasePhase("gpu", budgets, samples),
		peers: peerPhases("gpu", budgets, samples),
		release: releasePhase("gpu"),
		products: budgets.precisions.map((precision) => ({ precision, phase: ofPrecision(precision) })),
		alone: alonePhases("gpu", "fp16", budgets),
		scalarWarmUps: scalarWarmUpPhases("gpu", budgets, GPU_FMA, asAsked),
		scalars: scalarPhases("gpu", budgets, ({ device, units, rttUs }, precision, opsPerS) => {
			const budgetS = Math.max(budgets.gpuFmaS, farS({ rttUs }));
			return gpuFmaSpec(device, precision, Math.ceil(samples / 2), { units, budgetS, opsPerS });
		}),
		scalarsAgain: scalarAgainPhases(Math.ceil(samples / 2)),
	};
}

const WARM_UPS: Readonly<Record<"warmUp" | "warmUpLonger", Phase>> = {
	warmUp: {
		name: "gpu warm-up",
		step: (seen) =>
			warm(
				gpusWith(seen, "int8").map((device) => {
					// 8192³ is 1.1 Top: a millisecond at an H200's peak, a tenth of a second on a card of 10 Top/s.
					const n = claimOf(seen, device).freeBytes >= 2 ** 31 ? 8192 : 2048;
					return { kind: "gemm", device, precision: "int8", m: n, n, k: n, rounds: 3, passes: 0 };
				}),
			),
	},
	warmUpLonger: {
		name: "gpu warm-up, longer",
		step: (seen) => {
			const longer = longerRuns(seen, gpusWith(seen, "int8"), "gemm");
			return warm(longer.map((run) => (run.kind === "gemm" ? asFill(seen, run) : run)));
		},
	},
};

/** Speed of the fill, op/s: a card that has been busy for seconds is slower than in a warm-up. */
function filledAt(seen: Seen, device: number): number {
	const fill = filled(seen, device);
	const { seconds, roots } = fill ? seen.challenges[fill.index]! : { seconds: 0, roots: 0 };
	return fill && seconds > 0 ? (opsOfRound(fill.spec) * roots) / seconds : speedOf(seen, device, "int8").opsPerS;
}

/**
 * In the fill's own shape where a round of it is short: how long the fill takes is then known within some per
 * cent.
 */
function asFill(seen: Seen, run: Extract<WarmUp, { kind: "gemm" }>): WarmUp {
	const { opsPerS } = speedOf(seen, run.device, "int8");
	const { m, n, k } = fillSpec(run.device, claimOf(seen, run.device), 1, { lessBy: 0, budgetS: null, opsPerS });
	const roundS = opsOfRound({ kind: "gemm", m, n, k }) / opsPerS;
	return roundS > LONGEST_ROUND_S ? run : { ...run, m, n, k, rounds: Math.max(3, Math.ceil(LONGER_S / roundS)) };
}

/** Fill the memory, once more and smaller where a card refused, then stream over what is kept. */
function memoryPhases(budgets: Budgets, samples: number) {
	const fills = (seen: Seen) =>
		gpusWith(seen, "int8").map((device) =>
			fillSpec(device, claimOf(seen, device), samples, {
				lessBy: seen.tooBig.some((spec) => spec.device === device) ? 0.05 : 0,
				budgetS: budgets.fillS,
				opsPerS: speedOf(seen, device, "int8").opsPerS,
			}),
		);
	const fill: Phase = {
		name: "gpu fill",
		step: (seen) => stage(seen, fills(seen), { mayShrink: true, hold: true, readEveryMs: 1000 }),
	};
	const fillSmaller: Phase = {
		name: "gpu fill, smaller",
		step: (seen) => (seen.tooBig.length > 0 ? stage(seen, fills(seen), { hold: true, readEveryMs: 1000 }) : null),
	};
	/** One pass: what runs beside the passes that count must know how long they take. */
	const streamTrial = streamTrialPhase("gpu", 1);
	const stream: Phase = {
		name: "gpu stream",
		step: (seen) => {
			const specs: StreamSpec[] = [];
			let fillS = 0;
			for (const device of gpusWith(seen, "int8")) {
				const kept = filled(seen, device);
				if (!kept) continue;
				const bytes = 2 * kept.spec.m * kept.spec.n * Math.min(kept.spec.keep, kept.spec.rounds);
				const passes = streamPasses(bytes, seen.rttUs, budgets.leastPasses);
				specs.push({ kind: "stream", device, of: kept.index, newest: 0, passes, samples });
				fillS = Math.max(fillS, seen.challenges[kept.index]!.seconds);
			}
			// Long enough for a prover that computes everything again in every pass: it shall be judged late, not
			// silent.
			const late = Math.min(120_000, deadlineMs(budgets.leastPasses * fillS));
			return stage(seen, specs, { hold: true, deadlineMs: late });
		},
	};
	/** A lost packet weighs as much as a slow memory: who seemed slow is asked once more. */
	const streamAgain: Phase = {
		name: "gpu stream again",
		step: (seen) => {
			const specs = seen.challenges.flatMap(({ spec, end, seconds }): StreamSpec[] => {
				if (spec.kind !== "stream" || end !== "complete" || claimOf(seen, spec.device).kind !== "gpu") return [];
				const kept = filled(seen, spec.device);
				if (kept === null || kept.index !== spec.of) return [];
				const bytes = spec.passes * roundBytes(kept.spec) * Math.min(kept.spec.keep, kept.spec.rounds);
				return bytes < POLICY.streamMargin * POLICY.fetchBytesPerS.gpu * seconds ? [spec] : [];
			});
			return stage(seen, specs, { hold: true, deadlineMs: 120_000 });
		},
	};
	return { fill, fillSmaller, streamTrial, stream, streamAgain };
}

/** Small rounds show two thirds of an H200's speed. */
const LARGE_ROUNDS_FASTER = 1.5;
/** In the size of the run that counts: its speed is then known, and the card has room for its lanes. */
function asAsked(seen: Seen, run: WarmUp): WarmUp {
	if (run.kind !== "fma") return run;
	const opsPerS = LARGE_ROUNDS_FASTER * speedOf(seen, run.device, run.precision).opsPerS;
	const { units } = claimOf(seen, run.device);
	const { lanes, steps } = gpuFmaSpec(run.device, run.precision, 1, { units, budgetS: 0, opsPerS });
	return lanes * steps > run.lanes * run.steps ? { ...run, lanes, steps, rounds: 2 } : run;
}
