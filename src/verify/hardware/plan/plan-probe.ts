// The default plan: which challenges a probe asks, in which order and how large. Decides only; run-probe.ts
// acts. A pure function of what was seen so far, so that every branch can be tested without an engine. Page:
// docs/hardware-proof.md.
//
// GPUs first (plan-gpu.ts), then the CPU alone (plan-cpu.ts): its figures would suffer from feeding the GPUs.
// The disk comes with the CPU, whose products it is given (plan-disk.ts).
import { FULL, QUICK } from "./budgets.ts";
import { cpuPhases } from "./plan-cpu.ts";
import { gpuPhases } from "./plan-gpu.ts";
import type { PlanOptions } from "./plan-stage.ts";
import type { Plan, Step } from "./probe-plan.ts";

export function planProbe(options: PlanOptions): Plan {
	const budgets = options.quick ? QUICK : FULL;
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
