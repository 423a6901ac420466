// Programs about whose tensors, wiring, sections or fields one thing is at its limit or was changed: most can
// be read, and are refused by the check that the change is about, or are still right. All chance comes from
// `draw`. near-bounds.test-kit.ts has the numbers.
import { EDGES, type Instruction, type Place } from "../../src/work/operators/instruction.ts";
import { I64, type Interval, TENSOR_TYPES } from "../../src/work/operators/tensor-type.ts";
import {
	type Carried,
	type Code,
	type MapOp,
	type Op,
	type Operand,
	type Program,
	SOURCES,
	TENSOR_KINDS,
	type Tensor,
} from "../../src/work/program/shapes.ts";
import type { Draw } from "../../vectors/work-programs.ts";
import { beside, input, interval, type Mutable, number, picker, program, straight } from "./near-bounds.test-kit.ts";

/** Tensors of every kind, written or not, with 0 in their interval or just not; dims at their limits. */
export function declaredProgram(draw: Draw): Program {
	const pick = picker(draw);
	const span = (): Interval =>
		pick([
			{ lo: 0n, hi: 2n },
			{ lo: 1n, hi: 2n },
			{ lo: -2n, hi: -1n },
			{ lo: -2n, hi: 0n },
			{ lo: 1n, hi: 0n },
		]);
	const kinds = ["state", "scratch", "result", "metric"] as const;
	const tensors = Array.from({ length: 1 + draw(3) }, (_, i): Tensor => {
		const kind = pick(kinds);
		const zeroes = draw(3) > 0 ? { lo: -2n, hi: 2n } : span();
		return { ...input(`t${i}`, pick(["i8", "i64"]), pick([[6], [2, 3], [3, 1, 2]]), zeroes), kind };
	});
	const huge = [
		[2 ** 20, 2 ** 20],
		[2 ** 20, 2 ** 20 + 1],
		[2 ** 31 - 1, 512],
		[2 ** 31 - 1, 513],
		[2 ** 31],
		[1, 1, 1, 1, 1, 1],
	];
	if (draw(3) === 0) tensors.push(input("huge", "i8", pick(huge), { lo: 0n, hi: 0n }));
	if (draw(3) === 0)
		tensors.push({
			...input("many", "i8", pick([[1024], [1025], [32, 32], [5, 205]]), { lo: 0n, hi: 0n }),
			kind: "metric",
		});
	const writes = (target: number): Op => {
		const { type, dims, lo, hi } = tensors[target]!;
		const value = pick([lo, hi]);
		const shape = draw(3) === 0 ? [dims.reduce((count, dim) => count * dim, 1)] : dims;
		const code = straight([], { op: "const", value });
		return { operator: "map", output: { type, dims: shape, lo, hi }, target, operands: [], code };
	};
	const chosen = (list: readonly Tensor[]) =>
		list.flatMap((_, i) => (draw(5) > 0 && tensors[i]!.kind !== "input" ? [writes(i)] : []));
	const step = chosen(tensors);
	const init = tensors.flatMap(({ kind }, i) =>
		draw(2) === 0 && (kind === "state" || draw(12) === 0) && kind !== "input" ? [writes(i)] : [],
	);
	if (step.length === 0 || draw(8) === 0) step.push({ ...writes(0), target: null });
	return { k: pick([1, 2]), tensors, init, step };
}

/** A map with turns whose registers are read at the borders of its sections. */
export function sectionProgram(draw: Draw): Program {
	const pick = picker(draw);
	const [before, carried, body, after] = [1 + draw(2), 1 + draw(2), 1 + draw(2), 1 + draw(2)];
	const bodyFrom = before + carried;
	const bodyTo = bodyFrom + body;
	const borders = [0, before - 1, before, bodyFrom - 1, bodyFrom, bodyTo - 1, bodyTo, bodyTo + after - 1];
	// Mostly one that may be read there.
	const reg = (own: number, isAfter: boolean) => {
		const seen = borders.filter((one) => one < own && !(isAfter && one >= bodyFrom && one < bodyTo));
		return draw(6) === 0 ? pick(borders) : pick(seen);
	};
	const list = (first: number, length: number, isAfter: boolean): Instruction[] =>
		Array.from({ length }, (_, i) =>
			first + i === 0
				? { op: "const", value: number(draw, "i8") }
				: { op: pick(["min", "max", "and", "lt"] as const), a: reg(first + i, isAfter), b: reg(first + i, isAfter) },
		);
	// A turn where there is none, and as many registers as there may be.
	const filled = pick([0, 0, 0, 0, 255, 256, 257]) - bodyTo - after;
	const more: Instruction[] = Array.from({ length: Math.max(0, filled) }, () => ({ op: "step" }));
	const turn: Instruction[] = draw(6) === 0 ? [{ op: "turn" }] : [];
	const code: Code = {
		turns: pick([1, 3, 3, draw(4) === 0 ? 0 : 1]),
		carried: Array.from({ length: carried }, () => ({
			from: draw(10) === 0 ? before : draw(before),
			next: draw(10) === 0 ? bodyTo : draw(bodyTo),
			...interval(draw, "i16"),
		})),
		before: list(0, before, false),
		body: draw(16) === 0 ? [] : list(bodyFrom, body, false),
		after: draw(16) === 0 ? [] : [...list(bodyTo, after, true), ...more, ...turn],
	};
	const output = { type: "i64", dims: [3], ...I64 } as const;
	return program(1, [], { operator: "map", output, target: null, operands: [], code });
}

/** A right program with one thing about its tensors, wiring or fields changed. */
export function rewired(draw: Draw, right: Program): Program {
	const pick = picker(draw);
	const copy = structuredClone(right) as {
		k: number;
		tensors: Mutable<Tensor>[];
		init: Mutable<Op>[];
		step: Mutable<Op>[];
	};
	const tensor = pick(copy.tensors);
	const phase = copy.init.length > 0 && draw(3) === 0 ? copy.init : copy.step;
	const op = pick(phase);
	const operand = op.operands.length > 0 ? (pick(op.operands) as Mutable<Operand>) : null;
	const change = pick([
		() => {
			tensor.kind = pick(TENSOR_KINDS);
			tensor.root = tensor.kind === "constant" ? (tensor.root ?? new Uint8Array(32)) : null;
		},
		() => {
			tensor.name = pick([pick(copy.tensors).name, "9a", "a b", "", "a".repeat(64), "a".repeat(65), "_.", "é"]);
		},
		() => {
			// Scratch and state that do not hold 0.
			Object.assign(tensor, pick([{ lo: 1n }, { hi: -1n }, { lo: 0n }, { hi: 0n }, { lo: tensor.hi, hi: tensor.lo }]));
		},
		() => {
			copy.k = pick([0, 1, 65_535, 65_536, 65_537]);
		},
		() => {
			op.target = pick([null, draw(copy.tensors.length + 1), pick(phase).target]);
		},
		() => {
			// What several ops write, and what is written twice.
			const at = op.target === null ? null : copy.tensors[op.target]!;
			if (at !== null) Object.assign(pick([at, op.output as Mutable<Op["output"]>]), beside(draw, at));
		},
		() => {
			if (operand === null) return;
			operand.source = pick(SOURCES);
			operand.index = pick([
				operand.index,
				draw(copy.tensors.length + 1),
				phase.indexOf(op),
				Math.max(0, phase.indexOf(op) - 1),
			]);
		},
		() => {
			if (operand === null) return;
			const from = operand.source === "op" ? phase[operand.index]?.output : copy.tensors[operand.index];
			Object.assign(
				operand,
				pick([
					{ type: pick(TENSOR_TYPES) },
					{ dims: [...operand.dims, 1] },
					{ dims: [1, ...operand.dims] },
					{ dims: from?.dims ?? [1] },
				]),
			);
		},
		() => {
			const moved = phase.splice(phase.indexOf(op), 1)[0]!;
			phase.splice(draw(phase.length + 1), 0, moved);
		},
		() => {
			const other = phase === copy.step ? copy.init : copy.step;
			if (phase.length > 1) other.push(phase.splice(phase.indexOf(op), 1)[0]!);
		},
		() => {
			copy.tensors.splice(copy.tensors.indexOf(tensor), 1);
		},
		() => {
			// Other dims of as many elements change nothing.
			const count = tensor.dims.reduce((product, dim) => product * dim, 1);
			tensor.dims = pick([[count], [1, count], [count, 1], [count + 1]]);
		},
		() => {
			if (op.operator !== "map") return;
			recoded(draw, op as Mutable<MapOp>);
		},
		() => {
			if (op.operator !== "map") return;
			recoded(draw, op as Mutable<MapOp>);
		},
	]);
	change();
	return copy as Program;
}

/** Registers, sections and places of a map that are just there, or just not. */
function recoded(draw: Draw, op: Mutable<MapOp>): void {
	const pick = picker(draw);
	const code = op.code as { -readonly [K in keyof Code]: Mutable<Code[K]> };
	const { before, carried, body, after } = code;
	const bodyFrom = before.length + carried.length;
	const sections = [
		{ list: before, first: 0 },
		{ list: body, first: bodyFrom },
		{ list: after, first: bodyFrom + body.length },
	].filter(({ list }) => list.length > 0);
	const { list, first } = pick(sections);
	const at = draw(list.length);
	const one = list[at]!;
	const fields = one as unknown as Record<string, unknown>;
	const changes: (() => void)[] = [
		() => {
			code.turns = pick([0, 1, 4096, 4097]);
		},
		() => {
			for (const field of ["a", "b", "c"])
				if (field in one) fields[field] = pick([first + at, first + at - 1, bodyFrom, bodyFrom - 1]) & 255;
		},
		() => {
			if (carried.length === 0) return;
			const slot = pick(carried) as Mutable<Carried>;
			Object.assign(
				slot,
				pick([
					{ from: before.length },
					{ from: before.length - 1 },
					{ next: bodyFrom + body.length },
					{ next: bodyFrom + body.length - 1 },
					{ next: bodyFrom },
					{ lo: slot.hi, hi: slot.lo },
				]),
			);
		},
		() => {
			if ("bits" in one) fields.bits = pick([0, 1, 62, 63]);
			if ("axis" in one) fields.axis = pick([op.output.dims.length, op.output.dims.length - 1]);
			if ("operand" in one) fields.operand = pick([op.operands.length, op.operands.length - 1]);
		},
		() => {
			list.splice(at, 1);
		},
		() => {
			list.splice(
				at,
				0,
				pick([{ op: "turn" }, { op: "step" }, { op: "segment" }, { op: "const", value: number(draw) }] as const),
			);
		},
		() => {
			const wanted = pick([255, 256, 257]) - bodyFrom - body.length - after.length;
			if (wanted > 0) while (before.length < wanted) before.push({ op: "step" });
		},
	];
	if (one.op === "load" && one.place.length > 0) {
		const place = pick(one.place) as Mutable<Place>;
		const terms = place.terms as Mutable<Place["terms"][number]>[];
		changes.push(
			() => {
				place.register = pick([null, first + at, Math.max(0, first + at - 1), bodyFrom]);
			},
			() => {
				terms.push({
					of: pick([0, op.output.dims.length - 1, op.output.dims.length, 5, 6, 7, 8, 9]),
					times: pick([0, 1, -1]),
				});
			},
			() => {
				terms.sort((a, b) => b.of - a.of);
			},
			() => {
				place.edge = pick(EDGES);
				place.constant = pick([0, -1, 2 ** 31 - 1, -(2 ** 31)]);
			},
		);
	}
	pick(changes)();
}
