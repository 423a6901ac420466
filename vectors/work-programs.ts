// Random programs that the checker of naive-work-check.ts accepts, and random changes of them. All chance
// comes from `draw`, so a label gives the same program for ever. The tests of src/work/ draw thousands more
// of them than the vectors hold.

import { philoxOf } from "./naive-maths.ts";
import {
	type Code,
	count,
	type Instruction,
	NONE,
	type Op,
	type Operand,
	type Place,
	type Program,
	type Tensor,
	tensorRoot,
} from "./naive-work.ts";
import { countersOf, firstFault, instructionRange, type Range } from "./naive-work-check.ts";
import { label } from "./rows.ts";

export type Draw = (below: number) => number;

/**
 * Whole numbers below a bound from a label, quick: a multiply-and-xor generator that begins with the label's
 * hash.
 */
export function quickNumbers(text: string): Draw {
	let state = Buffer.from(label(text)).readUInt32LE(0);
	return (below) => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
		return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
	};
}

/** Elements of an input or constant, by the rule of vectors/README.md. */
function givenElements({ lo, hi, dims }: Tensor, number: number, seed: Uint8Array): bigint[] {
	return Array.from({ length: count(dims) }, (_, e) => {
		const [w0, w1] = philoxOf(seed, e, 11, number, 0) as [number, number];
		return lo + (((BigInt(w1) << 32n) | BigInt(w0)) % (hi - lo + 1n));
	});
}

interface Source extends Omit<Operand, "dims"> {
	dims: number[];
	range: Range;
}

const smallestType = ([lo, hi]: Range): number =>
	[0, 1, 2].find(
		(type) => lo >= -(2n ** (8n * 2n ** BigInt(type) - 1n)) && hi < 2n ** (8n * 2n ** BigInt(type) - 1n),
	) ?? 3;

class Maker {
	readonly draw: Draw;
	readonly program: Program;
	readonly length: number;
	readonly seed: Uint8Array;
	readonly isSmall: boolean;

	constructor(draw: Draw, seed: Uint8Array, isSmall: boolean) {
		this.isSmall = isSmall;
		this.draw = draw;
		this.seed = seed;
		this.length = isSmall ? this.pick([6, 12]) : this.pick([12, 30, 60, 300, 700]);
		this.program = { k: this.pick([1, 2, 3]), tensors: [], init: [], step: [] };
	}

	pick<T>(list: readonly T[]): T {
		return list[this.draw(list.length)]!;
	}

	/** Some interval inside a type. */
	range(type: number, withZero: boolean): Range {
		const top = 8 * 2 ** type - 1;
		const power = () => 2n ** BigInt(this.draw(top));
		if (this.draw(6) === 0 && type < 3) return [-(2n ** BigInt(top)), 2n ** BigInt(top) - 1n];
		if (withZero || this.draw(2) === 0) return [-power(), power()];
		const lo = power();
		return this.draw(2) === 0 ? [lo, lo + power() - 1n] : [-lo - power() + 1n, -lo];
	}

	tensor(kind: number, name: string, type: number, dims: number[], [lo, hi]: Range): number {
		const t: Tensor = { kind, type, dims, lo, hi, name };
		const number = this.program.tensors.push(t) - 1;
		if (kind === 0) t.root = tensorRoot(givenElements(t, number, this.seed), type);
		return number;
	}

	declare(): void {
		const type = () => this.draw(4);
		const own = (kind: number, name: string, dims: number[], withZero = true) => {
			const t = type();
			this.tensor(kind, name, t, dims, this.range(t, withZero));
		};
		this.tensor(1, "ids", this.draw(3), [this.length], [0n, BigInt(1 + this.draw(6))]);
		own(1, "x", [2 + this.draw(3), this.length], false);
		if (!this.isSmall) own(1, "y", [this.length, 2], false);
		own(0, "table", [17 + this.draw(30)], false);
		own(2, "w", [this.pick([2, 5]), 6]);
		if (!this.isSmall) own(2, "v.1", [7]);
		own(3, "memory", [4, 3]);
		own(4, "result", [3, this.pick([2, 4])]);
		if (!this.isSmall) own(5, "metric", [1]);
	}

	sources(phase: number): Source[] {
		const ops = phase === 0 ? this.program.init : this.program.step;
		const written = new Set(ops.map(({ target }) => target));
		const tensors = this.program.tensors.flatMap(({ kind, type, dims, lo, hi }, number): Source[] => {
			if (kind > 3 || (phase === 0 && kind > 1) || written.has(number)) return [];
			return [{ source: kind + 1, number, type, dims, range: [lo, hi] }];
		});
		return [
			...tensors,
			...ops.map(({ type, dims, lo, hi }, number): Source => ({ source: 0, number, type, dims, range: [lo, hi] })),
		];
	}

	divisor(of: number, most = of): number {
		const all = Array.from({ length: of }, (_, i) => i + 1).filter((one) => of % one === 0 && one <= most);
		return this.pick(all);
	}

	/** The same elements with other dims, now and then. */
	view(source: Source): Source {
		const total = count(source.dims);
		const first = this.divisor(total);
		const dims = this.pick([source.dims, source.dims, [total], [first, total / first], [first, 1, total / first]]);
		return { ...source, dims };
	}

	add(phase: number, op: Op): void {
		const ops = phase === 0 ? this.program.init : this.program.step;
		ops.push(op);
		const fault = firstFault(this.program);
		// Results that are still to be written are no fault of this op.
		if (fault !== null && fault.op === ops.length - 1 && fault.phase === phase) ops.pop();
	}

	output(range: Range): Pick<Op, "type" | "lo" | "hi"> {
		const type = smallestType(range);
		return { type: this.draw(3) === 0 ? 3 : type, lo: range[0], hi: range[1] };
	}

	matmul(phase: number): void {
		const a = this.pick(this.sources(phase));
		const b = this.pick(this.sources(phase));
		const [countA, countB] = [count(a.dims), count(b.dims)];
		let depth = this.divisor(countA);
		if (countB % depth !== 0) depth = 1;
		const batchA = this.divisor(countA / depth, 4);
		const batchB = (countB / depth) % batchA === 0 ? this.pick([1, batchA]) : 1;
		const dims = [batchA, countA / depth / batchA, countB / depth / batchB];
		if (count(dims) > 600 || a.type === 3 || b.type === 3) return;
		const products = [
			a.range[0] * b.range[0],
			a.range[0] * b.range[1],
			a.range[1] * b.range[0],
			a.range[1] * b.range[1],
		];
		const sorted = products.map((one) => one * BigInt(depth)).sort((x, y) => (x < y ? -1 : x > y ? 1 : 0));
		const range: Range = [sorted[0]!, sorted[3]!];
		const operands = [
			{ ...strip(a), dims: [batchA, dims[1]!, depth] },
			{ ...strip(b), dims: [batchB, dims[2]!, depth] },
		];
		const type = Math.max(2, smallestType(range));
		this.add(phase, { operator: 0, dims, type, lo: range[0], hi: range[1], target: NONE, operands });
	}

	reduce(phase: number): void {
		const x = this.pick(this.sources(phase));
		const total = count(x.dims);
		const length = this.divisor(total);
		const which = this.draw(5);
		const [lo, hi] = x.range;
		const n = BigInt(length);
		const range: Range = which === 0 ? [n * lo, n * hi] : which > 2 ? [0n, n - 1n] : [lo, hi];
		const operands = [{ ...strip(x), dims: [total / length, length] }];
		this.add(phase, { operator: 2, dims: [total / length], ...this.output(range), target: NONE, operands, which });
	}

	scatter(phase: number): void {
		const ids = this.program.tensors.findIndex(({ name }) => name === "ids");
		const index = this.sources(phase).find(({ source, number }) => source === 2 && number === ids)!;
		const fitting = this.sources(phase).filter(({ dims }) => count(dims) % this.length === 0);
		const x = this.pick(fitting);
		const columns = count(x.dims) / this.length;
		if (columns > 40) return;
		const rows = Number(index.range[1]) + 1 + this.draw(2);
		const n = BigInt(this.length);
		const range: Range = [x.range[0] < 0n ? n * x.range[0] : 0n, x.range[1] > 0n ? n * x.range[1] : 0n];
		const operands = [
			{ ...strip(x), dims: [columns, this.length] },
			{ ...strip(index), dims: [this.length] },
		];
		this.add(phase, { operator: 3, dims: [rows, columns], ...this.output(range), target: NONE, operands });
	}

	map(phase: number, target: number): void {
		const t = target === NONE ? null : this.program.tensors[target]!;
		const isTurning = this.draw(3) === 0;
		const rank = 1 + this.draw(4);
		const dims = t?.dims ?? Array.from({ length: rank }, () => 1 + this.draw(rank === 1 && !isTurning ? 160 : 4));
		const code = new CodeMaker(this, phase, dims).make(isTurning, t === null ? null : [t.lo, t.hi]);
		const output = t === null ? this.output(code.range) : { type: t.type, lo: t.lo, hi: t.hi };
		this.add(phase, { operator: 1, dims, ...output, target, operands: code.operands.map(strip), code: code.code });
	}
}

const strip = ({ source, number, type, dims }: Source): Operand => ({ source, number, type, dims });

/** One map's code. */
class CodeMaker {
	readonly maker: Maker;
	readonly phase: number;
	readonly dims: number[];
	readonly operands: Source[] = [];
	readonly ranges: Range[] = [];
	readonly code: Code = { turns: 0, carried: [], before: [], body: [], after: [] };
	section: "before" | "body" | "after" = "before";
	/** Registers of the body, which after does not see. */
	hidden: readonly [number, number] = [0, 0];

	constructor(maker: Maker, phase: number, dims: number[]) {
		this.maker = maker;
		this.phase = phase;
		this.dims = dims;
	}

	get range(): Range {
		return this.ranges.at(-1)!;
	}

	register(): number {
		const seen = this.ranges.map((_, i) => i).filter((i) => i < this.hidden[0] || i >= this.hidden[1]);
		// Newer ones more often.
		return this.maker.pick(this.maker.draw(2) === 0 ? seen : seen.slice(-4));
	}

	emit(i: Instruction): boolean {
		const around = {
			dims: this.dims,
			...countersOf(this.phase, this.maker.program.k),
			turns: this.code.turns,
			operands: this.operands.map(({ dims, range }) => ({ dims, range })),
		};
		const found = instructionRange(i, around, this.ranges);
		if (typeof found === "string") return false;
		this.ranges.push(found);
		this.code[this.section].push(i);
		return true;
	}

	place(dim: number): Place {
		const { draw, pick } = { draw: this.maker.draw, pick: <T>(list: readonly T[]) => this.maker.pick(list) };
		const variables = [...this.dims.keys(), 6, 7, ...(this.section === "body" ? [8] : [])];
		const chosen = variables.filter(() => draw(variables.length) < 2);
		const terms = chosen.map((variable) => ({ variable, times: pick([1, 1, 1, 2, -1, 3, -7, 1 + draw(2 ** 31 - 1)]) }));
		const register = this.ranges.length > 0 && draw(4) === 0 ? this.register() : null;
		return { edge: draw(4), register, constant: pick([0, 0, draw(dim), -draw(dim), draw(2 ** 31), -1]), terms };
	}

	load(): boolean {
		const sources = this.maker.sources(this.phase);
		if (this.operands.length === 0 || (this.operands.length < 8 && this.maker.draw(2) === 0))
			this.operands.push(this.maker.view(this.maker.pick(sources)));
		const operand = this.maker.draw(this.operands.length);
		const { dims } = this.operands[operand]!;
		for (let tries = 0; tries < 4; tries++)
			if (this.emit({ x: 0, operand, places: dims.map((dim) => this.place(dim)) })) return true;
		const simple = (dim: number): Place => ({ edge: 0, register: null, constant: this.maker.draw(dim), terms: [] });
		return this.emit({ x: 0, operand, places: dims.map(simple) });
	}

	random(): boolean {
		const { draw } = this.maker;
		const x = draw(3) === 0 ? 0 : draw(29);
		if (x === 0) return this.load();
		if (x === 1) {
			const size = 2n ** BigInt(draw(63));
			return this.emit({ x, v: this.maker.pick([size, -size, size - 1n, BigInt(draw(20)), -1n, 0n]) });
		}
		if (x === 2) return this.emit({ x, axis: draw(this.dims.length) });
		if (x < 6) return x === 5 && this.section !== "body" ? false : this.emit({ x });
		if (this.ranges.length === 0) return false;
		if (x === 6) return this.emit({ x, a: this.register(), domain: draw(2 ** 32) });
		const registers: Instruction = { x, a: this.register() };
		if ([10, 11, 20, 21].includes(x)) return this.emit(registers);
		if (x >= 14 && x <= 16) return this.emit({ ...registers, bits: 1 + draw(this.maker.pick([8, 62])) });
		registers.b = this.register();
		return this.emit(x >= 27 ? { ...registers, c: this.register() } : registers);
	}

	some(count: number): void {
		for (let made = 0; made < count; ) if (this.random()) made += 1;
	}

	make(isTurning: boolean, wanted: Range | null): this {
		const { draw } = this.maker;
		this.some(2 + draw(this.maker.isSmall ? 4 : 8));
		if (isTurning) this.turns();
		if (wanted !== null) {
			const value = this.section === "after" || draw(2) === 0 ? this.register() : this.ranges.length - 1;
			this.emit({ x: 1, v: wanted[0] });
			this.emit({ x: 1, v: wanted[1] });
			this.emit({ x: 28, a: value, b: this.ranges.length - 2, c: this.ranges.length - 1 });
		}
		return this;
	}

	turns(): void {
		const { draw } = this.maker;
		this.code.turns = this.maker.pick([1, 2, 7, 31, 32, 33, 65, 100]);
		const first = this.ranges.length;
		const slots = 1 + draw(3);
		const froms = Array.from({ length: slots }, () => this.register());
		const ranges = froms.map(() => this.maker.range(draw(4), draw(2) === 0));
		this.ranges.push(...ranges);
		this.section = "body";
		this.some(2 + draw(5));
		const nexts = froms.map(() => this.register());
		for (const [i, from] of froms.entries())
			this.code.carried.push({ from, next: nexts[i]!, lo: ranges[i]![0], hi: ranges[i]![1] });
		this.section = "after";
		this.hidden = [first + slots, this.ranges.length];
		this.some(1 + draw(4));
	}
}

/** `isSmall`: of few bytes and elements. */
export function randomProgram(draw: Draw, seed: Uint8Array, isSmall = false): Program {
	const maker = new Maker(draw, seed, isSmall);
	maker.declare();
	const { tensors, step } = maker.program;
	for (const [number, { kind }] of tensors.entries()) if (kind === 2 && draw(3) > 0) maker.map(0, number);
	for (let i = 0; i < (isSmall ? 2 : 6); i++) {
		const makers = [() => maker.matmul(1), () => maker.reduce(1), () => maker.scatter(1), () => maker.map(1, NONE)];
		maker.pick(makers)();
	}
	for (const [number, { kind }] of tensors.entries())
		if (kind > 3 || (kind > 1 && draw(4) > 0))
			while (!step.some(({ target }) => target === number)) maker.map(1, number);
	const fault = firstFault(maker.program);
	if (fault !== null) throw new Error(`a random program is refused: ${JSON.stringify(fault)}`);
	return maker.program;
}

export const givenOf = (p: Program, seed: Uint8Array): Map<number, bigint[]> =>
	new Map(p.tensors.flatMap((t, i) => (t.kind < 2 ? [[i, givenElements(t, i, seed)] as const] : [])));

export const seedOf = (name: string): Uint8Array => label(`work seed ${name}`);

function clone<T>(value: T): T {
	if (Array.isArray(value)) return value.map(clone) as T;
	if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
	return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, clone(one)])) as T;
}

/** Somewhere in the program one number becomes another that its field can hold. What can be read stays so. */
export function mutateProgram(p: Program, draw: Draw): Program {
	const pick = <T>(list: readonly T[]): T => list[draw(list.length)]!;
	const tensors = p.tensors.map((t) => ({ ...t, dims: [...t.dims] }));
	const copy: Program = { k: p.k, tensors, init: [...p.init], step: [...p.step] };
	const number = draw(p.init.length + p.step.length);
	const [ops, at] = number < p.init.length ? [copy.init, number] : [copy.step, number - p.init.length];
	const op = clone(ops[at]!);
	ops[at] = op;
	const near = (value: bigint): bigint =>
		BigInt.asIntN(64, pick([value + 1n, value - 1n, -value, value * 2n, value / 2n, 0n, 2n ** 62n, -(2n ** 63n)]));
	const bounds = (one: { lo: bigint; hi: bigint }) => {
		if (draw(2) === 0) one.lo = near(one.lo);
		else one.hi = near(one.hi);
	};
	const dims = (one: { dims: number[] }) => {
		const at = draw(one.dims.length);
		one.dims[at] = Math.max(1, one.dims[at]! + pick([1, -1, one.dims[at]!]));
	};
	const changes: (() => void)[] = [
		() => bounds(pick(copy.tensors)),
		() => dims(pick(copy.tensors)),
		() => {
			pick(copy.tensors).type = draw(4);
		},
		() => bounds(op),
		() => dims(op),
		() => {
			op.type = draw(4);
		},
		() => {
			op.target = pick([NONE, draw(copy.tensors.length + 1)]);
		},
		() => {
			copy.k = 1 + draw(65536);
		},
	];
	const operand = op.operands.length > 0 ? pick(op.operands) : null;
	if (operand !== null)
		changes.push(
			() => dims(operand),
			() => {
				operand.type = draw(4);
			},
			() => {
				operand.source = draw(5);
			},
			() => {
				operand.number = pick([operand.number + 1, Math.max(0, operand.number - 1), draw(12)]);
			},
		);
	if (op.which !== undefined)
		changes.push(() => {
			op.which = draw(5);
		});
	const code = op.code;
	// A change of an operand's rank would change the layout; code is changed more often, for most faults live
	// there.
	if (code) for (let i = 0; i < 12; i++) changes.push(() => mutateCode(code, op.dims.length, draw));
	pick(changes)();
	return copy;
}

function mutateCode(code: Code, rank: number, draw: Draw): void {
	const pick = <T>(list: readonly T[]): T => list[draw(list.length)]!;
	const { before, carried, body, after } = code;
	if (carried.length > 0 && draw(5) === 0) {
		const one = pick(carried);
		pick([
			() => {
				one.lo = BigInt.asIntN(64, one.lo * 2n + BigInt(draw(3)) - 1n);
			},
			() => {
				one.hi = BigInt.asIntN(64, one.hi * 2n + BigInt(draw(3)) - 1n);
			},
			() => {
				one.from = draw(before.length);
			},
			() => {
				one.next = draw(before.length + carried.length + body.length);
			},
		])();
		return;
	}
	const bodyFrom = before.length + carried.length;
	const all = [
		...before.map((i, n) => ({ i, seen: n })),
		...body.map((i, n) => ({ i, seen: bodyFrom + n })),
		...after.map((i) => ({ i, seen: bodyFrom })),
	];
	const { i, seen } = pick(all);
	if (i.x === 0) {
		const place = pick(i.places!);
		const which = draw(4);
		if (which < 2) place.edge = draw(4);
		else if (which === 2 && place.terms.length > 0) pick(place.terms).times = pick([1, -1, 2, 2 ** 31 - 1, -(2 ** 31)]);
		else place.constant = pick([place.constant + 1, place.constant - 1, 0, 2 ** 31 - 1]) | 0;
	} else if (i.x === 1) i.v = BigInt.asIntN(64, pick([i.v! + 1n, i.v! * 3n, -i.v!, 0n, 2n ** 62n]));
	else if (i.x === 2) i.axis = draw(rank);
	else if (i.x > 6) {
		const groups = [
			[7, 8, 9, 12, 13, 17, 18, 19, 22, 23, 24, 25, 26],
			[10, 11, 20, 21],
			[14, 15, 16],
			[27, 28],
		];
		const which = draw(4);
		if (which < 2) i.x = pick(groups.find((group) => group.includes(i.x))!);
		else if (which === 2 && i.bits !== undefined) i.bits = 1 + draw(62);
		else if (seen > 0) i[pick((["a", "b", "c"] as const).filter((field) => i[field] !== undefined))] = draw(seen);
	}
}
