// Makes the parts of a fraud file that judge-fraud.ts reads: leaves of the program, the trace and the states,
// each with its path.
import { bytesToHex, concatBytes } from "../../../protocol/bytes/bytes.ts";
import { type KeccakTree, keccakLeaf, keccakTree } from "../../../protocol/hash/keccak-tree.ts";
import { encodeHead, encodeLeaves, encodeProgram } from "../../../work/program/encode.ts";
import type { Phase, Program, TensorKind } from "../../../work/program/shapes.ts";
import {
	claimHash,
	type JobClaim,
	numbered,
	rootsTree,
	segmentTree,
	type TraceLeaf,
} from "../../../work/trace/commitments.ts";
import type { Answers, StateRoots } from "../answers.ts";
import {
	type FaultShown,
	makeFraudFile,
	type OpShown,
	type RootShown,
	type StateShown,
	type TraceShown,
} from "./fraud-file.ts";

const hexes = (all: readonly Uint8Array[]): string[] => all.map(bytesToHex);

/** One program's leaves and trees. */
export class ProgramParts {
	readonly program: Program;
	private readonly leaves: ReturnType<typeof encodeLeaves>;
	private readonly tensorTree: KeccakTree;
	private readonly opTree: KeccakTree;

	constructor(program: Program) {
		this.program = program;
		this.leaves = encodeLeaves(program);
		this.tensorTree = keccakTree(this.leaves.tensors.map(keccakLeaf));
		this.opTree = keccakTree(this.leaves.ops.map(keccakLeaf));
	}

	op(phase: Phase, number: number): { readonly shown: OpShown; readonly leaf: Uint8Array } {
		const index = phase === "init" ? number : this.program.init.length + number;
		return { shown: { number, path: hexes(this.opTree.path(index)) }, leaf: this.leaves.ops[index]! };
	}

	tensor(number: number): { readonly path: string[]; readonly leaf: Uint8Array } {
		return { path: hexes(this.tensorTree.path(number)), leaf: this.leaves.tensors[number]! };
	}

	get bytes(): Uint8Array {
		return encodeProgram(this.program);
	}

	root(kind: TensorKind, roots: readonly Uint8Array[], tensor: number): RootShown {
		const all = numbered(this.program, kind, roots);
		const index = all.findIndex((one) => one.tensor === tensor);
		const path = hexes(rootsTree(all).path(index));
		return { tensor, root: bytesToHex(all[index]!.root), index, count: all.length, path };
	}

	tree(kind: TensorKind, roots: readonly Uint8Array[]): string {
		return bytesToHex(rootsTree(numbered(this.program, kind, roots)).root);
	}

	state({ claim, states }: Pick<Answers, "claim" | "states">, segment: number, roots: StateRoots): StateShown {
		const path = hexes(segmentTree(states).path(segment - claim.first));
		return { segment, states: this.tree("state", roots.state), results: this.tree("result", roots.results), path };
	}

	file(
		claim: JobClaim,
		segment: number,
		trace: Uint8Array | null,
		fault: FaultShown,
		attachments: readonly Uint8Array[],
	): Uint8Array {
		const { chainId, escrow, job, part, first, segments } = claim;
		const stated = {
			accused: bytesToHex(claimHash(claim)),
			claim: {
				...{ chainId: `${chainId}`, escrow: bytesToHex(escrow), job: `${job}`, part, first, segments },
				...{ program: bytesToHex(claim.program), inputs: bytesToHex(claim.inputs) },
				...{ segmentRoot: bytesToHex(claim.segmentRoot), resultRoot: bytesToHex(claim.resultRoot) },
			},
			program: {
				head: bytesToHex(encodeHead(this.program)),
				tensors: bytesToHex(this.tensorTree.root),
				ops: bytesToHex(this.opTree.root),
			},
			segment,
			trace: trace && bytesToHex(trace),
			fault,
			signed: null,
		};
		return makeFraudFile(
			stated,
			attachments.map((one) => concatBytes(one)),
		);
	}
}

export function traceShown({ step, op, inputs, output }: TraceLeaf, path: readonly Uint8Array[]): TraceShown {
	return { step, op, inputs: hexes(inputs), output: bytesToHex(output), path: hexes(path) };
}

export { hexes };
