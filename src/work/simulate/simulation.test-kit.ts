// Runs a simulation on the reference machine, for tests.
import { Trial } from "../models/training.test-kit.ts";
import type { Simulation } from "./simulation.ts";

/** `segments` after init have run. */
export function simulated(simulation: Simulation, segments: number, seed?: Uint8Array): Trial {
	const trial = new Trial(simulation, seed);
	for (let i = 0; i < segments; i++) trial.machine.runSegment();
	return trial;
}

/** The value of a metric as the workload reads it. */
export function metricOf({ metrics }: Simulation, trial: Trial, name: string): number {
	return metrics.find((metric) => metric.name === name)!.read(trial.tensor(name));
}

/** One value for each cell. */
export const cells = (
	[rows, columns]: readonly [number, number],
	value: (y: number, x: number) => number,
): Float64Array => Float64Array.from({ length: rows * columns }, (_, i) => value(Math.floor(i / columns), i % columns));

/** At 2^24. */
export const elementsOf = (values: Float64Array): Int32Array =>
	Int32Array.from(values, (value) => Math.round(value * 2 ** 24));

export const largestDifference = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
	Array.from(a, (value, i) => Math.abs(value - b[i]!)).reduce((most, one) => Math.max(most, one), 0);
