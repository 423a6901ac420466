// The trees of points under the commitments to a model's weights, docs/zk.md §12: what whoever posts them
// keeps, and what whoever holds the same weights compares. Some 0.1 ms a weight; whoever has other things to
// do has it done on a thread (provider/proofs/make-trees.ts).
import type { G1 } from "../../protocol/maths/bn254.ts";
import type { Elements } from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { leafBits, type TwinNode, twinLeaf, twinLevels } from "./twin-tree.ts";

const BEFORE = 2;

/** All values of the group, padded with zeros. `weights`: every state tensor, in the program's order. */
export function placedWeights(plan: ZkPlan, weights: readonly Elements[]): bigint[] {
	const { firstChunk, chunks } = plan.groups[BEFORE]!;
	const start = firstChunk * 2 ** plan.chunkBits;
	const values = new Array<bigint>(chunks * 2 ** plan.chunkBits).fill(0n);
	for (const { of, at, column } of plan.blocks) {
		if (column !== "before") continue;
		const { inputs, inputBits } = plan.links[of]!;
		for (const [i, value] of weights[of]!.entries())
			values[at - start + Math.floor(i / inputs) * 2 ** inputBits + (i % inputs)] = BigInt(value);
	}
	return values;
}

/** By commitments. */
export function weightChunks(plan: ZkPlan, weights: readonly Elements[]): readonly (readonly bigint[])[] {
	const values = placedWeights(plan, weights);
	const size = 2 ** plan.chunkBits;
	return Array.from({ length: values.length / size }, (_, k) => values.slice(k * size, (k + 1) * size));
}

/** Places of all weights, padding included. They are the first of their group. */
export const weightPlaces = ({ links }: ZkPlan): number =>
	links.reduce((sum, { inputBits, outputBits }) => sum + 2 ** (inputBits + outputBits), 0);

/**
 * For each commitment all nodes of its tree, the leaves first. `power`: [τ^i], for i below 2^chunkBits; asked
 * for where values are not zero.
 */
export function weightTrees(plan: ZkPlan, weights: readonly Elements[], power: (i: number) => G1): TwinNode[][][] {
	const values = placedWeights(plan, weights);
	const [size, each] = [2 ** plan.chunkBits, 2 ** leafBits(plan.chunkBits)];
	return Array.from({ length: values.length / size }, (_, chunk) =>
		twinLevels(
			Array.from({ length: size / each }, (_, leaf) => {
				const from = leaf * each;
				const own = values.slice(chunk * size + from, chunk * size + from + each);
				// Of zeros, which most of the padding is, no power is needed.
				if (own.every((value) => value === 0n)) return twinLeaf([], []);
				return twinLeaf(
					own,
					own.map((_, i) => power(from + i)),
				);
			}),
		),
	);
}
