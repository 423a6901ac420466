// What is asked of CPUs, beside the cards where there are any: matrix speed and a share of the RAM in one,
// scalar chains. A host may show its CPU as several devices: they are asked all at once, like cards. The
// order is in plan-probe.ts, sizes are in cpu-sizes.ts. Page: docs/hardware-proof.md.
import type { Precision } from "../../../protocol/maths/precision.ts";
import type { GemmSpec, StreamSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { CPU_FMA, cpuKeepSpec, cpuStreamPasses } from "./cpu-sizes.ts";
import { fmaSpec } from "./gpu-sizes.ts";
import { alonePhases } from "./plan-alone.ts";
import { chasePhase } from "./plan-chase.ts";
import { peerPhases } from "./plan-peers.ts";
import {
	deadlineMs,
	devicesOf,
	devicesWith,
	filled,
	lastingS,
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
import { opsOfRound, type Seen, type WarmUp } from "./probe-plan.ts";

/** Of the longer warm-up, by what the first one showed. */
const LONGEST_ROUND_S = 0.12;
/** So many threads do such a round in less, whatever they showed when they were just woken. */
const MANY_CORES = 8;

const cpusWith = (seen: Seen, precision: Precision) => devicesWith(seen, "cpu", precision);

const WARM_UPS: Readonly<Record<"warmUp" | "warmUpLonger", Phase>> = {
	warmUp: {
		name: "cpu warm-up",
		step: (seen) =>
			warm(
				cpusWith(seen, "int8").map((device): WarmUp => {
					const shape = { m: 512, n: 1024, k: 2048 };
					return { kind: "gemm", device, precision: "int8", ...shape, rounds: 3, passes: 64 };
				}),
			),
	},
	warmUpLonger: {
		name: "cpu warm-up, longer",
		step: (seen) => warm(longerRuns(seen, devicesOf(seen, "cpu"), "gemm").map((run) => larger(seen, run))),
	},
};

/**
 * Beside cards a run must last as long as theirs, and many cores that were just woken show a quarter of their
 * speed in a small product: how long a large one takes is known from a large one. A host without cards is not
 * kept waiting for that.
 */
function larger(seen: Seen, run: WarmUp): WarmUp {
	const shape = { m: 1024, n: 2048, k: 4096 };
	const roundS = opsOfRound({ kind: "gemm", ...shape }) / speedOf(seen, run.device, "int8").opsPerS;
	const isShort = roundS <= LONGEST_ROUND_S || seen.claim.devices[run.device]!.units >= MANY_CORES;
	const isBeside = devicesOf(seen, "gpu").length > 0;
	return run.kind === "gemm" && isBeside && isShort ? { ...run, ...shape, rounds: 6 } : run;
}

export function cpuPhases(budgets: Budgets, samples: number) {
	return {
		...WARM_UPS,
		...memoryPhases(budgets, samples),
		chase: chasePhase("cpu", budgets, samples),
		peers: peerPhases("cpu", budgets, samples),
		release: releasePhase("cpu"),
		alone: alonePhases("cpu", "int8", budgets),
		scalarWarmUps: scalarWarmUpPhases("cpu", budgets, CPU_FMA),
		scalars: scalarPhases("cpu", budgets, ({ device }, precision, opsPerS, besideS) => {
			const size = { ...CPU_FMA, budgetS: lastingS(budgets.cpuFmaS, besideS), opsPerS };
			return fmaSpec(device, precision, Math.ceil(samples / 2), size);
		}),
	};
}

function memoryPhases(budgets: Budgets, samples: number) {
	const keeps = (seen: Seen, besideS: number | null = null): GemmSpec[] => {
		const cpus = cpusWith(seen, "int8");
		// Devices that share the cores share the bytes: together they make as many as one would, in steps of two
		// for the same reason.
		const usualBytes = budgets.cpuKeepBytes.usualBytes / 2 ** Math.ceil(Math.log2(Math.max(1, cpus.length)));
		return cpus.map((device) => {
			const lessBy = seen.tooBig.some((spec) => spec.device === device) ? 0.5 : 0;
			const leastS = lastingS(0, besideS);
			const limits = { budgetS: budgets.cpuKeepS, ...budgets.cpuKeepBytes, usualBytes, lessBy, leastS };
			return cpuKeepSpec(device, seen.claim.devices[device]!.freeBytes, speedOf(seen, device, "int8"), limits, samples);
		});
	};
	const keep: Phase = {
		name: "cpu keep",
		step: (seen, besideS) => stage(seen, keeps(seen, besideS), { mayShrink: true, hold: true }),
	};
	/** Whichever device had no room: the whole stage was dropped. */
	const keepSmaller: Phase = {
		name: "cpu keep, smaller",
		step: (seen, besideS) => (seen.tooBig.length > 0 ? stage(seen, keeps(seen, besideS), { hold: true }) : null),
	};
	/** Its size is right only when measured on the bytes themselves: the warm-up's fit into a cache. */
	const streamTrial = streamTrialPhase("cpu", 3);
	const stream: Phase = {
		name: "cpu stream",
		step: (seen, besideS) => {
			let late = 0;
			const specs = devicesOf(seen, "cpu").flatMap((device): StreamSpec[] => {
				const kept = filled(seen, device);
				const trial = seen.warmUps.findLast(({ run }) => run.kind === "stream" && run.device === device);
				if (!kept || !trial || trial.bytesPerS <= 0) return [];
				const bytes = 2 * kept.spec.m * kept.spec.n * kept.spec.keep;
				const passes = cpuStreamPasses(bytes, trial.bytesPerS, lastingS(budgets.cpuStreamS, besideS));
				late = Math.max(late, 4 * passes * seen.challenges[kept.index]!.seconds);
				return [{ kind: "stream", device, of: kept.index, newest: 0, passes, samples }];
			});
			return stage(seen, specs, { hold: true, deadlineMs: Math.min(120_000, deadlineMs(late)) });
		},
	};
	return { keep, keepSmaller, streamTrial, stream };
}
