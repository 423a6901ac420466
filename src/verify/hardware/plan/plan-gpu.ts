// The GPUs' half of a probe, all cards at once in every stage: fill the memory with int8 products → stream
// over it → release → the other precisions → each card alone → scalar chains → the sustained run. Before the
// release the cards read each other's memory. Sizes are in gpu-sizes.ts. Page: docs/hardware-proof.md.
import type { Precision } from "../../../protocol/maths/precision.ts";
import type { StreamSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { fillSpec, GPU_FMA, gpuFmaSpec, precisionSpec, streamPasses } from "./gpu-sizes.ts";
import { alonePhases } from "./plan-alone.ts";
import { chasePhase } from "./plan-chase.ts";
import { cpuWarmUps } from "./plan-cpu.ts";
import { peerPhases } from "./plan-peers.ts";
import {
	deadlineMs,
	devicesOf,
	devicesWith,
	filled,
	longerRuns,
	type Phase,
	type PlanOptions,
	releasePhase,
	scalarPhases,
	speedOf,
	stage,
	sustainedPhase,
	warm,
} from "./plan-stage.ts";
import type { Seen, WarmUp } from "./probe-plan.ts";

const claimOf = (seen: Seen, device: number) => seen.claim.devices[device]!;
const gpusWith = (seen: Seen, precision: Precision) => devicesWith(seen, "gpu", precision);

export function gpuPhases(options: PlanOptions, budgets: Budgets, samples: number): Phase[] {
	return [
		...warmUpPhases,
		...memoryPhases(budgets, samples),
		chasePhase("gpu", budgets, samples),
		...peerPhases("gpu", budgets, samples),
		releasePhase("gpu"),
		...budgets.precisions.map((precision) => ({
			name: `gpu gemm ${precision}`,
			step: (seen: Seen) =>
				stage(
					seen,
					gpusWith(seen, precision).map((device) =>
						precisionSpec(device, claimOf(seen, device), precision, samples, {
							budgetS: budgets.precisionS,
							opsPerS: speedOf(seen, device, "int8").opsPerS,
						}),
					),
				),
		})),
		...alonePhases("gpu", "fp16", budgets),
		...scalarWarmUps(budgets),
		...scalarPhases("gpu", budgets, (device, precision, opsPerS) =>
			gpuFmaSpec(device, precision, Math.ceil(samples / 2), { budgetS: budgets.gpuFmaS, opsPerS }),
		),
		sustainedPhase("gpu", options, 30_000),
	];
}

const warmUpPhases: readonly Phase[] = [
	{
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
	{ name: "gpu warm-up, longer", step: (seen) => warm(longerRuns(seen, gpusWith(seen, "int8"), "gemm")) },
];

/** Fill the memory, once more and smaller where a card refused, then stream over what is kept. */
function memoryPhases(budgets: Budgets, samples: number): Phase[] {
	const fills = (seen: Seen) =>
		gpusWith(seen, "int8").map((device) =>
			fillSpec(device, claimOf(seen, device), samples, {
				lessBy: seen.tooBig.some((spec) => spec.device === device) ? 0.05 : 0,
				budgetS: budgets.fillS,
				opsPerS: speedOf(seen, device, "int8").opsPerS,
			}),
		);
	return [
		{
			name: "gpu fill",
			step: (seen) => stage(seen, fills(seen), { mayShrink: true, hold: true, readEveryMs: 1000 }),
		},
		{
			name: "gpu fill, smaller",
			step: (seen) => (seen.tooBig.length > 0 ? stage(seen, fills(seen), { hold: true, readEveryMs: 1000 }) : null),
		},
		{
			name: "gpu stream",
			step: (seen) => {
				const specs: StreamSpec[] = [];
				let fillS = 0;
				for (const device of gpusWith(seen, "int8")) {
					const fill = filled(seen, device);
					if (!fill) continue;
					const bytes = 2 * fill.spec.m * fill.spec.n * Math.min(fill.spec.keep, fill.spec.rounds);
					const passes = streamPasses(bytes, seen.rttUs, budgets.leastPasses);
					specs.push({ kind: "stream", device, of: fill.index, newest: 0, passes, samples });
					fillS = Math.max(fillS, seen.challenges[fill.index]!.seconds);
				}
				// Long enough for a prover that computes everything again in every pass: it shall be judged late, not
				// silent.
				return stage(seen, specs, {
					hold: true,
					deadlineMs: Math.min(120_000, deadlineMs(budgets.leastPasses * fillS)),
					whileOpening: cpuWarmUps(seen, budgets),
				});
			},
		},
	];
}

function scalarWarmUps({ fma }: Budgets): Phase[] {
	const runs = (seen: Seen) =>
		fma.flatMap((precision) =>
			gpusWith(seen, precision).map((device): WarmUp => ({ kind: "fma", device, precision, ...GPU_FMA, rounds: 3 })),
		);
	return [
		{ name: "gpu fma warm-up", step: (seen) => warm(runs(seen)) },
		{ name: "gpu fma warm-up, longer", step: (seen) => warm(longerRuns(seen, devicesOf(seen, "gpu"), "fma")) },
	];
}
