// The training run of a probe, docs/hardware-proof.md §14: asked only where it is wished for, one device kind
// after the other. The model's size is that of the device's kind; how many steps, by how fast a short run
// was. Page: docs/training.md has the model.
import type { TrainSpec } from "../../../protocol/probe/evidence.ts";
import { devicesWith, type Phase, stage } from "./plan-stage.ts";

/** A GPU's takes some 10 ms a step on an H200; a CPU's some 50 ms on two cores. */
const MODEL = {
	gpu: { layers: 4, width: 256, heads: 4, context: 128, batch: 32, rounds: 48 },
	cpu: { layers: 2, width: 32, heads: 2, context: 32, batch: 2, rounds: 12 },
} as const;
const DRAWS = 2;
const DEADLINE_MS = 120_000;

export function trainingPhase(kind: "gpu" | "cpu"): Phase {
	return {
		name: `${kind} training`,
		step: (seen) => {
			const specs = devicesWith(seen, kind, "int8").map(
				(device): TrainSpec => ({ kind: "train", device, ...MODEL[kind], draws: DRAWS, samples: 1 }),
			);
			return stage(seen, specs, { deadlineMs: DEADLINE_MS });
		},
	};
}
