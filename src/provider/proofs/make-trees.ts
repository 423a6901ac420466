// The trees of points of a state's weights (verify/zk/weight-trees.ts), and what shows that commitments are
// bare (verify/zk/hybrid/bare.ts), on a thread of their own: a model of a million weights takes minutes, and
// this thread answers validators and chains.
import { startThread, threadFile } from "../../platform/thread-file.ts";
import { bigOf, knownG1 } from "../../protocol/maths/bn254.ts";
import { type BareSums, bareProof } from "../../verify/zk/hybrid/bare.ts";
import { type ProverPowers, powerOf } from "../../verify/zk/srs.ts";
import { pointBytes, type TwinNode } from "../../verify/zk/twin-tree.ts";
import { weightTrees } from "../../verify/zk/weight-trees.ts";
import type { Elements } from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";

export interface TreesWish {
	readonly plan: ZkPlan;
	/** Every state tensor, in the program's order. */
	readonly weights: readonly Elements[];
	readonly powers: ProverPowers;
}

/** For each commitment all nodes of its tree, the leaves first. */
export type Trees = readonly (readonly (readonly TwinNode[])[])[];

/** Fewer weights are done here: a thread takes longer to start. */
const FEW = 2048;
const [HASH, POINT] = [32, 64];
const NODE = HASH + POINT;

/** Nodes of each level as bytes, of each tree. */
export function treesAsBytes({ plan, weights, powers }: TreesWish): Uint8Array[][] {
	return weightTrees(plan, weights, powerOf(powers)).map((levels) =>
		levels.map((nodes) => {
			const bytes = new Uint8Array(NODE * nodes.length);
			for (const [i, { hash, point }] of nodes.entries()) {
				bytes.set(hash, NODE * i);
				bytes.set(pointBytes(point), NODE * i + HASH);
			}
			return bytes;
		}),
	);
}

function nodesOf(bytes: Uint8Array): TwinNode[] {
	return Array.from({ length: bytes.length / NODE }, (_, i) => {
		const node = bytes.slice(NODE * i, NODE * (i + 1));
		const [x, y] = [node.subarray(HASH, HASH + 32), node.subarray(HASH + 32)].map(bigOf) as [bigint, bigint];
		return { hash: node.subarray(0, HASH), point: knownG1(x, y) };
	});
}

/** What the thread is told. */
export type ThreadWish = { readonly trees: TreesWish } | { readonly bare: BareSums };

function madeApart<Made>(file: URL, wish: ThreadWish): Promise<Made> {
	const worker = startThread(file, { workerData: wish });
	return new Promise((resolve, reject) => {
		worker.once("message", resolve);
		worker.once("error", reject);
		worker.once("exit", () => reject(new Error("the thread that sums points ended without an answer")));
	});
}

export async function makeTrees(wish: TreesWish): Promise<Trees> {
	const count = wish.weights.reduce((sum, one) => sum + one.length, 0);
	const file = count <= FEW ? null : threadFile("trees-thread", import.meta.url);
	if (file === null) return weightTrees(wish.plan, wish.weights, powerOf(wish.powers));
	return (await madeApart<Uint8Array[][]>(file, { trees: wish })).map((levels) => levels.map(nodesOf));
}

/** `few`: numbers that are done here. */
export async function makeBare(sums: BareSums, few = FEW): Promise<Uint8Array> {
	// Of a known τ there is nothing to sum.
	const isQuick = sums.powers.points === null || sums.count <= few;
	const file = isQuick ? null : threadFile("trees-thread", import.meta.url);
	return file === null ? bareProof(sums) : madeApart(file, { bare: sums });
}
