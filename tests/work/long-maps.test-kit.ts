// Maps that are as long as they may be, or a little longer, docs/work.md §6: what a judge of one element gets
// has 2,960 bytes at most, and 112 instructions come before turns. What they compute stays in 64 bits. All
// chance comes from `draw`.
import type { Instruction, Place } from "../../src/work/operators/instruction.ts";
import { I64 } from "../../src/work/operators/tensor-type.ts";
import { encodeOp } from "../../src/work/program/encode.ts";
import { type Code, LIMITS, type MapOp, type Program, type Tensor } from "../../src/work/program/shapes.ts";
import type { Draw } from "../../vectors/work-programs.ts";
import { input, interval, number, picker, program } from "./near-bounds.test-kit.ts";

const judgedBytes = (op: MapOp): number => {
	const { before, carried, body, after } = op.code;
	const registers = before.length + carried.length + body.length + after.length;
	return encodeOp(op, "step").length + 32 * op.operands.length + 8 * registers;
};

/** One that is right whatever the registers hold. `seen`: draws one that it may name; null: there is none. */
function instruction(
	draw: Draw,
	tensors: readonly Tensor[],
	seen: null | (() => number),
	isBody: boolean,
): Instruction {
	const pick = picker(draw);
	const kind = draw(seen === null ? 3 : 9);
	if (kind === 0) return { op: "const", value: number(draw, "i32") };
	if (kind === 1) return { op: "iota", axis: draw(2) };
	if (kind === 2 && tensors.length === 0) return { op: "step" };
	if (kind === 2 || kind === 3) {
		const operand = draw(tensors.length);
		if (tensors.length === 0) return { op: "segment" };
		const place = (): Place => ({
			edge: pick(["zero", "wrap", "clamp"] as const),
			register: seen === null || draw(3) === 0 ? null : seen(),
			constant: draw(2 ** 31) - 2 ** 30,
			terms: [0, 1, 6, 7, ...(isBody ? [8] : [])].flatMap((of) => (draw(4) === 0 ? [{ of, times: 1 + draw(9) }] : [])),
		});
		return { op: "load", operand, place: tensors[operand]!.dims.map(place) };
	}
	const [a, b, c] = [seen!(), seen!(), seen!()];
	if (kind === 4) return { op: pick(["select", "clamp"] as const), a, b, c };
	if (kind === 5) return { op: "rand", a, domain: draw(2 ** 32) };
	if (kind === 6) return { op: pick(["shr", "rsh"] as const), a, bits: 1 + draw(62) };
	if (kind === 7) return isBody ? { op: "turn" } : { op: "bitlen", a };
	return { op: pick(["min", "max", "and", "or", "xor", "eq", "lt"] as const), a, b };
}

const LENGTHS: Readonly<Record<string, number>> = {
	...{ const: 9, iota: 2, step: 1, segment: 1, turn: 1, bitlen: 2, select: 4, clamp: 4, rand: 6 },
};
const lengthOf = (one: Instruction): number =>
	one.op === "load"
		? one.place.reduce((sum, { register, terms }) => sum + 6 + (register === null ? 0 : 1) + 5 * terms.length, 2)
		: (LENGTHS[one.op] ?? 3);

/** Sections of these lengths, with nothing in them but the shortest instruction. */
const blank = (count: number): Instruction[] => Array.from({ length: count }, () => ({ op: "step" }));

function lengths(draw: Draw): readonly [before: number, carried: number, body: number, after: number] {
	if (draw(2) === 0) return [1 + draw(LIMITS.registers), 0, 0, 0];
	const before = draw(3) === 0 ? LIMITS.beforeTurns + draw(3) - 1 : 1 + draw(150);
	const carried = 1 + draw(draw(2) === 0 ? 3 : LIMITS.carried);
	const left = LIMITS.registers - before - carried;
	const body = 1 + draw(left - 1);
	return [before, carried, body, 1 + draw(Math.min(20, left - body))];
}

export function longProgram(draw: Draw): Program {
	const [before, carried, body, after] = lengths(draw);
	const axes = () => Array.from({ length: 1 + draw(3) }, () => 1 + draw(4));
	const tensors = Array.from({ length: draw(LIMITS.operands + 1) }, (_, i) =>
		input(`in${i}`, "i16", axes(), { lo: -9n, hi: 9n }),
	);
	const [bodyFrom, bodyTo] = [before + carried, before + carried + body];
	const code = {
		turns: carried > 0 ? 1 + draw(40) : 0,
		carried: Array.from({ length: carried }, () => ({
			...{ from: draw(before), next: draw(bodyTo) },
			...interval(draw, "i32"),
		})),
		...{ before: blank(before), body: blank(body), after: blank(after) },
	} satisfies Code;
	const op: MapOp = {
		...{ operator: "map", output: { type: "i64", dims: [2, 2], ...I64 }, target: null, code },
		operands: tensors.map(({ type, dims }, index) => ({ source: "input", index, type, dims })),
	};
	// Instructions are made longer until the whole is as long as wanted, or nearly.
	const wanted = LIMITS.judgedBytes + draw(25) - 12;
	let bytes = judgedBytes(op);
	for (let tries = 0; bytes < wanted && tries < 2000; tries++) {
		const register = draw(bodyTo + after);
		if (register >= before && register < bodyFrom) continue;
		const section = register < before ? "before" : register < bodyTo ? "body" : "after";
		const hidden = section === "after" ? body : 0;
		const seen = () => {
			const one = draw(register - hidden);
			return one < bodyFrom ? one : one + hidden;
		};
		const list = code[section];
		const at = register - { before: 0, body: bodyFrom, after: bodyTo }[section];
		const own = list[at]!;
		list[at] = instruction(draw, tensors, register === 0 ? null : seen, section === "body");
		const longer = lengthOf(list[at]!) - lengthOf(own);
		if (bytes + longer > wanted || longer < 0) list[at] = own;
		else bytes += longer;
	}
	return program(1 + draw(3), tensors, op);
}
