// What a segment's proof is about, docs/zk.md §4, for reading: where blocks of values stand, what tables
// hold, and the run itself, step by step, on bigints. A run can be told to go wrong in one place. Nothing
// imported from src/.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { mod, word } from "./naive-bn254.ts";
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
	/** By link: the window of a convolution, over what the sizes say are pictures; null: none. */
	readonly windows?: readonly (Window | null)[];
	/** Of a loss by softmax: K of ⌊2^K / Σ e⌋. */
	readonly quotient?: number;
}

/** Over pictures [height, width, channels]. */
export interface Window {
	readonly channels: number;
	readonly height: number;
	readonly width: number;
	readonly size: number;
	readonly stride: number;
	readonly pad: number;
}

/** A weight matrix as it is multiplied: once for each place of its window. Padded sizes are powers of two. */
export interface Link {
	readonly window: Window | null;
	readonly inputs: number;
	readonly outputs: number;
	readonly spots: number;
	readonly padded: { readonly inputs: number; readonly outputs: number; readonly spots: number };
}

export function linkOf({ sizes, windows }: Shape, l: number): Link {
	const window = windows?.[l] ?? null;
	const along = (n: number) => Math.floor((n + 2 * window!.pad - window!.size) / window!.stride) + 1;
	const spots = window === null ? 1 : along(window.height) * along(window.width);
	const inputs = window === null ? sizes[l]! : window.channels * window.size ** 2 + 1;
	const outputs = sizes[l + 1]! / spots;
	const up = (n: number) => 2 ** log(n);
	return { window, inputs, outputs, spots, padded: { inputs: up(inputs), outputs: up(outputs), spots: up(spots) } };
}

/**
 * For each place of a window and each column of its patch: the number of the picture; -1: nothing, or the
 * bias.
 */
export function pixelsOf({ channels, height, width, size, stride, pad }: Window): number[][] {
	const list: number[][] = [];
	for (let top = -pad; top + size <= height + pad; top += stride)
		for (let left = -pad; left + size <= width + pad; left += stride) {
			const patch: number[] = [];
			for (let c = 0; c < channels; c++)
				for (let y = top; y < top + size; y++)
					for (let x = left; x < left + size; x++)
						patch.push(y < 0 || y >= height || x < 0 || x >= width ? -1 : (y * width + x) * channels + c);
			list.push([...patch, -1]);
		}
	return list;
}

/** Links but the last whose next link has no window: that one's bias is added to their last unit. */
export const biasedOf = ({ sizes, windows }: Shape): number[] =>
	Array.from({ length: sizes.length - 2 }, (_, l) => l).filter((l) => !windows?.[l + 1]);

export const log = (n: number): number => Math.ceil(Math.log2(n));
export const lowBits = ({ scale }: Shape): number => Math.ceil(scale / 2);

export interface Table {
	readonly kind: "range" | "relu" | "signed" | "exp";
	readonly bits: number;
	/** exp: of what goes in, and of what comes out. */
	readonly scales?: readonly [number, number];
}

/** Of numbers that softmax makes: bits of their lower and of their higher part. */
export function softmaxBits({
	sizes,
	gradient,
	quotient,
}: Shape): Record<"score" | "inverse" | "sum", [number, number]> {
	const parts = (bits: number): [number, number] => [bits - Math.floor(bits / 2), Math.floor(bits / 2)];
	const lost = quotient! - gradient;
	return { score: parts(lost), inverse: parts(lost + 1), sum: parts(gradient + log(sizes.at(-1)!)) };
}

/** e^(−i/2^from) at 2^to, to the nearest. */
function expRows(bits: number, [from, to]: readonly [number, number]): bigint[] {
	const one = 1n << 256n;
	let [base, term] = [one, one];
	for (let i = 1n; term !== 0n; i++) {
		term = -term / (i << BigInt(from));
		base += term;
	}
	const rows: bigint[] = [];
	for (let value = one; rows.length < 2 ** bits; value = (value * base) >> 256n)
		rows.push(((value >> BigInt(255 - to)) + 1n) >> 1n);
	return rows;
}

export function tablesOf(shape: Shape): Table[] {
	const low = lowBits(shape);
	const more = shape.quotient === undefined ? [] : Object.values(softmaxBits(shape)).flat();
	const widths = [...new Set([low, shape.scale - low, ...shape.limbs, ...more])].sort((a, b) => a - b);
	const scales = [shape.activation, shape.gradient] as const;
	return [
		...widths.map((bits) => ({ kind: "range" as const, bits })),
		{ kind: "relu", bits: shape.h },
		{ kind: "signed", bits: shape.h },
		{ kind: "signed", bits: shape.d },
		...(shape.quotient === undefined ? [] : [{ kind: "exp" as const, bits: shape.h, scales }]),
	];
}

/** Rows of a table: three numbers each. */
export function rowsOf({ kind, bits, scales }: Table): bigint[][] {
	if (kind === "exp") return expRows(bits, scales!).map((one, i) => [BigInt(i), one, 0n]);
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
	const weights = units.map((_, l) => {
		const { padded } = linkOf(shape, l);
		return log(padded.inputs * padded.outputs);
	});
	const tables = tablesOf(shape).map(({ bits }) => bits);
	const all = (name: string, bits: readonly number[]) => bits.map((one, i) => [`${name} ${i}`, one] as const);
	const softmax = (bits: number, ...names: readonly string[]) =>
		shape.quotient === undefined ? [] : names.map((name) => [`${name} ${links - 1}`, bits] as const);
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
				...softmax(units.at(-1)!, "exp", "top", "lowScore"),
				...softmax(places, "peak", "inverse", "inverse0", "remainder0", "rest0"),
			],
		],
		[
			"helpers",
			[
				...[...all("helper", units), ...all("helperBack", units)],
				...biasedOf(shape).map((l) => [`biasHelper ${l}`, places] as const),
				...[...all("weightHelper", weights), ...all("tableHelper", tables)],
				...softmax(units.at(-1)!, "scoreHelper"),
				...softmax(places, "inverseHelper", "remainderHelper", "restHelper"),
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
	const links = sizes.slice(1).map((_, l) => linkOf(shape, l));
	const layers = [links[0]!.inputs, ...links.map(({ outputs }) => outputs)];
	const isPlain = shape.quotient === undefined && links.every(({ window }) => window === null);
	const windows = links.flatMap(({ window: w }) =>
		w === null ? [0, 0, 0, 0, 0, 0] : [w.channels, w.height, w.width, w.size, w.stride, w.pad],
	);
	const more = isPlain ? [] : [shape.quotient ?? 0, ...windows];
	const all = [...numbers, links.length, ...layers, ...more].map((one) => word(BigInt(one)));
	return keccak_256(Buffer.concat([Buffer.from(`assay/zk/plan/${isPlain ? 1 : 2}`), shape.root, ...all]));
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
	/** The bias that patches have. */
	readonly patchBias?: bigint;
	/** Where a link's patches take their numbers from. */
	readonly pixels?: (link: number, pixels: number[][]) => number[][];
	readonly loss?: (h: bigint, y: bigint) => bigint;
	/**
	 * Of a row's softmax: what counts as its largest unit, e, ⌊2^K / Σ e⌋, and what e times it is rounded to.
	 */
	readonly peak?: (peak: bigint, row: readonly bigint[]) => bigint;
	readonly exp?: (e: bigint, distance: bigint) => bigint;
	readonly inverse?: (inverse: bigint, sum: bigint, row: readonly bigint[]) => bigint;
	readonly score?: (score: bigint, product: bigint) => bigint;
	/** Units that are padding count as classes. */
	readonly isPaddingUsed?: boolean;
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
	/** Padded units, those of the data first. */
	readonly size: readonly number[];
	readonly link: readonly Link[];
	readonly row: (place: number) => number;
	private readonly shape: Shape;
	private readonly cheat: RunCheat;
	private readonly links: number;
	private readonly exp: readonly bigint[] = [];

	constructor(shape: Shape, start: Start, cheat: RunCheat) {
		[this.shape, this.cheat, this.links] = [shape, cheat, shape.sizes.length - 1];
		this.size = shape.sizes.map((n) => 2 ** log(n));
		this.link = shape.sizes.slice(1).map((_, l) => linkOf(shape, l));
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
		this.now = start.weights.map((one, l) => {
			const { inputs, outputs } = this.link[l]!.padded;
			return spread(one, inputs, outputs * inputs);
		});
		for (const [l, one] of this.now.entries()) this.columns.set(`before ${l}`, [...one]);
		const zeros = (width: number) => new Array<bigint>(shape.steps * shape.batch * width).fill(0n);
		this.z = this.now.map((_, l) => zeros(this.size[l + 1]!));
		this.q = this.now.map((_, l) => zeros(this.size[l + 1]!));
		this.entering = this.link.map(({ padded }) => zeros(padded.spots * padded.inputs));
		for (let l = 0; l < this.links; l++)
			for (const name of l === this.links - 1 ? ["h", "d"] : ["h", "d", "a", "m"])
				this.columns.set(`${name} ${l}`, zeros(this.size[l + 1]!));
		if (shape.quotient === undefined) return;
		for (const name of ["exp", "top"]) this.columns.set(`${name} ${this.links - 1}`, zeros(last));
		for (const name of ["peak", "inverse"]) this.columns.set(`${name} ${this.links - 1}`, zeros(1));
		this.exp = rowsOf(tablesOf(shape).at(-1)!).map(([, e]) => e!);
	}

	private round(sum: bigint, use: "z" | "q"): bigint {
		const scale = BigInt(this.shape.scale);
		return this.cheat.round?.(sum, scale, use) ?? rounded(sum, scale);
	}

	forth(l: number, { from, to }: Span, weights: readonly bigint[]): void {
		const { cheat, columns, entering } = this;
		const { inputs: k, outputs: n, spots } = this.link[l]!.padded;
		for (let p = from; p < to; p++) this.enter(l, p);
		const seen = cheat.operand?.(`z ${l}`, entering[l]!) ?? entering[l]!;
		// A row for each place of the window.
		for (let r = from * spots; r < to * spots; r++)
			for (let i = 0; i < n; i++) {
				let sum = 0n;
				for (let x = 0; x < k; x++) sum += seen[r * k + x]! * weights[i * k + x]!;
				sum = cheat.sum?.(`z ${l}`, sum, r * n + i) ?? sum;
				this.z[l]![r * n + i] = sum;
				const h = this.round(sum, "z");
				columns.get(`h ${l}`)![r * n + i] = h;
				if (l === this.links - 1) continue;
				const { a, m } = cheat.relu?.(h) ?? { a: h > 0n ? h : 0n, m: h > 0n ? 1n : 0n };
				columns.get(`a ${l}`)![r * n + i] = a;
				columns.get(`m ${l}`)![r * n + i] = m;
			}
	}

	/** What enters a link at a place of the segment: a row, or a patch for each place of the window. */
	private enter(l: number, p: number): void {
		const { shape, cheat, columns } = this;
		const { window, inputs, padded } = this.link[l]!;
		const bias = cheat.bias ?? 1n << BigInt(shape.activation);
		const width = this.size[l]!;
		const before = l === 0 ? columns.get("features 0")! : columns.get(`a ${l - 1}`)!;
		const first = (l === 0 ? this.row(p) : p) * width;
		const to = this.entering[l]!;
		if (window === null) {
			for (let x = 0; x < width; x++)
				to[p * width + x] = before[first + x]! + (l > 0 && x === shape.sizes[l]! - 1 ? bias : 0n);
			return;
		}
		for (const [spot, pixels] of (cheat.pixels?.(l, pixelsOf(window)) ?? pixelsOf(window)).entries())
			for (const [x, pixel] of pixels.entries()) {
				const value = x === inputs - 1 ? (cheat.patchBias ?? bias) : pixel < 0 ? 0n : before[first + pixel]!;
				to[(p * padded.spots + spot) * padded.inputs + x] = value;
			}
	}

	/** `weights`: of the next link. */
	back(l: number, { from, to }: Span, weights: readonly bigint[]): void {
		const { shape, cheat, columns } = this;
		const n = this.size[l + 1]!;
		const d = columns.get(`d ${l}`)!;
		if (l === this.links - 1 && shape.quotient !== undefined) {
			for (let p = from; p < to; p++) this.softmax(p);
			return;
		}
		const back = l === this.links - 1 ? null : this.cameBack(l, { from, to }, weights);
		const up = BigInt(shape.gradient - shape.activation);
		for (let p = from; p < to; p++)
			for (let i = 0; i < n; i++) {
				if (l === this.links - 1) {
					const [h, y] = [columns.get(`h ${l}`)![p * n + i]!, columns.get("labels 0")![this.row(p) * n + i]!];
					d[p * n + i] = cheat.loss?.(h, y) ?? (h - y) << up;
					continue;
				}
				const whole = back![(p - from) * n + i]!;
				const sum = cheat.sum?.(`q ${l}`, whole, p * n + i) ?? whole;
				this.q[l]![p * n + i] = sum;
				const own = columns.get(`m ${l}`)![p * n + i] === 0n ? 0n : this.round(sum, "q");
				d[p * n + i] = cheat.gradient?.(own) ?? own;
			}
	}

	/** d of a row of the last link: what softmax makes of its units, less its class. */
	private softmax(p: number): void {
		const { shape, cheat, columns } = this;
		const last = this.links - 1;
		const n = this.size[this.links]!;
		const get = (name: string) => columns.get(`${name} ${last}`)!;
		const row = get("h").slice(p * n, p * n + shape.sizes[this.links]!);
		const most = row.reduce((a, b) => (a > b ? a : b));
		const peak = cheat.peak?.(most, row) ?? most;
		get("peak")[p] = peak;
		// The first that is as large; of a cheater the largest.
		get("top")[p * n + Math.max(row.indexOf(peak), 0)] = 1n;
		const es = row.map(
			(h) => cheat.exp?.(this.exp[Number(peak - h)] ?? 0n, peak - h) ?? this.exp[Number(peak - h)] ?? 0n,
		);
		if (cheat.isPaddingUsed) es.push(...new Array<bigint>(n - es.length).fill(this.exp[0]!));
		const sum = es.reduce((a, b) => a + b);
		const whole = (1n << BigInt(shape.quotient!)) / sum;
		const inverse = cheat.inverse?.(whole, sum, es) ?? whole;
		get("inverse")[p] = inverse;
		const up = BigInt(shape.gradient - shape.activation);
		for (const [i, e] of es.entries()) {
			get("exp")[p * n + i] = e;
			const score = rounded(mod(e * inverse), BigInt(shape.quotient! - shape.gradient));
			const y = columns.get("labels 0")![this.row(p) * n + i]! << up;
			get("d")[p * n + i] = (cheat.score?.(score, e * inverse) ?? score) - y;
		}
	}

	/** Σ of the next link's gradients times its weights, over all patches that have a unit. */
	private cameBack(l: number, { from, to }: Span, weights: readonly bigint[]): bigint[] {
		const { window, padded } = this.link[l + 1]!;
		const { inputs: k, outputs: o, spots } = padded;
		const n = this.size[l + 1]!;
		const gradients = this.columns.get(`d ${l + 1}`)!;
		const seen = this.cheat.operand?.(`q ${l}`, gradients) ?? gradients;
		const plain = [Array.from({ length: n }, (_, i) => i)];
		const pixels = window === null ? plain : (this.cheat.pixels?.(l + 1, pixelsOf(window)) ?? pixelsOf(window));
		const sums = new Array<bigint>((to - from) * n).fill(0n);
		for (let p = from; p < to; p++)
			for (const [spot, patch] of pixels.entries())
				for (const [x, pixel] of patch.entries()) {
					if (pixel < 0) continue;
					for (let j = 0; j < o; j++)
						sums[(p - from) * n + pixel]! += seen[(p * spots + spot) * o + j]! * weights[j * k + x]!;
				}
		return sums;
	}

	change(l: number, { from, to }: Span): void {
		const { inputs: k, outputs: n, spots } = this.link[l]!.padded;
		const own = { entering: this.entering[l]!, d: this.columns.get(`d ${l}`)! };
		const by = this.cheat.changed?.(l, own.entering, own.d) ?? own;
		for (let p = from * spots; p < to * spots; p++)
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

/** Lower parts of numbers that softmax makes. */
export function addSoftmaxRest(shape: Shape, { columns, row }: Run): void {
	const last = shape.sizes.length - 2;
	const n = 2 ** log(shape.sizes.at(-1)!);
	const get = (name: string) => columns.get(`${name} ${last}`)!;
	const bits = softmaxBits(shape);
	const lower = (list: readonly bigint[], [low]: readonly [number, number]) =>
		list.map((one) => one & ((1n << BigInt(low)) - 1n));
	const lost = BigInt(shape.quotient! - shape.gradient);
	const up = BigInt(shape.gradient - shape.activation);
	const lostOf = (e: bigint, i: number) => {
		const p = Math.floor(i / n);
		const score = get("d")[i]! + (columns.get("labels 0")![row(p) * n + (i % n)]! << up);
		return mod(e * get("inverse")[p]!) + (1n << (lost - 1n)) - (score << lost);
	};
	columns.set(`lowScore ${last}`, lower(get("exp").map(lostOf), bits.score));
	columns.set(`inverse0 ${last}`, lower(get("inverse"), bits.inverse));
	const sums = get("inverse").map((_, p) =>
		get("exp")
			.slice(p * n, p * n + n)
			.reduce((a, b) => a + b, 0n),
	);
	const left = sums.map((sum, p) => (1n << BigInt(shape.quotient!)) - mod(sum * get("inverse")[p]!));
	columns.set(`remainder0 ${last}`, lower(left, bits.sum));
	columns.set(
		`rest0 ${last}`,
		lower(
			left.map((one, p) => sums[p]! - 1n - one),
			bits.sum,
		),
	);
}

/** low, lowBack and limbs of a run that is done. */
export function addRest(shape: Shape, run: Run): void {
	const { columns, z, q } = run;
	if (shape.quotient !== undefined) addSoftmaxRest(shape, run);
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
		if (i >= 0 && biasedOf(shape).includes(l)) return `what enters link ${l + 1} in step ${Math.floor(i / perStep(l))}`;
		const half = 1n << BigInt(shape.limbs.reduce((sum, one) => sum + one, -1));
		if (columns.get(`after ${l}`)!.some((one) => one < -half || one >= half)) return `a weight of link ${l} at the end`;
	}
	return null;
}
