// One kind of simulation in a job file: its fields, and how it becomes a program. kinds are in
// simulate-workload.ts.
import { type Fields, oneOf, type Shape } from "../../../protocol/bytes/shape.ts";
import type { Pace } from "../../simulate/pace.ts";
import type { Simulation } from "../../simulate/simulation.ts";
import { partial } from "../job-fields.ts";
import type { Files } from "../workload.ts";

interface From {
	readonly files: Files;
	readonly seed: Uint8Array;
}

/** What a kind says of itself; `Own` are its fields, without those of every simulation. */
interface Described<Own> {
	readonly fields: Fields;
	readonly required: readonly (keyof Own & string)[];
	/** Time steps that one step of the program may hold, where it is fewer than usual. */
	readonly mostTogether?: number;
	/** What no field shows by itself; throws. */
	check(own: Own, steps: number): void;
	build(own: Own, pace: Pace, from: From): Promise<Simulation>;
}

export type SimulationKind = Described<never> & { readonly shape: (shared: Fields, name: string) => Shape<unknown> };

/** Its fields have this shape once `shape` has accepted them. */
export function simulationKind<Own>(described: Described<Own>): SimulationKind {
	const shape = (shared: Fields, name: string) => partial({ ...shared, kind: oneOf(name), ...described.fields });
	return { ...(described as unknown as Described<never>), shape };
}
