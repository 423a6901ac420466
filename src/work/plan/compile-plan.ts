// From a program of the zk profile to what a proof of one of its segments is about: links, tables, and where
// each block of values stands among the commitments. docs/zk.md §4. Whoever verifies compiles the plan again
// from the program. Not here: the checks between columns (verify/zk).
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { bytesOf } from "../../protocol/maths/bn254.ts";
import type { WeightBits } from "../models/exact-mlp.ts";
import { programRoot } from "../program/open-program.ts";
import type { Program } from "../program/shapes.ts";
import { type ExactNetwork, readExactNetwork, type Unprovable, unprovable } from "./provable.ts";
import { type PlanWindow, patchColumns, windowPlaces } from "./window.ts";

/** One weight matrix. Axes are padded with zeros to powers of two. */
export interface PlanLink {
	readonly inputs: number;
	readonly outputs: number;
	readonly inputBits: number;
	readonly outputBits: number;
	/** Of a convolution: inputs are the columns of a patch, outputs the channels that come out. */
	readonly window?: PlanWindow;
}

/**
 * range: 0 … 2^bits - 1. signed: ±(2^(bits-1) - 1), the last row 0 again. relu: (h, max(h, 0), h > 0) for h
 * of `signed`. exp: (u, e^-u) for u of `range`; u at 2^scales[0], e at 2^scales[1], to the nearest.
 */
export interface PlanTable {
	readonly kind: "range" | "signed" | "relu" | "exp";
	readonly bits: number;
	readonly scales?: readonly [number, number];
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
	| "tableHelper"
	| SoftmaxColumn;

/** Of the last link, where the loss is that of softmax; docs/zk.md §14. */
type SoftmaxColumn =
	| "exp"
	| "top"
	| "lowScore"
	| "peak"
	| "inverse"
	| "inverse0"
	| "remainder0"
	| "rest0"
	| "scoreHelper"
	| "inverseHelper"
	| "remainderHelper"
	| "restHelper";

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
	/** K of ⌊2^K / Σ e⌋, of a loss by softmax. */
	readonly quotient?: number;
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
	/** Cross-entropy of softmax; without it, half the squared error. */
	readonly isSoftmax?: boolean;
	readonly tables: readonly PlanTable[];
	readonly groups: readonly PlanGroup[];
	readonly blocks: readonly PlanBlock[];
	readonly chunkBits: number;
	/** All groups together have 2^bits values. */
	readonly bits: number;
}

/** docs/training.md §6. */
const EXACT = { h: 12, d: 14, activation: 8, gradient: 12 } as const;
const EXACT_QUOTIENT = 27;
/**
 * Of a weight at a segment's end plus half of what they hold: twice as much is what a program's clamp allows,
 * which leaves room for what it moves by within the segment.
 */
const LIMBS = { 32: [11, 10, 10], 64: [13, 13, 13] } as const;
const MOST_CHUNK_BITS = 24;
/** Halves of what rounding loses: tables stay small beside the columns. */
const MOST_SCALE = 36;

const bitsFor = (n: number): number => Math.ceil(Math.log2(n));

/** Bits of a link's places: where its window stands; none of a plain link. */
export const spotBits = ({ window }: PlanLink): number => (window ? bitsFor(windowPlaces(window).places) : 0);
/** A link's units: places of its window times channels that come out. */
export const unitsOf = ({ outputs, window }: PlanLink): number => outputs * (window ? windowPlaces(window).places : 1);
export const unitBits = (link: PlanLink): number => spotBits(link) + link.outputBits;
/** What enters a link: units of the link before, or the data's numbers a row. */
export const enteringUnits = ({ inputs, window }: PlanLink): number =>
	window ? window.channels * window.height * window.width : inputs;
export const enteringBits = (link: PlanLink): number => bitsFor(enteringUnits(link));
/**
 * Links but the last, whose last unit has the bias of the next link added: a patch has a column of its own
 * for it.
 */
export const biasedLinks = (links: readonly PlanLink[]): readonly number[] =>
	links.slice(1).flatMap(({ window }, l) => (window ? [] : [l]));
/** A plan of links without windows and of squared error: the only ones that contracts and the engine know. */
export const isPlain = ({ links, isSoftmax }: Pick<ZkPlan, "links" | "isSoftmax">): boolean =>
	!isSoftmax && links.every(({ window }) => !window);

/**
 * Of numbers that softmax makes: what rounding a score loses, ⌊2^K / Σ e⌋, and Σ e, each in two parts of
 * which the lower is first.
 */
export function softmaxBits({ links, gradient, quotient }: Pick<ZkPlan, "links" | "gradient" | "quotient">): {
	readonly score: readonly [number, number];
	readonly inverse: readonly [number, number];
	readonly sum: readonly [number, number];
} {
	const halves = (bits: number) => [Math.ceil(bits / 2), Math.floor(bits / 2)] as const;
	const lost = quotient! - gradient;
	const { outputs } = links.at(-1)!;
	return { score: halves(lost), inverse: halves(lost + 1), sum: halves(gradient + bitsFor(outputs)) };
}

/**
 * `chunkBits`: as many powers as are known; even. Without it, all values have one commitment, up to 2^24 of
 * them.
 */
export function compilePlan(program: Program, chunkBits?: number): ZkPlan | Unprovable {
	const mlp = readExactNetwork(program);
	if ("code" in mlp) return mlp;
	if (mlp.scale > MOST_SCALE) return unprovable(`products lose ${mlp.scale} bits: at most ${MOST_SCALE} can be proven`);
	const limbs = LIMBS[mlp.weightBits];
	// What a weight may move by within a segment: rows, times the largest activation, times the largest
	// gradient.
	const half = limbs.reduce((sum, one) => sum + one, -1);
	const most = 2 ** (half - 1) / 2 ** (EXACT.h + EXACT.d - 2);
	// Each place of a window counts as a row.
	const places = Math.max(1, ...(mlp.windows ?? []).map((one) => (one === null ? 1 : windowPlaces(one).places)));
	const rows = mlp.steps * mlp.batch * places;
	if (rows > most)
		return unprovable(
			`${rows} rows a segment: weights of ${mlp.weightBits} bits could leave their range within it; at most ${most} can be proven${mlp.weightBits === 32 ? ", and more with weightBits 64" : ""}`,
		);
	const widths = mlp.isSoftmax ? { ...EXACT, limbs, quotient: EXACT_QUOTIENT } : { ...EXACT, limbs };
	return planOf(mlp, bytesToHex(programRoot(program)), widths, chunkBits);
}

/** For compilePlan, and for tests of smaller numbers. */
export function planOf(mlp: ExactNetwork, root: string, widths: Widths, chunkBits?: number): ZkPlan {
	const links = mlp.sizes.slice(1).map((units, i): PlanLink => {
		const window = mlp.windows?.[i];
		const [inputs, outputs] = window
			? [patchColumns(window), units / windowPlaces(window).places]
			: [mlp.sizes[i]!, units];
		const bits = { inputBits: bitsFor(inputs), outputBits: bitsFor(outputs) };
		return { inputs, outputs, ...bits, ...(window && { window }) };
	});
	const lowBits = Math.ceil(mlp.scale / 2);
	const { isSoftmax } = mlp;
	const tables = tablesOf(mlp.scale, lowBits, widths, isSoftmax ? softmaxBits({ links, ...widths }) : null);
	const sizes = {
		...{ steps: mlp.steps, batch: mlp.batch, stepBits: Math.log2(mlp.steps), batchBits: Math.log2(mlp.batch) },
		...{ rowBits: Math.log2(mlp.rows), epochs: mlp.epochs, scale: mlp.scale, lowBits, weightBits: mlp.weightBits },
	};
	const wanted = wantedBlocks({ ...sizes, isSoftmax: isSoftmax === true }, links, tables);
	const largest = Math.max(...GROUPS.map((name) => bitsFor(totalOf(wanted[name]))));
	const c = chunkBits ?? Math.max(2, Math.min(MOST_CHUNK_BITS, largest + (largest % 2)));
	const plan = { programRoot: root, ...widths, ...sizes, links, tables, ...placed(wanted, c), chunkBits: c };
	return isSoftmax ? { ...plan, isSoftmax } : plan;
}

/** One range for each width, narrowest first. */
function tablesOf(
	scale: number,
	lowBits: number,
	{ h, d, limbs, activation, gradient }: Widths,
	softmax: ReturnType<typeof softmaxBits> | null,
): readonly PlanTable[] {
	const widths = [lowBits, scale - lowBits, ...limbs, ...(softmax ? Object.values(softmax).flat() : [])];
	const ranges = [...new Set(widths)].toSorted((a, b) => a - b);
	return [
		...ranges.map((bits) => ({ kind: "range", bits }) as const),
		{ kind: "relu", bits: h },
		{ kind: "signed", bits: h },
		{ kind: "signed", bits: d },
		...(softmax ? [{ kind: "exp", bits: h, scales: [activation, gradient] } as const] : []),
	];
}

type Wanted = Omit<PlanBlock, "at">;

function wantedBlocks(
	{ stepBits, batchBits, rowBits, isSoftmax }: Pick<ZkPlan, "stepBits" | "batchBits" | "rowBits" | "isSoftmax">,
	links: readonly PlanLink[],
	tables: readonly PlanTable[],
): Readonly<Record<GroupName, readonly Wanted[]>> {
	const places = stepBits + batchBits;
	const units = links.map((one) => places + unitBits(one));
	// The last link has neither relu nor a rounded gradient.
	const inner = units.slice(0, -1);
	const weights = links.map(({ inputBits, outputBits }) => inputBits + outputBits);
	const perTable = tables.map(({ bits }) => bits);
	const all = (column: ColumnName, sizes: readonly number[]) => sizes.map((bits, of) => ({ column, of, bits }));
	const last = links.length - 1;
	const softmax = (bits: number, ...columns: readonly SoftmaxColumn[]) =>
		isSoftmax ? columns.map((column) => ({ column, of: last, bits })) : [];
	return {
		features: all("features", [rowBits + enteringBits(links[0]!)]),
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
			...softmax(units[last]!, "exp", "top", "lowScore"),
			...softmax(places, "peak", "inverse", "inverse0", "remainder0", "rest0"),
		],
		helpers: [
			...all("helper", units),
			...all("helperBack", units),
			// One value a row: what enters the next link in its last column has 2^activation more, and must not
			// reach the clamp.
			...biasedLinks(links).map((of) => ({ column: "biasHelper", of, bits: places }) as const),
			...all("weightHelper", weights),
			...all("tableHelper", perTable),
			...softmax(units[last]!, "scoreHelper"),
			...softmax(places, "inverseHelper", "remainderHelper", "restHelper"),
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
	const more = isPlain(plan) ? [] : wideWords(plan);
	return concatBytes(
		hexToBytes(plan.programRoot)!,
		...[...numbers, ...sizes, ...more].map((one) => bytesOf(BigInt(one))),
	);
}

/** What plans with windows or softmax have besides: K or 0, then each link's window or zeros. */
export const wideWords = ({ links, quotient, isSoftmax }: ZkPlan): readonly number[] => [
	isSoftmax ? quotient! : 0,
	...links.flatMap(({ window }) =>
		window
			? [window.channels, window.height, window.width, window.size, window.stride, window.pad]
			: [0, 0, 0, 0, 0, 0],
	),
];

/** Contracts hash plans of the first kind alone: no plan of the second can be registered. */
export const planHash = (plan: ZkPlan): Uint8Array =>
	keccak(utf8ToBytes(isPlain(plan) ? "assay/zk/plan/1" : "assay/zk/plan/2"), planWords(plan));
