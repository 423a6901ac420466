// A false claim of any size, before the chain: trees of which only the opened leaves and the nodes above them
// exist, all others are drawn. With it a whole game of questions and answers, each with what shows that it
// could be answered.
import { createHash } from "node:crypto";
import type { QuestionBasis } from "../../src/chain/contracts/dispute-games.ts";
import type { AccusedCase, WireFault } from "../../src/chain/contracts/disputes.ts";
import type { JobTerms } from "../../src/chain/contracts/job-escrow.ts";
import { concatBytes } from "../../src/protocol/bytes/bytes.ts";
import { type Hex, packed, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak, keccakLeaf, keccakNode } from "../../src/protocol/hash/keccak-tree.ts";
import { leafHash, nodeHash } from "../../src/protocol/hash/merkle.ts";
import { encodeOp, MAGIC } from "../../src/work/program/encode.ts";
import { programRootOf } from "../../src/work/program/open-program.ts";
import type { Op } from "../../src/work/program/shapes.ts";
import { stateHashFrom, traceLeafHash } from "../../src/work/trace/commitments.ts";

export const digest = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());
const DOWN = 4;

/** A tree over `count` leaves of which these are known. */
export class DrawnTree {
	readonly height: number;
	private readonly known = new Map<string, Uint8Array>();
	private readonly name: string;
	readonly count: number;
	private readonly leaves: ReadonlyMap<number, Uint8Array>;
	private readonly join: (left: Uint8Array, right: Uint8Array) => Uint8Array;

	constructor(name: string, count: number, leaves: ReadonlyMap<number, Uint8Array>, join = keccakNode) {
		[this.name, this.count, this.leaves, this.join] = [name, count, leaves, join];
		this.height = Math.ceil(Math.log2(count));
	}

	private width(height: number): number {
		return Math.ceil(this.count / 2 ** height);
	}

	node(height: number, index: number): Uint8Array {
		const key = `${height} ${index}`;
		const found = this.known.get(key) ?? this.make(height, index);
		this.known.set(key, found);
		return found;
	}

	private make(height: number, index: number): Uint8Array {
		const isOpened = [...this.leaves.keys()].some((leaf) => Math.floor(leaf / 2 ** height) === index);
		// Nodes that an answer shows are drawn; those between follow from them.
		const isShown = height === 0 || (this.height - height) % DOWN === 0;
		if (!isOpened && isShown) return digest(`${this.name} ${height} ${index}`);
		if (height === 0) return this.leaves.get(index)!;
		const left = this.node(height - 1, 2 * index);
		return 2 * index + 1 < this.width(height - 1) ? this.join(left, this.node(height - 1, 2 * index + 1)) : left;
	}

	get root(): Uint8Array {
		return this.node(this.height, 0);
	}

	/** What a question for the nodes under this one is answered with. */
	under(height: number, index: number): Uint8Array {
		const down = Math.min(height, DOWN);
		const [low, from] = [height - down, index * 2 ** down];
		const count = Math.min(2 ** down, this.width(low) - from);
		return concatBytes(...Array.from({ length: count }, (_, i) => this.node(low, from + i)));
	}

	/** From a node up. */
	path(index: number, height = 0): Uint8Array[] {
		const path: Uint8Array[] = [];
		for (let [at, level] = [index, height]; level < this.height; at >>= 1, level++)
			if ((at ^ 1) < this.width(level)) path.push(this.node(level, at ^ 1));
		return path;
	}
}

/** One question of the way down, what answers it, and what shows that it can be answered. */
export interface Round {
	readonly name: string;
	readonly question: Hex;
	readonly answer: Hex;
	readonly basis: QuestionBasis;
}

interface Size {
	readonly segments: number;
	readonly ops: number;
	readonly k: number;
	/** The claim's false segment, step, element. */
	readonly segment: number;
	readonly step: number;
	readonly element: number;
	readonly op: Op;
	readonly seed: Uint8Array;
	/** Opened leaves of the operands, and their number. */
	readonly operands: readonly { readonly bytes: Uint8Array; readonly index: number; readonly count: number }[];
	readonly outputLeaves: number;
	readonly transcript: Uint8Array;
}

const ZERO = toHex(new Uint8Array(32));
const NO_STATE = { states: ZERO, results: ZERO, path: [] };
const NO_ROOT = { tensor: 0, root: ZERO, index: 0, count: 0, path: [] };
const cut = (all: Uint8Array): Uint8Array[] =>
	Array.from({ length: all.length / 32 }, (_, i) => all.subarray(32 * i, 32 * (i + 1)));
const hexes = (all: readonly Uint8Array[]): Hex[] => all.map(toHex);

/** `isListWithheld`: the list of states is asked for, too. */
export function drawnClaim(size: Size, terms: JobTerms, isListWithheld: boolean) {
	const { segments, ops, k, segment, step, element, op, seed } = size;
	const number = ops - 2;
	const opLeaf = encodeOp(op, "step");
	const heads = [packed(1, 2), packed(k, 4), packed(3, 2), packed(1, 2), packed(ops, 2)];
	const head = concatBytes(MAGIC, ...heads);
	const opTree = new DrawnTree("op", ops + 1, new Map([[1 + number, keccakLeaf(opLeaf)]]));
	const inputs = size.operands.map(
		({ bytes, index, count }, i) => new DrawnTree(`input ${i}`, count, new Map([[index, leafHash(bytes)]]), nodeHash),
	);
	const [leafNumber, outputLeaf] = [Math.floor((element * 4) / 1024), new Uint8Array(1024).fill(7)];
	const output = new DrawnTree("output", size.outputLeaves, new Map([[leafNumber, leafHash(outputLeaf)]]), nodeHash);
	const traced = { step, op: number, inputs: inputs.map(({ root }) => root), output: output.root };
	const at = step * ops + number;
	const trace = new DrawnTree("trace", k * ops, new Map([[at, traceLeafHash(traced)]]));
	const [states, results] = [digest("states"), digest("results")];
	const last = stateHashFrom(segments, states, results);
	const start = digest("start");
	const list = new DrawnTree(
		"list",
		segments + 1,
		new Map([
			[0, start],
			[segment, digest("S")],
			[segments, last],
		]),
	);
	const tensors = digest("tensors");
	// The job's inputs are others than those that the trace read.
	const givenLeaves = [0, 1].map((i) => keccakLeaf(concatBytes(packed(i, 2), digest(`given ${i}`))));
	const inputTree = keccakNode(givenLeaves[0]!, givenLeaves[1]!);
	const madeTerms: JobTerms = {
		...terms,
		program: toHex(programRootOf(head, tensors, opTree.root)),
		inputs: toHex(keccak(Uint8Array.of(5), seed, inputTree)),
		seed: toHex(seed),
		start: toHex(start),
		segments: BigInt(segments),
	};
	const accused: AccusedCase = {
		...{ terms: madeTerms, part: 0, segmentRoot: toHex(list.root), resultRoot: toHex(results), last: toHex(last) },
		...{ head: toHex(head), tensors: toHex(tensors), ops: toHex(opTree.root), segment: BigInt(segment) },
		...{ trace: toHex(trace.root), traceSignature: "0x" },
	};
	const opShown = { number, leaf: toHex(opLeaf), path: hexes(opTree.path(1 + number)) };
	const leafShown = {
		...{ step, op: number, inputs: hexes(traced.inputs), output: toHex(output.root), path: hexes(trace.path(at)) },
	};
	const none: QuestionBasis = {
		op: { number: 0, leaf: "0x", path: [] },
		leaf: { step: 0, op: 0, inputs: [], output: toHex(new Uint8Array(32)), path: [] },
		...{ path: [], tensors: [] },
	};
	const place = concatBytes(packed(segment, 8), packed(step, 4), packed(number, 4));
	const question = (...parts: readonly Uint8Array[]) => toHex(concatBytes(Uint8Array.of(7), ...parts));
	/** As the asker has the nodes under this one: those that lead to the leaf are others. */
	const hint = (tree: DrawnTree, leaf: number, height: number) => {
		const low = Math.max(0, height - DOWN);
		const index = Math.floor(leaf / 2 ** height);
		const bytes = new Uint8Array(33);
		bytes[0] = 11;
		for (const [i, node] of cut(tree.under(height, index)).entries()) bytes.set(node.subarray(11, 13), 1 + 2 * i);
		bytes[1 + 2 * (Math.floor(leaf / 2 ** low) - index * 2 ** (height - low))]! ^= 1;
		return bytes;
	};
	/** Nodes under one above the leaf, and under the one of them above it; or the leaf's bytes. */
	const twice = (tree: DrawnTree, leaf: number, height: number, bytes: Uint8Array) => {
		const low = Math.max(0, height - DOWN);
		const next = low > 0 ? tree.under(low, Math.floor(leaf / 2 ** low)) : bytes;
		return concatBytes(tree.under(height, Math.floor(leaf / 2 ** height)), next);
	};
	const NO_BYTES = new Uint8Array(0);
	/** The way down a tree, from this height on. With bytes: to those of the leaf. */
	const down = (
		...[name, tree, kind, leaf, from, where, bytes]: [string, DrawnTree, number, number, number, Uint8Array, Uint8Array]
	) => {
		const rounds: Round[] = [];
		for (let height = from; height > 0; height -= 2 * DOWN) {
			const index = Math.floor(leaf / 2 ** height);
			const node = [packed(height, 1), packed(index, 8), packed(tree.count, 8), tree.node(height, index)];
			rounds.push({
				name: `${name} ${height}`,
				question: question(Uint8Array.of(3, kind), where, ...node, hint(tree, leaf, height)),
				answer: toHex(twice(tree, leaf, height, bytes)),
				basis: { ...none, path: hexes(tree.path(index, height)), ...(kind === 2 && { op: opShown, leaf: leafShown }) },
			});
		}
		return rounds;
	};
	const nowhere = concatBytes(packed(segment, 8), packed(0, 8));
	const rounds: Round[] = [
		...(isListWithheld ? down("list", list, 0, segment, list.height, nowhere, NO_BYTES) : []),
		{
			...{ name: "trace", basis: none, answer: toHex(twice(trace, at, trace.height, NO_BYTES)) },
			question: question(...[Uint8Array.of(0), packed(segment, 8), packed(k * ops, 8), hint(trace, at, trace.height)]),
		},
		...down("trace", trace, 1, at, trace.height - 2 * DOWN, nowhere, NO_BYTES),
		{
			name: "op",
			question: question(
				...[Uint8Array.of(4), place, packed(op.operands.length, 1), packed(size.outputLeaves, 8)],
				...[traceLeafHash(traced), hint(output, leafNumber, output.height)],
			),
			answer: toHex(concatBytes(...traced.inputs, twice(output, leafNumber, output.height, outputLeaf))),
			basis: { ...none, op: opShown, path: leafShown.path },
		},
		...down("tensor", output, 2, leafNumber, output.height - 2 * DOWN, place, outputLeaf),
		{
			name: "transcript",
			question: question(...[Uint8Array.of(1), place, packed(element, 8), packed(size.transcript.length / 8, 4)]),
			answer: toHex(size.transcript),
			basis: { ...none, op: opShown },
		},
	];
	/** It comes with the nodes above it, and can be asked for alone. */
	const leafRound: Round = {
		name: "leaf",
		question: question(
			...[Uint8Array.of(5), place, packed(leafNumber, 8), packed(size.outputLeaves, 8)],
			leafHash(outputLeaf),
		),
		answer: toHex(outputLeaf),
		basis: { ...none, op: opShown, leaf: leafShown, path: hexes(output.path(leafNumber)) },
	};
	return {
		accused,
		rounds,
		leafRound,
		/** Operand 0 is not the job's input. */
		wire: {
			...{ wire: 0, origin: 2, operand: 0, op: opShown, leaf: leafShown, inputs: toHex(inputTree) },
			...{ end: NO_STATE, start: NO_STATE, root: NO_ROOT, from: none.leaf, writer: none.op, said: 0, signature: "0x" },
			...{ tensor: { leaf: "0x", path: [] } },
			fromRoot: { tensor: 0, root: toHex(digest("given 0")), index: 0, count: 2, path: [toHex(givenLeaves[1]!)] },
		} satisfies WireFault,
		claim: {
			...{ segmentRoot: accused.segmentRoot, resultRoot: accused.resultRoot, first: toHex(start) },
			...{ firstPath: hexes(list.path(0)), lastStates: toHex(states), lastPath: hexes(list.path(segments)) },
			previous: toHex(new Uint8Array(32)),
		},
		fault: {
			...{ op: opShown, leaf: leafShown, inputs: toHex(inputTree) },
			words: { element: BigInt(element), turns: [], marked: 0, transcripts: [toHex(size.transcript)] },
			signatures: ["0x" as Hex],
			shown: {
				...{ kind: 2, place: 0, leaves: size.operands.map(({ bytes }) => toHex(bytes)) },
				paths: inputs.map((tree, i) => hexes(tree.path(size.operands[i]!.index))),
			},
		},
	};
}
