// Wiring, docs/work.md §7: where the root of an operand must come from. Whoever compares a trace with it
// finds a false wire.
import type { Phase, Program } from "../program/shapes.ts";

export type Origin =
	/** Output of this op in this step of the segment. */
	| { readonly from: "op"; readonly step: number; readonly op: number }
	/** Its leaf in the state hash that the segment begins with. */
	| { readonly from: "state"; readonly tensor: number }
	/** The root of zeros. */
	| { readonly from: "zero"; readonly tensor: number }
	/** The program's constant or the job's input. */
	| { readonly from: "given"; readonly tensor: number };

/** Number of the op of a phase that writes a tensor; −1: none. */
export const writerOf = (program: Program, phase: Phase, tensor: number): number =>
	program[phase].findIndex(({ target }) => target === tensor);

export function operandOrigins(program: Program, phase: Phase, step: number, op: number): Origin[] {
	return program[phase][op]!.operands.map(({ source, index }): Origin => {
		if (source === "op") return { from: "op", step, op: index };
		if (source === "constant" || source === "input") return { from: "given", tensor: index };
		const writer = writerOf(program, phase, index);
		if (step > 0 && writer >= 0) return { from: "op", step: step - 1, op: writer };
		return { from: source === "state" ? "state" : "zero", tensor: index };
	});
}

/** Where a state or result tensor's root after the segment comes from. */
export function endOrigin(program: Program, phase: Phase, tensor: number): Origin {
	const writer = writerOf(program, phase, tensor);
	if (writer < 0) return { from: "state", tensor };
	return { from: "op", step: phase === "init" ? 0 : program.k - 1, op: writer };
}
