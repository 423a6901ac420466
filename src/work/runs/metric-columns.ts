// The metrics of one segment while it runs, as its line in the journal has them: by metric, the value after
// each step. Whoever runs a segment again collects them in the same way, and compares. Pure.
import { bytesToElements, elementCount } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import type { WorkloadMetric } from "../workloads/workload.ts";
import type { SegmentLine } from "./journal.ts";

export interface MetricBytes {
	readonly step: number;
	/** Its number in the program. */
	readonly tensor: number;
	readonly bytes: Uint8Array;
}

export class MetricColumns {
	private readonly program: Program;
	private readonly metrics: readonly WorkloadMetric[];
	private values: number[][] = [];

	constructor(program: Program, metrics: readonly WorkloadMetric[]) {
		this.program = program;
		this.metrics = metrics;
	}

	/** All values of the step, once the last of them is there; null before. */
	add({ step, tensor, bytes }: MetricBytes): readonly number[] | null {
		const { type, dims, name } = this.program.tensors[tensor]!;
		const elements = bytesToElements(bytes, type, elementCount(dims));
		this.values[step] ??= [];
		const values = this.values[step]!;
		for (const [i, metric] of this.metrics.entries())
			if (metric.name === name && elements !== null) values[i] = metric.read(elements);
		const isWhole =
			this.metrics.length > 0 && values.filter((value) => value !== undefined).length === this.metrics.length;
		return isWhole ? values : null;
	}

	/** Of the segment that has just ended; the next one begins empty. */
	end(): SegmentLine["metrics"] {
		const { values } = this;
		this.values = [];
		return Object.fromEntries(this.metrics.map(({ name }, i) => [name, values.map((one) => one[i]!)]));
	}
}
