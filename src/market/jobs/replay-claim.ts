// A part of a job run again with the plain operators, segment by segment, beside what was claimed: slow,
// exact, and nobody's word but one's own. Nothing that is handed over is believed: program, inputs, list of
// states and beginning must be those of the claim. Pure; for browsers. An engine does the same in own-run.ts.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { bytesToElements, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import { type ProgramCost, programCost } from "../../work/program/program-cost.ts";
import { createMachine } from "../../work/program/run-program.ts";
import type { TensorKind } from "../../work/program/shapes.ts";
import { claimHash, segmentTree } from "../../work/trace/commitments.ts";
import { machineInputs, machineState } from "../../work/trace/run-trace.ts";
import { claimOfTerms } from "./claim-of-terms.ts";

export interface ReplayOf extends Omit<Parameters<typeof claimOfTerms>[0], "terms"> {
	readonly terms: Parameters<typeof claimOfTerms>[0]["terms"];
	readonly part: number;
	readonly claim: { readonly hash: string; readonly segmentRoot: string; readonly resultRoot: string };
	readonly seed: string;
	/** S before the first segment and after each, 32 bytes each. */
	readonly states: Uint8Array;
	readonly program: Uint8Array;
	/** Constants and inputs, by the tensor's number. */
	readonly given: ReadonlyMap<number, Uint8Array>;
	/** State and result tensors before the part, in the program's order; null: zeros. */
	readonly begin: { readonly state: readonly Uint8Array[]; readonly results: readonly Uint8Array[] } | null;
}

export interface ReplayedSegment {
	readonly segment: number;
	/** S after it: as claimed, and as it was found. */
	readonly said: string;
	readonly found: string;
}

export interface Replay {
	/** First segment of the part, how many it has, and what a step of them costs. */
	readonly first: number;
	readonly segments: number;
	readonly k: number;
	readonly cost: ProgramCost;
	/** Runs the next segment. Null: the part is over. */
	next(): ReplayedSegment | null;
}

function mustBe(isRight: boolean, why: string): void {
	if (!isRight)
		throw new AssayError("CLAIM_ROOT", `this is not what was claimed: ${why}`, { hint: codes.CLAIM_ROOT.hint });
}

/** S of the claim's list, held against its root and the claim's hash. Throws CLAIM_ROOT. */
export function statesOfClaim(
	of: Pick<ReplayOf, "id" | "terms" | "escrow" | "part" | "claim" | "states">,
): Uint8Array[] {
	const claim = claimOfTerms(of, of.part, of.claim);
	mustBe(bytesToHex(claimHash(claim)) === of.claim.hash, "the hash of its fields");
	mustBe(of.states.length === 32 * (claim.segments + 1), "the length of its list of states");
	const states = Array.from({ length: claim.segments + 1 }, (_, i) => of.states.slice(32 * i, 32 * (i + 1)));
	mustBe(bytesToHex(segmentTree(states).root) === of.claim.segmentRoot, "the root of its list of states");
	return states;
}

/** Throws CLAIM_ROOT, PROGRAM_…, TENSOR_…. */
export function openReplay(of: ReplayOf): Replay {
	const states = statesOfClaim(of);
	const { first, segments } = claimOfTerms(of, of.part, of.claim);
	const checked = orThrow(openProgram(of.program));
	const { program } = checked;
	mustBe(bytesToHex(programRoot(program)) === of.terms.program, "the program");
	const elementsOf = (tensor: number, bytes: Uint8Array | undefined): Elements => {
		const { type, dims, name } = program.tensors[tensor]!;
		const elements = bytes === undefined ? null : bytesToElements(bytes, type, elementCount(dims));
		if (elements === null) throw new AssayError("TENSOR_SIZE", `${name} is not there, or of another size`);
		return elements;
	};
	const numbers = (...kinds: readonly TensorKind[]) =>
		program.tensors.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));
	const given = numbers("constant", "input").map((i) => [program.tensors[i]!.name, elementsOf(i, of.given.get(i))]);
	const machine = createMachine(
		checked,
		hexToBytes(of.seed, 32)!,
		Object.fromEntries(given) as Record<string, Elements>,
	);
	mustBe(bytesToHex(machineInputs(machine)) === of.terms.inputs, "the inputs");
	if (of.begin !== null) {
		const { state, results } = of.begin;
		const held = [
			...numbers("state").map((i, n) => [i, state[n]] as const),
			...numbers("result").map((i, n) => [i, results[n]] as const),
		];
		machine.restore(first, new Map(held.map(([i, bytes]) => [i, elementsOf(i, bytes)])));
	}
	mustBe(machine.next === first && equalBytes(machineState(machine), states[0]!), "the state that it begins with");
	return {
		...{ first, segments, k: program.k, cost: programCost(program) },
		next() {
			const segment = machine.next;
			const said = states[segment - first + 1];
			if (said === undefined) return null;
			machine.runSegment();
			return { segment, said: bytesToHex(said), found: bytesToHex(machineState(machine)) };
		},
	};
}
