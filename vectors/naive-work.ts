// docs/work.md a second time, for reading and not for speed: bytes, values, roots and transcripts of
// programs, on big integers. Nothing is imported from src/. Numbers stand where the page has codes: type 2 is
// i32, operator 0 is matmul.
import { keccak256, toBytes } from "viem";
import { type Bytes, philox, tree } from "./naive-maths.ts";

export interface Tensor {
	kind: number;
	type: number;
	dims: number[];
	lo: bigint;
	hi: bigint;
	name: string;
	root?: Bytes;
}
export interface Place {
	edge: number;
	register: number | null;
	constant: number;
	terms: { variable: number; times: number }[];
}
/** Fields by the letters of §3.2; `x` is the code. */
export interface Instruction {
	x: number;
	operand?: number;
	places?: Place[];
	v?: bigint;
	axis?: number;
	a?: number;
	b?: number;
	c?: number;
	bits?: number;
	domain?: number;
}
export interface Code {
	turns: number;
	carried: { from: number; next: number; lo: bigint; hi: bigint }[];
	before: Instruction[];
	body: Instruction[];
	after: Instruction[];
}
export interface Operand {
	source: number;
	number: number;
	type: number;
	dims: number[];
}
export interface Op {
	operator: number;
	type: number;
	dims: number[];
	lo: bigint;
	hi: bigint;
	target: number;
	operands: Operand[];
	which?: number;
	code?: Code;
}
export interface Program {
	k: number;
	tensors: Tensor[];
	init: Op[];
	step: Op[];
}

export const NONE = 65535;
export const count = (dims: readonly number[]): number => dims.reduce((a, b) => a * b, 1);
export const keccak = (...parts: readonly Bytes[]): Bytes => toBytes(keccak256(Buffer.concat(parts)));
/** Big-endian, two's complement. */
function big(value: number | bigint, size: number): number[] {
	const bytes: number[] = new Array(size).fill(0);
	if (typeof value === "number" && size <= 4)
		for (let at = size - 1, rest = value | 0; at >= 0; at--, rest >>= 8) bytes[at] = rest & 0xff;
	else {
		let rest = BigInt.asUintN(64, BigInt(value));
		for (let at = size - 1; at >= 0 && rest > 0n; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn);
	}
	return bytes;
}
export const be = (value: number | bigint, size: number): Bytes => Uint8Array.from(big(value, size));
const join = (...parts: readonly ArrayLike<number>[]): number[] => {
	const all: number[] = [];
	for (const part of parts) for (let i = 0; i < part.length; i++) all.push(part[i]!);
	return all;
};
const u8 = (...values: number[]): Bytes => Uint8Array.from(values);

const dimBytes = (dims: readonly number[]) => join([dims.length], ...dims.map((dim) => big(dim, 4)));
const ends = ({ lo, hi }: { lo: bigint; hi: bigint }) => join(big(lo, 8), big(hi, 8));

function tensorLeaf(t: Tensor): Bytes {
	const name = Buffer.from(t.name, "ascii");
	return Uint8Array.from(join([t.kind, t.type], dimBytes(t.dims), ends(t), [name.length], name, t.root ?? []));
}

function placeBytes({ edge, register, constant, terms }: Place): number[] {
	const listed = terms.map(({ variable, times }) => [variable, ...big(times, 4)]);
	const head = register === null ? [edge] : [edge + 4, register];
	return join(head, big(constant, 4), [terms.length], ...listed);
}

function instructionBytes(i: Instruction): number[] {
	if (i.x === 0) return join([0, i.operand!], ...i.places!.map(placeBytes));
	if (i.x === 1) return [1, ...big(i.v!, 8)];
	if (i.x === 2) return [2, i.axis!];
	if (i.x < 6) return [i.x];
	if (i.x === 6) return [6, i.a!, ...big(i.domain!, 4)];
	return [i.x, i.a, i.b, i.c, i.bits].filter((one) => one !== undefined);
}

function codeBytes({ turns, carried, before, body, after }: Code): number[] {
	const sizes = [before, body, after].map(({ length }) => big(length, 2));
	const listed = carried.map((one) => [one.from, one.next, ...ends(one)]);
	const code = [...before, ...body, ...after].map(instructionBytes);
	return join(big(turns, 2), [carried.length], ...sizes, ...listed, ...code);
}

function opLeaf(op: Op, phase: number): Bytes {
	const operands = op.operands.map((one) => [one.source, ...big(one.number, 2), one.type, ...dimBytes(one.dims)]);
	const tail = op.code ? codeBytes(op.code) : op.which === undefined ? [] : [op.which];
	const head = join([op.operator, phase, op.type], dimBytes(op.dims), ends(op), big(op.target, 2));
	return Uint8Array.from(join(head, [op.operands.length], ...operands, tail));
}

export function head(p: Program): Bytes {
	const counts = [p.tensors, p.init, p.step].map(({ length }) => big(length, 2));
	return Uint8Array.from(join(Buffer.from("ASSAYPR1"), big(1, 2), big(p.k, 4), ...counts));
}

export const leaves = (p: Program) => ({
	tensors: p.tensors.map(tensorLeaf),
	ops: [...p.init.map((op) => opLeaf(op, 0)), ...p.step.map((op) => opLeaf(op, 1))],
});

export function programBytes(p: Program): Bytes {
	const { tensors, ops } = leaves(p);
	return Uint8Array.from(join(head(p), ...tensors, ...ops));
}

/** Tree of docs/chain.md over leaf hashes. */
export function keccakRoot(hashes: readonly Bytes[]): Bytes {
	if (hashes.length === 0) return new Uint8Array(32);
	let level = [...hashes];
	while (level.length > 1) {
		const above: Bytes[] = [];
		for (let i = 0; i < level.length; i += 2)
			above.push(i + 1 < level.length ? keccak(u8(1), level[i]!, level[i + 1]!) : level[i]!);
		level = above;
	}
	return level[0]!;
}
const leafRoot = (all: readonly Bytes[]) => keccakRoot(all.map((leaf) => keccak(u8(0), leaf)));

export const programRoot = (p: Program): Bytes =>
	keccak(u8(3), head(p), leafRoot(leaves(p).tensors), leafRoot(leaves(p).ops));

export function tensorBytes(values: readonly bigint[], type: number): Bytes {
	return Uint8Array.from(join(...values.map((value) => big(value, 2 ** type).reverse())));
}
export function tensorRoot(values: readonly bigint[], type: number): Bytes {
	const bytes = tensorBytes(values, type);
	const cut = Array.from({ length: Math.ceil(bytes.length / 1024) }, (_, i) => {
		const leaf = new Uint8Array(1024);
		leaf.set(bytes.subarray(1024 * i, 1024 * i + 1024));
		return leaf;
	});
	return tree(cut).root;
}

/** Roots come with their tensors' numbers before them. */
const stateHash = (j: number, state: readonly Bytes[], results: readonly Bytes[]): Bytes =>
	keccak(u8(4), be(j, 8), leafRoot(state), leafRoot(results));
const inputsHash = (seed: Bytes, roots: readonly Bytes[]): Bytes => keccak(u8(5), seed, leafRoot(roots));
export const traceLeaf = (i: number, n: number, inputs: readonly Bytes[], output: Bytes): Bytes =>
	keccak(u8(0), be(i, 4), be(n, 4), ...inputs, output);

const floor = (a: bigint, b: bigint) => (a - (((a % b) + b) % b)) / b;
const round = (a: bigint, b: bigint) => floor(2n * a + b, 2n * b);

/** §3.2 from code 7 on. */
export function arithmetic(x: number, bits: number, a: bigint, b: bigint, c: bigint): bigint {
	const abs = a < 0n ? -a : a;
	if (x === 7) return a + b;
	if (x === 8) return a - b;
	if (x === 9) return a * b;
	if (x === 10) return -a;
	if (x === 11) return abs;
	if (x === 12) return a < b ? a : b;
	if (x === 13) return a > b ? a : b;
	if (x === 14) return a * 2n ** BigInt(bits);
	if (x === 15) return floor(a, 2n ** BigInt(bits));
	if (x === 16) return round(a, 2n ** BigInt(bits));
	if (x === 17) return b > 0n ? round(a, 2n ** b) : a * 2n ** -b;
	if (x === 18) return floor(a, b);
	if (x === 19) return round(a, b);
	if (x === 20) {
		// The largest root whose square is not above a, digit by digit.
		let root = 0n;
		for (let bit = 2n ** 32n; bit > 0n; bit /= 2n) if ((root + bit) ** 2n <= a) root += bit;
		return root;
	}
	if (x === 21) {
		let digits = 0n;
		while (2n ** digits <= abs) digits += 1n;
		return digits;
	}
	if (x === 22) return a === b ? 1n : 0n;
	if (x === 23) return a < b ? 1n : 0n;
	if (x === 24) return a & b;
	if (x === 25) return a | b;
	if (x === 26) return a ^ b;
	if (x === 27) return a !== 0n ? b : c;
	return arithmetic(12, 0, arithmetic(13, 0, a, b, 0n), c, 0n);
}

export interface Moment {
	segment: number;
	step: number;
	k: number;
	seed: Bytes;
}

function coordinates(flat: number, dims: readonly number[]): number[] {
	return dims.map((dim, axis) => Math.floor(flat / count(dims.slice(axis + 1))) % dim);
}

/** What a map does for one element. */
class Element {
	readonly op: Op;
	readonly at: number[];
	readonly moment: Moment;
	readonly inputs: readonly (readonly bigint[])[];

	constructor(op: Op, element: number, moment: Moment, inputs: readonly (readonly bigint[])[]) {
		this.op = op;
		this.at = coordinates(element, op.dims);
		this.moment = moment;
		this.inputs = inputs;
	}

	load({ operand, places }: Instruction, registers: readonly bigint[], turn: number): bigint {
		const { dims } = this.op.operands[operand!]!;
		const variables = [...[0, 1, 2, 3, 4, 5].map((i) => this.at[i] ?? 0), this.moment.segment, this.moment.step, turn];
		let isOutside = false;
		let flat = 0n;
		for (const [axis, { edge, register, constant, terms }] of places!.entries()) {
			const dim = BigInt(dims[axis]!);
			let p = BigInt(constant) + (register === null ? 0n : registers[register]!);
			for (const { variable, times } of terms) p += BigInt(times) * BigInt(variables[variable]!);
			if (edge === 1 && (p < 0n || p >= dim)) isOutside = true;
			if (edge === 2) p = p - dim * floor(p, dim);
			if (edge === 3) p = p < 0n ? 0n : p >= dim ? dim - 1n : p;
			flat = flat * dim + p;
		}
		return isOutside ? 0n : this.inputs[operand!]![Number(flat)]!;
	}

	rand(a: bigint, domain: number): bigint {
		const { segment, step, k, seed } = this.moment;
		const words = Buffer.from(seed);
		const key = [BigInt(words.readUInt32LE(0)), BigInt(words.readUInt32LE(4))] as const;
		const global = segment === 0 ? 2n ** 32n - 1n : (BigInt(segment) - 1n) * BigInt(k) + BigInt(step);
		const low = BigInt.asUintN(64, a) % 2n ** 32n;
		const high = BigInt.asUintN(64, a) / 2n ** 32n;
		return BigInt(philox(key, [low, high, global, BigInt(domain)])[0]!);
	}

	run(section: readonly Instruction[], registers: readonly bigint[], turn: number): bigint[] {
		const all = [...registers];
		for (const i of section) {
			const r = (n: number | undefined) => (n === undefined ? 0n : all[n]!);
			const { segment, step } = this.moment;
			if (i.x === 0) all.push(this.load(i, all, turn));
			else if (i.x === 1) all.push(i.v!);
			else if (i.x === 2) all.push(BigInt(this.at[i.axis!]!));
			else if (i.x < 6) all.push(BigInt([segment, step, turn][i.x - 3]!));
			else if (i.x === 6) all.push(this.rand(r(i.a), i.domain!));
			else all.push(arithmetic(i.x, i.bits ?? 0, r(i.a), r(i.b), r(i.c)));
		}
		return all;
	}
}

const clamp = (value: bigint, { lo, hi }: { lo: bigint; hi: bigint }) => (value < lo ? lo : value > hi ? hi : value);

interface MapRun {
	value: bigint;
	before: bigint[];
	after: bigint[];
	/** Registers of every turn, and the carried values after it. */
	turns: { registers: bigint[]; carried: bigint[] }[];
}

function mapRun(op: Op, element: number, moment: Moment, inputs: readonly (readonly bigint[])[]): MapRun {
	const { turns, carried, before, body, after } = op.code!;
	const one = new Element(op, element, moment, inputs);
	const first = one.run(before, [], 0);
	const run: MapRun = { value: first.at(-1)!, before: first, after: [], turns: [] };
	if (turns === 0) return run;
	let now = carried.map((slot) => clamp(first[slot.from]!, slot));
	for (let turn = 0; turn < turns; turn++) {
		const all = one.run(body, [...first, ...now], turn);
		now = carried.map((slot) => clamp(all[slot.next]!, slot));
		run.turns.push({ registers: all, carried: now });
	}
	const gap = body.map(() => 0n);
	run.after = one.run(after, [...first, ...now, ...gap], 0).slice(-after.length);
	run.value = run.after.at(-1)!;
	return run;
}

/** Rows of one element of a sum: operand and start; and their length. */
function rows(op: Op, element: number): { starts: [operand: number, base: number][]; length: number } {
	const at = coordinates(element, op.dims);
	const shape = op.operands.map(({ dims }) => dims);
	if (op.operator === 2) return { starts: [[0, element * shape[0]![1]!]], length: shape[0]![1]! };
	if (op.operator === 3)
		return {
			starts: [
				[0, at[1]! * shape[0]![1]!],
				[1, 0],
			],
			length: shape[0]![1]!,
		};
	const [n, m, columns] = op.dims as [number, number, number];
	const depth = shape[0]![2]!;
	const a = Math.floor(at[0]! / (n / shape[0]![0]!));
	const b = Math.floor(at[0]! / (n / shape[1]![0]!));
	return {
		starts: [
			[0, (a * m + at[1]!) * depth],
			[1, (b * columns + at[2]!) * depth],
		],
		length: depth,
	};
}

/** The value of a sum, and the running numbers wherever `isCut` says so of the place behind them. */
function sums(
	op: Op,
	element: number,
	inputs: readonly (readonly bigint[])[],
	isCut: (k: number) => boolean,
): bigint[] {
	const { starts, length } = rows(op, element);
	const [x, y] = starts.map(([operand]) => inputs[operand]!);
	const [fromX, fromY] = starts.map(([, base]) => base) as [number, number];
	const wanted = BigInt(coordinates(element, op.dims)[0]!);
	const isSum = op.operator !== 2 || op.which === 0;
	const cuts: bigint[] = [];
	let sum = 0n;
	let best = 0;
	for (let k = 0; k < length; k++) {
		const value = x![fromX + k]!;
		const other = y?.[fromY + k] ?? 0n;
		const leader = x![fromX + best]!;
		if (op.operator === 0) sum += value * other;
		else if (op.operator === 3) sum += other === wanted ? value : 0n;
		else if (op.which === 0) sum += value;
		else if (op.which! % 2 === 1 ? value > leader : value < leader) best = k;
		if (k + 1 < length && isCut(k + 1))
			cuts.push(...(isSum ? [sum] : [...(op.which! > 2 ? [BigInt(best)] : []), x![fromX + best]!]));
	}
	return [isSum ? sum : op.which! > 2 ? BigInt(best) : x![fromX + best]!, ...cuts];
}

function opElement(op: Op, element: number, moment: Moment, inputs: readonly (readonly bigint[])[]): bigint {
	return op.operator === 1 ? mapRun(op, element, moment, inputs).value : sums(op, element, inputs, () => false)[0]!;
}

/** §9: into how many parts a span of turns is cut. */
export const spanParts = (carried: number): number => ({ 1: 16, 2: 8, 3: 5 })[carried] ?? 4;

/** §9. The path names a span of turns; none: the element itself. */
export function transcript(
	op: Op,
	element: number,
	moment: Moment,
	inputs: readonly (readonly bigint[])[],
	path: readonly number[] = [],
): bigint[] {
	if (op.operator !== 1) {
		const { starts } = rows(op, element);
		return sums(op, element, inputs, (k) =>
			starts.some(([operand, base]) => ((base + k) * 2 ** op.operands[operand]!.type) % 1024 === 0),
		);
	}
	const run = mapRun(op, element, moment, inputs);
	let first = 0;
	let turns = run.turns.length;
	const parts = spanParts(op.code!.carried.length);
	for (const part of path) {
		const each = Math.ceil(turns / parts);
		first += part * each;
		turns = Math.min(each, turns - part * each);
	}
	const each = Math.ceil(turns / parts);
	const marks = (last: number) =>
		Array.from({ length: last }, (_, i) => i + 1).flatMap((turn) =>
			turn % each === 0 || turn === turns ? run.turns[first + turn - 1]!.carried : [],
		);
	if (path.length === 0) return [run.value, ...run.before, ...marks(turns), ...run.after];
	return turns === 1 ? run.turns[first]!.registers : marks(turns - 1);
}

export interface Ran {
	phase: number;
	step: number;
	op: number;
	moment: Moment;
	inputs: bigint[][];
	output: bigint[];
}

/**
 * Runs segments 0 … last; tells of every op. `given` by tensor. What is committed is a tensor's number and
 * its root.
 */
export function run(
	p: Program,
	seed: Bytes,
	given: ReadonlyMap<number, bigint[]>,
	last: number,
	see: (ran: Ran) => void,
) {
	const zeros = (t: Tensor) => Array.from({ length: count(t.dims) }, () => 0n);
	const now = p.tensors.map((t, i) => given.get(i) ?? zeros(t));
	const committed = (kind: number) =>
		p.tensors.flatMap((t, i) =>
			t.kind === kind ? [Uint8Array.from(join(be(i, 2), tensorRoot(now[i]!, t.type)))] : [],
		);
	const states = [stateHash(0, committed(2), committed(4))];
	for (let segment = 0; segment <= last; segment++) {
		for (const [i, t] of p.tensors.entries()) if (t.kind === 3) now[i] = zeros(t);
		for (let step = 0; step < (segment === 0 ? 1 : p.k); step++) {
			const phase = segment === 0 ? 0 : 1;
			const moment = { segment, step, k: p.k, seed };
			const atStart = [...now];
			const outputs: bigint[][] = [];
			for (const [n, op] of (segment === 0 ? p.init : p.step).entries()) {
				const inputs = op.operands.map(({ source, number }) => (source === 0 ? outputs[number]! : atStart[number]!));
				const output = Array.from({ length: count(op.dims) }, (_, e) => opElement(op, e, moment, inputs));
				outputs.push(output);
				if (op.target !== NONE) now[op.target] = output;
				see({ phase, step, op: n, moment, inputs, output });
			}
		}
		states.push(stateHash(segment + 1, committed(2), committed(4)));
	}
	return { states, now, inputs: inputsHash(seed, committed(1)), result: leafRoot(committed(4)) };
}
