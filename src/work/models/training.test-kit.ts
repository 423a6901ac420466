// Runs a model's program on the reference machine for tests: steps, losses, gradients, the state hash.
import type { Elements } from "../operators/tensor-type.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine, type Machine } from "../program/run-program.ts";
import type { Program } from "../program/shapes.ts";
import { stateHashOf } from "../trace/commitments.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";

export const SEED = Uint8Array.from({ length: 32 }, (_, i) => 7 * i + 1);

export interface Model {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
}

export class Trial {
	readonly program: Program;
	readonly machine: Machine;

	/** Segment 0 has run. */
	constructor({ program, given }: Model, seed: Uint8Array = SEED) {
		this.program = program;
		this.machine = createMachine(orThrow(sealProgram(program)), seed, given);
		this.machine.runSegment();
	}

	tensor(name: string): Elements {
		return this.machine.tensors[this.program.tensors.findIndex((tensor) => tensor.name === name)]!;
	}

	floats(name: string, scale: number): Float64Array {
		return Float64Array.from(this.tensor(name) as Int32Array, (value) => Number(value) / scale);
	}

	/** Sets a state tensor. */
	set(name: string, elements: Elements): void {
		const number = this.program.tensors.findIndex((tensor) => tensor.name === name);
		this.machine.restore(this.machine.next, new Map([[number, elements]]));
	}

	/** The metric `loss` after each of so many segments. */
	losses(segments: number): number[] {
		return Array.from({ length: segments }, () => {
			this.machine.runSegment();
			return Number(this.tensor("loss")[0]!);
		});
	}

	stateHash(): string {
		const { program, machine } = this;
		const roots = program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [tensorRoot(machine.tensors[i]!)] : []));
		return Buffer.from(stateHashOf(program, machine.next, roots, [])).toString("hex");
	}
}
