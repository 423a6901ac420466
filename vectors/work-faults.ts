// Programs that are wrong in one place each, by hand, for rows of work-refused.json: what is expected stands
// beside the change, and the checker of naive-work-check.ts must say the same.

import { type Instruction, NONE, type Op, type Operand, type Place, type Program, programBytes } from "./naive-work.ts";
import { type Fault, firstFault } from "./naive-work-check.ts";
import { hex, type Row } from "./rows.ts";

const WIDE = 2n ** 31n;
const at = (variable: number, edge = 0, constant = 0): Place => ({
	edge,
	register: null,
	constant,
	terms: [{ variable, times: 1 }],
});
const load = (operand: number, ...places: Place[]): Instruction => ({ x: 0, operand, places });
const constant = (v: bigint): Instruction => ({ x: 1, v });
const operand = (source: number, number: number, type: number, ...dims: number[]): Operand => ({
	source,
	number,
	type,
	dims,
});
const plain = (before: Instruction[]) => ({ turns: 0, carried: [], before, body: [], after: [] });

/**
 * Step ops: 0 gathers, 1 multiplies, 2 reduces, 3 scatters, 4 writes w after turns, 5 writes the result, 6
 * the scratch.
 */
function base(): Program {
	const map = (
		dims: number[],
		range: [bigint, bigint],
		target: number,
		operands: Operand[],
		before: Instruction[],
	): Op => ({
		...{ operator: 1, type: 2, dims, lo: range[0], hi: range[1], target, operands, code: plain(before) },
	});
	const writeW: Op = map(
		[2, 3],
		[-100n, 100n],
		2,
		[operand(3, 2, 2, 2, 3), operand(0, 0, 2, 2, 3)],
		[load(0, at(0), at(1)), load(1, at(0), at(1))],
	);
	writeW.code = {
		turns: 5,
		carried: [{ from: 0, next: 3, lo: -100n, hi: 100n }],
		before: writeW.code!.before,
		body: [{ x: 7, a: 2, b: 1 }],
		after: [{ x: 13, a: 2, b: 2 }],
	};
	const root = new Uint8Array(32).fill(7);
	return {
		k: 2,
		tensors: [
			{ kind: 0, type: 2, dims: [4], lo: 0n, hi: 50n, name: "table", root },
			{ kind: 1, type: 1, dims: [2, 3], lo: 0n, hi: 3n, name: "x" },
			{ kind: 2, type: 2, dims: [2, 3], lo: -100n, hi: 100n, name: "w" },
			{ kind: 2, type: 2, dims: [3], lo: 1n, hi: 9n, name: "u" },
			{ kind: 3, type: 2, dims: [4], lo: -9n, hi: 9n, name: "kept" },
			{ kind: 4, type: 3, dims: [2], lo: -(2n ** 40n), hi: 2n ** 40n, name: "out" },
		],
		init: [
			map(
				[3],
				[1n, 9n],
				3,
				[],
				[{ x: 2, axis: 0 }, constant(1n), { x: 7, a: 0, b: 1 }, constant(9n), { x: 12, a: 2, b: 3 }],
			),
		],
		step: [
			map(
				[2, 3],
				[0n, 50n],
				NONE,
				[operand(1, 0, 2, 4), operand(2, 1, 1, 2, 3)],
				[load(1, at(0), at(1)), { x: 0, operand: 0, places: [{ edge: 0, register: 0, constant: 0, terms: [] }] }],
			),
			{
				operator: 0,
				type: 2,
				dims: [1, 2, 2],
				lo: -15000n,
				hi: 15000n,
				target: NONE,
				operands: [operand(0, 0, 2, 1, 2, 3), operand(3, 2, 2, 1, 2, 3)],
			},
			{
				operator: 2,
				type: 3,
				dims: [2],
				lo: -(2n ** 40n),
				hi: 2n ** 40n,
				target: 5,
				operands: [operand(0, 1, 2, 2, 2)],
				which: 0,
			},
			{
				operator: 3,
				type: 2,
				dims: [4, 1],
				lo: 0n,
				hi: 300n,
				target: NONE,
				operands: [operand(0, 0, 2, 1, 6), operand(2, 1, 1, 6)],
			},
			writeW,
			map(
				[4],
				[-9n, 9n],
				4,
				[operand(4, 4, 2, 4), operand(3, 3, 2, 3)],
				[load(0, at(0)), load(1, at(0, 3)), { x: 18, a: 0, b: 1 }],
			),
		],
	};
}

type Change = (p: Program) => void;

/** The code and place that each change must have; "" and nothing: it may run. */
const CHANGES: readonly [code: string, place: Omit<Fault, "code">, change: Change][] = [
	["", {}, () => {}],
	// Tensors.
	["INTERVAL", { tensor: 1 }, (p) => Object.assign(p.tensors[1]!, { lo: 4n })],
	["INTERVAL", { tensor: 1 }, (p) => Object.assign(p.tensors[1]!, { hi: 2n ** 15n })],
	["", {}, (p) => Object.assign(p.tensors[0]!, { lo: 1n })],
	["INTERVAL", { tensor: 4 }, (p) => Object.assign(p.tensors[4]!, { lo: 1n })],
	["MALFORMED", { tensor: 3 }, (p) => Object.assign(p.tensors[3]!, { name: "w" })],
	["INTERVAL", { tensor: 3 }, (p) => p.init.splice(0)],
	["TARGET", { tensor: 5 }, (p) => Object.assign(p.step[2]!, { target: NONE })],
	// Outputs and targets.
	["INTERVAL", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!, { lo: 51n })],
	["INTERVAL", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!, { hi: WIDE })],
	["TARGET", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!, { target: 6 })],
	["TARGET", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!, { target: 1 })],
	["TARGET", { phase: 0, op: 0 }, (p) => Object.assign(p.init[0]!, { target: 4 })],
	["TARGET", { phase: 1, op: 5 }, (p) => Object.assign(p.step[5]!, { target: 2, lo: -100n, hi: 100n, dims: [6] })],
	["TARGET", { phase: 1, op: 5 }, (p) => Object.assign(p.step[5]!, { dims: [3] })],
	["TARGET", { phase: 1, op: 5 }, (p) => Object.assign(p.step[5]!, { type: 3 })],
	["TARGET", { phase: 1, op: 5 }, (p) => Object.assign(p.step[5]!, { lo: -8n })],
	// Operands.
	["WIRING", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!.operands[0]!, { source: 0, number: 0 })],
	["WIRING", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!.operands[0]!, { source: 2 })],
	["WIRING", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!.operands[0]!, { number: 9 })],
	["WIRING", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!.operands[0]!, { dims: [5] })],
	["WIRING", { phase: 1, op: 0 }, (p) => Object.assign(p.step[0]!.operands[0]!, { type: 3 })],
	["WIRING", { phase: 0, op: 0 }, (p) => p.init[0]!.operands.push(operand(3, 2, 2, 6))],
	["WIRING", { phase: 0, op: 0 }, (p) => p.init[0]!.operands.push(operand(4, 4, 2, 4))],
	["WIRING", { phase: 1, op: 5 }, (p) => Object.assign(p.step[5]!.operands[1]!, { number: 2, dims: [6] })],
	["", {}, (p) => Object.assign(p.step[3]!.operands[0]!, { source: 0, number: 0, dims: [1, 6] })],
	// Shapes.
	["SHAPE", { phase: 1, op: 1 }, (p) => p.step[1]!.operands.pop()],
	["SHAPE", { phase: 1, op: 1 }, (p) => Object.assign(p.step[1]!, { dims: [2, 2] })],
	["SHAPE", { phase: 1, op: 1 }, (p) => Object.assign(p.step[1]!.operands[0]!, { dims: [1, 3, 2] })],
	["SHAPE", { phase: 1, op: 1 }, (p) => Object.assign(p.step[1]!.operands[1]!, { dims: [2, 1, 3] })],
	["SHAPE", { phase: 1, op: 2 }, (p) => Object.assign(p.step[2]!.operands[0]!, { dims: [4] })],
	["SHAPE", { phase: 1, op: 3 }, (p) => Object.assign(p.step[3]!.operands[0]!, { dims: [2, 3] })],
	["SHAPE", { phase: 1, op: 1 }, (p) => Object.assign(p.step[1]!, { type: 1 })],
	// Sums.
	["OUTPUT", { phase: 1, op: 1 }, (p) => Object.assign(p.step[1]!, { hi: 14999n })],
	["OUTPUT", { phase: 1, op: 3 }, (p) => Object.assign(p.step[3]!, { hi: 299n })],
	["INDEX", { phase: 1, op: 3 }, (p) => Object.assign(p.step[3]!, { dims: [3, 1] })],
	["OVERFLOW", { phase: 1, op: 1 }, (p) => widen(p, 2n ** 31n - 1n)],
	["OUTPUT", { phase: 1, op: 1 }, (p) => widen(p, 2n ** 30n)],
	// Maps.
	["INDEX", { phase: 1, op: 0, instruction: 1 }, (p) => Object.assign(p.tensors[1]!, { hi: 4n })],
	[
		"INDEX",
		{ phase: 1, op: 0, instruction: 0 },
		(p) => Object.assign(p.step[0]!.code!.before[0]!.places![0]!, { constant: 1 }),
	],
	["", {}, (p) => Object.assign(p.step[0]!.code!.before[1]!.places![0]!, { constant: 1, edge: 1 })],
	["OUTPUT", { phase: 1, op: 0, instruction: 1 }, (p) => zeroEdge(p)],
	[
		"DIVISOR",
		{ phase: 1, op: 5, instruction: 2 },
		(p) => Object.assign(p.step[5]!.code!.before[1]!.places![0]!, { edge: 1 }),
	],
	["DOMAIN", { phase: 1, op: 5, instruction: 2 }, (p) => setLast(p, 5, { x: 20, a: 0 })],
	["", {}, (p) => setLast(p, 5, { x: 17, a: 0, b: 1 })],
	["DOMAIN", { phase: 1, op: 4, instruction: 3 }, (p) => setBody(p, { x: 17, a: 2, b: 0 })],
	["INTERVAL", { phase: 1, op: 4, instruction: 2 }, (p) => Object.assign(p.step[4]!.code!.carried[0]!, { lo: 101n })],
	["OUTPUT", { phase: 1, op: 4, instruction: 4 }, (p) => Object.assign(p.step[4]!.code!.carried[0]!, { hi: 101n })],
	["", {}, (p) => Object.assign(p.step[4]!.code!.carried[0]!, { from: 1, next: 2 })],
	[
		"OVERFLOW",
		{ phase: 1, op: 4, instruction: 3 },
		(p) => Object.assign(p.step[4]!.code!.carried[0]!, { hi: 2n ** 63n - 50n }),
	],
	// A register with itself is never negative; two equal loads might be.
	["", {}, (p) => square(p, 0)],
	["DOMAIN", { phase: 1, op: 5, instruction: 3 }, (p) => square(p, 1)],
	// 2^63 only as a negative number.
	[
		"OVERFLOW",
		{ phase: 1, op: 5, instruction: 1 },
		(p) => (p.step[5]!.code = plain([constant(-(2n ** 63n)), { x: 11, a: 0 }])),
	],
	[
		"",
		{},
		(p) =>
			(p.step[5]!.code = plain(
				[constant(2n ** 62n), { x: 14, a: 0, bits: 1 }]
					.slice(0, 1)
					.concat([{ x: 21, a: 0 }, constant(60n), { x: 8, a: 1, b: 2 }]),
			)),
	],
	[
		"OVERFLOW",
		{ phase: 1, op: 5, instruction: 1 },
		(p) => (p.step[5]!.code = plain([constant(2n ** 62n), { x: 14, a: 0, bits: 1 }])),
	],
	// The last segment is below 2^31 and below 2^32 / k.
	["", {}, (p) => segments(p, 2n ** 31n - 1n)],
	["OUTPUT", { phase: 1, op: 5, instruction: 2 }, (p) => segments(p, 2n ** 31n - 2n)],
	["", {}, (p) => segments(Object.assign(p, { k: 3 }), (2n ** 32n - 1n) / 3n)],
	[
		"OUTPUT",
		{ phase: 1, op: 5, instruction: 2 },
		(p) => segments(Object.assign(p, { k: 3 }), (2n ** 32n - 1n) / 3n - 1n),
	],
	["", {}, (p) => segments(Object.assign(p, { k: 65536 }), 65535n)],
	["OUTPUT", { phase: 1, op: 5, instruction: 2 }, (p) => segments(Object.assign(p, { k: 65536 }), 65534n)],
];

/** The product's operands between −bound and bound: the sum of three may or may not fit. */
function widen(p: Program, bound: bigint): void {
	for (const one of [p.tensors[2]!, p.step[4]!]) Object.assign(one, { lo: -bound, hi: bound });
	Object.assign(p.tensors[0]!, { hi: bound });
	Object.assign(p.step[0]!, { hi: bound });
}
/** Outside the table is zero, which the output does not allow. */
function zeroEdge(p: Program): void {
	Object.assign(p.tensors[0]!, { lo: 5n });
	Object.assign(p.step[0]!, { lo: 5n });
	Object.assign(p.step[0]!.code!.before[1]!.places![0]!, { constant: 1, edge: 1 });
}
function setLast(p: Program, op: number, last: Instruction): void {
	p.step[op]!.code!.before[p.step[op]!.code!.before.length - 1] = last;
}
function setBody(p: Program, only: Instruction): void {
	p.step[4]!.code!.body = [only];
}
function square(p: Program, other: number): void {
	const twice = [load(0, at(0)), load(0, at(0))];
	const code = [...twice, { x: 9, a: 0, b: other }, { x: 20, a: 2 }];
	p.step[5]!.code = plain(code);
}
/** An output of segment − most: at most 0 where no segment has a higher number. */
function segments(p: Program, most: bigint): void {
	p.step[5]!.code = plain([{ x: 3 }, constant(most), { x: 8, a: 0, b: 1 }]);
	Object.assign(p.step[5]!, { target: NONE, type: 3, lo: -(2n ** 40n), hi: 0n });
}

export function faultRows(): Row[] {
	return CHANGES.map(([code, place, change], i) => {
		const program = base();
		change(program);
		const wanted = code === "" ? null : { code: `PROGRAM_${code}`, ...place };
		const found = firstFault(program);
		if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(wanted)))
			throw new Error(`change ${i}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
		const { tensor = -1, phase = -1, op = -1, instruction = -1 } = place;
		return { program: hex(programBytes(program)), code: wanted?.code ?? "", tensor, phase, op, instruction };
	});
}

const sorted = (fault: Fault | null) => fault && Object.entries(fault).sort(([a], [b]) => (a < b ? -1 : 1));
