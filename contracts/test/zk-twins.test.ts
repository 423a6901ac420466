// The judge of trees of points (contracts/src/zk/TwinJudge.sol) beside src/verify/zk/twin-tree.ts: no way
// down an honest tree convicts it, whatever is shown; a wrong sum and a wrong leaf each do, at the place that
// the search finds; and what a leaf of 128 weights costs in gas.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import { twinJudgeCode } from "../../src/chain/abi/creation-code.ts";
import { twinJudgeAbi } from "../../src/chain/abi/twin-judge-abi.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { keccakLeaf, keccakNode, keccakTree } from "../../src/protocol/hash/keccak-tree.ts";
import { type G1, G1_ONE, times } from "../../src/protocol/maths/bn254.ts";
import {
	leafBits,
	pointBytes,
	type TwinNode,
	type TwinPair,
	twinLeaf,
	twinLevels,
	twinTop,
	twinWay,
} from "../../src/verify/zk/twin-tree.ts";
import { exactMlpProgram } from "../../src/work/models/exact-mlp.ts";
import type { Elements } from "../../src/work/operators/tensor-type.ts";
import { planOf, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { rootsTree, stateHashFrom } from "../../src/work/trace/commitments.ts";
import { tensorTree } from "../../src/work/trace/tensor-tree.ts";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import { DEV_TAU, mod } from "../../vectors/naive-bn254.ts";
import { numbers } from "../../vectors/rows.ts";
import { checkGas } from "./gas.test-kit.ts";
import { type BareChain, openBareChain } from "./network.test-kit.ts";

let chain: BareChain;
let judge: Hex;

before(async () => {
	chain = await openBareChain();
	judge = await chain.put(twinJudgeCode);
});
after(() => chain.close());

/** Whether it convicts; null: nothing is shown. */
async function judged(functionName: "isSumFalse" | "isLeafFalse", data: Hex): Promise<boolean | null> {
	try {
		const found = (await chain.client.rpc("eth_call", [{ to: judge, data, gas: "0x989680" }, "latest"])) as Hex;
		return decodeFunctionResult({ abi: twinJudgeAbi, functionName, data: found });
	} catch (error) {
		// Reverted with one of its errors.
		const given = error instanceof RpcRefusal ? (error.data as { readonly data?: string } | string | null) : null;
		const bytes = typeof given === "string" ? given : given?.data;
		if (bytes === undefined || bytes.length !== 10) throw error;
		return null;
	}
}

const hex = (bytes: Uint8Array): Hex => `0x${bytesToHex(bytes)}`;
const word = (bytes: Uint8Array): bigint => BigInt(hex(bytes));
const nodeOf = ({ hash, point }: TwinNode) => {
	const bytes = pointBytes(point);
	return {
		hash: hash.length === 0 ? hex(new Uint8Array(32)) : hex(hash),
		x: word(bytes.subarray(0, 32)),
		y: word(bytes.subarray(32)),
	};
};
const pairOf = ([left, right]: TwinPair) => [nodeOf(left), nodeOf(right)] as const;

const CHUNK_BITS = 8;
const SIZES = [5, 9, 3];
const SEGMENT = 4;
const GROUPS = ["features", "labels", "before", "after"] as const;
const powers: readonly G1[] = Array.from({ length: 2 ** CHUNK_BITS }).reduce<{ list: G1[]; tau: bigint }>(
	({ list, tau }) => ({ list: [...list, times(G1_ONE, tau)], tau: mod(tau * DEV_TAU) }),
	{ list: [], tau: 1n },
).list;
const powersTree = keccakTree(powers.map((one) => keccakLeaf(pointBytes(one))));

interface Held {
	readonly plan: ZkPlan;
	readonly features: Int16Array;
	readonly labels: Int16Array;
	readonly weights: readonly Int32Array[];
}

function heldOf(label: string): Held {
	const draw = numbers(label);
	const widths = { h: 12, d: 14, activation: 8, gradient: 12, limbs: [11, 10, 10] } as const;
	const mlp = { sizes: SIZES, batch: 2, steps: 2, rows: 64, epochs: 2, scale: 27, weightBits: 32 } as const;
	return {
		plan: planOf(mlp, "00".repeat(32), widths, CHUNK_BITS),
		features: Int16Array.from({ length: 64 * SIZES[0]! }, () => draw(65_535) - 32_767),
		labels: Int16Array.from({ length: 64 }, () => draw(3)),
		weights: SIZES.slice(1).map((n, l) => Int32Array.from({ length: n * SIZES[l]! }, () => draw(2 ** 31) - 2 ** 30)),
	};
}

/** Tensor and element at each place of a group, and the value there; null: padding. */
function placesOf({ plan, features, labels, weights }: Held, group: number) {
	const size = 2 ** plan.groups[group]!.bits;
	const places = new Array<{ link: number; element: number; value: bigint } | null>(size).fill(null);
	const { inputs, inputBits } = plan.links[0]!;
	const { outputs, outputBits } = plan.links.at(-1)!;
	const entering = enteringOf(plan, features);
	if (group === 0)
		for (const [e, value] of entering.entries())
			places[Math.floor(e / inputs) * 2 ** inputBits + (e % inputs)] = { link: 0, element: e, value: BigInt(value) };
	if (group === 1)
		for (const [row, label] of labels.entries())
			for (let c = 0; c < outputs; c++)
				places[row * 2 ** outputBits + c] = { link: 0, element: row, value: c === label ? 256n : 0n };
	if (group > 1) {
		const start = plan.groups[group]!.firstChunk * 2 ** plan.chunkBits;
		for (const { of, at } of plan.blocks.filter(({ column }) => column === GROUPS[group])) {
			const link = plan.links[of]!;
			for (const [e, value] of weights[of]!.entries())
				places[at - start + Math.floor(e / link.inputs) * 2 ** link.inputBits + (e % link.inputs)] = {
					...{ link: of, element: e, value: BigInt(value) },
				};
		}
	}
	return places;
}

function honestTree(held: Held, group: number, chunk: number): TwinNode[][] {
	const bits = leafBits(CHUNK_BITS);
	const places = placesOf(held, group).slice(chunk * 2 ** CHUNK_BITS, (chunk + 1) * 2 ** CHUNK_BITS);
	const leaves = Array.from({ length: 2 ** (CHUNK_BITS - bits) }, (_, i) => {
		const own = places.slice(i * 2 ** bits, (i + 1) * 2 ** bits);
		return twinLeaf(
			own.map((one) => one?.value ?? 0n),
			powers.slice(i * 2 ** bits, (i + 1) * 2 ** bits),
		);
	});
	return twinLevels(leaves);
}

const statesOf = ({ weights }: Held) =>
	rootsTree(weights.map((one, l) => ({ tensor: 3 + l, root: tensorTree(one).root })));

function subjectOf(held: Held, group: number, chunk: number) {
	const states = statesOf(held).root;
	const roots = [tensorTree(held.features).root, tensorTree(held.labels).root];
	return {
		sizes: {
			...{ rowBits: 6n, h: 12n, activation: 8n, labelSize: 2n, weightSize: 4n },
			layers: SIZES.map(BigInt),
		},
		...{ group, root: hex(roots[group] ?? stateHashFrom(SEGMENT, states, new Uint8Array(32))) },
		...{ segment: BigInt(SEGMENT), states: hex(states), chunkBits: BigInt(CHUNK_BITS), chunk: BigInt(chunk) },
		powers: hex(powersTree.root),
	};
}

/** Every leaf of tensors that 128 places need, in their order, each once while it lasts. */
function shownOf(held: Held, group: number, first: number, count: number) {
	const elements: readonly Elements[] = [[held.features], [held.labels], held.weights, held.weights][group]!;
	const perLeaf = group > 1 ? 256 : 512;
	const shown: { leaf: Hex; path: Hex[]; rootPath: Hex[] }[] = [];
	let last = "";
	for (const one of placesOf(held, group).slice(first, first + count)) {
		if (one === null) continue;
		const leaf = Math.floor(one.element / perLeaf);
		if (last === `${one.link} ${leaf}`) continue;
		last = `${one.link} ${leaf}`;
		const tree = tensorTree(elements[one.link]!);
		const rootPath = group > 1 ? statesOf(held).path(one.link).map(hex) : [];
		shown.push({ leaf: hex(tree.leaf(leaf)), path: tree.path(leaf).map(hex), rootPath });
	}
	return shown;
}

function leafCall(held: Held, group: number, chunk: number, tree: readonly (readonly TwinNode[])[], index: number) {
	const bits = leafBits(CHUNK_BITS);
	const own = powers.slice(index * 2 ** bits, (index + 1) * 2 ** bits);
	// The path of 128 powers begins above them.
	const path = powersTree.path(index * 2 ** bits).slice(bits);
	const leaf = {
		levels: twinWay(tree, 0, index).map(pairOf),
		index: BigInt(index),
		shown: shownOf(held, group, chunk * 2 ** CHUNK_BITS + index * 2 ** bits, 2 ** bits),
		powers: hex(Buffer.concat(own.map(pointBytes))),
		powersPath: path.map(hex),
	};
	return { subject: subjectOf(held, group, chunk), top: nodeOf(twinTop(tree)), leaf };
}

const encodeLeaf = ({ subject, top, leaf }: ReturnType<typeof leafCall>): Hex =>
	encodeFunctionData({ abi: twinJudgeAbi, functionName: "isLeafFalse", args: [subject, top, leaf] as never });
const encodeSum = (tree: readonly (readonly TwinNode[])[], level: number, place: number): Hex => {
	const way = twinWay(tree, level - 1, 2 * place).map(pairOf);
	return encodeFunctionData({
		...{ abi: twinJudgeAbi, functionName: "isSumFalse" },
		args: [nodeOf(twinTop(tree)), way, BigInt(place)] as never,
	});
};

const HELD = heldOf("twins");
const chunksOf = (group: number) => HELD.plan.groups[group]!.chunks;

test("weights are the program's tensors from number 3 on", () => {
	const schedule = { batch: 2, steps: 32, k: 2, seed: new Uint8Array(32), order: "cube" } as const;
	const { features, labels } = HELD;
	const { program } = exactMlpProgram(SIZES, schedule, 7, { features, labels });
	assert.deepEqual(
		program.tensors.flatMap(({ kind, name }, i) => (kind === "state" ? [`${i} ${name}`] : [])),
		["3 layer0.weight", "4 layer1.weight"],
	);
});

test("no way down an honest tree convicts it, whatever is shown", async () => {
	for (let group = 0; group < 4; group++) {
		const tree = honestTree(HELD, group, 0);
		for (const index of [0, 1])
			assert.equal(await judged("isLeafFalse", encodeLeaf(leafCall(HELD, group, 0, tree, index))), false);
		assert.equal(await judged("isSumFalse", encodeSum(tree, 1, 0)), false);
	}
	const other = heldOf("other bytes");
	await fc.assert(
		fc.asyncProperty(fc.nat(3), fc.nat(1), fc.nat(8), fc.nat(2 ** 20), async (group, index, how, at) => {
			const chunk = at % chunksOf(group);
			const tree = honestTree(HELD, group, chunk);
			const call = leafCall(HELD, group, chunk, tree, index);
			const { leaf, subject } = call;
			const wrong = leafCall(other, group, chunk, honestTree(other, group, chunk), index);
			if (how === 1) leaf.shown = wrong.leaf.shown;
			if (how === 2) leaf.powers = `0x${leaf.powers.slice(2, -2)}00`;
			if (how === 3) leaf.index = BigInt(1 - index);
			if (how === 4) leaf.levels = wrong.leaf.levels;
			if (how === 5) leaf.shown = leaf.shown.slice(1);
			if (how === 6) leaf.shown = [...leaf.shown, ...leaf.shown];
			if (how === 7) subject.segment += 1n;
			if (how === 8) leaf.powers = hex(Buffer.concat(powers.slice(0, 128).toReversed().map(pointBytes)));
			assert.notEqual(await judged("isLeafFalse", encodeLeaf(call)), true);
		}),
		{ numRuns: scaled(12) },
	);
});

test("a wrong leaf and a wrong sum each convict, where they are", async () => {
	for (let group = 0; group < 4; group++) {
		const honest = honestTree(HELD, group, 0);
		const leaves = honest[0]!.map(({ point }) => point);
		const falseLeaf = twinLevels(leaves.with(1, leaves[1]!.add(G1_ONE)));
		assert.equal(await judged("isLeafFalse", encodeLeaf(leafCall(HELD, group, 0, falseLeaf, 1))), true);
		assert.equal(await judged("isLeafFalse", encodeLeaf(leafCall(HELD, group, 0, falseLeaf, 0))), false);
		const falseSum = twinLevels(leaves, (_, __, sum) => sum.add(G1_ONE));
		assert.equal(await judged("isSumFalse", encodeSum(falseSum, 1, 0)), true);
	}
});

test("a leaf of 128 weights of 1,024 inputs in a commitment of 2^24 costs less than 1.5 M gas", async () => {
	const draw = numbers("a large tensor");
	const depth = 17;
	const weights = Int32Array.from({ length: 1024 * 4 }, () => draw(2 ** 31) - 2 ** 30);
	const tree = tensorTree(weights);
	const states = rootsTree([{ tensor: 3, root: tree.root }]).root;
	const values = [...weights.subarray(0, 128)].map(BigInt);
	// Nodes beside the way are anybody's.
	const beside = (i: number): TwinNode => ({ hash: keccakLeaf(Uint8Array.of(i)), point: times(G1_ONE, BigInt(i + 2)) });
	let node: TwinNode = { hash: new Uint8Array(32), point: twinLeaf(values, powers).add(G1_ONE) };
	let root = keccakTree(powers.slice(0, 128).map((one) => keccakLeaf(pointBytes(one)))).root;
	const levels: TwinPair[] = [];
	const path: Hex[] = [];
	for (let i = 0; i < depth; i++) {
		const pair = twinLevels([node.point, beside(i).point]);
		const both: TwinPair = [node, beside(i)];
		levels.unshift(both);
		const bytes = both.flatMap(({ hash, point }) => [hash, pointBytes(point)]);
		node = { hash: keccakLeafOf(bytes), point: pair[1]![0]!.point };
		path.push(hex(beside(i).hash));
		root = keccakNode(root, beside(i).hash);
	}
	const subject = {
		sizes: { rowBits: 16n, h: 12n, activation: 8n, labelSize: 2n, weightSize: 4n, layers: [1024n, 4n] },
		...{ group: 2, root: hex(stateHashFrom(1, states, new Uint8Array(32))), segment: 1n, states: hex(states) },
		...{ chunkBits: 24n, chunk: 0n, powers: hex(root) },
	};
	const shown = [{ leaf: hex(tree.leaf(0)), path: tree.path(0).map(hex), rootPath: [] }];
	const bytes = hex(Buffer.concat(powers.slice(0, 128).map(pointBytes)));
	const leaf = { levels: levels.map(pairOf), index: 0n, shown, powers: bytes, powersPath: path };
	const data = encodeLeaf({ subject, top: nodeOf(node), leaf } as never);
	assert.equal(await judged("isLeafFalse", data), true);
	const { gasUsed } = await chain.send({ to: judge, data });
	const sum = encodeFunctionData({
		...{ abi: twinJudgeAbi, functionName: "isSumFalse" },
		args: [nodeOf({ ...node, point: node.point.add(G1_ONE) }), levels.slice(0, 1).map(pairOf), 0n] as never,
	});
	assert.equal(await judged("isSumFalse", sum), true);
	const { gasUsed: sumGas } = await chain.send({ to: judge, data: sum });
	checkGas("twins", { twinLeaf: Number(gasUsed), twinSum: Number(sumGas) });
	assert.ok(gasUsed < 1_500_000n);
});

/** The hash of two nodes. */
const keccakLeafOf = (parts: readonly Uint8Array[]): Uint8Array => {
	const joined = Buffer.concat(parts);
	return keccakNode(joined.subarray(0, 96), joined.subarray(96));
};
