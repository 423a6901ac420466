// The checker of docs/work.md §5 a second time, from the page alone: the first fault of a program, or null.
// Bytes are taken as read (§6).
import { arithmetic, count, type Instruction, NONE, type Op, type Program, type Tensor } from "./naive-work.ts";

export interface Fault {
	code: string;
	tensor?: number;
	phase?: number;
	op?: number;
	instruction?: number;
}

export type Range = readonly [lo: bigint, hi: bigint];

class Refused extends Error {
	readonly fault: Fault;
	constructor(fault: Fault) {
		super(fault.code);
		this.fault = fault;
	}
}

const refuse = (code: string, place: Omit<Fault, "code"> = {}): never => {
	throw new Refused({ code: `PROGRAM_${code}`, ...place });
};

const I64: Range = [-(2n ** 63n), 2n ** 63n - 1n];
const inside = (a: Range, b: Range) => a[0] >= b[0] && a[1] <= b[1];
const span = (...values: bigint[]): Range => [
	values.reduce((a, b) => (a < b ? a : b)),
	values.reduce((a, b) => (a > b ? a : b)),
];
const typeRange = (type: number): Range => [
	-(2n ** (8n * 2n ** BigInt(type) - 1n)),
	2n ** (8n * 2n ** BigInt(type) - 1n) - 1n,
];
const size = ([lo, hi]: Range) => (-lo > hi ? -lo : hi);
const absolute = ([lo, hi]: Range): Range => (lo >= 0n ? [lo, hi] : hi <= 0n ? [-hi, -lo] : [0n, -lo > hi ? -lo : hi]);

/**
 * The row of §5's table for an arithmetic instruction; null where it leaves 64 bits, a code where it may not
 * stand.
 */
export function arithmeticRange(
	x: number,
	bits: number,
	[a, b, c]: readonly Range[],
	isSquare: boolean,
): Range | string {
	const found = plainRange(x, bits, [a!, b ?? a!, c ?? a!], isSquare);
	return typeof found === "string" || inside(found, I64) ? found : "OVERFLOW";
}

function plainRange(
	x: number,
	bits: number,
	[a, b, c]: readonly [Range, Range, Range],
	isSquare: boolean,
): Range | string {
	const f = (p: bigint, q: bigint, r = 0n) => arithmetic(x, bits, p, q, r);
	const corners = () => span(f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1]));
	if (x === 7) return [a[0] + b[0], a[1] + b[1]];
	if (x === 8) return [a[0] - b[1], a[1] - b[0]];
	if (x === 9) return isSquare ? [absolute(a)[0] ** 2n, absolute(a)[1] ** 2n] : corners();
	if (x === 10) return [-a[1], -a[0]];
	if (x === 11) return absolute(a);
	if (x === 12 || x === 13 || x === 28) return [f(a[0], b[0], c[0]), f(a[1], b[1], c[1])];
	if (x === 20 && a[0] < 0n) return "DOMAIN";
	if (x === 14 || x === 15 || x === 16 || x === 20) return [f(a[0], 0n), f(a[1], 0n)];
	if (x === 17) return inside(b, [-31n, 62n]) ? corners() : "DOMAIN";
	if (x === 18 || x === 19) return b[0] >= 1n ? corners() : "DIVISOR";
	if (x === 21) return [f(absolute(a)[0], 0n), f(absolute(a)[1], 0n)];
	if (x === 22) return a[1] < b[0] || b[1] < a[0] ? [0n, 0n] : a[0] === a[1] && b[0] === b[1] ? [1n, 1n] : [0n, 1n];
	if (x === 23) return a[1] < b[0] ? [1n, 1n] : a[0] >= b[1] ? [0n, 0n] : [0n, 1n];
	if (x === 27) return a[0] > 0n || a[1] < 0n ? b : a[0] === 0n && a[1] === 0n ? c : span(...b, ...c);
	return bitwiseRange(x, a, b);
}

function bitwiseRange(x: number, a: Range, b: Range): Range {
	let w = 0n;
	while (!inside(span(...a, ...b), [-(2n ** w), 2n ** w - 1n])) w += 1n;
	const [isA, isB] = [a[0] >= 0n, b[0] >= 0n];
	if (x === 24) {
		if (isA && isB) return [0n, a[1] < b[1] ? a[1] : b[1]];
		return isA ? [0n, a[1]] : isB ? [0n, b[1]] : [-(2n ** w), a[1] > b[1] ? a[1] : b[1]];
	}
	if (!(isA && isB)) return [-(2n ** w), 2n ** w - 1n];
	return [x === 25 ? (a[0] > b[0] ? a[0] : b[0]) : 0n, 2n ** w - 1n];
}

interface Around {
	dims: number[];
	segment: Range;
	step: Range;
	turns: number;
	operands: { dims: number[]; range: Range }[];
}

export const countersOf = (phase: number, k: number): { segment: Range; step: Range } => {
	if (phase === 0) return { segment: [0n, 0n], step: [0n, 0n] };
	const last = (2n ** 32n - 1n) / BigInt(k);
	return { segment: [1n, last < 2n ** 31n - 1n ? last : 2n ** 31n - 1n], step: [0n, BigInt(k) - 1n] };
};

/** Interval of one instruction, or the code of its fault. */
export function instructionRange(i: Instruction, around: Around, registers: readonly Range[]): Range | string {
	const counters: Range[] = [around.segment, around.step, [0n, BigInt(around.turns > 0 ? around.turns - 1 : 0)]];
	if (i.x === 1) return [i.v!, i.v!];
	if (i.x === 2) return [0n, BigInt(around.dims[i.axis!]!) - 1n];
	if (i.x > 2 && i.x < 6) return counters[i.x - 3]!;
	if (i.x === 6) return [0n, 2n ** 32n - 1n];
	if (i.x > 6) {
		const of = [i.a, i.b, i.c].flatMap((n) => (n === undefined ? [] : [registers[n]!]));
		return arithmeticRange(i.x, i.bits ?? 0, of, i.a === i.b);
	}
	const { dims, range } = around.operands[i.operand!]!;
	let isZero = false;
	for (const [axis, { edge, register, constant, terms }] of i.places!.entries()) {
		let [lo, hi] = register === null ? [0n, 0n] : registers[register]!;
		for (const { variable, times } of terms) {
			const of: Range = variable < 6 ? [0n, BigInt(around.dims[variable]!) - 1n] : counters[variable - 6]!;
			const scaled = span(of[0] * BigInt(times), of[1] * BigInt(times));
			lo += scaled[0];
			hi += scaled[1];
		}
		const place: Range = [lo + BigInt(constant), hi + BigInt(constant)];
		if (!inside(place, I64)) return "OVERFLOW";
		if (inside(place, [0n, BigInt(dims[axis]!) - 1n])) continue;
		if (edge === 0) return "INDEX";
		if (edge === 1) isZero = true;
	}
	return isZero ? span(...range, 0n) : range;
}

function checkMap(op: Op, around: Around): void {
	const { carried, before, body, after } = op.code!;
	const registers: Range[] = [];
	const go = (section: readonly Instruction[]) => {
		for (const i of section) {
			const found = instructionRange(i, around, registers);
			registers.push(typeof found === "string" ? refuse(found, { instruction: registers.length }) : found);
		}
	};
	go(before);
	for (const { lo, hi } of carried) {
		if (lo > hi) refuse("INTERVAL", { instruction: registers.length });
		registers.push([lo, hi]);
	}
	go(body);
	go(after);
	if (!inside(registers.at(-1)!, [op.lo, op.hi])) refuse("OUTPUT", { instruction: registers.length - 1 });
}

function checkSum(op: Op, ranges: readonly Range[]): void {
	const [x, y] = op.operands.map(({ dims }) => dims);
	const fits =
		op.operator === 0
			? op.operands.length === 2 &&
				[op.dims, x!, y!].every(({ length }) => length === 3) &&
				x![1] === op.dims[1] &&
				y![1] === op.dims[2] &&
				x![2] === y![2] &&
				op.dims[0]! % x![0]! === 0 &&
				op.dims[0]! % y![0]! === 0 &&
				op.operands.every(({ type }) => type < 3) &&
				op.type >= 2
			: op.operator === 2
				? op.operands.length === 1 && x!.length === 2 && op.dims.length === 1 && x![0] === op.dims[0]
				: op.operands.length === 2 &&
					x!.length === 2 &&
					y!.length === 1 &&
					op.dims.length === 2 &&
					x![0] === op.dims[1] &&
					x![1] === y![0];
	if (!fits || x!.at(-1)! > 2 ** 20) refuse("SHAPE");
	const n = BigInt(x!.at(-1)!);
	const [a, b] = ranges;
	if (op.operator === 3 && !inside(b!, [0n, BigInt(op.dims[0]!) - 1n])) refuse("INDEX");
	const isSum = op.operator !== 2 || op.which === 0;
	if (isSum && n * size(a!) * (op.operator === 0 ? size(b!) : 1n) >= 2n ** 63n) refuse("OVERFLOW");
	let out: Range = a!;
	if (op.operator === 0) out = span(a![0] * b![0], a![0] * b![1], a![1] * b![0], a![1] * b![1]);
	if (isSum) out = [n * out[0], n * out[1]];
	if (op.operator === 3) out = span(0n, ...out);
	if (op.operator === 2 && op.which! > 2) out = [0n, n - 1n];
	if (!inside(out, [op.lo, op.hi])) refuse("OUTPUT");
}

function checkDeclared(t: { type: number; lo: bigint; hi: bigint }): void {
	if (t.lo > t.hi || !inside([t.lo, t.hi], typeRange(t.type))) refuse("INTERVAL");
}

function checkOp(p: Program, phase: number, n: number): void {
	const ops = phase === 0 ? p.init : p.step;
	const op = ops[n]!;
	const written = (tensor: number) => ops.slice(0, n).some(({ target }) => target === tensor);
	checkDeclared(op);
	if (op.target !== NONE) {
		const t: Tensor | undefined = p.tensors[op.target];
		const isFine =
			t !== undefined &&
			(phase === 0 ? t.kind === 2 : t.kind >= 2) &&
			!written(op.target) &&
			t.type === op.type &&
			count(t.dims) === count(op.dims) &&
			t.lo === op.lo &&
			t.hi === op.hi;
		if (!isFine) refuse("TARGET");
	}
	const ranges = op.operands.map(({ source, number, type, dims }): Range => {
		const isAllowed =
			source === 0 ? number < n : p.tensors[number]?.kind === source - 1 && !(phase === 0 && source > 2);
		const from = source === 0 ? ops[number] : p.tensors[number];
		if (!isAllowed || from!.type !== type || count(from!.dims) !== count(dims) || (source > 0 && written(number)))
			return refuse("WIRING");
		return [from!.lo, from!.hi];
	});
	if (op.operator !== 1) checkSum(op, ranges);
	else {
		const operands = op.operands.map(({ dims }, i) => ({ dims, range: ranges[i]! }));
		checkMap(op, { dims: op.dims, ...countersOf(phase, p.k), turns: op.code!.turns, operands });
	}
}

function attempt(place: Omit<Fault, "code">, work: () => void): Fault | null {
	try {
		work();
		return null;
	} catch (error) {
		if (!(error instanceof Refused)) throw error;
		return { ...error.fault, ...place };
	}
}

const hasZero = (t: Tensor) => t.lo <= 0n && t.hi >= 0n;

export function firstFault(p: Program): Fault | null {
	const each = function* (): Generator<Fault | null> {
		for (const [tensor, t] of p.tensors.entries()) {
			yield attempt({ tensor }, () => {
				checkDeclared(t);
				if (t.kind === 3 && !hasZero(t)) refuse("INTERVAL");
				if (p.tensors.slice(0, tensor).some(({ name }) => name === t.name)) refuse("MALFORMED");
			});
		}
		for (const [phase, ops] of [p.init, p.step].entries())
			for (const op of ops.keys()) yield attempt({ phase, op }, () => checkOp(p, phase, op));
		for (const [tensor, t] of p.tensors.entries()) {
			const isWritten = (ops: readonly Op[]) => ops.some(({ target }) => target === tensor);
			if (t.kind === 2 && !isWritten(p.init) && !hasZero(t)) yield { code: "PROGRAM_INTERVAL", tensor };
			if (t.kind >= 4 && !isWritten(p.step)) yield { code: "PROGRAM_TARGET", tensor };
		}
	};
	for (const fault of each()) if (fault !== null) return fault;
	return null;
}
