// What can be asked about a claim, docs/jobs.md §6, and how answers are held against what was committed to.
// Who answers may be a folder and an engine, or somebody far away; an answer that does not fit is none.
import type { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { merkleLevels, nodeHash } from "../../protocol/hash/merkle.ts";
import type { OpPlace } from "../../protocol/network/chain-question.ts";
import type { Phase, Program } from "../../work/program/shapes.ts";
import { type JobClaim, type TraceLeaf, traceLeafHash } from "../../work/trace/commitments.ts";
import type { ShownLeaf } from "../../work/trace/judge.ts";
import type { Transcript } from "../../work/trace/transcript.ts";

export type { OpPlace };

export interface StateRoots {
	/** In the program's order. */
	readonly state: readonly Uint8Array[];
	readonly results: readonly Uint8Array[];
}

/** Levels of a tree that one answer goes down. */
export const LEVELS = 4;

export interface Answers {
	readonly claim: JobClaim;
	/** S_first … S_{first + segments}; they lead to the claim's segment root. */
	readonly states: readonly Uint8Array[];
	/** What S_segment commits to. */
	stateRoots(segment: number): Promise<StateRoots>;
	traceRoot(segment: number): Promise<Uint8Array>;
	/** The up to 16 nodes that lie four levels below one (or on level 0, that of the leaf hashes). */
	traceNodes(segment: number, level: number, index: number): Promise<readonly Uint8Array[]>;
	traceLeaf(place: OpPlace): Promise<TraceLeaf>;
	/** The same of the tree of what the op gives. */
	outputNodes(place: OpPlace, level: number, index: number): Promise<readonly Uint8Array[]>;
	/** Of what the op gives; of the accuser's own run also of what it reads. */
	leaf(place: OpPlace, of: number | "output", leaf: number): Promise<ShownLeaf>;
	/** Of an element; with a path, of that span of its turns. */
	transcript(place: OpPlace, element: number, path: readonly number[]): Promise<Transcript>;
	/** Number of the op of the segment's phase that writes a tensor; NO_WRITER: none. */
	writer(segment: number, tensor: number): Promise<number>;
}

/** What is said where no op writes a tensor. */
export const NO_WRITER = 0xffff_ffff;

export function noAnswer(what: string): AssayError {
	return codedError("NO_ANSWER", what);
}

/** Levels of a tree above its leaves. */
export const depthOf = (count: number): number => Math.ceil(Math.log2(Math.max(1, count)));

export const phaseOf = (segment: number): Phase => (segment === 0 ? "init" : "step");
export const stepsOf = ({ k }: Program, segment: number): number => (segment === 0 ? 1 : k);

/** Where nodes of a tree come from: the up to 16 that lie four levels below one, or on level 0. */
type BringNodes = (level: number, index: number) => Promise<readonly Uint8Array[]>;

/** A tree of the accused's, as far as it was asked for; everything in it leads to its root. */
export class AskedTree {
	readonly root: Uint8Array;
	private readonly name: string;
	private readonly bring: BringNodes;
	private readonly hash: typeof nodeHash;
	private readonly depth: number;
	private readonly count: number;
	private readonly known = new Map<string, Uint8Array>();

	constructor(name: string, root: Uint8Array, count: number, bring: BringNodes, hash: typeof nodeHash) {
		this.name = name;
		this.root = root;
		this.count = count;
		this.bring = bring;
		this.hash = hash;
		this.depth = depthOf(count);
		this.known.set(`${this.depth}:0`, root);
	}

	/** Nodes that stand below one that is known, some levels down. */
	async below(level: number, index: number): Promise<readonly Uint8Array[]> {
		const down = Math.min(LEVELS, level);
		const children = await this.bring(level, index);
		const first = index * 2 ** down;
		const wanted = nodesBelow(this.count, level, index);
		if (children.length !== wanted || children.some((one) => one.length !== 32))
			throw noAnswer(`${children.length} nodes of ${this.name} came where there are ${wanted}`);
		const levels = merkleLevels(children, this.hash);
		if (!equalBytes(levels.at(-1)![0]!, this.known.get(`${level}:${index}`)!))
			throw noAnswer(`nodes of ${this.name} do not lead to the one above them`);
		for (const [up, nodes] of levels.entries())
			for (const [i, node] of nodes.entries()) this.known.set(`${level - down + up}:${(first >> up) + i}`, node);
		return children;
	}

	/** The first leaf whose hash is another one than in `own`, a tree of the same size. */
	async firstOther(own: AskedTree): Promise<number> {
		let [level, index] = [this.depth, 0];
		while (level > 0) {
			const children = await this.below(level, index);
			const mine = await own.below(level, index);
			const down = Math.min(LEVELS, level);
			const other = children.findIndex((node, i) => !equalBytes(node, mine[i]!));
			if (other < 0) throw noAnswer(`${this.name} differs nowhere`);
			[level, index] = [level - down, index * 2 ** down + other];
		}
		return index;
	}

	/** From a leaf to the root. */
	path(index: number): Promise<Uint8Array[]> {
		return this.pathFrom(0, index);
	}

	/** From any node to the root. */
	async pathFrom(from: number, index: number): Promise<Uint8Array[]> {
		const path: Uint8Array[] = [];
		await this.node(from, index);
		for (let level = from, at = index; level < this.depth; level++, at >>= 1) {
			const sibling = this.known.get(`${level}:${at ^ 1}`);
			if (sibling !== undefined) path.push(sibling);
		}
		return path;
	}

	/** Any node; level 0: a leaf's hash. */
	async node(level: number, index: number): Promise<Uint8Array> {
		const isKnown = (at: number) => this.known.has(`${at}:${Math.floor(index / 2 ** (at - level))}`);
		for (let from = this.depth; from > level && !isKnown(level); from -= LEVELS) {
			const next = Math.max(0, from - LEVELS);
			if (next < level || !isKnown(next)) await this.below(from, Math.floor(index / 2 ** (from - level)));
		}
		return this.known.get(`${level}:${index}`)!;
	}
}

/** How many nodes an answer has that goes four levels down from one; below 1: there is no such node. */
export function nodesBelow(count: number, level: number, index: number): number {
	const down = Math.min(LEVELS, level);
	return Math.min(2 ** down, Math.ceil(count / 2 ** (level - down)) - index * 2 ** down);
}

/** Somebody's trace of one segment. */
export const askedTrace = (
	answers: Pick<Answers, "traceNodes">,
	segment: number,
	root: Uint8Array,
	count: number,
): AskedTree =>
	new AskedTree(
		`the trace of segment ${segment}`,
		root,
		count,
		(level, index) => answers.traceNodes(segment, level, index),
		keccakNode,
	);

/** What an op gave, by somebody's trace leaf. */
export const askedOutput = (
	answers: Pick<Answers, "outputNodes">,
	place: OpPlace,
	root: Uint8Array,
	count: number,
): AskedTree =>
	new AskedTree(
		`what step ${place.step}, op ${place.op} gave`,
		root,
		count,
		(level, index) => answers.outputNodes(place, level, index),
		nodeHash,
	);

/** What the leaf at this place says; it is the leaf that the tree has there. */
export async function askedLeaf(
	answers: Pick<Answers, "traceLeaf">,
	trace: AskedTree,
	place: OpPlace,
	index: number,
	operands: number,
): Promise<TraceLeaf> {
	const hash = await trace.node(0, index);
	const leaf = await answers.traceLeaf(place);
	const isShaped = leaf.step === place.step && leaf.op === place.op && leaf.inputs.length === operands;
	if (!isShaped || !equalBytes(traceLeafHash(leaf), hash))
		throw noAnswer(`step ${place.step}, op ${place.op} is not what the trace of segment ${place.segment} has there`);
	return leaf;
}
