// Programs at the very bounds of what may run, docs/work.md §5: one instruction on intervals that meet the
// ends of 64 bits, one sum that just fits, one place at the edge of its operand, one field beside what it may
// be. Each is right or wrong by one. All chance comes from `draw`.

import { EDGES, INSTRUCTIONS, type Instruction, type Place } from "../../src/work/operators/instruction.ts";
import {
	createElements,
	type Elements,
	I64,
	type Interval,
	intervalOf,
	magnitude,
	TENSOR_TYPES,
	type TensorType,
} from "../../src/work/operators/tensor-type.ts";
import { registerIntervals } from "../../src/work/program/check-map.ts";
import { checkProgram, countersOf } from "../../src/work/program/check-program.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import type { Carried, Code, MapOp, Op, Operand, Program, ReduceOp, Tensor } from "../../src/work/program/shapes.ts";
import { REDUCTIONS } from "../../src/work/program/shapes.ts";
import { type Draw, givenOf } from "../../vectors/work-programs.ts";

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export const picker =
	(draw: Draw) =>
	<T>(list: readonly T[]): T =>
		list[draw(list.length)]!;

const inType = (type: TensorType, value: bigint): bigint => {
	const { lo, hi } = intervalOf(type);
	return value < lo ? lo : value > hi ? hi : value;
};

/** A number that bounds are made of: powers of two and their neighbours, small ones, the ends. */
export function number(draw: Draw, type: TensorType = "i64"): bigint {
	const pick = picker(draw);
	const power = 2n ** BigInt(pick([0, 1, 7, 8, 15, 16, 30, 31, 32, 33, 47, 61, 62, 63]));
	const near = power + BigInt(draw(3) - 1);
	return inType(type, pick([0n, 1n, -1n, BigInt(draw(70) - 35), near, -near, I64.lo, I64.hi, power * 3n, -power * 3n]));
}

export function interval(draw: Draw, type: TensorType = "i64"): Interval {
	const [a, b] = [number(draw, type), number(draw, type)];
	if (draw(4) === 0) return { lo: a, hi: a };
	return a < b ? { lo: a, hi: b } : { lo: b, hi: a };
}

export const input = (name: string, type: TensorType, dims: readonly number[], { lo, hi }: Interval): Tensor => ({
	kind: "input",
	name,
	type,
	dims,
	lo,
	hi,
	root: null,
});
const reads = (index: number, { type, dims }: Tensor): Operand => ({ source: "input", index, type, dims });

const smallest = ({ lo, hi }: Interval): TensorType =>
	TENSOR_TYPES.find((type) => intervalOf(type).lo <= lo && hi <= intervalOf(type).hi) ?? "i64";

/** The interval itself, or one end off by one, inside the type. */
export function beside(draw: Draw, { lo, hi }: Interval): Interval {
	const found = draw(3);
	if (found === 1) return { lo: lo < I64.hi ? lo + 1n : lo, hi };
	return { lo, hi: found === 2 && hi > I64.lo ? hi - 1n : hi };
}

export const program = (k: number, tensors: Tensor[], op: Op): Program => ({ k, tensors, init: [], step: [op] });

/** Up to three inputs, one instruction, and its exact interval as the output's, or one that lacks an end. */
export function instructionProgram(draw: Draw): Program {
	const pick = picker(draw);
	const types = [0, 1, 2].map(() => pick(["i64", "i64", ...TENSOR_TYPES] as const));
	const tensors = types.map((type, i) => input(`in${i}`, type, [2, 3], interval(draw, type)));
	const own: Place[] = [0, 1].map((of) => ({ edge: "inside", register: null, constant: 0, terms: [{ of, times: 1 }] }));
	const before: Instruction[] = tensors.map((_, operand) => ({ op: "load", operand, place: own }));
	const [name, ...fields] = pick(INSTRUCTIONS.slice(draw(5) === 0 ? 1 : 7));
	const one: Record<string, unknown> = { op: name };
	for (const field of fields) {
		if (field === "value") one.value = number(draw);
		else if (field === "axis") one.axis = draw(2);
		else if (field === "bits") one.bits = pick([1, 2, 31, 32, 61, 62, 1 + draw(62), draw(3) === 0 ? 63 : 0]);
		else if (field === "domain") one.domain = draw(2 ** 32);
		else one[field] = draw(3);
	}
	// Bounds of what an operand may be, met often.
	const second = tensors[one.b as number] as Mutable<Tensor> | undefined;
	if (second && draw(2) === 0 && (name === "rshv" || name === "div" || name === "rdiv")) {
		second.type = pick(TENSOR_TYPES);
		second.lo = inType(second.type, pick(name === "rshv" ? [-32n, -31n, -1n, 0n, 1n, 62n] : [-1n, 0n, 1n, 2n]));
		second.hi = inType(
			second.type,
			pick(name === "rshv" ? [-31n, -1n, 0n, 61n, 62n, 63n] : [1n, 2n, 3n, 2n ** 31n, I64.hi]),
		);
		if (second.hi < second.lo) second.hi = second.lo;
	}
	const first = tensors[one.a as number] as Mutable<Tensor> | undefined;
	const about = (tensor: Mutable<Tensor>, lo: bigint, hi: bigint) =>
		Object.assign(tensor, { lo: inType(tensor.type, lo), hi: inType(tensor.type, hi < lo ? lo : hi) });
	if (first && name === "isqrt" && draw(4) > 0) {
		first.type = pick(["i64", "i64", "i32"]);
		about(first, pick([-1n, 0n, 1n, 2n ** 62n]), pick([I64.hi, 2n ** 62n, number(draw)]));
	}
	if (first && name === "rdiv" && draw(2) === 0) about(first, BigInt(draw(9) - 8), BigInt(draw(9)));
	if (first && second && first !== second && (name === "eq" || name === "lt")) {
		second.type = first.type;
		const touching = pick([first.lo, first.hi, first.lo - 1n, first.hi + 1n]);
		about(second, draw(2) === 0 ? touching : touching - BigInt(draw(3)), touching + BigInt(draw(3)));
	}
	if (first && name === "select") about(first, pick([-2n, -1n, 0n, 1n]), pick([-1n, 0n, 1n, 2n]));
	const code =
		name === "turn" || draw(6) === 0
			? turning(draw, before, one as unknown as Instruction)
			: straight(before, one as unknown as Instruction);
	return finished(draw, pick([1, 2, 3, 65_536]), tensors, [2, 3], code);
}

export const straight = (before: Instruction[], last: Instruction): Code => ({
	turns: 0,
	carried: [],
	before: [...before, last],
	body: [],
	after: [],
});

function turning(draw: Draw, before: Instruction[], one: Instruction): Code {
	const pick = picker(draw);
	const carried: Carried[] = [{ from: draw(before.length), next: before.length + 1, ...interval(draw) }];
	if (draw(8) === 0) carried[0] = { ...carried[0]!, lo: carried[0]!.hi, hi: carried[0]!.lo };
	const at = before.length;
	const body = one.op === "turn" || draw(2) === 0 ? [one] : [{ op: "max", a: at, b: 0 } as const, one];
	return {
		turns: pick([1, 2, 5, 4096]),
		carried,
		before,
		body,
		after: [{ op: "add", a: at, b: draw(2) === 0 ? at : 0 }],
	};
}

/** A map of this code; its output's interval is the exact one where there is one. */
function finished(draw: Draw, k: number, tensors: Tensor[], dims: readonly number[], code: Code): Program {
	const found = registerIntervals(code, {
		...countersOf("step", k),
		dims,
		turn: { lo: 0n, hi: BigInt(Math.max(code.turns, 1) - 1) },
		operands: tensors.map((tensor) => ({ dims: tensor.dims, interval: tensor })),
	});
	const exact = found.ok ? beside(draw, found.intervals.at(-1)!) : I64;
	const op: MapOp = {
		operator: "map",
		output: { type: found.ok ? smallest(exact) : "i64", dims, ...exact },
		target: null,
		operands: tensors.map((tensor, i) => reads(i, tensor)),
		code,
	};
	return program(k, tensors, op);
}

/** One load whose place ends at the operand's last element, or one beside it. */
export function placeProgram(draw: Draw): Program {
	const pick = picker(draw);
	const dims = Array.from({ length: 1 + draw(3) }, () => 1 + draw(4));
	const places = Array.from({ length: 1 + draw(2) }, () => pick([1, 2, 5, 1000, 2 ** 31 - 1]));
	if (places.length === 2 && places[0]! * places[1]! > 2 ** 39) places[1] = 3;
	const tensors = [input("x", "i16", places, interval(draw, "i16")), input("at", "i64", [1], interval(draw))];
	const k = pick([1, 2, 65_536]);
	const isBody = draw(4) === 0;
	const turns = pick([1, 2, 4096]);
	const { segment, step } = countersOf("step", k);
	const range = (of: number): Interval =>
		of === 6 ? segment : of === 7 ? step : { lo: 0n, hi: BigInt((of === 8 ? turns : dims[of]!) - 1) };
	const place = places.map((dim): Place => {
		const variables = [...dims.keys(), 6, 7, ...(isBody || draw(12) === 0 ? [8] : [])].filter(() => draw(3) === 0);
		const terms = variables.map((of) => ({
			of,
			times: pick([1, -1, 2, 3, 2 ** 31 - 1, -(2 ** 31), draw(8) === 0 ? 0 : 1]),
		}));
		const register = draw(3) === 0 ? 0 : null;
		let { lo, hi } = register === 0 ? tensors[1]! : { lo: 0n, hi: 0n };
		for (const { of, times } of terms) {
			const ends = [BigInt(times) * range(of).lo, BigInt(times) * range(of).hi];
			lo += ends[times < 0 ? 1 : 0]!;
			hi += ends[times < 0 ? 0 : 1]!;
		}
		// The lower end at 0 or the upper one at the last place; or one beside.
		const wanted = pick([-lo, BigInt(dim - 1) - hi, -lo - 1n, BigInt(dim) - hi, 0n]);
		return { edge: pick([...EDGES, "inside"] as const), register, constant: Number(inType("i32", wanted)), terms };
	});
	const at: Instruction = {
		op: "load",
		operand: 1,
		place: [{ edge: "inside", register: null, constant: 0, terms: [] }],
	};
	const load: Instruction = { op: "load", operand: 0, place };
	const code: Code = isBody
		? {
				turns,
				carried: [{ from: 0, next: 2, lo: -40_000n, hi: 40_000n }],
				before: [at],
				body: [load],
				after: [{ op: "add", a: 1, b: 1 }],
			}
		: straight([at], load);
	return finished(draw, k, tensors, dims, code);
}

/** The same bytes but for the mode of the last place: an edge, a register, or neither. */
export function modeBytes(draw: Draw): Uint8Array {
	for (;;) {
		const made = placeProgram(draw);
		const [op] = made.step as [MapOp];
		const last = (op.code.after.length > 0 ? op.code.body : op.code.before).at(-1)!;
		if (op.code.after.length > 0 || last.op !== "load") continue;
		const { register, terms } = last.place.at(-1)!;
		const bytes = encodeProgram(made);
		bytes[bytes.length - (6 + (register === null ? 0 : 1) + 5 * terms.length)] = picker(draw)([
			0, 3, 4, 7, 8, 9, 12, 15, 16, 255,
		]);
		return bytes;
	}
}

/** One product, reduction or scatter whose sum ends at 2^63, or one beside; dims that fit, or nearly. */
export function sumProgram(draw: Draw): Program {
	const pick = picker(draw);
	const depth = pick([1, 2, 3, 255, 2 ** 20, 2 ** 20, 2 ** 20 + 1, 2 ** 20 - 1]);
	const which = draw(3);
	const last = (type: TensorType, bound: bigint): Interval => {
		const most = inType(type, bound + BigInt(draw(3) - 1));
		return pick([
			{ lo: inType(type, -most), hi: most },
			{ lo: inType(type, -most), hi: inType(type, -1n) < -most ? -most : -1n },
			{ lo: 0n, hi: most < 0n ? 0n : most },
			interval(draw, type),
		]);
	};
	const a =
		which === 0 ? pick(["i8", "i16", "i32", "i32", "i64"] as const) : pick(["i64", "i64", "i32", "i8"] as const);
	const terms = BigInt(depth);
	const types = { b: pick(["i8", "i16", "i32", "i32", "i64"] as const) };
	const x = which === 0 ? interval(draw, a) : last(a, 2n ** 63n / terms);
	const y = last(types.b, 2n ** 63n / (terms * (magnitude(x) || 1n)));
	const off = () => (draw(12) === 0 ? 1 : 0);
	if (which === 0) {
		const [n, m, c] = [pick([1, 2, 6]), 1 + draw(3), 1 + draw(3)];
		const tensors = [
			input("a", a, [pick([1, n, 2]), m + off(), depth], x),
			input("b", types.b, [pick([1, n, 3]), c, depth + off()], y),
		];
		const ends = [x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi]
			.map((end) => end * terms)
			.sort((p, q) => (p < q ? -1 : p > q ? 1 : 0));
		const exact = beside(draw, { lo: inType("i64", ends[0]!), hi: inType("i64", ends[3]!) });
		const type = pick(["i32", "i64", smallest(exact)] as const);
		const op: Op = {
			operator: "matmul",
			output: { type, dims: [n, m, c], lo: inType(type, exact.lo), hi: inType(type, exact.hi) },
			target: null,
			operands: tensors.map((tensor, i) => reads(i, tensor)).slice(0, draw(20) === 0 ? 1 : 2),
		};
		return program(1, tensors, op);
	}
	if (which === 1) {
		const reduction: ReduceOp["reduction"] = pick(REDUCTIONS);
		const tensors = [input("x", a, [2, depth], x)];
		const exact =
			reduction === "sum"
				? { lo: inType("i64", terms * x.lo), hi: inType("i64", terms * x.hi) }
				: reduction.startsWith("arg")
					? { lo: 0n, hi: terms - 1n }
					: x;
		const near = beside(draw, exact);
		const output = { type: smallest(near), dims: [2 + off()], ...near };
		return program(1, tensors, {
			operator: "reduce",
			output,
			target: null,
			operands: [reads(0, tensors[0]!)],
			reduction,
		});
	}
	const [height, width] = [1 + draw(4), 1 + draw(3)];
	const index = pick([
		{ lo: 0n, hi: BigInt(height - 1) },
		{ lo: 0n, hi: BigInt(height) },
		{ lo: -1n, hi: 0n },
		{ lo: BigInt(height - 1), hi: BigInt(height - 1) },
	]);
	const tensors = [
		input("x", a, [width + off(), depth], x),
		input("index", pick(["i8", "i64"]), [depth + off()], index),
	];
	const ends = [0n, terms * x.lo, terms * x.hi]
		.map((end) => inType("i64", end))
		.sort((p, q) => (p < q ? -1 : p > q ? 1 : 0));
	const near = beside(draw, { lo: ends[0]!, hi: ends[2]! });
	const output = { type: smallest(near), dims: [height, width], ...near };
	return program(1, tensors, {
		operator: "scatter_add",
		output,
		target: null,
		operands: tensors.map((t, i) => reads(i, t)),
	});
}

/** For a run: whatever the checker takes and a moment computes. */
export function isRunnable(candidate: Program): boolean {
	const sizes = [
		...candidate.tensors,
		...candidate.init.map(({ output }) => output),
		...candidate.step.map(({ output }) => output),
	];
	const small = sizes.every(({ dims }) => dims.reduce((count, dim) => count * dim, 1) <= 4000);
	return small && candidate.k <= 3 && checkProgram(candidate).ok;
}

/** Elements of inputs and constants by the rule of vectors/README.md. */
export function givenTo({ tensors }: Program, seed: Uint8Array): Record<string, Elements> {
	const kinds = tensors.map(({ kind }) => (kind === "constant" ? 0 : kind === "input" ? 1 : 2));
	const naive = tensors.map(({ dims, lo, hi }, i) => ({ kind: kinds[i]!, dims: [...dims], lo, hi, type: 0, name: "" }));
	const given = givenOf({ k: 1, tensors: naive, init: [], step: [] }, seed);
	return Object.fromEntries(
		[...given].map(([i, values]) => {
			const { name, type } = tensors[i]!;
			const elements = createElements(type, values.length);
			for (const [e, value] of values.entries())
				elements[e] = elements instanceof BigInt64Array ? value : (Number(value) as never);
			return [name, elements];
		}),
	);
}
