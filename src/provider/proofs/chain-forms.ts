// What is said of proofs on chain, in the chain's form: orders, proven segments, trees of a state's weights.
// docs/zk.md §12. Not here: what they are made of.
import type { PostedNode, PostedTree, ZkOrder, ZkSegment } from "../../chain/contracts/zk-jobs.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { bigOf } from "../../protocol/maths/bn254.ts";
import type { SegmentStatement } from "../../verify/zk/statement.ts";
import { pointBytes, type TwinNode, twinTop } from "../../verify/zk/twin-tree.ts";
import type { Program } from "../../work/program/shapes.ts";
import { numbered, rootsTree } from "../../work/trace/commitments.ts";

/** keccak256 of commitments, as the chain keeps them. */
export const pointsHash = (points: readonly string[]): Hex => toHex(keccak(...points.map((one) => hexToBytes(one)!)));

/** From the statement of segment 1, whoever made it: its data and the weights that it begins with. */
export const orderOf = (first: SegmentStatement): ZkOrder => ({
	...{ plan: `0x${first.plan}`, features: `0x${first.features}`, labels: `0x${first.labels}` },
	...{ featurePoints: pointsHash(first.featurePoints), labelPoints: pointsHash(first.labelPoints) },
	startPoints: pointsHash(first.pointsBefore),
});

export function segmentOf(statement: SegmentStatement, proof: Uint8Array): ZkSegment {
	const { featurePoints, labelPoints, pointsBefore, pointsAfter } = statement;
	return {
		number: BigInt(statement.firstStep / statement.steps + 1),
		...{ stateBefore: `0x${statement.stateBefore}`, stateAfter: `0x${statement.stateAfter}` },
		...{ points: `0x${[featurePoints, labelPoints, pointsBefore, pointsAfter].flat().join("")}`, proof: toHex(proof) },
	};
}

export function nodeOf({ hash, point }: TwinNode): PostedNode {
	const bytes = pointBytes(point);
	return { hash: toHex(hash), x: bigOf(bytes.subarray(0, 32)), y: bigOf(bytes.subarray(32)) };
}

export interface StateAt {
	readonly job: bigint;
	readonly plan: Hex;
	/** S_segment, with the roots of all its tensors, in the program's order. */
	readonly segment: number;
	readonly roots: readonly Uint8Array[];
}

/** `levels`: weightTrees of that state. */
export const treeOf = (
	program: Program,
	{ job, plan, segment, roots }: StateAt,
	levels: readonly (readonly (readonly TwinNode[])[])[],
): PostedTree => ({
	...{ scope: job, plan, segment: BigInt(segment) },
	states: toHex(rootsTree(numbered(program, "state", roots)).root),
	tops: levels.map((one) => nodeOf(twinTop(one))),
});
