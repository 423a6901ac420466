// All kinds of job files. A new one is a folder here and a line below.
import { type ClassifySpec, classifyKind } from "./classify/classify-workload.ts";
import { type InferSpec, inferKind } from "./infer/infer-workload.ts";
import { type ProgramSpec, programKind } from "./program/program-workload.ts";
import { type RenderSpec, renderKind } from "./render/render-workload.ts";
import { type SimulateSpec, simulateKind } from "./simulate/simulate-workload.ts";
import { trainKind } from "./train/build-train.ts";
import type { TrainSpec } from "./train/train-spec.ts";
import type { WorkloadKind } from "./workload.ts";

interface Specs {
	readonly train: TrainSpec;
	readonly program: ProgramSpec;
	readonly simulate: SimulateSpec;
	readonly render: RenderSpec;
	readonly classify: ClassifySpec;
	readonly infer: InferSpec;
}

export type JobSpec = Specs[keyof Specs];

export const KINDS: { readonly [K in keyof Specs]: WorkloadKind<Specs[K]> } = {
	train: trainKind,
	program: programKind,
	simulate: simulateKind,
	render: renderKind,
	classify: classifyKind,
	infer: inferKind,
};
