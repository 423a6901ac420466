// What a job computes: a program, everything that it is given, and how to read what comes out. Made from a job file by
// build-workload.ts; run by an engine or by program/run-program.ts. Not here: who runs it, how it is verified, what it costs.
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";

interface WorkloadMetric {
	/** Of a metric tensor of the program. */
	readonly name: string;
	readonly label: string;
	readonly unit: string;
	read(elements: Elements): number;
}

/** Elements of a state tensor, from `first`, as floats: value = element / scale. */
export interface WorkloadWeight {
	readonly name: string;
	readonly tensor: string;
	readonly first: number;
	readonly dims: readonly number[];
	readonly scale: number;
}

export interface Workload {
	readonly program: Program;
	/** 32 bytes. */
	readonly seed: Uint8Array;
	/** Every constant and input, by name. */
	readonly given: Readonly<Record<string, Elements>>;
	/** T; segment 0 (init) comes before. */
	readonly segments: number;
	readonly metrics: readonly WorkloadMetric[];
	readonly weights: readonly WorkloadWeight[];
}
