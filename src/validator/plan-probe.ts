// The default plan: which challenges a probe asks, in which order and how large. Decides only; run-probe.ts acts.
// A pure function of what was seen so far, so that every branch can be tested without an engine. Page: docs/hardware-proof.md.
//
// GPUs first (plan-gpu.ts), then the CPU alone (plan-cpu.ts): its figures would suffer from feeding the GPUs.
import type { FmaPrecision, GemmPrecision } from "../protocol/evidence.ts";
import { CPU_KEEP, CPU_KEEP_QUICK } from "./cpu-sizes.ts";
import { cpuPhases } from "./plan-cpu.ts";
import { gpuPhases } from "./plan-gpu.ts";
import type { Budgets, PlanOptions } from "./plan-stage.ts";
import type { Plan, Step } from "./probe-plan.ts";

const GEMM_OTHERS: readonly GemmPrecision[] = ["fp8", "fp16", "bf16", "tf32"];
const FMA_ALL: readonly FmaPrecision[] = ["fp32", "fp64", "int32"];

// CPU budgets: on 2 arm64 cores a hiccup of the scheduler takes some 50 ms; in 2 s of gemm that is 2.5 %. Two probes there gave
// 65.7 and 65.4 Gop/s with other programs running. GPU budgets keep all precisions of a card within 3 s; not yet tuned on one.
const DEFAULT: Budgets = {
	samples: 128,
	fillS: null,
	leastPasses: 16,
	precisions: GEMM_OTHERS,
	precisionS: 0.4,
	fma: FMA_ALL,
	gpuFmaS: 0.2,
	cpuGemmS: 2,
	cpuKeepS: 3,
	cpuKeepBytes: CPU_KEEP,
	cpuStreamS: 0.7,
	cpuFmaS: 0.7,
};

const QUICK: Budgets = {
	samples: 32,
	fillS: 0.6,
	leastPasses: 8,
	precisions: ["fp16", "bf16"],
	precisionS: 0.2,
	fma: ["fp32"],
	gpuFmaS: 0.1,
	cpuGemmS: 0.6,
	cpuKeepS: 0.3,
	cpuKeepBytes: CPU_KEEP_QUICK,
	cpuStreamS: 0.2,
	cpuFmaS: 0.2,
};

export function planProbe(options: PlanOptions): Plan {
	const budgets = options.quick ? QUICK : DEFAULT;
	const samples = options.samples ?? budgets.samples;
	const phases = [...gpuPhases(options, budgets, samples), ...cpuPhases(options, budgets, samples)];
	return (seen) => {
		const last = seen.steps.at(-1);
		for (let i = phases.findIndex((phase) => phase.name === last) + 1; i < phases.length; i++) {
			const step = phases[i]!.step(seen);
			if (step) return { ...step, name: phases[i]!.name } as Step;
		}
		return { act: "finish" };
	};
}
