// What a simulation gives: a program, what it is given, and how to read what comes out. Made into files by
// workloads/simulate/.
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import type { Workload } from "../workloads/workload.ts";
import type { PaletteName } from "./palette.ts";

/** A state tensor as an array of floats: value = element / scale. */
export interface SimulatedField {
	readonly name: string;
	readonly tensor: string;
	readonly dims: readonly number[];
	readonly scale: number;
}

export interface Simulation {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly metrics: Workload["metrics"];
	readonly fields: readonly SimulatedField[];
	/** What is left to say of the end, for a file `summary.json`. */
	readonly summary?: {
		readonly tensor: string;
		read(elements: Elements): Readonly<Record<string, number | string>>;
	};
	/** Of the tensors `picture` and `frames`. Null: nothing to see. */
	readonly picture: { readonly size: readonly [number, number]; readonly palette: PaletteName } | null;
}
