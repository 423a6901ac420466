// The default plan: which challenges a probe asks, in which order and how large. Decides only; run-probe.ts
// acts. A pure function of what was seen so far, so that every branch can be tested without an engine. Page:
// docs/hardware-proof.md.
//
// GPUs and the rest of the host at once (atOnce): like beside like, so that a card that also answers for the
// CPU spends on it what it is being measured for: products beside products, reads beside reads, chains of
// steps beside chains. What needs the whole host, or a link between devices, runs by itself.
import { FULL, QUICK } from "./budgets.ts";
import { reachPhases, slowChasePhases } from "./plan-chase.ts";
import { cpuPhases } from "./plan-cpu.ts";
import { diskPhases } from "./plan-disk.ts";
import { gpuPhases } from "./plan-gpu.ts";
import { atOnce, besideCards, type Phase, type PlanOptions, sustainedPhase, withoutCards } from "./plan-stage.ts";
import { trainingPhase } from "./plan-training.ts";
import type { Plan } from "./probe-plan.ts";

function phasesOf({ quick, sustainMs, training, samples: asked }: PlanOptions): (Phase & { readonly also?: string })[] {
	const budgets = quick ? QUICK : FULL;
	const samples = asked ?? budgets.samples;
	const gpu = gpuPhases(budgets, samples);
	const cpu = cpuPhases(budgets, samples);
	const disk = diskPhases(budgets, samples);
	const besideProduct: Partial<Record<string, Phase>> = { fp16: disk.copy, bf16: disk.stream };
	return [
		atOnce(gpu.warmUp, cpu.warmUp),
		atOnce(gpu.warmUpLonger, cpu.warmUpLonger),
		atOnce(gpu.fill, cpu.keep),
		atOnce(gpu.fillSmaller, cpu.keepSmaller),
		atOnce(gpu.streamTrial, besideCards(cpu.streamTrial, disk.trial)),
		atOnce(gpu.stream, cpu.stream),
		gpu.streamAgain,
		...[cpu.chase, ...reachPhases("cpu"), ...cpu.peers],
		disk.trial,
		atOnce(gpu.chase, disk.fill),
		...slowChasePhases,
		...reachPhases("gpu"),
		...gpu.peers,
		gpu.release,
		...gpu.products.flatMap(({ precision, phase }) => {
			const other = besideProduct[precision];
			return [other ? atOnce(phase, other) : phase, ...(other === disk.stream ? [cpu.release] : [])];
		}),
		...gpu.alone,
		...cpu.alone,
		...gpu.scalarWarmUps.map((phase, i) => atOnce(phase, cpu.scalarWarmUps[i]!)),
		...gpu.scalars.map((phase, i) => atOnce(phase, cpu.scalars[i]!)),
		...gpu.scalarsAgain,
		...(training ? [trainingPhase("gpu"), trainingPhase("cpu")] : []),
		sustainedPhase("gpu", sustainMs, asked),
		withoutCards(sustainedPhase("cpu", sustainMs, asked)),
	];
}

export function planProbe(options: PlanOptions): Plan {
	const phases = phasesOf(options);
	const only = options.devices ?? null;
	return (all) => {
		const seen = { ...all, only };
		const last = seen.steps.at(-1) ?? null;
		for (let i = phases.findIndex(({ name, also }) => name === last || also === last) + 1; i < phases.length; i++) {
			const made = phases[i]!.step(seen);
			if (made) return { name: phases[i]!.name, ...made };
		}
		return { act: "finish" };
	};
}
