// Whether what a job was given is what its terms commit to, for whoever takes none of it on a validator's
// word: the provider before it works, the watcher before it runs a claim again. Pure; what is wrong comes
// back as a sentence.
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { BlobName, JobSpec } from "../../protocol/network/job-spec.ts";
import { bytesOf, elementCount } from "../operators/tensor-type.ts";
import { programRoot } from "../program/open-program.ts";
import type { Program, TensorKind } from "../program/shapes.ts";
import { foldedState, rootBytes } from "../runs/journal.ts";
import { inputsHashOf } from "../trace/commitments.ts";

const numbersOf = ({ tensors }: Program, ...kinds: readonly TensorKind[]): number[] =>
	tensors.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));

const sizeOf = ({ tensors }: Program, i: number): number => elementCount(tensors[i]!.dims) * bytesOf(tensors[i]!.type);

/** `terms`: 64 hex digits each. Null: program, constants, inputs and seed are those of the terms. */
export function specFault(
	program: Program,
	{ seed, given }: Pick<JobSpec, "seed" | "given">,
	terms: { readonly program: string; readonly inputs: string },
): string | null {
	if (bytesToHex(programRoot(program)) !== terms.program) return "the program is not that of the terms";
	const wanted = numbersOf(program, "constant", "input");
	if (wanted.length !== given.length || wanted.some((i, at) => given[at]!.tensor !== i))
		return "constants and inputs are not those that the program has";
	for (const { tensor, root, size } of given) {
		const { kind, root: named } = program.tensors[tensor]!;
		if (size !== sizeOf(program, tensor)) return `tensor ${tensor} has another size`;
		if (kind === "constant" && bytesToHex(named!) !== root) return `constant ${tensor} is not that of the program`;
	}
	const inputs = given.filter(({ tensor }) => program.tensors[tensor]!.kind === "input");
	const hash = inputsHashOf(program, hexToBytes(seed, 32)!, rootBytes(inputs.map(({ root }) => root)));
	return bytesToHex(hash) === terms.inputs ? null : "the inputs are not those of the terms";
}

/** Null: the state before segment `first` folds to `start`, 64 hex digits. */
export function beginFault(
	program: Program,
	first: number,
	{ state, results }: { readonly state: readonly BlobName[]; readonly results: readonly BlobName[] },
	start: string,
): string | null {
	const roots = (all: readonly BlobName[]) => all.map(({ root }) => root);
	const folded = foldedState(program, first, roots(state), roots(results));
	if (folded === null || bytesToHex(folded) !== start)
		return "the state that it begins with is not the one that it must";
	const places = [...numbersOf(program, "state"), ...numbersOf(program, "result")];
	const isSized = [...state, ...results].every(({ size }, i) => size === sizeOf(program, places[i]!));
	return isSized ? null : "a tensor of the state that it begins with has another size";
}
