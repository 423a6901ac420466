// The default plan: which challenges a probe asks, in which order and how large. Decides only; run-probe.ts acts.
// A pure function of what was seen so far, so that every branch can be tested without an engine. Page: docs/hardware-proof.md.
//
// GPUs first (plan-gpu.ts), then the CPU alone (plan-cpu.ts): its figures would suffer from feeding the GPUs. The disk comes with the
// CPU, whose products it is given (plan-disk.ts).
import type { FmaPrecision, GemmPrecision } from "../../../protocol/maths/precision.ts";
import { CPU_KEEP, CPU_KEEP_QUICK } from "./cpu-sizes.ts";
import { cpuPhases } from "./plan-cpu.ts";
import { gpuPhases } from "./plan-gpu.ts";
import type { Budgets, PlanOptions } from "./plan-stage.ts";
import type { Plan, Step } from "./probe-plan.ts";

const GEMM_OTHERS: readonly GemmPrecision[] = ["fp8", "fp16", "bf16", "tf32"];
const FMA_ALL: readonly FmaPrecision[] = ["fp32", "fp64", "int32"];

// CPU budgets: three probes of an idle machine shall agree within 10 % in every figure (bench/results). GPU budgets: on an H200 a
// probe with 16 passes took 11 s, of which fill 2.0, stream 0.6 and its openings 0.7 (each opened pass is digested again); hence 6.
const DEFAULT: Budgets = {
	samples: 128,
	fillS: null,
	leastPasses: 6,
	precisions: GEMM_OTHERS,
	precisionS: 0.25,
	fma: FMA_ALL,
	gpuFmaS: 0.12,
	aloneS: 0.3,
	peerS: 0.1,
	peerSamples: 16,
	disk: { fillS: 0.2, copyS: 0.15, readS: 0.15, samples: 64 },
	cpuKeepS: 2.5,
	cpuKeepBytes: CPU_KEEP,
	cpuStreamS: 0.25,
	cpuFmaS: 0.3,
};

const QUICK: Budgets = {
	samples: 32,
	fillS: 0.6,
	leastPasses: 8,
	precisions: ["fp16", "bf16"],
	precisionS: 0.2,
	fma: ["fp32"],
	gpuFmaS: 0.1,
	aloneS: 0.1,
	peerS: 0.03,
	peerSamples: 8,
	disk: { fillS: 0.1, copyS: 0.05, readS: 0.05, samples: 16 },
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
