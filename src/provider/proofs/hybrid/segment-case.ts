// A segment of a claim as `proveSegment` wants it shown: the claim, its program, and S before and after the
// segment with their paths. docs/chain.md §12.
import type { AccusedCase } from "../../../chain/contracts/disputes.ts";
import type { JobTerms } from "../../../chain/contracts/job-escrow.ts";
import type { ListedStates } from "../../../chain/contracts/segment-proofs.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { keccakLeaf, keccakTree } from "../../../protocol/hash/keccak-tree.ts";
import { encodeHead, encodeLeaves } from "../../../work/program/encode.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { segmentTree } from "../../../work/trace/commitments.ts";

const leavesRoot = (leaves: readonly Uint8Array[]): Hex => toHex(keccakTree(leaves.map(keccakLeaf)).root);

/** `states`: S of every segment of a claim of the whole job, and that of its end. */
export function segmentCase(
	of: {
		readonly terms: JobTerms;
		readonly program: Program;
		readonly resultRoot: Uint8Array;
		readonly states: readonly Uint8Array[];
	},
	segment: number,
): { readonly accused: AccusedCase; readonly listed: ListedStates } {
	const { terms, program, resultRoot, states } = of;
	const tree = segmentTree(states);
	const { tensors, ops } = encodeLeaves(program);
	return {
		accused: {
			...{ terms, part: 0, segmentRoot: toHex(tree.root), resultRoot: toHex(resultRoot), last: toHex(states.at(-1)!) },
			...{ head: toHex(encodeHead(program)), tensors: leavesRoot(tensors), ops: leavesRoot(ops) },
			...{ segment: BigInt(segment), trace: toHex(new Uint8Array(32)), traceSignature: "0x" },
		},
		listed: {
			states: [toHex(states[segment]!), toHex(states[segment + 1]!)],
			paths: [tree.path(segment).map(toHex), tree.path(segment + 1).map(toHex)],
		},
	};
}
