// From a program of the zk profile to what a proof of one of its segments is about: links, tables, and where each block of values stands among the
// commitments. docs/zk.md §4. Whoever verifies compiles the plan again from the program. Not here: the checks between columns (verify/zk).
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { bytesOf } from "../../protocol/maths/bn254.ts";
import type { WeightBits } from "../models/exact-mlp.ts";
import { programRoot } from "../program/open-program.ts";
import type { Program } from "../program/shapes.ts";
import { type ExactMlp, readExactMlp, type Unprovable, unprovable } from "./provable.ts";

/** One weight matrix. Axes are padded with zeros to powers of two. */
interface PlanLink {
	readonly inputs: number;
	readonly outputs: number;
	readonly inputBits: number;
	readonly outputBits: number;
}

/** range: 0 … 2^bits - 1. signed: ±(2^(bits-1) - 1), the last row 0 again. relu: (h, max(h, 0), h > 0) for h of `signed`. */
export interface PlanTable {
	readonly kind: "range" | "signed" | "relu";
	readonly bits: number;
}

/** The first four are of the statement; `helpers` are committed after the challenges that they need. */
const GROUPS = ["features", "labels", "before", "after", "values", "helpers"] as const;
export type GroupName = (typeof GROUPS)[number];

export type ColumnName =
	| "features"
	| "labels"
	| "before"
	| "after"
	| "h"
	| "a"
	| "m"
	| "d"
	| "low"
	| "lowBack"
	| "limb0"
	| "limb1"
	| "multiplicity"
	| "helper"
	| "helperBack"
	| "biasHelper"
	| "weightHelper"
	| "tableHelper";

/** A power of two of values, at a multiple of their number. */
export interface PlanBlock {
	readonly column: ColumnName;
	/** Number of the link, or of the table. */
	readonly of: number;
	readonly at: number;
	readonly bits: number;
}

interface PlanGroup {
	readonly name: GroupName;
	/** Chunks of 2^chunkBits values; one commitment each. */
	readonly firstChunk: number;
	readonly chunks: number;
	/** Of the group with zeros up to a power of two. */
	readonly bits: number;
}

/** What a program's numbers are like. Every program of the profile has these; tests prove smaller ones. */
export interface Widths {
	/** Bits of h and of d. */
	readonly h: number;
	readonly d: number;
	/** Activations stand at 2^activation, gradients at 2^gradient. */
	readonly activation: number;
	readonly gradient: number;
	/** Of a weight at the segment's end plus 2^(their sum - 1). */
	readonly limbs: readonly [number, number, number];
}

export interface ZkPlan extends Widths {
	readonly programRoot: string;
	readonly steps: number;
	readonly batch: number;
	/** Of steps, and of the batch. */
	readonly stepBits: number;
	readonly batchBits: number;
	/** 2^rowBits rows; the order is `cube`. */
	readonly rowBits: number;
	readonly epochs: number;
	/** s: products lose so many bits; the lower `lowBits` of what is lost are committed. */
	readonly scale: number;
	readonly lowBits: number;
	/** Of the program's type of weights; not of the proof, which has limbs of those at the end. */
	readonly weightBits: WeightBits;
	readonly links: readonly PlanLink[];
	readonly tables: readonly PlanTable[];
	readonly groups: readonly PlanGroup[];
	readonly blocks: readonly PlanBlock[];
	readonly chunkBits: number;
	/** All groups together have 2^bits values. */
	readonly bits: number;
}

/** docs/training.md §6. */
const EXACT = { h: 12, d: 14, activation: 8, gradient: 12 } as const;
/** Of a weight at a segment's end plus half of what they hold: twice as much is what a program's clamp allows, which leaves room for what it moves by within the segment. */
const LIMBS = { 32: [11, 10, 10], 64: [13, 13, 13] } as const;
const MOST_CHUNK_BITS = 24;
/** Halves of what rounding loses: tables stay small beside the columns. */
const MOST_SCALE = 36;

const bitsFor = (n: number): number => Math.ceil(Math.log2(n));

/** `chunkBits`: as many powers as are known; even. Without it, all values have one commitment, up to 2^24 of them. */
export function compilePlan(program: Program, chunkBits?: number): ZkPlan | Unprovable {
	const mlp = readExactMlp(program);
	if ("code" in mlp) return mlp;
	if (mlp.scale > MOST_SCALE) return unprovable(`products lose ${mlp.scale} bits: at most ${MOST_SCALE} can be proven`);
	const limbs = LIMBS[mlp.weightBits];
	// What a weight may move by within a segment: rows, times the largest activation, times the largest gradient.
	const half = limbs.reduce((sum, one) => sum + one, -1);
	const most = 2 ** (half - 1) / 2 ** (EXACT.h + EXACT.d - 2);
	if (mlp.steps * mlp.batch > most)
		return unprovable(
			`${mlp.steps * mlp.batch} rows a segment: weights of ${mlp.weightBits} bits could leave their range within it; at most ${most} can be proven${mlp.weightBits === 32 ? ", and more with weightBits 64" : ""}`,
		);
	return planOf(mlp, bytesToHex(programRoot(program)), { ...EXACT, limbs }, chunkBits);
}

/** For compilePlan, and for tests of smaller numbers. */
export function planOf(mlp: ExactMlp, root: string, widths: Widths, chunkBits?: number): ZkPlan {
	const links = mlp.sizes.slice(1).map((outputs, i) => {
		const inputs = mlp.sizes[i]!;
		return { inputs, outputs, inputBits: bitsFor(inputs), outputBits: bitsFor(outputs) };
	});
	const lowBits = Math.ceil(mlp.scale / 2);
	const tables = tablesOf(mlp.scale, lowBits, widths);
	const sizes = {
		...{ steps: mlp.steps, batch: mlp.batch, stepBits: Math.log2(mlp.steps), batchBits: Math.log2(mlp.batch) },
		...{ rowBits: Math.log2(mlp.rows), epochs: mlp.epochs, scale: mlp.scale, lowBits, weightBits: mlp.weightBits },
	};
	const wanted = wantedBlocks(sizes, links, tables);
	const largest = Math.max(...GROUPS.map((name) => bitsFor(totalOf(wanted[name]))));
	const c = chunkBits ?? Math.max(2, Math.min(MOST_CHUNK_BITS, largest + (largest % 2)));
	return { programRoot: root, ...widths, ...sizes, links, tables, ...placed(wanted, c), chunkBits: c };
}

/** One range for each width, narrowest first. */
function tablesOf(scale: number, lowBits: number, { h, d, limbs }: Widths): readonly PlanTable[] {
	const ranges = [...new Set([lowBits, scale - lowBits, ...limbs])].toSorted((a, b) => a - b);
	return [
		...ranges.map((bits) => ({ kind: "range", bits }) as const),
		{ kind: "relu", bits: h },
		{ kind: "signed", bits: h },
		{ kind: "signed", bits: d },
	];
}

type Wanted = Omit<PlanBlock, "at">;

function wantedBlocks(
	{ stepBits, batchBits, rowBits }: Pick<ZkPlan, "stepBits" | "batchBits" | "rowBits">,
	links: readonly PlanLink[],
	tables: readonly PlanTable[],
): Readonly<Record<GroupName, readonly Wanted[]>> {
	const places = stepBits + batchBits;
	const units = links.map(({ outputBits }) => places + outputBits);
	// The last link has neither relu nor a rounded gradient.
	const inner = units.slice(0, -1);
	const weights = links.map(({ inputBits, outputBits }) => inputBits + outputBits);
	const perTable = tables.map(({ bits }) => bits);
	const all = (column: ColumnName, sizes: readonly number[]) => sizes.map((bits, of) => ({ column, of, bits }));
	return {
		features: all("features", [rowBits + links[0]!.inputBits]),
		labels: all("labels", [rowBits + links.at(-1)!.outputBits]),
		before: all("before", weights),
		after: all("after", weights),
		values: [
			...all("h", units),
			...all("a", inner),
			...all("m", inner),
			...all("d", units),
			...all("low", units),
			...all("lowBack", inner),
			...all("limb0", weights),
			...all("limb1", weights),
			...all("multiplicity", perTable),
		],
		helpers: [
			...all("helper", units),
			...all("helperBack", units),
			// One value a row: what enters the next link in its last column has 2^activation more, and must not reach the clamp.
			...all(
				"biasHelper",
				inner.map(() => places),
			),
			...all("weightHelper", weights),
			...all("tableHelper", perTable),
		],
	};
}

const totalOf = (blocks: readonly Wanted[]): number => blocks.reduce((sum, { bits }) => sum + 2 ** bits, 0);

/** Largest groups first, and in them the largest blocks, so that each stands at a multiple of its size. */
function placed(wanted: Readonly<Record<GroupName, readonly Wanted[]>>, c: number) {
	const sizes = GROUPS.map((name) => {
		const chunks = Math.ceil(totalOf(wanted[name]) / 2 ** c);
		// Also what no chunk of the group has: a claim about a whole group is about zeros there.
		return { name, chunks, bits: c + bitsFor(chunks) };
	});
	const starts = new Map<GroupName, number>();
	let end = 0;
	for (const { name, bits } of sizes.toSorted((a, b) => b.bits - a.bits)) {
		starts.set(name, end);
		end += 2 ** bits;
	}
	const groups = sizes.map((one): PlanGroup => ({ ...one, firstChunk: starts.get(one.name)! / 2 ** c }));
	const blocks = GROUPS.flatMap((name) => {
		let at = starts.get(name)!;
		return wanted[name]
			.toSorted((a, b) => b.bits - a.bits)
			.map((one): PlanBlock => {
				at += 2 ** one.bits;
				return { ...one, at: at - 2 ** one.bits };
			});
	});
	return { groups, blocks, bits: bitsFor(end) };
}

/** All else of a plan follows from these numbers: program root, sizes, 32 bytes each. */
export function planWords(plan: ZkPlan): Uint8Array {
	const { steps, batch, rowBits, epochs, scale, h, d, activation, gradient, limbs, chunkBits, links } = plan;
	const numbers = [steps, batch, rowBits, epochs, scale, h, d, activation, gradient, ...limbs, chunkBits];
	const sizes = [links.length, links[0]!.inputs, ...links.map(({ outputs }) => outputs)];
	return concatBytes(hexToBytes(plan.programRoot)!, ...[...numbers, ...sizes].map((one) => bytesOf(BigInt(one))));
}

export const planHash = (plan: ZkPlan): Uint8Array => keccak(utf8ToBytes("assay/zk/plan/1"), planWords(plan));
