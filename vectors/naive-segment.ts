// The prover of docs/zk.md §5, for reading: a segment of training, proven on bigints. It can be told to cheat
// in one place and be honest in all else. Nothing imported from src/; nobody should use it for more.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { inverse, inverses, mod, type Point, pointBytes, power, Transcript, word } from "./naive-bn254.ts";
import { eqs, type Poly, proveOpening, valueAt } from "./naive-opening.ts";
import {
	addRest,
	biasedOf,
	cubeOrder,
	type Group,
	layoutOf,
	linkOf,
	log,
	lowBits,
	pixelsOf,
	planHash,
	type Run,
	type RunCheat,
	rowsOf,
	runSegment,
	type Shape,
	type Start,
	softmaxBits,
	tablesOf,
	type Window,
} from "./naive-plan.ts";
import { proveSums, proveZeros, type Sum, words } from "./naive-sums.ts";

/** The statement's fields; bytes as hex. */
export interface Statement {
	readonly version: 1;
	readonly chainId: string;
	readonly job: string;
	readonly program: string;
	readonly plan: string;
	readonly srs: string;
	readonly seed: string;
	readonly firstStep: number;
	readonly steps: number;
	readonly features: string;
	readonly labels: string;
	readonly featurePoints: readonly string[];
	readonly labelPoints: readonly string[];
	readonly stateBefore: string;
	readonly stateAfter: string;
	readonly pointsBefore: readonly string[];
	readonly pointsAfter: readonly string[];
}

/** What hears messages, and answers with challenges. */
export type Listener = Pick<Transcript, "absorb" | "challenge">;

/**
 * What nobody can guess: a number that the transcript hears, and one more coefficient, at X^(2^c), of each
 * chunk.
 */
export interface Hiding {
	/** Null: of a segment alone, whose transcript hears none. */
	readonly nonce: bigint | null;
	readonly blinder: (group: number, chunk: number) => bigint;
}

/** What a prover takes from elsewhere. */
export type Told = Pick<Statement, "chainId" | "job" | "srs" | "features" | "labels" | "stateBefore" | "stateAfter">;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array => Buffer.from(text, "hex");

export function statementHash(of: Statement): Uint8Array {
	const points = (list: readonly string[]) => keccak_256(Buffer.concat(list.map(bytes)));
	return keccak_256(
		Buffer.concat([
			...[Buffer.from("assay/zk/statement/1"), word(BigInt(of.chainId)), word(BigInt(of.job))],
			...[bytes(of.program), bytes(of.plan), of.srs === "dev" ? new Uint8Array(32) : bytes(of.srs), bytes(of.seed)],
			...[word(BigInt(of.firstStep)), word(BigInt(of.steps)), bytes(of.features), bytes(of.labels)],
			...[bytes(of.stateBefore), bytes(of.stateAfter)],
			...[of.featurePoints, of.labelPoints, of.pointsBefore, of.pointsAfter].map(points),
		]),
	);
}

export interface SegmentCheat {
	readonly run?: RunCheat;
	/** Columns of the run, changed before anything is committed. */
	readonly columns?: (run: Run) => void;
	/** Helpers, changed before they are committed; α and β are known. */
	readonly helpers?: (columns: Map<string, bigint[]>, alpha: bigint, beta: bigint) => void;
	/**
	 * Terms of the first sum that the prover leaves out: "forth 0", "back 0", "loss 1", "bias 0", "weight 0",
	 * "table 0".
	 */
	readonly without?: readonly string[];
	/** Lookups that the prover leaves out: their term, and their number in it. */
	readonly isDropped?: (term: string, part: number) => boolean;
	/** Columns that the first sum sees in another way: of those that are committed, or "last 0". */
	readonly seen?: (name: string, column: readonly bigint[]) => readonly bigint[];
	/** Of how often rows of tables are looked up. */
	readonly counts?: (columns: Map<string, bigint[]>) => void;
	/** Blocks that are committed in another way than they are used. */
	readonly committed?: (columns: Map<string, bigint[]>) => void;
	/** What is opened is as it was used, not as it was committed. */
	readonly isOpenedAsUsed?: boolean;
	/**
	 * Terms of claims of which the prover says nothing, by their name: "h 0 of lookups". A claim without terms
	 * is none.
	 */
	readonly isUnclaimed?: (name: string) => boolean;
	/** Scalars of a message, before they are sent. */
	readonly sent?: (kind: number, scalars: readonly bigint[]) => readonly bigint[];
	/** The challenges are drawn before these messages are absorbed. */
	readonly isUnheard?: (kind: number) => boolean;
	/** Factors that the prover takes instead of those that were drawn. */
	readonly drawn?: (name: "gamma" | "mu" | "eta", value: bigint) => bigint;
	readonly statement?: Partial<Statement>;
}

/** factor · (a block at a point), as part of a claim. */
interface Term {
	readonly name: string;
	readonly at: number;
	readonly bits: number;
	readonly point: readonly bigint[];
	readonly factor: bigint;
	/** Weights of one axis, which stands after so many variables of the point. */
	readonly axis?: { readonly after: number; readonly weights: readonly bigint[] };
}

/** Where the first sum ends: over the list, and for each link over the cube. */
interface Ends {
	readonly among: readonly bigint[];
	readonly units: readonly (readonly bigint[])[];
	readonly weights: readonly (readonly bigint[])[];
}

interface Use {
	readonly name: string;
	readonly link: number;
	readonly step: readonly bigint[] | null;
	readonly input: readonly bigint[];
	readonly output: readonly bigint[];
	readonly factor: bigint;
}

/** What one helper looks up. */
interface Lookup {
	readonly name: string;
	readonly kind: number;
	readonly of: number;
	readonly variables: number;
	readonly helper: string;
	readonly columns: readonly string[];
	/** Columns that everybody knows; a list's members share what they are where the sum ends. */
	readonly known?: readonly string[];
	/** One of the parts is a product of two columns. */
	readonly isSquare?: boolean;
	/** `isOwn`: other members of the list look it up in another table. */
	readonly parts: readonly { table: number; row: (v: readonly bigint[]) => readonly bigint[]; isOwn?: boolean }[];
}

/** In the order of factors. */
const KINDS = [
	...(["forth", "back", "loss", "bias", "weight", "table"] as const),
	...(["score", "top", "inverse", "remainder", "rest"] as const),
];

const product = (list: readonly bigint[]): bigint => list.reduce((all, one) => mod(all * one), 1n);
/** helper = Σ 1/part, as what must be 0. */
const fault = (helper: bigint, parts: readonly bigint[]): bigint =>
	mod(helper * product(parts) - parts.reduce((sum, _, k) => sum + product(parts.toSpliced(k, 1)), 0n));
const cornerOf = (value: number, bits: number): bigint[] =>
	Array.from({ length: bits }, (_, i) => BigInt(Math.floor(value / 2 ** (bits - 1 - i)) % 2));
/** eq of the variables before the axis, its weights, eq of those after it: one after the other. */
function spreadOver(point: readonly bigint[], { after, weights }: NonNullable<Term["axis"]>): bigint[] {
	const [before, then] = [eqs(point.slice(0, after)), eqs(point.slice(after))];
	return before.flatMap((a) => weights.flatMap((w) => then.map((b) => mod(mod(a * w) * b))));
}

export class SegmentProver {
	private readonly shape: Shape;
	private readonly start: Start;
	private readonly commit: (poly: Poly) => Point;
	private readonly cheat: SegmentCheat;
	private readonly layout;
	private readonly run: Run;
	private readonly claims: (readonly Term[])[] = [];
	private readonly out: Uint8Array[] = [];
	private known: readonly bigint[] | null = null;
	private transcript!: Listener;
	private hiding: Hiding | null = null;

	constructor(shape: Shape, start: Start, commit: (poly: Poly) => Point, cheat: SegmentCheat = {}) {
		[this.shape, this.start, this.commit, this.cheat] = [shape, start, commit, cheat];
		this.layout = layoutOf(shape);
		this.run = runSegment(shape, start, cheat.run);
		addRest(shape, this.run);
		cheat.columns?.(this.run);
		this.addCounts();
		cheat.counts?.(this.columns);
	}

	get columns(): Map<string, bigint[]> {
		return this.run.columns;
	}

	prove(told: Told, hiding: Hiding | null = null): { readonly statement: Statement; readonly proof: Uint8Array } {
		const { statement, opening } = this.proveSums(told, (of) => new Transcript(statementHash(of)), hiding);
		this.out.push(proveOpening(this.transcript, this.commit, opening));
		return { statement, proof: Buffer.concat(this.out) };
	}

	/** All but the opening. */
	proveSums(told: Told, transcriptOf: (statement: Statement) => Listener, hiding: Hiding | null = null) {
		this.hiding = hiding;
		const { shape, start, cheat, layout } = this;
		const [features, labels, before, after, values, helpers] = layout.groups as [
			Group,
			Group,
			Group,
			Group,
			Group,
			Group,
		];
		const points = (group: Group) => this.chunksOf(group).map((poly) => pointBytes(this.commit(poly)));
		const statement: Statement = {
			...{ version: 1, ...told, program: hex(shape.root), plan: hex(planHash(shape)), seed: hex(start.seed) },
			...{ firstStep: start.firstStep, steps: shape.steps },
			...{ featurePoints: points(features).map(hex), labelPoints: points(labels).map(hex) },
			...{ pointsBefore: points(before).map(hex), pointsAfter: points(after).map(hex), ...cheat.statement },
		};
		this.transcript = transcriptOf(statement);
		this.message(1, Buffer.concat(points(values)));
		const [alpha, beta] = [this.transcript.challenge(), this.transcript.challenge()];
		this.addHelpers(alpha, beta);
		this.message(2, Buffer.concat(points(helpers)));
		if (hiding !== null && hiding.nonce !== null) this.send(36, [hiding.nonce]);
		const ends = this.lookups(alpha, beta);
		this.weights(this.products(ends), ends);
		this.known = this.gathered(true);
		this.bytes();
		const opening = this.opening(this.join());
		return { statement, proof: Buffer.concat(this.out), opening };
	}

	private message(kind: number, content: Uint8Array): void {
		this.out.push(content);
		if (!this.cheat.isUnheard?.(kind)) this.transcript.absorb(kind, content);
	}

	private send(kind: number, scalars: readonly bigint[]): void {
		this.message(kind, words(this.cheat.sent?.(kind, scalars) ?? scalars));
	}

	private drawn(name: "gamma" | "mu" | "eta"): bigint {
		const value = this.transcript.challenge();
		return this.cheat.drawn?.(name, value) ?? value;
	}

	private readonly sender = {
		send: (kind: number, scalars: readonly bigint[]) => this.send(kind, scalars),
		transcript: { challenge: () => this.transcript.challenge() } as Transcript,
	};

	private chunksOf(group: Group): Poly[] {
		const size = 2 ** this.shape.chunkBits;
		const all = this.allValues();
		const number = this.layout.groups.indexOf(group);
		return Array.from({ length: group.chunks }, (_, i) => [
			...all.slice((group.first + i) * size, (group.first + i + 1) * size),
			...(this.hiding === null ? [] : [this.hiding.blinder(number, i)]),
		]);
	}

	/** Everything that is committed, as one list. */
	private allValues(): readonly bigint[] {
		this.known ??= this.gathered(false);
		return this.known;
	}

	private gathered(isOpening: boolean): bigint[] {
		const all = new Array<bigint>(2 ** this.layout.bits).fill(0n);
		const columns = new Map(this.columns);
		if (!(this.cheat.isOpenedAsUsed && isOpening)) this.cheat.committed?.(columns);
		for (const [name, list] of columns) {
			const block = this.layout.blocks.get(name);
			if (block === undefined) continue;
			for (const [i, value] of list.entries()) if (value !== 0n) all[block.at + i] = mod(value);
		}
		return all;
	}

	private at(where: string, name: string, point: readonly bigint[], factor: bigint): Term {
		const { at, bits } = this.layout.blocks.get(name)!;
		return { name: `${name} of ${where}`, at, bits, point, factor };
	}

	/** A point of the data's rows, from one of (step, place in the batch). */
	private rowAt(place: readonly bigint[]): bigint[] {
		const { batch, rows } = this.shape;
		const epoch = Math.floor((this.start.firstStep * batch) / rows);
		const { places, mask } = cubeOrder(this.start.seed, epoch, log(rows));
		const first = this.start.firstStep * batch - epoch * rows;
		return Array.from({ length: log(rows) }, (_, i) => {
			const j = log(rows) - 1 - i;
			const from = places[j]!;
			const value = from < place.length ? place[place.length - 1 - from]! : BigInt((first >> from) & 1);
			return (mask >> j) & 1 ? mod(1n - value) : value;
		});
	}

	private pixels(link: number, window: Window): number[][] {
		const own = pixelsOf(window);
		return this.cheat.run?.pixels?.(link, own) ?? own;
	}

	/** Σ over (place, column) of eq·eq, by the number of the picture that stands there. */
	private pixelWeights(link: number, window: Window, spot: readonly bigint[], column: readonly bigint[]): bigint[] {
		const [spots, columns] = [eqs(spot), eqs(column)];
		const weights = new Array<bigint>(2 ** log(window.channels * window.height * window.width)).fill(0n);
		for (const [s, patch] of this.pixels(link, window).entries())
			for (const [x, pixel] of patch.entries()) if (pixel >= 0) weights[pixel]! += spots[s]! * columns[x]!;
		return weights.map((one) => mod(one));
	}

	/** But for the bias, which is known. */
	private entering(
		where: string,
		link: number,
		[place, spot]: readonly [readonly bigint[], readonly bigint[]],
		unit: readonly bigint[],
		factor: bigint,
	): Term {
		const { window } = linkOf(this.shape, link);
		if (window !== null) {
			const name = link === 0 ? "features 0" : `a ${link - 1}`;
			const point = link === 0 ? this.rowAt(place) : place;
			const axis = { after: point.length, weights: this.pixelWeights(link, window, spot, unit) };
			return { ...this.at(where, name, point, factor), axis };
		}
		if (link === 0) return this.at(where, "features 0", [...this.rowAt(place), ...unit], factor);
		return this.at(where, `a ${link - 1}`, [...place, ...unit], factor);
	}

	private part(alpha: bigint, beta: bigint, tag: bigint, row: readonly bigint[]): bigint {
		// tag + β·x + β²·y + β³·w
		return mod(alpha - tag - row.reduceRight((sum, one) => mod((sum + one) * beta), 0n));
	}

	/** For each helper of links: in which tables it looks up what, from the values of its columns. */
	private lookupTerms(): readonly Lookup[] {
		const { shape } = this;
		const tables = tablesOf(shape);
		const range = (bits: number) => tables.findIndex((one) => one.kind === "range" && one.bits === bits);
		const relu = tables.findIndex(({ kind }) => kind === "relu");
		const [signedH, signedD] = [relu + 1, relu + 2];
		const [low, scale] = [lowBits(shape), BigInt(shape.scale)];
		const shift = inverse(1n << BigInt(low));
		const places = log(shape.steps) + log(shape.batch);
		const links = shape.sizes.length - 1;
		const half = 1n << (scale - 1n);
		type Values = readonly bigint[];
		const high = ([z, h, rest]: Values) => mod((z! + half - (h! << scale) - rest!) * shift);
		const back = ([q, m, d, rest]: Values) => mod((m! * (q! + half) - (d! << scale) - rest!) * shift);
		const named = (kind: (typeof KINDS)[number], of: number) => ({
			...{ name: `${kind} ${of}`, kind: KINDS.indexOf(kind), of },
		});
		const all = Array.from({ length: links }, (_, l): readonly Lookup[] => {
			const isLast = l === links - 1;
			const variables = places + log(shape.sizes[l + 1]!);
			const columns = (...names: readonly string[]) => names.map((one) => `${one} ${l}`);
			const forth: Lookup = {
				...{ ...named("forth", l), variables, helper: `helper ${l}` },
				columns: isLast ? columns("z", "h", "low") : columns("z", "h", "low", "a", "m"),
				parts: [
					{ table: range(low), row: (v) => [v[2]!] },
					{ table: range(shape.scale - low), row: (v) => [high(v)] },
					{ table: isLast ? signedH : relu, row: (v) => [v[1]!, v[3] ?? 0n, v[4] ?? 0n], isOwn: true },
				],
			};
			if (isLast) {
				const loss: Lookup = {
					...{ ...named("loss", l), variables, helper: `helperBack ${l}`, columns: columns("d") },
					parts: [{ table: signedD, row: (v) => [v[0]!] }],
				};
				return [forth, loss, this.weightTerm(l, range), ...this.softmaxTerms(l, range)];
			}
			const backward: Lookup = {
				...{ ...named("back", l), variables, helper: `helperBack ${l}`, columns: columns("q", "m", "d", "lowBack") },
				isSquare: true,
				parts: [
					{ table: signedD, row: (v) => [v[2]!] },
					{ table: range(low), row: (v) => [v[3]!] },
					{ table: range(shape.scale - low), row: (v) => [back(v)] },
				],
			};
			const bias: Lookup = {
				...{ ...named("bias", l), variables: places, helper: `biasHelper ${l}`, columns: columns("last") },
				parts: [{ table: signedH, row: (v) => [mod(v[0]! + (1n << BigInt(shape.activation)))] }],
			};
			const isBiased = biasedOf(shape).includes(l);
			return [forth, backward, ...(isBiased ? [bias] : []), this.weightTerm(l, range)];
		});
		return all
			.flat()
			.toSorted((a, b) => a.kind - b.kind || a.of - b.of)
			.map((term) => ({ ...term, parts: term.parts.filter((_, i) => !this.cheat.isDropped?.(term.name, i)) }));
	}

	/** Limbs of a link's weights at the end. */
	private weightTerm(l: number, range: (bits: number) => number): Lookup {
		const [bits0, bits1, bits2] = this.shape.limbs;
		const { padded } = linkOf(this.shape, l);
		const shift = inverse(1n << BigInt(bits0 + bits1));
		const limb2 = ([w, a, b]: readonly bigint[]) =>
			mod((w! + (1n << BigInt(bits0 + bits1 + bits2 - 1)) - a! - (b! << BigInt(bits0))) * shift);
		return {
			...{ name: `weight ${l}`, kind: KINDS.indexOf("weight"), of: l, helper: `weightHelper ${l}` },
			variables: log(padded.inputs * padded.outputs),
			columns: [`after ${l}`, `limb0 ${l}`, `limb1 ${l}`],
			parts: [
				{ table: range(bits0), row: (v) => [v[1]!] },
				{ table: range(bits1), row: (v) => [v[2]!] },
				{ table: range(bits2), row: (v) => [limb2(v)] },
			],
		};
	}

	/**
	 * Of a loss by softmax: rounding of scores with e in its table; ⌊2^K / Σ e⌋; what it leaves, from 0 up and
	 * below Σ e.
	 */
	private softmaxTerms(l: number, range: (bits: number) => number): readonly Lookup[] {
		const { shape } = this;
		const { quotient, gradient } = shape;
		if (quotient === undefined) return [];
		const places = log(shape.steps) + log(shape.batch);
		const bits = softmaxBits(shape);
		const lost = BigInt(quotient - gradient);
		type Values = readonly bigint[];
		const half = 1n << (lost - 1n);
		const highScore = ([e, low, inv, , score]: Values) =>
			mod((e! * inv! + half - (score! << lost) - low!) * inverse(1n << BigInt(bits.score[0])));
		const term = (kind: "score" | "inverse" | "remainder" | "rest", columns: readonly string[]) => ({
			...{ name: `${kind} ${l}`, kind: KINDS.indexOf(kind), of: l, helper: `${kind}Helper ${l}` },
			...{ variables: places, columns: columns.map((one) => `${one} ${l}`) },
		});
		const parts = ([low, high]: readonly [number, number], whole: (v: Values) => bigint) => [
			{ table: range(low), row: (v: Values) => [v[0]!] },
			{ table: range(high), row: (v: Values) => [mod((whole(v) - v[0]!) * inverse(1n << BigInt(low)))] },
		];
		const left = ([, sum, inv]: Values) => (1n << BigInt(quotient)) - sum! * inv!;
		const score: Lookup = {
			...term("score", ["exp", "lowScore", "inverseWide", "distance", "score"]),
			...{ variables: places + log(shape.sizes[l + 1]!), known: [`isPadding ${l}`], isSquare: true },
			parts: [
				{ table: range(bits.score[0]), row: (v) => [v[1]!] },
				{ table: range(bits.score[1]), row: (v) => [highScore(v)] },
				{ table: tablesOf(shape).length - 1, row: (v) => [v[3]!, mod(v[0]! + (v[5]! << BigInt(gradient)))] },
			],
		};
		return [
			score,
			{ ...term("inverse", ["inverse0", "inverse"]), parts: parts(bits.inverse, (v) => v[1]!) },
			{ ...term("remainder", ["remainder0", "sum", "inverse"]), isSquare: true, parts: parts(bits.sum, left) },
			{
				...term("rest", ["rest0", "sum", "inverse"]),
				isSquare: true,
				parts: parts(bits.sum, (v) => v[1]! - 1n - left(v)),
			},
		];
	}

	/** How often each row of each table is looked up. What lies in no table is counted nowhere. */
	private addCounts(): void {
		const tables = tablesOf(this.shape).map((table) => ({
			counts: new Array<bigint>(2 ** table.bits).fill(0n),
			numbers: new Map(rowsOf(table).map((row, i) => [row.map((one) => mod(one)).join(), i])),
		}));
		for (const { variables, columns, known, parts } of this.lookupTerms()) {
			const lists = [...columns, ...(known ?? [])].map((name) => this.column(name));
			for (let i = 0; i < 2 ** variables; i++)
				for (const { table, row } of parts) {
					const { counts, numbers } = tables[table]!;
					const own = row(lists.map((one) => one[i]!)).map((one) => mod(one));
					const number = numbers.get([...own, 0n, 0n].slice(0, 3).join());
					if (number !== undefined) counts[number]! += 1n;
				}
		}
		for (const [i, { counts }] of tables.entries()) this.columns.set(`multiplicity ${i}`, counts);
	}

	/** z, q and the units of the last column among them, which are committed nowhere. */
	private column(name: string): readonly bigint[] {
		const column = this.ownColumn(name);
		return this.cheat.seen?.(name, column) ?? column;
	}

	private ownColumn(name: string): readonly bigint[] {
		const [kind, of] = name.split(" ") as [string, string];
		const l = Number(of);
		if (kind === "z" || kind === "q") return this.run[kind][l]!;
		if (kind !== "last") return this.columns.get(name) ?? this.softmaxColumn(kind, l);
		const width = this.shape.sizes[l + 1]!;
		return this.columns.get(`a ${l}`)!.filter((_, i) => i % 2 ** log(width) === width - 1);
	}

	/** What follows from columns of softmax, and is committed nowhere. */
	private softmaxColumn(kind: string, l: number): readonly bigint[] {
		const { shape, run } = this;
		const get = (name: string) => this.columns.get(`${name} ${l}`)!;
		const n = 2 ** log(shape.sizes[l + 1]!);
		const isClass = (i: number) => i % n < shape.sizes[l + 1]!;
		const up = BigInt(shape.gradient - shape.activation);
		const wide = (name: string) => get("h").map((_, i) => get(name)[Math.floor(i / n)]!);
		if (kind === "isPadding" || kind === "noTop") return get("h").map((_, i) => (isClass(i) ? 0n : 1n));
		if (kind === "inverseWide") return wide("inverse");
		if (kind === "distance") return wide("peak").map((one, i) => mod((isClass(i) ? one : 0n) - get("h")[i]!));
		if (kind === "sum")
			return get("peak").map((_, p) =>
				mod(
					get("exp")
						.slice(p * n, p * n + n)
						.reduce((a, b) => a + b, 0n),
				),
			);
		const y = this.columns.get("labels 0")!;
		return get("d").map((d, i) => mod(d + (y[run.row(Math.floor(i / n)) * n + (i % n)]! << up)));
	}

	private addHelpers(alpha: bigint, beta: bigint): void {
		for (const { helper, variables, columns, known, parts } of this.lookupTerms()) {
			const lists = [...columns, ...(known ?? [])].map((name) => this.column(name));
			const all = Array.from({ length: 2 ** variables }, (_, i) => lists.map((one) => one[i]!)).flatMap((values) =>
				parts.map(({ table, row }) => this.part(alpha, beta, BigInt(table + 1), row(values))),
			);
			const list = new Array<bigint>(2 ** variables).fill(0n);
			for (const [i, one] of inverses(all).entries()) list[Math.floor(i / parts.length)]! += one;
			this.columns.set(
				helper,
				list.map((one) => mod(one)),
			);
		}
		for (const [i, table] of tablesOf(this.shape).entries()) {
			const counts = this.columns.get(`multiplicity ${i}`)!;
			const list = rowsOf(table).map((row, k) => {
				const count = counts[k]!;
				return count === 0n ? 0n : mod(count * inverse(this.part(alpha, beta, BigInt(i + 1), row)));
			});
			this.columns.set(`tableHelper ${i}`, list);
		}
		this.cheat.helpers?.(this.columns, alpha, beta);
		this.known = null;
	}

	private lookups(alpha: bigint, beta: bigint): Ends {
		const terms = this.lookupTerms();
		const tables = tablesOf(this.shape);
		const variables = Math.max(...terms.map((one) => one.variables), ...tables.map(({ bits }) => bits));
		const listBits = log(Math.max(this.shape.sizes.length - 1, tables.length));
		const rho = Array.from({ length: variables }, () => this.transcript.challenge());
		const gamma = this.drawn("gamma");
		const without = new Set(this.cheat.without);
		const factor = (kind: number, of: number) =>
			without.has(`${KINDS[kind]!} ${of}`) ? 0n : power(gamma, BigInt(kind * 2 ** listBits + of));
		const sums: Sum[] = terms.map(({ kind, of, helper, variables: size, columns, known, isSquare, parts }) => ({
			variables: size,
			columns: [this.columns.get(helper)!, ...[...columns, ...(known ?? [])].map((one) => this.column(one))],
			degree: 1 + parts.length + (isSquare ? 1 : 0),
			term: ([g, ...values]) => {
				const own = parts.map(({ table, row }) => this.part(alpha, beta, BigInt(table + 1), row(values)));
				return mod(factor(kind, of) * fault(g!, own));
			},
		}));
		const table = KINDS.indexOf("table");
		const rows = tables.map((one, i) => rowsOf(one).map((row) => this.part(alpha, beta, BigInt(i + 1), row)));
		for (const [i, { bits }] of tables.entries())
			sums.push({
				...{ variables: bits, degree: 2, zeroWith: [0, 1] },
				columns: [this.columns.get(`tableHelper ${i}`)!, this.columns.get(`multiplicity ${i}`)!, rows[i]!],
				term: ([g, m, own]) => mod(factor(table, i) * mod(g! * own! - m!)),
			});
		const topSum = this.topSum(factor);
		const cube = proveZeros(this.sender, { kind: 3, degree: 5, rho, sums: [...sums, ...topSum] });

		// The same over the list: what each had where its sum ended, as a polynomial in its number.
		const listed = (values: ReadonlyMap<number, bigint>) =>
			Array.from({ length: 2 ** listBits }, (_, i) => values.get(i) ?? 0n);
		const lookupKinds = [...KINDS.keys()].filter((kind) => kind !== table && KINDS[kind] !== "top");
		const lists = lookupKinds.map((kind) => {
			const own = terms.map((term, i) => ({ ...term, ends: cube.ends[i]! })).filter((one) => one.kind === kind);
			const column = (k: number) =>
				listed(new Map(own.map(({ of, ends, columns }) => [of, k <= columns.length ? ends[k]! : 0n])));
			const factors = listed(new Map(own.map(({ of }) => [of, factor(kind, of)])));
			const tags = own[0]?.parts.map((_, k) =>
				listed(new Map(own.map(({ of, parts }) => [of, BigInt(parts[k]!.table + 1)]))),
			);
			return { own, tags: tags ?? [], columns: [factors, ...Array.from({ length: 6 }, (_, k) => column(k))] };
		});
		const perList = lists.map(({ own, tags, columns }): Sum => {
			const parts = own[0]?.parts ?? [];
			return {
				...{ variables: listBits, columns: [...columns, ...tags], degree: 6 },
				term: ([c, g, ...rest]) => {
					const known = own[0]?.known?.map((_, k) => own[0]!.ends[own[0]!.columns.length + 1 + k]!) ?? [];
					const [values, tagsThere] = [[...rest.slice(0, 5), ...known], rest.slice(5)];
					const all = parts.map(({ table: number, row, isOwn }, k) =>
						this.part(alpha, beta, isOwn ? tagsThere[k]! : BigInt(number + 1), row(values)),
					);
					return mod(c! * fault(g!, all));
				},
			};
		});
		const ofTables = (k: number) => listed(new Map(tables.map((_, i) => [i, cube.ends[terms.length + i]![k]!])));
		perList.push({
			...{ variables: listBits, degree: 3 },
			columns: [listed(new Map(tables.map((_, i) => [i, factor(table, i)]))), ofTables(0), ofTables(1), ofTables(2)],
			term: ([c, g, m, own]) => mod(c! * mod(g! * own! - m!)),
		});
		for (const { columns } of topSum) {
			const ends = cube.ends[sums.length]!;
			const last = this.shape.sizes.length - 2;
			perList.push({
				...{ variables: listBits, degree: 3 },
				columns: [factor(KINDS.indexOf("top"), last), ...ends.slice(0, columns.length - 1)].map((one) =>
					listed(new Map([[last, one]])),
				),
				term: ([c, top, distance]) => mod(c! * mod(top! * (distance! + ends.at(-1)!))),
			});
		}
		const list = proveSums(this.sender, { kind: 3, degree: 6, variables: listBits, sums: perList });
		return this.lookupValues(cube.point, eqs(list.point), list.ends);
	}

	/** The unit that is a row's largest is at no distance to it, and is no padding. */
	private topSum(factor: (kind: number, of: number) => bigint): Sum[] {
		const { sizes, steps, batch, quotient } = this.shape;
		const l = sizes.length - 2;
		if (quotient === undefined) return [];
		return [
			{
				...{ variables: log(steps) + log(batch) + log(sizes[l + 1]!), degree: 2 },
				columns: [this.column(`top ${l}`), this.column(`distance ${l}`), this.column(`noTop ${l}`)],
				term: ([top, distance, isPadding]) =>
					mod(factor(KINDS.indexOf("top"), l) * mod(top! * (distance! + isPadding!))),
			},
		];
	}

	/** `ends`: of each kind of lists: factors, helper, values. */
	private lookupValues(point: readonly bigint[], among: readonly bigint[], ends: readonly (readonly bigint[])[]): Ends {
		const { sizes, gradient, activation, steps, batch } = this.shape;
		const links = sizes.length - 1;
		const tables = tablesOf(this.shape);
		const places = log(steps) + log(batch);
		const end = (variables: number) => point.slice(point.length - variables);
		const units = sizes.slice(1).map((n) => end(places + log(n)));
		const weights = units.map((_, l) => {
			const { padded } = linkOf(this.shape, l);
			return end(log(padded.inputs * padded.outputs));
		});
		const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
		const [all, inner, last] = [numbers(links), numbers(links - 1), links - 1];
		const list: bigint[] = [];
		const say = (
			name: string,
			value: bigint,
			of: readonly number[],
			at: ((l: number) => readonly bigint[]) | null,
			where = "lookups",
		) => {
			if (of.length === 0) return;
			list.push(value);
			if (at !== null) this.claims.push(of.map((l) => this.at(where, `${name} ${l}`, at(l), among[l]!)));
		};
		// Lists of lookups stand before that of tables, which stands before that of a row's largest.
		const lists = ends.map(([, ...values]) => values);
		const [forth, back, loss, bias, weight, score, inverted, remainder, rest, table, top] = lists;
		const unit = (l: number) => units[l]!;
		say("h", forth![2]!, all, unit);
		say("a", forth![4]!, inner, unit);
		say("m", forth![5]!, inner, unit);
		say("low", forth![3]!, all, unit);
		say("helper", forth![0]!, all, unit);
		say("z", forth![1]!, all, null);
		say("d", back![3]!, inner, unit);
		say("lowBack", back![4]!, inner, unit);
		say("helperBack", back![0]!, inner, unit);
		say("q", back![1]!, inner, null);
		say("d", loss![1]!, [last], unit);
		say("helperBack", loss![0]!, [last], unit);
		const own = units[last]!;
		if (this.shape.quotient === undefined)
			this.claims.push([
				this.at("loss", `h ${last}`, own, 1n),
				this.at("loss", `d ${last}`, own, mod(-inverse(1n << BigInt(gradient - activation)))),
				this.at("loss", "labels 0", [...this.rowAt(own.slice(0, places)), ...own.slice(places)], mod(-1n)),
			]);
		const corner = (l: number) => [...end(places), ...cornerOf(sizes[l + 1]! - 1, log(sizes[l + 1]!))];
		say("a", bias![1]!, biasedOf(this.shape), corner, "bias");
		say("biasHelper", bias![0]!, biasedOf(this.shape), () => end(places));
		const there = (l: number) => weights[l]!;
		say("after", weight![1]!, all, there);
		say("limb0", weight![2]!, all, there);
		say("limb1", weight![3]!, all, there);
		say("weightHelper", weight![0]!, all, there);
		const row = (i: number) => end(tables[i]!.bits);
		say("multiplicity", table![1]!, numbers(tables.length), row);
		say("tableHelper", table![0]!, numbers(tables.length), row);
		if (this.shape.quotient !== undefined)
			list.push(...this.softmaxValues(own, end(places), among[last]!, [score!, top!, inverted!, remainder!, rest!]));
		this.send(4, list);
		this.claims.push(
			[...this.layout.blocks.values()]
				.filter(({ name }) => /^\w*[hH]elper(Back)? /.test(name))
				.map(({ name, bits }) => {
					const count = 1n << BigInt(bits);
					const middle = new Array<bigint>(bits).fill(inverse(2n));
					return this.at("sum", name, middle, name.startsWith("table") ? mod(-count) : count);
				}),
		);
		return { among, units, weights };
	}

	/** What is told of softmax: where the last link's units end (`own`), and where rows do. */
	private softmaxValues(
		own: readonly bigint[],
		row: readonly bigint[],
		factor: bigint,
		[score, top, inverted, remainder, rest]: readonly bigint[][],
	): readonly bigint[] {
		const { sizes, gradient, activation } = this.shape;
		const last = sizes.length - 2;
		const [place, scores] = [own.slice(0, row.length), own.slice(row.length)];
		const middle = scores.map(() => inverse(2n));
		const count = 1n << BigInt(scores.length);
		const isClass = eqs(scores)
			.slice(0, sizes[last + 1]!)
			.reduce((a, b) => a + b, 0n);
		const list: bigint[] = [];
		const say = (name: string, value: bigint, at: readonly bigint[], where = "lookups") => {
			list.push(value);
			this.claims.push([this.at(where, `${name} ${last}`, at, factor)]);
		};
		say("exp", score![1]!, own);
		say("lowScore", score![2]!, own);
		say("scoreHelper", score![0]!, own);
		say("top", top![0]!, own);
		say("inverse", score![3]!, place, "rounding");
		list.push(score![4]!, score![5]!);
		this.claims.push(
			[
				this.at("distance", `peak ${last}`, place, mod(factor * isClass)),
				this.at("distance", `h ${last}`, own, mod(-factor)),
			],
			[
				this.at("score", `d ${last}`, own, factor),
				this.at("score", "labels 0", [...this.rowAt(place), ...scores], mod(factor << BigInt(gradient - activation))),
			],
			[this.at("one", `top ${last}`, [...place, ...middle], count)],
		);
		say("inverse", inverted![2]!, row);
		say("inverse0", inverted![1]!, row);
		say("remainder0", remainder![1]!, row);
		say("rest0", rest![1]!, row);
		say("inverseHelper", inverted![0]!, row);
		say("remainderHelper", remainder![0]!, row);
		say("restHelper", rest![0]!, row);
		list.push(remainder![2]!);
		this.claims.push([this.at("total", `exp ${last}`, [...row, ...middle], mod(factor * count))]);
		return list;
	}

	/** Σ over one axis of a list (a, b, c), by weights for b. */
	private folded(list: readonly bigint[], [a, b, c]: readonly [number, number, number], by: Poly): bigint[] {
		const result = new Array<bigint>(a * c).fill(0n);
		for (let i = 0; i < a; i++)
			for (let j = 0; j < b; j++) for (let k = 0; k < c; k++) result[i * c + k]! += list[(i * b + j) * c + k]! * by[j]!;
		return result.map((one) => mod(one));
	}

	/** Rounds over the cube, then over the list of products: factor·a·b of each. */
	private productSums(kind: number, sums: readonly Sum[], factors: readonly bigint[]) {
		const variables = Math.max(...sums.map((one) => one.variables));
		const cube = proveSums(this.sender, { kind, degree: 3, variables, sums });
		const bits = log(sums.length);
		const listed = (of: (i: number) => bigint) =>
			Array.from({ length: 2 ** bits }, (_, i) => (i < sums.length ? of(i) : 0n));
		const share = (i: number) => power(inverse(2n), BigInt(variables - sums[i]!.variables));
		const columns = [
			listed((i) => mod(factors[i]! * share(i) * cube.ends[i]![0]!)),
			listed((i) => cube.ends[i]![1]!),
			listed((i) => cube.ends[i]![2]!),
		];
		const whole: Sum = { variables: bits, columns, degree: 3, term: ([f, a, b]) => mod(f! * mod(a! * b!)) };
		const list = proveSums(this.sender, { kind, degree: 3, variables: bits, sums: [whole] });
		this.send(kind + 1, list.ends[0]!.slice(1));
		return { point: cube.point, among: eqs(list.point) };
	}

	/**
	 * What z of a link, or q of the link before it, is a product of: over steps and the inner axis; what is
	 * told of it where the sum ends, and of the weights there.
	 */
	private product(link: number, isBack: boolean, point: readonly bigint[], seen: readonly bigint[]) {
		const { steps, batch } = this.shape;
		const { window, padded } = linkOf(this.shape, link);
		const places = log(steps) + log(batch);
		const [batched, unit] = [point.slice(log(steps), places), point.slice(places)];
		const spotted = log(padded.spots);
		const all = this.run.weights[link]!;
		if (!isBack) {
			const by = eqs(point.slice(log(steps), places + spotted));
			const output = eqs(point.slice(places + spotted));
			return {
				inner: padded.inputs,
				operand: this.folded(seen, [steps, batch * padded.spots, padded.inputs], by),
				weights: all.flatMap((one) => this.folded(one, [1, padded.outputs, padded.inputs], output)),
				term: (name: string, place: readonly bigint[], at: readonly bigint[], factor: bigint) =>
					this.entering(name, link, [place, unit.slice(0, spotted)], at, factor),
				use: (at: readonly bigint[]) => ({ input: at, output: unit.slice(spotted) }),
			};
		}
		if (window === null)
			return {
				inner: padded.outputs,
				operand: this.folded(seen, [steps, batch, padded.outputs], eqs(batched)),
				weights: all.flatMap((one) => this.folded(one, [padded.outputs, padded.inputs, 1], eqs(unit))),
				term: (name: string, place: readonly bigint[], at: readonly bigint[], factor: bigint) =>
					this.at(name, `d ${link}`, [...place, ...at], factor),
				use: (at: readonly bigint[]) => ({ input: unit, output: at }),
			};
		// Over (output, column): gradients of all places whose patch has the unit in that column.
		const gradients = this.folded(seen, [steps, batch, padded.spots * padded.outputs], eqs(batched));
		const counts = this.placeCounts(link, window, unit);
		const operand = Array.from({ length: steps }, (_, t) =>
			Array.from({ length: padded.outputs }, (_, o) =>
				Array.from({ length: padded.inputs }, (_, x) =>
					mod(
						counts.reduce(
							(sum, one, s) => sum + (one[x] ?? 0n) * gradients[(t * padded.spots + s) * padded.outputs + o]!,
							0n,
						),
					),
				),
			),
		).flat(2);
		return {
			...{ inner: padded.outputs * padded.inputs, operand, weights: all.flat() },
			term: (name: string, place: readonly bigint[], at: readonly bigint[], factor: bigint) => {
				const [output, column] = [at.slice(0, log(padded.outputs)), eqs(at.slice(log(padded.outputs)))];
				const weights = Array.from({ length: padded.spots }, (_, s) =>
					mod((counts[s] ?? []).reduce((sum, one, x) => sum + one * column[x]!, 0n)),
				);
				return { ...this.at(name, `d ${link}`, [...place, ...output], factor), axis: { after: place.length, weights } };
			},
			use: (at: readonly bigint[]) => ({
				...{ output: at.slice(0, log(padded.outputs)), input: at.slice(log(padded.outputs)) },
			}),
		};
	}

	/** For each place of a window and each column: eq(unit, the number that stands there). */
	private placeCounts(link: number, window: Window, unit: readonly bigint[]): bigint[][] {
		const picture = eqs(unit);
		return this.pixels(link, window).map((patch) => patch.map((pixel) => (pixel < 0 ? 0n : picture[pixel]!)));
	}

	private products({ among, units }: Ends): readonly Use[] {
		const { steps, batch } = this.shape;
		const places = log(steps) + log(batch);
		const { operand } = this.cheat.run ?? {};
		const mu = this.drawn("mu");
		const forth = units.map((point, l) => ({
			...{ name: `z ${l}`, link: l, isBack: false, point, factor: among[l]!, column: this.run.entering[l]! },
		}));
		const back = units.slice(0, -1).map((point, l) => ({
			...{ name: `q ${l}`, link: l + 1, isBack: true, point, factor: mod(mu * among[l]!) },
			column: this.columns.get(`d ${l + 1}`)!,
		}));
		const wanted = [...forth, ...back].map((one) => {
			const seen = operand?.(one.name, one.column) ?? one.column;
			return { ...one, ...this.product(one.link, one.isBack, one.point, seen) };
		});
		const sums = wanted.map(({ inner, point, operand: own, weights, factor }): Sum => {
			const same = eqs(point.slice(0, log(steps)));
			return {
				variables: log(steps) + log(inner),
				columns: [same.flatMap((one) => new Array<bigint>(inner).fill(one)), own, weights],
				degree: 3,
				term: ([e, a, w]) => mod(factor * e! * mod(a! * w!)),
			};
		});
		const factors = wanted.map(({ factor }) => factor);
		const { point, among: chosen } = this.productSums(5, sums, factors);
		const terms: Term[] = [];
		const uses = wanted.map(({ name, link, point: own, term, use }, i): Use => {
			const end = point.slice(point.length - sums[i]!.variables);
			const [step, inner] = [end.slice(0, log(steps)), end.slice(log(steps))];
			const factor = chosen[i]!;
			terms.push(term(name, [...step, ...own.slice(log(steps), places)], inner, factor));
			return { name, link, step, factor, ...use(inner) };
		});
		this.claims.push(terms);
		return uses;
	}

	private weights(known: readonly Use[], { among, weights }: Ends): void {
		const { steps, batch } = this.shape;
		const nu = this.transcript.challenge();
		const atEnd = weights.map((point, link): Use => {
			const bits = log(linkOf(this.shape, link).padded.outputs);
			const factor = mod(nu * among[link]!);
			return {
				name: `after ${link}`,
				link,
				step: null,
				output: point.slice(0, bits),
				input: point.slice(bits),
				factor,
			};
		});
		const uses = [...known, ...atEnd];
		const starts = uses.map(({ link, input, output, factor }) => {
			const before = this.columns.get(`before ${link}`)!.map((one) => mod(one));
			return factor * valueAt(before, [...output, ...input]);
		});
		this.send(7, [mod(starts.reduce((sum, one) => sum + one, 0n))]);
		const late = this.cheat.run?.isStale ? 1 : 0;
		const sums = uses.map(({ link, step, input, output, factor }): Sum => {
			const own = { entering: this.run.entering[link]!, d: this.columns.get(`d ${link}`)! };
			const { entering, d } = this.cheat.run?.changed?.(link, own.entering, own.d) ?? own;
			const at = step === null ? null : eqs(step);
			// Steps before that one; all of them for the end.
			const counts = Array.from({ length: steps }, (_, s) =>
				at === null ? 1n : mod(at.reduce((sum, one, t) => (s < t - late ? sum + one : sum), 0n)),
			);
			const { padded } = linkOf(this.shape, link);
			const rows = batch * padded.spots;
			return {
				variables: log(steps) + log(rows),
				columns: [
					counts.flatMap((one) => new Array<bigint>(rows).fill(one)),
					this.folded(entering, [steps * rows, padded.inputs, 1], eqs(input)),
					this.folded(d, [steps * rows, padded.outputs, 1], eqs(output)),
				],
				degree: 3,
				term: ([c, a, b]) => mod(factor * c! * mod(a! * b!)),
			};
		});
		const factors = uses.map(({ factor }) => factor);
		const { point, among: chosen } = this.productSums(8, sums, factors);
		const places = log(steps) + log(batch);
		const ends = (i: number) => point.slice(point.length - sums[i]!.variables);
		this.claims.push(
			uses.map(({ name, link, input, output, factor }) =>
				this.at(`start of ${name}`, `before ${link}`, [...output, ...input], factor),
			),
			uses.map(({ name, link, input }, i) => {
				const own = ends(i);
				return this.entering(`change of ${name}`, link, [own.slice(0, places), own.slice(places)], input, chosen[i]!);
			}),
			uses.map(({ name, link, output }, i) =>
				this.at(`change of ${name}`, `d ${link}`, [...ends(i), ...output], chosen[i]!),
			),
		);
	}

	private bytes(): void {
		const groups = this.layout.groups.slice(0, 4);
		const point = Array.from({ length: Math.max(...groups.map(({ bits }) => bits)) }, () =>
			this.transcript.challenge(),
		);
		const all = this.allValues();
		const claims = groups.map(({ name, first, bits }) => {
			const at = first * 2 ** this.shape.chunkBits;
			return { name: `${name} of bytes`, at, bits, point: point.slice(point.length - bits), factor: 1n };
		});
		this.send(
			10,
			claims.map(({ at, bits, point: own }) => valueAt(all.slice(at, at + 2 ** bits), own)),
		);
		this.claims.push(...claims.map((one) => [one]));
	}

	private join(): { readonly point: readonly bigint[]; readonly value: bigint } {
		const eta = this.drawn("eta");
		const kernel = new Array<bigint>(2 ** this.layout.bits).fill(0n);
		const told = this.claims
			.map((terms) => terms.filter(({ name }) => !this.cheat.isUnclaimed?.(name)))
			.filter((terms) => terms.length > 0);
		for (const [j, terms] of told.entries())
			for (const { at, point, factor, axis } of terms) {
				const by = mod(power(eta, BigInt(j)) * factor);
				const own = axis === undefined ? eqs(point) : spreadOver(point, axis);
				for (const [i, one] of own.entries()) kernel[at + i] = mod(kernel[at + i]! + by * one);
			}
		const sum: Sum = {
			...{ variables: this.layout.bits, columns: [kernel, this.allValues()], degree: 2, zeroWith: [1] },
			term: ([k, p]) => mod(k! * p!),
		};
		const { point, ends } = proveSums(this.sender, { kind: 11, degree: 2, variables: this.layout.bits, sums: [sum] });
		const value = ends[0]![1]!;
		this.send(12, [value]);
		return { point, value };
	}

	private opening({ point, value }: { readonly point: readonly bigint[]; readonly value: bigint }) {
		const high = point.length - this.shape.chunkBits;
		const chunk = eqs(point.slice(0, high));
		const poly = this.joined(this.allValues(), chunk);
		// The same, of what a cheater has committed.
		return { poly, committed: this.joined(this.gathered(false), chunk), point: point.slice(high), value };
	}

	/** All chunks, each so many times. */
	private joined(list: readonly bigint[], chunk: Poly): bigint[] {
		const { hiding, shape } = this;
		const size = 2 ** shape.chunkBits;
		const poly = new Array<bigint>(size).fill(0n);
		for (const [i, one] of list.entries())
			if (one !== 0n) poly[i % size] = mod(poly[i % size]! + chunk[Math.floor(i / size)]! * one);
		if (hiding === null) return poly;
		const parts = this.layout.groups.flatMap((group, number) =>
			Array.from({ length: group.chunks }, (_, i) => chunk[group.first + i]! * hiding.blinder(number, i)),
		);
		return [...poly, mod(parts.reduce((sum, one) => sum + one, 0n))];
	}

	/** A point of rows as a matrix of a point of (step, place) and 1. */
	rowMatrix(): bigint[] {
		const { steps, batch, rows } = this.shape;
		const own = log(steps) + log(batch);
		const rowOf = (place: readonly bigint[]) => this.rowAt(place);
		const zero = rowOf(new Array<bigint>(own).fill(0n));
		const units = Array.from({ length: own }, (_, i) => rowOf(cornerOf(2 ** (own - 1 - i), own)));
		return Array.from({ length: log(rows) }, (_, i) => [
			...units.map((one) => mod(one[i]! - zero[i]!)),
			zero[i]!,
		]).flat();
	}
}
