// The prover of docs/zk.md §5, for reading: a segment of training, proven on bigints. It can be told to cheat in one place and be honest in all else. Nothing imported
// from src/; nobody should use it for more.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { inverse, inverses, mod, type Point, pointBytes, power, Transcript, word } from "./naive-bn254.ts";
import { eqs, type Poly, proveMercury, valueAt } from "./naive-mercury.ts";
import {
	addRest,
	cubeOrder,
	type Group,
	layoutOf,
	log,
	lowBits,
	planHash,
	type Run,
	type RunCheat,
	rowsOf,
	runSegment,
	type Shape,
	type Start,
	tablesOf,
} from "./naive-plan.ts";
import { proveSums, type Sum, words } from "./naive-sums.ts";

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
	/** Terms of the first sum that the prover leaves out: "forth 0", "back 0", "bias 0", "weight 0", "table 0", "helpers". */
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
	/** Claims of which the prover says nothing, by their name: "h 0 of lookups". */
	readonly isUnclaimed?: (name: string) => boolean;
	/** Scalars of a message, before they are sent. */
	readonly sent?: (kind: number, scalars: readonly bigint[]) => readonly bigint[];
	/** The challenges are drawn before these messages are absorbed. */
	readonly isUnheard?: (kind: number) => boolean;
	readonly statement?: Partial<Statement>;
}

interface Claim {
	readonly name: string;
	readonly at: number;
	readonly bits: number;
	readonly point: readonly bigint[];
	readonly value: bigint;
}

interface End {
	readonly point: readonly bigint[];
	readonly z: bigint;
	readonly q: bigint;
	readonly weightPoint: readonly bigint[];
	readonly after: bigint;
}

interface Use {
	readonly name: string;
	readonly link: number;
	readonly step: readonly bigint[] | null;
	readonly input: readonly bigint[];
	readonly output: readonly bigint[];
	readonly value: bigint;
}

const product = (list: readonly bigint[]): bigint => list.reduce((all, one) => mod(all * one), 1n);
const corner = (value: number, bits: number): bigint[] =>
	Array.from({ length: bits }, (_, i) => BigInt(Math.floor(value / 2 ** (bits - 1 - i)) % 2));
const eq = (u: readonly bigint[], v: readonly bigint[]): bigint =>
	u.reduce((all, one, i) => mod(all * (one * v[i]! + (1n - one) * (1n - v[i]!))), 1n);

export class SegmentProver {
	private readonly shape: Shape;
	private readonly start: Start;
	private readonly commit: (poly: Poly) => Point;
	private readonly cheat: SegmentCheat;
	private readonly layout;
	private readonly run: Run;
	private readonly claims: Claim[] = [];
	private readonly out: Uint8Array[] = [];
	private known: readonly bigint[] | null = null;
	private transcript!: Transcript;

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

	prove(told: Told): { readonly statement: Statement; readonly proof: Uint8Array } {
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
		this.transcript = new Transcript(statementHash(statement));
		this.message(1, Buffer.concat(points(values)));
		const [alpha, beta] = [this.transcript.challenge(), this.transcript.challenge()];
		this.addHelpers(alpha, beta);
		this.message(2, Buffer.concat(points(helpers)));
		const ends = this.lookups(alpha, beta);
		const uses = this.products(ends);
		this.weights([
			...uses,
			...ends.map(({ weightPoint, after: value }, link) => {
				const bits = log(shape.sizes[link + 1]!);
				const [output, input] = [weightPoint.slice(0, bits), weightPoint.slice(bits)];
				return { name: `after ${link}`, link, step: null, input, output, value };
			}),
		]);
		this.known = this.gathered(true);
		this.bytes();
		this.open(this.join());
		return { statement, proof: Buffer.concat(this.out) };
	}

	private message(kind: number, content: Uint8Array): void {
		this.out.push(content);
		if (!this.cheat.isUnheard?.(kind)) this.transcript.absorb(kind, content);
	}

	private send(kind: number, scalars: readonly bigint[]): void {
		this.message(kind, words(this.cheat.sent?.(kind, scalars) ?? scalars));
	}

	private readonly sender = {
		send: (kind: number, scalars: readonly bigint[]) => this.send(kind, scalars),
		transcript: { challenge: () => this.transcript.challenge() } as Transcript,
	};

	private chunksOf(group: Group): Poly[] {
		const size = 2 ** this.shape.chunkBits;
		const all = this.allValues();
		return Array.from({ length: group.chunks }, (_, i) =>
			all.slice((group.first + i) * size, (group.first + i + 1) * size),
		);
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

	private claim(where: string, name: string, point: readonly bigint[], value: bigint): void {
		const { at, bits } = this.layout.blocks.get(name)!;
		this.claims.push({ name: `${name} of ${where}`, at, bits, point, value });
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

	private claimEntering(
		where: string,
		link: number,
		place: readonly bigint[],
		unit: readonly bigint[],
		value: bigint,
	): void {
		const { sizes, activation } = this.shape;
		if (link === 0) {
			this.claim(where, "features 0", [...this.rowAt(place), ...unit], value);
			return;
		}
		const bias = eq(unit, corner(sizes[link]! - 1, unit.length)) << BigInt(activation);
		this.claim(where, `a ${link - 1}`, [...place, ...unit], mod(value - bias));
	}

	private part(alpha: bigint, beta: bigint, table: number, row: readonly bigint[]): bigint {
		// tag + β·x + β²·y + β³·w
		return mod(alpha - BigInt(table + 1) - row.reduceRight((sum, one) => mod((sum + one) * beta), 0n));
	}

	/** For each lookup of the proof: whose helper, in which table, what is looked up, from the values of its columns. */
	private lookupTerms() {
		const { shape } = this;
		const tables = tablesOf(shape);
		const range = (bits: number) => tables.findIndex((one) => one.kind === "range" && one.bits === bits);
		const [relu, signedH, signedD] = [tables.length - 3, tables.length - 2, tables.length - 1];
		const [low, scale] = [lowBits(shape), BigInt(shape.scale)];
		const shift = inverse(1n << BigInt(low));
		const [bits0, bits1, bits2] = shape.limbs;
		const limbShift = inverse(1n << BigInt(bits0 + bits1));
		const places = log(shape.steps) + log(shape.batch);
		const links = shape.sizes.length - 1;
		type Values = readonly bigint[];
		interface Term {
			readonly name: string;
			readonly variables: number;
			readonly helper: string;
			readonly columns: readonly string[];
			readonly parts: readonly { table: number; row: (v: Values) => Values }[];
		}
		const half = 1n << (scale - 1n);
		return Array.from({ length: links }, (_, l): readonly Term[] => {
			const isLast = l === links - 1;
			const variables = places + log(shape.sizes[l + 1]!);
			const high = ([z, h, rest]: Values) => mod((z! + half - (h! << scale) - rest!) * shift);
			const back = ([q, m, d, rest]: Values) => mod((m! * (q! + half) - (d! << scale) - rest!) * shift);
			const limb2 = ([w, a, b]: Values) =>
				mod((w! + (1n << BigInt(bits0 + bits1 + bits2 - 1)) - a! - (b! << BigInt(bits0))) * limbShift);
			const rest = { table: range(low), row: (v: Values) => [v[2]!] };
			const more = { table: range(shape.scale - low), row: (v: Values) => [high(v)] };
			const restBack = { table: range(low), row: (v: Values) => [v[3]!] };
			const moreBack = { table: range(shape.scale - low), row: (v: Values) => [back(v)] };
			const last: readonly Term[] = [
				{
					...{ name: `forth ${l}`, variables, helper: `helper ${l}`, columns: [`z ${l}`, `h ${l}`, `low ${l}`] },
					parts: [rest, more, { table: signedH, row: (v) => [v[1]!] }],
				},
				{
					...{ name: `back ${l}`, variables, helper: `helperBack ${l}`, columns: [`d ${l}`] },
					parts: [{ table: signedD, row: (v) => [v[0]!] }],
				},
			];
			const inner: readonly Term[] = [
				{
					...{
						name: `forth ${l}`,
						variables,
						helper: `helper ${l}`,
						columns: ["z", "h", "low", "a", "m"].map((one) => `${one} ${l}`),
					},
					parts: [rest, more, { table: relu, row: (v) => [v[1]!, v[3]!, v[4]!] }],
				},
				{
					...{
						name: `back ${l}`,
						variables,
						helper: `helperBack ${l}`,
						columns: ["q", "m", "d", "lowBack"].map((one) => `${one} ${l}`),
					},
					parts: [{ table: signedD, row: (v) => [v[2]!] }, restBack, moreBack],
				},
				{
					...{ name: `bias ${l}`, variables: places, helper: `biasHelper ${l}`, columns: [`last ${l}`] },
					parts: [{ table: signedH, row: (v) => [mod(v[0]! + (1n << BigInt(shape.activation)))] }],
				},
			];
			const weight: Term = {
				...{
					name: `weight ${l}`,
					variables: log(shape.sizes[l]!) + log(shape.sizes[l + 1]!),
					helper: `weightHelper ${l}`,
				},
				columns: [`after ${l}`, `limb0 ${l}`, `limb1 ${l}`],
				parts: [
					{ table: range(bits0), row: (v) => [v[1]!] },
					{ table: range(bits1), row: (v) => [v[2]!] },
					{ table: range(bits2), row: (v) => [limb2(v)] },
				],
			};
			return [...(isLast ? last : inner), weight];
		})
			.flat()
			.map((term) => ({ ...term, parts: term.parts.filter((_, i) => !this.cheat.isDropped?.(term.name, i)) }));
	}

	/** How often each row of each table is looked up. What lies in no table is counted nowhere. */
	private addCounts(): void {
		const tables = tablesOf(this.shape).map((table) => ({
			counts: new Array<bigint>(2 ** table.bits).fill(0n),
			numbers: new Map(rowsOf(table).map((row, i) => [row.map((one) => mod(one)).join(), i])),
		}));
		for (const { variables, columns, parts } of this.lookupTerms()) {
			const lists = columns.map((name) => this.column(name));
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
		if (kind !== "last") return this.columns.get(name)!;
		const width = this.shape.sizes[l + 1]!;
		return this.columns.get(`a ${l}`)!.filter((_, i) => i % 2 ** log(width) === width - 1);
	}

	private addHelpers(alpha: bigint, beta: bigint): void {
		for (const { helper, variables, columns, parts } of this.lookupTerms()) {
			const lists = columns.map((name) => this.column(name));
			const all = Array.from({ length: 2 ** variables }, (_, i) => lists.map((one) => one[i]!)).flatMap((values) =>
				parts.map(({ table, row }) => this.part(alpha, beta, table, row(values))),
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
				return count === 0n ? 0n : mod(count * inverse(this.part(alpha, beta, i, row)));
			});
			this.columns.set(`tableHelper ${i}`, list);
		}
		this.cheat.helpers?.(this.columns, alpha, beta);
		this.known = null;
	}

	private lookups(alpha: bigint, beta: bigint): readonly End[] {
		const terms = this.lookupTerms();
		const tables = tablesOf(this.shape);
		const variables = Math.max(...terms.map((one) => one.variables), ...tables.map(({ bits }) => bits));
		const rho = Array.from({ length: variables }, () => this.transcript.challenge());
		const gamma = this.transcript.challenge();
		const without = new Set(this.cheat.without);
		const all = power(gamma, BigInt(terms.length + tables.length));
		const helpers = without.has("helpers") ? 0n : all;
		const factors = [...terms.map(({ name }) => name), ...tables.map((_, i) => `table ${i}`)].map((name, i) =>
			without.has(name) ? 0n : power(gamma, BigInt(i)),
		);
		const zero = (size: number) => eqs(rho.slice(variables - size));
		const sums: Sum[] = terms.map(({ name, helper, variables: size, columns, parts }, i) => ({
			variables: size,
			columns: [zero(size), this.columns.get(helper)!, ...columns.map((one) => this.column(one))],
			degree: 2 + parts.length + (name.startsWith("back") && parts.length > 1 ? 1 : 0),
			term: ([e, g, ...values]) => {
				const own = parts.map(({ table, row }) => this.part(alpha, beta, table, row(values)));
				const others = own.reduce((sum, _, k) => sum + product(own.toSpliced(k, 1)), 0n);
				return mod(factors[i]! * e! * mod(g! * product(own) - others) + helpers * g!);
			},
		}));
		for (const [i, table] of tables.entries()) {
			const rows = rowsOf(table);
			sums.push({
				variables: table.bits,
				columns: [
					...[zero(table.bits), this.columns.get(`tableHelper ${i}`)!, this.columns.get(`multiplicity ${i}`)!],
					rows.map((row) => this.part(alpha, beta, i, row)),
				],
				degree: 3,
				zeroWith: [1, 2],
				term: ([e, g, m, own]) => mod(factors[terms.length + i]! * e! * mod(g! * own! - m!) - helpers * g!),
			});
		}
		const { point, ends } = proveSums(this.sender, { kind: 3, degree: 6, variables, sums });
		return this.lookupValues(point, terms, ends);
	}

	private lookupValues(
		point: readonly bigint[],
		terms: readonly { name: string; variables: number; helper: string; columns: readonly string[] }[],
		ends: readonly (readonly bigint[])[],
	): readonly End[] {
		const { sizes, gradient, activation } = this.shape;
		const values = new Map<string, bigint>();
		const points = new Map<string, readonly bigint[]>();
		for (const [i, { variables, helper, columns }] of terms.entries())
			for (const [k, name] of [helper, ...columns].entries()) {
				values.set(name, ends[i]![k + 1]!);
				points.set(name, point.slice(point.length - variables));
			}
		const list: bigint[] = [];
		const places = log(this.shape.steps) + log(this.shape.batch);
		const ask = (name: string): bigint => {
			list.push(values.get(name)!);
			const [kind, of] = name.split(" ") as [string, string];
			if (kind === "last") {
				const width = sizes[Number(of) + 1]!;
				this.claim("bias", `a ${of}`, [...points.get(name)!, ...corner(width - 1, log(width))], values.get(name)!);
			} else if (kind !== "z" && kind !== "q") this.claim("lookups", name, points.get(name)!, values.get(name)!);
			return values.get(name)!;
		};
		const result = sizes.slice(1).map((_, l): End => {
			const isLast = l === sizes.length - 2;
			const names = isLast
				? ["h", "d", "low", "helper", "helperBack", "z"]
				: ["h", "a", "m", "d", "low", "lowBack", "helper", "helperBack", "z", "q"];
			for (const name of names) ask(`${name} ${l}`);
			const own = points.get(`z ${l}`)!;
			if (isLast) {
				const y = mod(values.get(`h ${l}`)! - values.get(`d ${l}`)! * inverse(1n << BigInt(gradient - activation)));
				this.claim("loss", "labels 0", [...this.rowAt(own.slice(0, places)), ...own.slice(places)], y);
			} else for (const name of ["last", "biasHelper"]) ask(`${name} ${l}`);
			for (const name of ["after", "limb0", "limb1", "weightHelper"]) ask(`${name} ${l}`);
			return {
				...{ point: own, z: values.get(`z ${l}`)!, q: values.get(`q ${l}`) ?? 0n },
				...{ weightPoint: points.get(`after ${l}`)!, after: values.get(`after ${l}`)! },
			};
		});
		for (const [i, { bits }] of tablesOf(this.shape).entries()) {
			const [, helper, count] = ends[terms.length + i]! as [bigint, bigint, bigint];
			list.push(count, helper);
			this.claim("lookups", `multiplicity ${i}`, point.slice(point.length - bits), count);
			this.claim("lookups", `tableHelper ${i}`, point.slice(point.length - bits), helper);
		}
		this.send(4, list);
		return result;
	}

	/** Σ over one axis of a list (a, b, c), by weights for b. */
	private folded(list: readonly bigint[], [a, b, c]: readonly [number, number, number], by: Poly): bigint[] {
		const result = new Array<bigint>(a * c).fill(0n);
		for (let i = 0; i < a; i++)
			for (let j = 0; j < b; j++) for (let k = 0; k < c; k++) result[i * c + k]! += list[(i * b + j) * c + k]! * by[j]!;
		return result.map((one) => mod(one));
	}

	private products(ends: readonly End[]): readonly Use[] {
		const { sizes, steps, batch } = this.shape;
		const width = sizes.map((n) => 2 ** log(n));
		const places = log(steps) + log(batch);
		const { operand } = this.cheat.run ?? {};
		const wanted = ends.flatMap(({ point, q, z }, l) => {
			const column = operand?.(`z ${l}`, this.run.entering[l]!) ?? this.run.entering[l]!;
			const forth = { ...{ name: `z ${l}`, link: l, isBack: false, width: width[l]!, point, value: z }, column };
			if (l === ends.length - 1) return [forth];
			const next = this.columns.get(`d ${l + 1}`)!;
			const back = { name: `q ${l}`, link: l + 1, isBack: true, width: width[l + 2]!, point, value: q };
			return [forth, { ...back, column: operand?.(back.name, next) ?? next }];
		});
		const mu = this.transcript.challenge();
		const mus = wanted.map((_, i) => power(mu, BigInt(i)));
		const sums = wanted.map(({ link, isBack, width: inner, point, column }, i): Sum => {
			const same = eqs(point.slice(0, log(steps)));
			const operandColumn = this.folded(column, [steps, batch, inner], eqs(point.slice(log(steps), places)));
			const unit = eqs(point.slice(places));
			const weights = this.run.weights[link]!.flatMap((one) =>
				isBack
					? this.folded(one, [width[link + 1]!, width[link]!, 1], unit)
					: this.folded(one, [1, width[link + 1]!, width[link]!], unit),
			);
			return {
				variables: log(steps) + log(inner),
				columns: [same.flatMap((one) => new Array<bigint>(inner).fill(one)), operandColumn, weights],
				degree: 3,
				term: ([e, a, w]) => mod(mus[i]! * e! * mod(a! * w!)),
			};
		});
		const variables = Math.max(...sums.map((one) => one.variables));
		const { point, ends: values } = proveSums(this.sender, { kind: 5, degree: 3, variables, sums });
		this.send(
			6,
			values.flatMap(([, a, w]) => [a!, w!]),
		);
		return wanted.map(({ name, link, isBack, point: own }, i): Use => {
			const end = point.slice(variables - sums[i]!.variables);
			const [step, inner] = [end.slice(0, log(steps)), end.slice(log(steps))];
			const place = [...step, ...own.slice(log(steps), places)];
			const unit = own.slice(places);
			const [, value, weight] = values[i]! as [bigint, bigint, bigint];
			if (isBack) this.claim(name, `d ${link}`, [...place, ...inner], value);
			else this.claimEntering(name, link, place, inner, value);
			return {
				...{ name, link, step, value: weight },
				...(isBack ? { input: unit, output: inner } : { input: inner, output: unit }),
			};
		});
	}

	private weights(uses: readonly Use[]): void {
		const { sizes, steps, batch } = this.shape;
		const width = sizes.map((n) => 2 ** log(n));
		const starts = uses.map(({ link, input, output }) =>
			valueAt(
				this.columns.get(`before ${link}`)!.map((one) => mod(one)),
				[...output, ...input],
			),
		);
		this.send(7, starts);
		const nu = this.transcript.challenge();
		const nus = uses.map((_, i) => power(nu, BigInt(i)));
		const late = this.cheat.run?.isStale ? 1 : 0;
		const sums = uses.map(({ link, step, input, output }, i): Sum => {
			const own = { entering: this.run.entering[link]!, d: this.columns.get(`d ${link}`)! };
			const { entering, d } = this.cheat.run?.changed?.(link, own.entering, own.d) ?? own;
			const at = step === null ? null : eqs(step);
			// Steps before that one; all of them for the end.
			const counts = Array.from({ length: steps }, (_, s) =>
				at === null ? 1n : mod(at.reduce((sum, one, t) => (s < t - late ? sum + one : sum), 0n)),
			);
			return {
				variables: log(steps) + log(batch),
				columns: [
					counts.flatMap((one) => new Array<bigint>(batch).fill(one)),
					this.folded(entering, [steps * batch, width[link]!, 1], eqs(input)),
					this.folded(d, [steps * batch, width[link + 1]!, 1], eqs(output)),
				],
				degree: 3,
				term: ([c, a, b]) => mod(nus[i]! * c! * mod(a! * b!)),
			};
		});
		const { point, ends } = proveSums(this.sender, { kind: 8, degree: 3, variables: log(steps) + log(batch), sums });
		this.send(
			9,
			ends.flatMap(([, a, b]) => [a!, b!]),
		);
		for (const [i, { name, link, input, output }] of uses.entries()) {
			const [, entering, d] = ends[i]! as [bigint, bigint, bigint];
			this.claim(`start of ${name}`, `before ${link}`, [...output, ...input], starts[i]!);
			this.claimEntering(`change of ${name}`, link, point, input, entering);
			this.claim(`change of ${name}`, `d ${link}`, [...point, ...output], d);
		}
	}

	private bytes(): void {
		const groups = this.layout.groups.slice(0, 4);
		const point = Array.from({ length: Math.max(...groups.map(({ bits }) => bits)) }, () =>
			this.transcript.challenge(),
		);
		const all = this.allValues();
		const claims = groups.map(({ name, first, bits }) => {
			const at = first * 2 ** this.shape.chunkBits;
			const own = point.slice(point.length - bits);
			return { name: `${name} of bytes`, at, bits, point: own, value: valueAt(all.slice(at, at + 2 ** bits), own) };
		});
		this.send(
			10,
			claims.map(({ value }) => value),
		);
		this.claims.push(...claims);
	}

	private join(): { readonly point: readonly bigint[]; readonly value: bigint } {
		const eta = this.transcript.challenge();
		const kernel = new Array<bigint>(2 ** this.layout.bits).fill(0n);
		const told = this.claims
			.filter(({ name }) => !this.cheat.isUnclaimed?.(name))
			.map((one, i) => ({ ...one, factor: power(eta, BigInt(i)) }));
		for (const { at, point, factor } of told)
			for (const [i, one] of eqs(point).entries()) kernel[at + i] = mod(kernel[at + i]! + factor * one);
		const sum: Sum = {
			...{ variables: this.layout.bits, columns: [kernel, this.allValues()], degree: 2, zeroWith: [1] },
			term: ([k, p]) => mod(k! * p!),
		};
		const { point, ends } = proveSums(this.sender, { kind: 11, degree: 2, variables: this.layout.bits, sums: [sum] });
		const value = ends[0]![1]!;
		this.send(12, [value]);
		return { point, value };
	}

	private open({ point, value }: { readonly point: readonly bigint[]; readonly value: bigint }): void {
		const size = 2 ** this.shape.chunkBits;
		const high = point.length - this.shape.chunkBits;
		const chunk = eqs(point.slice(0, high));
		const poly = new Array<bigint>(size).fill(0n);
		for (const [i, one] of this.allValues().entries())
			if (one !== 0n) poly[i % size] = mod(poly[i % size]! + chunk[Math.floor(i / size)]! * one);
		this.out.push(proveMercury(this.transcript, this.commit, { poly, point: point.slice(high), value }));
	}
}
