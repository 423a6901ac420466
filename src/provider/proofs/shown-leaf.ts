// One leaf of a tree of points with all that a contract needs to see that it is not that of the weights,
// docs/zk.md §11: the way down to it, the values as leaves of the state's tensors, and 128 powers of tau with
// their path.
import type { ContractLeaf, PostedNode } from "../../chain/contracts/zk-jobs.ts";
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { keccakLeaf, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import type { G1 } from "../../protocol/maths/bn254.ts";
import { leafBits, pointBytes } from "../../verify/zk/twin-tree.ts";
import { bytesOf, type Elements } from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import type { Program } from "../../work/program/shapes.ts";
import { numbered, rootsTree } from "../../work/trace/commitments.ts";
import { tensorRoot, tensorTree } from "../../work/trace/tensor-tree.ts";

/** Of a tensor's tree. */
const LEAF_BYTES = 1024;
const BEFORE = 2;
/** Powers that are made before others have their turn. */
const AT_ONCE = 64;

export interface StateWeights {
	readonly program: Program;
	readonly plan: ZkPlan;
	readonly weights: readonly Elements[];
}

/** Which element of which link stands at a place of the group; null: padding. */
function elementAt(plan: ZkPlan, place: number): { readonly link: number; readonly element: number } | null {
	const at = place + plan.groups[BEFORE]!.firstChunk * 2 ** plan.chunkBits;
	const block = plan.blocks.find((one) => one.column === "before" && at >= one.at && at < one.at + 2 ** one.bits);
	if (block === undefined) return null;
	const { inputs, inputBits, outputs } = plan.links[block.of]!;
	const [row, column] = [Math.floor((at - block.at) / 2 ** inputBits), (at - block.at) % 2 ** inputBits];
	return row < outputs && column < inputs ? { link: block.of, element: row * inputs + column } : null;
}

/** Every leaf of tensors that the places need, in their order, each once while it lasts. */
export function shownOf({ program, plan, weights }: StateWeights, first: number, count: number) {
	const states = rootsTree(numbered(program, "state", weights.map(tensorRoot)));
	const tensors = program.tensors.filter(({ kind }) => kind === "state");
	const shown: ContractLeaf["shown"][number][] = [];
	let last = "";
	for (let place = first; place < first + count; place++) {
		const found = elementAt(plan, place);
		if (found === null) continue;
		const leaf = Math.floor((found.element * bytesOf(tensors[found.link]!.type)) / LEAF_BYTES);
		if (last === `${found.link} ${leaf}`) continue;
		last = `${found.link} ${leaf}`;
		const tree = tensorTree(weights[found.link]!);
		shown.push({
			...{ leaf: toHex(tree.leaf(leaf)), path: tree.path(leaf).map(toHex) },
			rootPath: states.path(found.link).map(toHex),
		});
	}
	return shown;
}

/** `levels`: both nodes on each level on the way down to the leaf, as they were posted. */
export async function shownLeaf(
	of: StateWeights,
	{
		chunk,
		index,
		levels,
	}: {
		readonly chunk: number;
		readonly index: number;
		readonly levels: readonly (readonly [PostedNode, PostedNode])[];
	},
	power: (i: number) => G1,
): Promise<ContractLeaf> {
	const { chunkBits } = of.plan;
	const bits = leafBits(chunkBits);
	const all: Uint8Array[] = [];
	for (let i = 0; i < 2 ** chunkBits; i++) {
		all.push(pointBytes(power(i)));
		if (i % AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
	}
	const path = keccakTree(all.map(keccakLeaf)).path(index * 2 ** bits);
	return {
		...{ levels, index: BigInt(index), shown: shownOf(of, chunk * 2 ** chunkBits + index * 2 ** bits, 2 ** bits) },
		powers: toHex(concatBytes(...all.slice(index * 2 ** bits, (index + 1) * 2 ** bits))),
		powersPath: path.slice(bits).map(toHex),
	};
}
