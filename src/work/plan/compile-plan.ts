// From a program of the zk profile to what a proof of one of its segments is about: links, tables, columns with the place of each block, lookups. docs/zk.md §4.
// Whoever verifies compiles the plan again from the program. Not here: proving, and the sums that tie columns to each other.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
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

/** range: 0 … 2^bits - 1. signed: ±(2^(bits-1) - 1). relu: (h, max(h, 0), h > 0) for h of `signed`. */
interface PlanTable {
	readonly name: string;
	readonly kind: "range" | "signed" | "relu";
	readonly bits: number;
}

/** A power of two of values, at a multiple of their number. */
interface PlanBlock {
	/** Number of the link, or of the table. */
	readonly of: number;
	readonly at: number;
	readonly bits: number;
}

interface PlanColumn {
	readonly name: ColumnName | "multiplicity" | "tableHelper";
	/** Of a value; 254: a scalar. */
	readonly width: number;
	readonly blocks: readonly PlanBlock[];
}
type ColumnName =
	| "h"
	| "a"
	| "m"
	| "d"
	| "low"
	| "lowBack"
	| "helper"
	| "helperBack"
	| "weightLow"
	| "weightHigh"
	| "weightHelper"
	| "biasHelper";

/** Helper = Σ 1/(α - fingerprint) over the terms, at each place of the link's blocks. */
interface PlanLookup {
	readonly helper: ColumnName;
	readonly link: number;
	readonly terms: readonly { readonly table: number; readonly of: string }[];
}

export interface ZkPlan {
	readonly programRoot: string;
	readonly steps: number;
	readonly batch: number;
	/** 2^rowBits rows; the order is `cube`. */
	readonly rowBits: number;
	readonly epochs: number;
	/** s: products lose so many bits. */
	readonly scale: number;
	readonly links: readonly PlanLink[];
	readonly tables: readonly PlanTable[];
	readonly columns: readonly PlanColumn[];
	readonly lookups: readonly PlanLookup[];
	/** 2^chunkBits values a commitment. */
	readonly chunkBits: number;
	readonly chunks: number;
	/** Weights lie within ±2^weightBits at a segment's end, so that none leaves i32 within it. */
	readonly weightBits: number;
}

/** Of h and d, docs/training.md §6; of the lower part of a remainder, and of a weight. */
const WIDTH = { h: 12, d: 14, low: 16, scalar: 254 } as const;
/** Two limbs; a weight plus 2^30 has 31 bits. */
const WEIGHT_BITS = 30;
const MOST_CHUNK_BITS = 24;
/** Tables of the high parts of remainders stay small beside the columns. */
const MOST_HIGH_BITS = 20;
const bitsFor = (n: number): number => Math.ceil(Math.log2(n));

export function compilePlan(program: Program): ZkPlan | Unprovable {
	const mlp = readExactMlp(program);
	if ("code" in mlp) return mlp;
	if (mlp.scale > WIDTH.low + MOST_HIGH_BITS)
		return unprovable(`products lose ${mlp.scale} bits: at most ${WIDTH.low + MOST_HIGH_BITS} can be proven`);
	// What a weight may move by within a segment: rows, times the largest activation, times the largest gradient.
	const moved = mlp.steps * mlp.batch * 2 ** (WIDTH.h - 1 + WIDTH.d - 1);
	if (moved > 2 ** (WEIGHT_BITS - 1))
		return unprovable(
			`${mlp.steps * mlp.batch} rows a segment: weights of 32 bits could leave their range within it; at most ${2 ** (WEIGHT_BITS - 1) / 2 ** (WIDTH.h + WIDTH.d - 2)} can be proven`,
		);
	const links = mlp.sizes.slice(1).map((outputs, i) => {
		const inputs = mlp.sizes[i]!;
		return { inputs, outputs, inputBits: bitsFor(inputs), outputBits: bitsFor(outputs) };
	});
	const tables = tablesOf(mlp);
	const { columns, total } = columnsOf(mlp, links, tables);
	const totalBits = bitsFor(total);
	const chunkBits = Math.min(MOST_CHUNK_BITS, totalBits + (totalBits % 2));
	return {
		programRoot: bytesToHex(programRoot(program)),
		...{ steps: mlp.steps, batch: mlp.batch, rowBits: Math.log2(mlp.rows), epochs: mlp.epochs, scale: mlp.scale },
		...{ links, tables, columns, lookups: lookupsOf(links, tables) },
		...{ chunkBits, chunks: Math.ceil(total / 2 ** chunkBits), weightBits: WEIGHT_BITS },
	};
}

function tablesOf({ scale }: ExactMlp): readonly PlanTable[] {
	return [
		{ name: "low", kind: "range", bits: WIDTH.low },
		{ name: "high", kind: "range", bits: scale - WIDTH.low },
		{ name: "weightHigh", kind: "range", bits: WEIGHT_BITS + 1 - WIDTH.low },
		{ name: "relu", kind: "relu", bits: WIDTH.h },
		{ name: "h", kind: "signed", bits: WIDTH.h },
		{ name: "d", kind: "signed", bits: WIDTH.d },
	];
}

/** Largest blocks first, so that each lies at a multiple of its size. */
function columnsOf(mlp: ExactMlp, links: readonly PlanLink[], tables: readonly PlanTable[]) {
	const rowBits = Math.log2(mlp.steps * mlp.batch);
	const every = links.map((link, of) => ({ of, bits: rowBits + link.outputBits }));
	// The last link has neither relu nor a rounded gradient.
	const inner = every.slice(0, -1);
	const weights = links.map(({ inputBits, outputBits }, of) => ({ of, bits: inputBits + outputBits }));
	const perTable = tables.map(({ bits }, of) => ({ of, bits }));
	// One value a row: what enters the next link in its last column has 2^8 more, and must not reach the clamp.
	const biases = inner.map(({ of }) => ({ of, bits: rowBits }));
	const wanted: readonly (readonly [PlanColumn["name"], number, readonly Omit<PlanBlock, "at">[]])[] = [
		["h", WIDTH.h, every],
		["a", WIDTH.h, inner],
		["m", 1, inner],
		["d", WIDTH.d, every],
		["low", WIDTH.low, every],
		["lowBack", WIDTH.low, inner],
		["helper", WIDTH.scalar, every],
		["helperBack", WIDTH.scalar, every],
		["weightLow", WIDTH.low, weights],
		["weightHigh", WEIGHT_BITS + 1 - WIDTH.low, weights],
		["weightHelper", WIDTH.scalar, weights],
		["biasHelper", WIDTH.scalar, biases],
		["multiplicity", 32, perTable],
		["tableHelper", WIDTH.scalar, perTable],
	];
	const all = wanted.flatMap(([name, , blocks]) => blocks.map((block) => ({ name, ...block })));
	let total = 0;
	const placed = all
		.toSorted((a, b) => b.bits - a.bits)
		.map(({ name, of, bits }) => {
			const at = total;
			total += 2 ** bits;
			return { name, of, at, bits };
		});
	const columns = wanted.map(([name, width]) => ({
		...{ name, width },
		blocks: placed.filter((one) => one.name === name).map(({ of, at, bits }) => ({ of, at, bits })),
	}));
	return { columns, total };
}

/** Every committed or virtual value that must lie in a range, with its table. Virtual ones are the high parts of remainders. */
function lookupsOf(links: readonly PlanLink[], tables: readonly PlanTable[]): readonly PlanLookup[] {
	const term = (table: string, of: string) => ({ table: tables.findIndex((one) => one.name === table), of });
	return links.flatMap((_, link) => {
		const isLast = link === links.length - 1;
		const forth = [term("low", "low"), term("high", "high"), isLast ? term("h", "h") : term("relu", "h, a, m")];
		const back = [...(isLast ? [] : [term("low", "lowBack"), term("high", "highBack")]), term("d", "d")];
		const weight = [term("low", "weightLow"), term("weightHigh", "weightHigh")];
		return [
			{ helper: "helper" as const, link, terms: forth },
			{ helper: "helperBack" as const, link, terms: back },
			{ helper: "weightHelper" as const, link, terms: weight },
			...(isLast
				? []
				: [{ helper: "biasHelper" as const, link, terms: [term("h", "a in the last column, plus 2^8")] }]),
		];
	});
}
