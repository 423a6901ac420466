// With which weights a proven run has to begin: a proof is about the steps alone, and its program makes the
// first weights of a seed that the statement names. Whoever checks a proof of the first segment makes them,
// too, and compares them like any other bytes (bind-bytes.ts).
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import { stateOfSeed } from "../../work/program/run-program.ts";
import type { ByteFault } from "./bind-bytes.ts";
import type { OpenedProof } from "./proof-file.ts";

/** What is wrong where a comparison with firstWeights says PROOF_INITIAL. */
export const OTHER_START: ByteFault = {
	code: "PROOF_START",
	detail: "the weights before its first step are not those that the program makes of its seed",
};

/** Of state, in the program's order; null: the proof begins later, or there are more than `max` weights. */
export function firstWeights(
	{ checked, statement }: Pick<OpenedProof, "checked" | "statement">,
	max: number,
): readonly Elements[] | null {
	if (statement.firstStep !== 0) return null;
	const state = checked.program.tensors.filter(({ kind }) => kind === "state");
	if (state.reduce((sum, { dims }) => sum + elementCount(dims), 0) > max) return null;
	return stateOfSeed(checked, hexToBytes(statement.seed)!);
}
