// What a segment's proof is about, docs/zk.md §4, for reading: where blocks of values stand, what tables hold, and the run itself, step by step, on bigints. A run can be told to go
// wrong in one place. Nothing imported from src/.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { word } from "./naive-bn254.ts";
import { philoxOf } from "./naive-maths.ts";

export interface Shape {
	/** Of the layers, inputs first. */
	readonly sizes: readonly number[];
	readonly batch: number;
	readonly steps: number;
	readonly rows: number;
	readonly epochs: number;
	readonly scale: number;
	/** Bits of h and d; scales of activations and gradients; bits of the three parts of a weight. */
	readonly h: number;
	readonly d: number;
	readonly activation: number;
	readonly gradient: number;
	readonly limbs: readonly [number, number, number];
	readonly chunkBits: number;
	/** Of the program. */
	readonly root: Uint8Array;
}

export const log = (n: number): number => Math.ceil(Math.log2(n));
export const lowBits = ({ scale }: Shape): number => Math.ceil(scale / 2);

export interface Table {
	readonly kind: "range" | "relu" | "signed";
	readonly bits: number;
}

export function tablesOf(shape: Shape): Table[] {
	const low = lowBits(shape);
	const widths = [...new Set([low, shape.scale - low, ...shape.limbs])].sort((a, b) => a - b);
	return [
		...widths.map((bits) => ({ kind: "range" as const, bits })),
		{ kind: "relu", bits: shape.h },
		{ kind: "signed", bits: shape.h },
		{ kind: "signed", bits: shape.d },
	];
}

/** Rows of a table: three numbers each. */
export function rowsOf({ kind, bits }: Table): bigint[][] {
	const half = 1n << BigInt(bits - 1);
	return Array.from({ length: 2 ** bits }, (_, i) => {
		if (kind === "range") return [BigInt(i), 0n, 0n];
		const h = i === 2 ** bits - 1 ? 0n : BigInt(i) - half + 1n;
		return kind === "signed" ? [h, 0n, 0n] : [h, h > 0n ? h : 0n, h > 0n ? 1n : 0n];
	});
}

export interface Block {
	/** Name and number of link or table: "h 0". */
	readonly name: string;
	readonly at: number;
	readonly bits: number;
}

export interface Group {
	readonly name: string;
	readonly first: number;
	readonly chunks: number;
	readonly bits: number;
}

export function layoutOf(shape: Shape): { groups: Group[]; blocks: Map<string, Block>; bits: number } {
	const { sizes, chunkBits: c } = shape;
	const links = sizes.length - 1;
	const places = log(shape.steps) + log(shape.batch);
	const units = sizes.slice(1).map((n) => places + log(n));
	const inner = units.slice(0, -1);
	const weights = units.map((_, l) => log(sizes[l]!) + log(sizes[l + 1]!));
	const tables = tablesOf(shape).map(({ bits }) => bits);
	const all = (name: string, bits: readonly number[]) => bits.map((one, i) => [`${name} ${i}`, one] as const);
	const wanted: [string, (readonly [string, number])[]][] = [
		["features", all("features", [log(shape.rows) + log(sizes[0]!)])],
		["labels", all("labels", [log(shape.rows) + log(sizes[links]!)])],
		["before", all("before", weights)],
		["after", all("after", weights)],
		[
			"values",
			[
				...[...all("h", units), ...all("a", inner), ...all("m", inner), ...all("d", units), ...all("low", units)],
				...[...all("lowBack", inner), ...all("limb0", weights), ...all("limb1", weights)],
				...all("multiplicity", tables),
			],
		],
		[
			"helpers",
			[
				...[...all("helper", units), ...all("helperBack", units)],
				...all(
					"biasHelper",
					inner.map(() => places),
				),
				...[...all("weightHelper", weights), ...all("tableHelper", tables)],
			],
		],
	];
	const blocks = new Map<string, Block>();
	const sized = wanted.map(([name, list], number) => {
		const total = list.reduce((sum, [, bits]) => sum + 2 ** bits, 0);
		const chunks = Math.ceil(total / 2 ** c);
		return { name, list, number, chunks, bits: c + log(chunks) };
	});
	const groups: Group[] = [];
	let end = 0;
	// The largest first.
	for (const { name, list, number, chunks, bits } of [...sized].sort((a, b) => b.bits - a.bits)) {
		groups[number] = { name, first: end / 2 ** c, chunks, bits };
		let at = end;
		end += 2 ** bits;
		for (const [block, own] of [...list].sort(([, a], [, b]) => b - a)) {
			blocks.set(block, { name: block, at, bits: own });
			at += 2 ** own;
		}
	}
	return { groups, blocks, bits: log(end) };
}

export function planHash(shape: Shape): Uint8Array {
	const { steps, batch, rows, epochs, scale, h, d, activation, gradient, limbs, chunkBits, sizes } = shape;
	const numbers = [steps, batch, log(rows), epochs, scale, h, d, activation, gradient, ...limbs, chunkBits];
	const all = [...numbers, sizes.length - 1, ...sizes].map((one) => word(BigInt(one)));
	return keccak_256(Buffer.concat([Buffer.from("assay/zk/plan/1"), shape.root, ...all]));
}

/** Which row stands at a place of an epoch: the order `cube` of docs/work.md §10. */
export function cubeOrder(seed: Uint8Array, epoch: number, bits: number): { places: number[]; mask: number } {
	const words = Array.from(
		{ length: bits + 1 },
		(_, i) => philoxOf(seed, Math.floor(i / 4), 0, epoch, 0x6f726472)[i % 4]!,
	);
	const places = Array.from({ length: bits }, (_, i) => i);
	let next = 0;
	for (let i = bits - 1; i > 0; i--) {
		const j = words[next++]! % (i + 1);
		[places[i], places[j]] = [places[j]!, places[i]!];
	}
	return { places, mask: words[next]! % 2 ** bits };
}

export interface Start {
	/** Per row: what enters the first link, the bias in its last column. */
	readonly features: readonly (readonly bigint[])[];
	readonly labels: readonly number[];
	/** By link, output, input. */
	readonly weights: readonly (readonly (readonly bigint[])[])[];
	readonly seed: Uint8Array;
	readonly firstStep: number;
}

/** Values by block, padded; what is committed nowhere besides: z, q, and the weights of each step. */
export interface Run {
	readonly columns: Map<string, bigint[]>;
	readonly z: bigint[][];
	readonly q: bigint[][];
	/** By link, step; (output, input). */
	readonly weights: bigint[][][];
	/** What enters each link. */
	readonly entering: bigint[][];
	readonly row: (place: number) => number;
}

/** Where a run may go wrong; each place alone. */
export interface RunCheat {
	/** Of z and q themselves, at a place of theirs. */
	readonly sum?: (use: string, sum: bigint, at: number) => bigint;
	/** Of z, when h is rounded from it; of q, when d is. */
	readonly round?: (sum: bigint, scale: bigint, use: "z" | "q") => bigint;
	/** What a step takes away of a weight. */
	readonly taken?: (change: bigint) => bigint;
	/** A step sees the weights that the step before it saw. */
	readonly isStale?: boolean;
	readonly row?: (row: number) => number;
	/** What `use` ("z 1", "q 0") multiplies by the weights, instead of the column. */
	readonly operand?: (use: string, column: bigint[]) => bigint[];
	/** What `link` takes away is made of these. */
	readonly changed?: (link: number, entering: bigint[], d: bigint[]) => { entering: bigint[]; d: bigint[] };
	readonly relu?: (h: bigint) => { a: bigint; m: bigint };
	/** The bias that a link's input has. */
	readonly bias?: bigint;
	readonly loss?: (h: bigint, y: bigint) => bigint;
	/** d of a link but the last, once it is rounded. */
	readonly gradient?: (d: bigint) => bigint;
}

const rounded = (sum: bigint, scale: bigint): bigint => (sum + (1n << (scale - 1n))) >> scale;

interface Span {
	/** Places of one step, among all of the segment. */
	readonly from: number;
	readonly to: number;
}

class Runner {
	readonly columns = new Map<string, bigint[]>();
	readonly entering: bigint[][];
	readonly z: bigint[][];
	readonly q: bigint[][];
	readonly now: bigint[][];
	readonly size: readonly number[];
	readonly row: (place: number) => number;
	private readonly shape: Shape;
	private readonly cheat: RunCheat;
	private readonly links: number;

	constructor(shape: Shape, start: Start, cheat: RunCheat) {
		[this.shape, this.cheat, this.links] = [shape, cheat, shape.sizes.length - 1];
		this.size = shape.sizes.map((n) => 2 ** log(n));
		this.row = (place) => {
			const own = rowOf(shape, start, place);
			return cheat.row?.(own) ?? own;
		};
		const [first, last] = [this.size[0]!, this.size[this.links]!];
		this.columns.set("features 0", spread(start.features, first, shape.rows * first));
		const classes = start.labels.map((label) =>
			Array.from({ length: shape.sizes[this.links]! }, (_, i) => (i === label ? 1n << BigInt(shape.activation) : 0n)),
		);
		this.columns.set("labels 0", spread(classes, last, shape.rows * last));
		this.now = start.weights.map((one, l) => spread(one, this.size[l]!, this.size[l + 1]! * this.size[l]!));
		for (const [l, one] of this.now.entries()) this.columns.set(`before ${l}`, [...one]);
		const zeros = (width: number) => new Array<bigint>(shape.steps * shape.batch * width).fill(0n);
		this.z = this.now.map((_, l) => zeros(this.size[l + 1]!));
		this.q = this.now.map((_, l) => zeros(this.size[l + 1]!));
		this.entering = this.now.map((_, l) => zeros(this.size[l]!));
		for (let l = 0; l < this.links; l++)
			for (const name of l === this.links - 1 ? ["h", "d"] : ["h", "d", "a", "m"])
				this.columns.set(`${name} ${l}`, zeros(this.size[l + 1]!));
	}

	private round(sum: bigint, use: "z" | "q"): bigint {
		const scale = BigInt(this.shape.scale);
		return this.cheat.round?.(sum, scale, use) ?? rounded(sum, scale);
	}

	forth(l: number, { from, to }: Span, weights: readonly bigint[]): void {
		const { shape, cheat, columns, entering } = this;
		const [n, k] = [this.size[l + 1]!, this.size[l]!];
		const bias = cheat.bias ?? 1n << BigInt(shape.activation);
		for (let p = from; p < to; p++) {
			for (let x = 0; x < k; x++)
				entering[l]![p * k + x] =
					l === 0
						? columns.get("features 0")![this.row(p) * k + x]!
						: columns.get(`a ${l - 1}`)![p * k + x]! + (x === shape.sizes[l]! - 1 ? bias : 0n);
			const seen = cheat.operand?.(`z ${l}`, entering[l]!) ?? entering[l]!;
			for (let i = 0; i < n; i++) {
				let sum = 0n;
				for (let x = 0; x < k; x++) sum += seen[p * k + x]! * weights[i * k + x]!;
				sum = cheat.sum?.(`z ${l}`, sum, p * n + i) ?? sum;
				this.z[l]![p * n + i] = sum;
				const h = this.round(sum, "z");
				columns.get(`h ${l}`)![p * n + i] = h;
				if (l === this.links - 1) continue;
				const { a, m } = cheat.relu?.(h) ?? { a: h > 0n ? h : 0n, m: h > 0n ? 1n : 0n };
				columns.get(`a ${l}`)![p * n + i] = a;
				columns.get(`m ${l}`)![p * n + i] = m;
			}
		}
	}

	/** `weights`: of the next link. */
	back(l: number, { from, to }: Span, weights: readonly bigint[]): void {
		const { shape, cheat, columns } = this;
		const n = this.size[l + 1]!;
		const d = columns.get(`d ${l}`)!;
		const up = BigInt(shape.gradient - shape.activation);
		for (let p = from; p < to; p++)
			for (let i = 0; i < n; i++) {
				if (l === this.links - 1) {
					const [h, y] = [columns.get(`h ${l}`)![p * n + i]!, columns.get("labels 0")![this.row(p) * n + i]!];
					d[p * n + i] = cheat.loss?.(h, y) ?? (h - y) << up;
					continue;
				}
				const next = this.size[l + 2]!;
				const gradients = columns.get(`d ${l + 1}`)!;
				const seen = cheat.operand?.(`q ${l}`, gradients) ?? gradients;
				let sum = 0n;
				for (let j = 0; j < next; j++) sum += seen[p * next + j]! * weights[j * n + i]!;
				sum = cheat.sum?.(`q ${l}`, sum, p * n + i) ?? sum;
				this.q[l]![p * n + i] = sum;
				const own = columns.get(`m ${l}`)![p * n + i] === 0n ? 0n : this.round(sum, "q");
				d[p * n + i] = cheat.gradient?.(own) ?? own;
			}
	}

	change(l: number, { from, to }: Span): void {
		const [n, k] = [this.size[l + 1]!, this.size[l]!];
		const own = { entering: this.entering[l]!, d: this.columns.get(`d ${l}`)! };
		const by = this.cheat.changed?.(l, own.entering, own.d) ?? own;
		for (let p = from; p < to; p++)
			for (let i = 0; i < n; i++)
				for (let x = 0; x < k; x++) {
					const change = by.entering[p * k + x]! * by.d[p * n + i]!;
					this.now[l]![i * k + x]! -= this.cheat.taken?.(change) ?? change;
				}
	}
}

function spread(list: readonly (readonly bigint[])[], width: number, length: number): bigint[] {
	const flat = new Array<bigint>(length).fill(0n);
	for (const [i, one] of list.entries()) for (const [j, value] of one.entries()) flat[i * width + j] = value;
	return flat;
}

/** Which row stands at a place of the segment. */
function rowOf({ batch, rows }: Shape, { seed, firstStep }: Start, place: number): number {
	const epoch = Math.floor((firstStep * batch) / rows);
	const { places, mask } = cubeOrder(seed, epoch, log(rows));
	const x = firstStep * batch - epoch * rows + place;
	return places.reduce((sum, from, j) => sum + (((x >> from) & 1) ^ ((mask >> j) & 1)) * 2 ** j, 0);
}

export function runSegment(shape: Shape, start: Start, cheat: RunCheat = {}): Run {
	const runner = new Runner(shape, start, cheat);
	const { columns, z, q, entering, row, now } = runner;
	const links = shape.sizes.length - 1;
	const weights: bigint[][][] = now.map(() => []);
	for (let t = 0; t < shape.steps; t++) {
		const at = { from: t * shape.batch, to: (t + 1) * shape.batch };
		for (const [l, one] of now.entries()) weights[l]!.push([...one]);
		const seen = (l: number): readonly bigint[] => weights[l]![cheat.isStale ? Math.max(0, t - 1) : t]!;
		for (let l = 0; l < links; l++) runner.forth(l, at, seen(l));
		for (let l = links - 1; l >= 0; l--) runner.back(l, at, l === links - 1 ? [] : seen(l + 1));
		for (let l = 0; l < links; l++) runner.change(l, at);
	}
	if (cheat.isStale)
		for (const list of weights) list.splice(0, shape.steps, ...list.map((_, t) => list[Math.max(0, t - 1)]!));
	for (const [l, one] of now.entries()) columns.set(`after ${l}`, one);
	return { columns, z, q, weights, entering, row };
}

/** low, lowBack and limbs of a run that is done. */
export function addRest(shape: Shape, { columns, z, q }: Run): void {
	const [scale, low] = [BigInt(shape.scale), BigInt(lowBits(shape))];
	const half = 1n << (scale - 1n);
	const lower = (list: readonly bigint[], bits: bigint) => list.map((one) => one & ((1n << bits) - 1n));
	for (let l = 0; l < shape.sizes.length - 1; l++) {
		const get = (name: string) => columns.get(`${name} ${l}`)!;
		const rest = z[l]!.map((sum, i) => sum + half - (get("h")[i]! << scale));
		columns.set(`low ${l}`, lower(rest, low));
		if (l < shape.sizes.length - 2) {
			const back = q[l]!.map((sum, i) => get("m")[i]! * (sum + half) - (get("d")[i]! << scale));
			columns.set(`lowBack ${l}`, lower(back, low));
		}
		const [bits0, bits1, bits2] = shape.limbs.map(BigInt) as [bigint, bigint, bigint];
		const whole = get("after").map((one) => one + (1n << (bits0 + bits1 + bits2 - 1n)));
		columns.set(`limb0 ${l}`, lower(whole, bits0));
		columns.set(
			`limb1 ${l}`,
			lower(
				whole.map((one) => one >> bits0),
				bits1,
			),
		);
	}
}

/** The first value that left its range, with its step: such a run has no proof. Null: none did. */
export function leftRange(shape: Shape, { columns }: Run): string | null {
	const links = shape.sizes.length - 1;
	const within = (bits: number) => (value: bigint) =>
		value < 1n << BigInt(bits - 1) && value > -(1n << BigInt(bits - 1));
	const perStep = (l: number) => shape.batch * 2 ** log(shape.sizes[l + 1]!);
	for (let l = 0; l < links; l++) {
		for (const [name, bits] of [
			["h", shape.h],
			["d", shape.d],
		] as const) {
			const i = columns.get(`${name} ${l}`)!.findIndex((one) => !within(bits)(one));
			if (i >= 0) return `${name} of link ${l} in step ${Math.floor(i / perStep(l))}`;
		}
		const [width, last] = [2 ** log(shape.sizes[l + 1]!), shape.sizes[l + 1]! - 1];
		const bias = 1n << BigInt(shape.activation);
		const i = columns.get(`a ${l}`)?.findIndex((one, k) => k % width === last && !within(shape.h)(one + bias)) ?? -1;
		if (i >= 0) return `what enters link ${l + 1} in step ${Math.floor(i / perStep(l))}`;
		const half = 1n << BigInt(shape.limbs.reduce((sum, one) => sum + one, -1));
		if (columns.get(`after ${l}`)!.some((one) => one < -half || one >= half)) return `a weight of link ${l} at the end`;
	}
	return null;
}
