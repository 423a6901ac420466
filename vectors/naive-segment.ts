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

/** What nobody can guess: a number that the transcript hears, and one more coefficient, at X^(2^c), of each chunk. */
export interface Hiding {
	readonly nonce: bigint;
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
	/** Terms of the first sum that the prover leaves out: "forth 0", "back 0", "loss 1", "bias 0", "weight 0", "table 0". */
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
	/** Terms of claims of which the prover says nothing, by their name: "h 0 of lookups". A claim without terms is none. */
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
	/** `isOwn`: other members of the list look it up in another table. */
	readonly parts: readonly { table: number; row: (v: readonly bigint[]) => readonly bigint[]; isOwn?: boolean }[];
}

/** In the order of factors. */
const KINDS = ["forth", "back", "loss", "bias", "weight", "table"] as const;

const product = (list: readonly bigint[]): bigint => list.reduce((all, one) => mod(all * one), 1n);
/** helper = Σ 1/part, as what must be 0. */
const fault = (helper: bigint, parts: readonly bigint[]): bigint =>
	mod(helper * product(parts) - parts.reduce((sum, _, k) => sum + product(parts.toSpliced(k, 1)), 0n));
const cornerOf = (value: number, bits: number): bigint[] =>
	Array.from({ length: bits }, (_, i) => BigInt(Math.floor(value / 2 ** (bits - 1 - i)) % 2));
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

	prove(told: Told): { readonly statement: Statement; readonly proof: Uint8Array } {
		const { statement, opening } = this.proveSums(told, (of) => new Transcript(statementHash(of)));
		this.out.push(proveMercury(this.transcript, this.commit, opening));
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
		if (hiding !== null) this.send(36, [hiding.nonce]);
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

	/** But for the bias, which is known. */
	private entering(
		where: string,
		link: number,
		place: readonly bigint[],
		unit: readonly bigint[],
		factor: bigint,
	): Term {
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
		const [relu, signedH, signedD] = [tables.length - 3, tables.length - 2, tables.length - 1];
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
				return [forth, loss, this.weightTerm(l, range)];
			}
			const backward: Lookup = {
				...{ ...named("back", l), variables, helper: `helperBack ${l}`, columns: columns("q", "m", "d", "lowBack") },
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
			return [forth, backward, bias, this.weightTerm(l, range)];
		});
		return all
			.flat()
			.toSorted((a, b) => a.kind - b.kind || a.of - b.of)
			.map((term) => ({ ...term, parts: term.parts.filter((_, i) => !this.cheat.isDropped?.(term.name, i)) }));
	}

	/** Limbs of a link's weights at the end. */
	private weightTerm(l: number, range: (bits: number) => number): Lookup {
		const { sizes, limbs } = this.shape;
		const [bits0, bits1, bits2] = limbs;
		const shift = inverse(1n << BigInt(bits0 + bits1));
		const limb2 = ([w, a, b]: readonly bigint[]) =>
			mod((w! + (1n << BigInt(bits0 + bits1 + bits2 - 1)) - a! - (b! << BigInt(bits0))) * shift);
		return {
			...{ name: `weight ${l}`, kind: KINDS.indexOf("weight"), of: l, helper: `weightHelper ${l}` },
			variables: log(sizes[l]!) + log(sizes[l + 1]!),
			columns: [`after ${l}`, `limb0 ${l}`, `limb1 ${l}`],
			parts: [
				{ table: range(bits0), row: (v) => [v[1]!] },
				{ table: range(bits1), row: (v) => [v[2]!] },
				{ table: range(bits2), row: (v) => [limb2(v)] },
			],
		};
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
		const sums: Sum[] = terms.map(({ name, kind, of, helper, variables: size, columns, parts }) => ({
			variables: size,
			columns: [this.columns.get(helper)!, ...columns.map((one) => this.column(one))],
			degree: 1 + parts.length + (name.startsWith("back") ? 1 : 0),
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
		const cube = proveZeros(this.sender, { kind: 3, degree: 5, rho, sums });

		// The same over the list: what each had where its sum ended, as a polynomial in its number.
		const listed = (values: ReadonlyMap<number, bigint>) =>
			Array.from({ length: 2 ** listBits }, (_, i) => values.get(i) ?? 0n);
		const lists = KINDS.slice(0, table).map((_, kind) => {
			const own = terms.map((term, i) => ({ ...term, ends: cube.ends[i]! })).filter((one) => one.kind === kind);
			const column = (k: number) => listed(new Map(own.map(({ of, ends }) => [of, ends[k] ?? 0n])));
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
					const [values, tagsThere] = [rest.slice(0, 5), rest.slice(5)];
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
		const list = proveSums(this.sender, { kind: 3, degree: 6, variables: listBits, sums: perList });
		return this.lookupValues(cube.point, eqs(list.point), list.ends);
	}

	/** `ends`: of each kind of lists: factors, helper, values. */
	private lookupValues(point: readonly bigint[], among: readonly bigint[], ends: readonly (readonly bigint[])[]): Ends {
		const { sizes, gradient, activation, steps, batch } = this.shape;
		const links = sizes.length - 1;
		const tables = tablesOf(this.shape);
		const places = log(steps) + log(batch);
		const end = (variables: number) => point.slice(point.length - variables);
		const units = sizes.slice(1).map((n) => end(places + log(n)));
		const weights = sizes.slice(1).map((n, l) => end(log(n) + log(sizes[l]!)));
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
		const [forth, back, loss, bias, weight, table] = ends.map(([, ...values]) => values) as bigint[][];
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
		this.claims.push([
			this.at("loss", `h ${last}`, own, 1n),
			this.at("loss", `d ${last}`, own, mod(-inverse(1n << BigInt(gradient - activation)))),
			this.at("loss", "labels 0", [...this.rowAt(own.slice(0, places)), ...own.slice(places)], mod(-1n)),
		]);
		const corner = (l: number) => [...end(places), ...cornerOf(sizes[l + 1]! - 1, log(sizes[l + 1]!))];
		say("a", bias![1]!, inner, corner, "bias");
		say("biasHelper", bias![0]!, inner, () => end(places));
		const there = (l: number) => weights[l]!;
		say("after", weight![1]!, all, there);
		say("limb0", weight![2]!, all, there);
		say("limb1", weight![3]!, all, there);
		say("weightHelper", weight![0]!, all, there);
		const row = (i: number) => end(tables[i]!.bits);
		say("multiplicity", table![1]!, numbers(tables.length), row);
		say("tableHelper", table![0]!, numbers(tables.length), row);
		this.send(4, list);
		this.claims.push(
			[...this.layout.blocks.values()]
				.filter(({ name }) => /^(helper|helperBack|biasHelper|weightHelper|tableHelper) /.test(name))
				.map(({ name, bits }) => {
					const count = 1n << BigInt(bits);
					const middle = new Array<bigint>(bits).fill(inverse(2n));
					return this.at("sum", name, middle, name.startsWith("table") ? mod(-count) : count);
				}),
		);
		return { among, units, weights };
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

	private products({ among, units }: Ends): readonly Use[] {
		const { sizes, steps, batch } = this.shape;
		const width = sizes.map((n) => 2 ** log(n));
		const places = log(steps) + log(batch);
		const { operand } = this.cheat.run ?? {};
		const mu = this.drawn("mu");
		const forth = units.map((point, l) => ({
			...{ name: `z ${l}`, link: l, isBack: false, width: width[l]!, point, factor: among[l]! },
			column: this.run.entering[l]!,
		}));
		const back = units.slice(0, -1).map((point, l) => ({
			...{ name: `q ${l}`, link: l + 1, isBack: true, width: width[l + 2]!, point, factor: mod(mu * among[l]!) },
			column: this.columns.get(`d ${l + 1}`)!,
		}));
		const wanted = [...forth, ...back];
		const sums = wanted.map(({ name, link, isBack, width: inner, point, column, factor }): Sum => {
			const same = eqs(point.slice(0, log(steps)));
			const seen = operand?.(name, column) ?? column;
			const operandColumn = this.folded(seen, [steps, batch, inner], eqs(point.slice(log(steps), places)));
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
				term: ([e, a, w]) => mod(factor * e! * mod(a! * w!)),
			};
		});
		const factors = wanted.map(({ factor }) => factor);
		const { point, among: chosen } = this.productSums(5, sums, factors);
		const terms: Term[] = [];
		const uses = wanted.map(({ name, link, isBack, point: own }, i): Use => {
			const end = point.slice(point.length - sums[i]!.variables);
			const [step, inner] = [end.slice(0, log(steps)), end.slice(log(steps))];
			const place = [...step, ...own.slice(log(steps), places)];
			const unit = own.slice(places);
			const factor = chosen[i]!;
			if (isBack) terms.push(this.at(name, `d ${link}`, [...place, ...inner], factor));
			else terms.push(this.entering(name, link, place, inner, factor));
			const [input, output] = isBack ? [unit, inner] : [inner, unit];
			return { name, link, step, factor, input, output };
		});
		this.claims.push(terms);
		return uses;
	}

	private weights(known: readonly Use[], { among, weights }: Ends): void {
		const { sizes, steps, batch } = this.shape;
		const width = sizes.map((n) => 2 ** log(n));
		const nu = this.transcript.challenge();
		const ends = weights.map((point, link): Use => {
			const bits = log(sizes[link + 1]!);
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
		const uses = [...known, ...ends];
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
			return {
				variables: log(steps) + log(batch),
				columns: [
					counts.flatMap((one) => new Array<bigint>(batch).fill(one)),
					this.folded(entering, [steps * batch, width[link]!, 1], eqs(input)),
					this.folded(d, [steps * batch, width[link + 1]!, 1], eqs(output)),
				],
				degree: 3,
				term: ([c, a, b]) => mod(factor * c! * mod(a! * b!)),
			};
		});
		const factors = uses.map(({ factor }) => factor);
		const { point, among: chosen } = this.productSums(8, sums, factors);
		this.claims.push(
			uses.map(({ name, link, input, output, factor }) =>
				this.at(`start of ${name}`, `before ${link}`, [...output, ...input], factor),
			),
			uses.map(({ name, link, input }, i) => this.entering(`change of ${name}`, link, point, input, chosen[i]!)),
			uses.map(({ name, link, output }, i) =>
				this.at(`change of ${name}`, `d ${link}`, [...point, ...output], chosen[i]!),
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
			for (const { at, point, factor } of terms) {
				const by = mod(power(eta, BigInt(j)) * factor);
				for (const [i, one] of eqs(point).entries()) kernel[at + i] = mod(kernel[at + i]! + by * one);
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
