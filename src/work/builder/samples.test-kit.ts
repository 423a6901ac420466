// Small programs for tests: an MLP that learns, and one with every operator, edge and kind of tensor. Real
// models are made elsewhere.
import { createElements, type Elements, elementCount, type TensorType } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { buildProgram } from "./build-program.ts";
import { at, type Expression, type Index, index, repeat, segment, step, turn, view } from "./expression.ts";

export interface Sample {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
}

/** Whole numbers from a small generator, the same in every run. */
export function numbersFrom(seed: number): (below: number) => number {
	let state = seed >>> 0;
	return (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

export function elementsOf(type: TensorType, values: readonly (number | bigint)[]): Elements {
	const elements = createElements(type, values.length);
	for (const [i, value] of values.entries())
		if (elements instanceof BigInt64Array) elements[i] = BigInt(value);
		else elements[i] = Number(value);
	return elements;
}

export function drawn(type: TensorType, dims: readonly number[], lo: number, hi: number, seed: number): Elements {
	const draw = numbersFrom(seed);
	return elementsOf(
		type,
		Array.from({ length: elementCount(dims) }, () => lo + draw(hi - lo + 1)),
	);
}

export const MLP = { batch: 8, rows: 40, inputs: 12, hidden: 16, outputs: 4, k: 2 } as const;

/**
 * Two links, relu, squared error, SGD without rounding of the weights; batches go round the data. `shift`:
 * another one is another program, of the same shapes.
 */
export function mlpSample(shift = 10): Sample {
	const { batch, rows, inputs, hidden, outputs, k } = MLP;
	const b = buildProgram({ k });
	const data = b.tensor("input", "data", "i8", [rows, inputs], -100, 100);
	const labels = b.tensor("input", "labels", "i8", [rows, outputs], -100, 100);
	const w1 = b.tensor("state", "w1", "i32", [hidden, inputs], -(2 ** 20), 2 ** 20);
	const w2 = b.tensor("state", "w2", "i32", [outputs, hidden], -(2 ** 20), 2 ** 20);
	const loss = b.tensor("metric", "loss", "i64", [1], 0, 2n ** 40n);
	for (const [domain, w, columns] of [
		[1, w1, inputs],
		[2, w2, hidden],
	] as const)
		b.init.map(
			w.dims,
			(i, j) =>
				i
					.value()
					.mul(columns)
					.add(j.value())
					.rand(domain)
					.shr(19)
					.sub(2 ** 12)
					.clamp(w.lo, w.hi),
			{ to: w },
		);
	const s = b.step;
	// Row (global step)·batch + i, round the data: the first segment with steps is number 1.
	const first = (i: Index) =>
		i
			.plus(index(segment).times(batch * k))
			.plus(index(step).times(batch))
			.plus(-batch * k)
			.wrap();
	const x = s.map([batch, inputs], (i, j) => at(data, first(i), j));
	const y = s.map([batch, outputs], (i, j) => at(labels, first(i), j));
	const z1 = s.matmul(x, w1);
	const h = s.map([batch, hidden], (i, j) =>
		at(z1, i, j)
			.rsh(shift)
			.clamp(0, 2 ** 12),
	);
	const z2 = s.matmul(h, w2);
	const d2 = s.map(
		[batch, outputs],
		(i, j) =>
			at(z2, i, j)
				.rsh(10)
				.sub(at(y, i, j))
				.clamp(-(2 ** 10), 2 ** 10),
		{ type: "i16" },
	);
	const error = s.map([batch * outputs], (i) => at(view(d2, batch * outputs), i).mul(at(view(d2, batch * outputs), i)));
	s.reduce("sum", error, { to: loss });
	const w2t = s.map([hidden, outputs], (i, j) => at(w2, j, i));
	const q1 = s.matmul(d2, w2t);
	const d1 = s.map(
		[batch, hidden],
		(i, j) =>
			at(h, i, j)
				.eq(0)
				.select(
					0,
					at(q1, i, j)
						.rsh(10)
						.clamp(-(2 ** 10), 2 ** 10),
				),
		{ type: "i16" },
	);
	const turned = (of: typeof x, n: number) => s.map([n, batch], (i, j) => at(of, j, i));
	const g2 = s.matmul(turned(d2, outputs), turned(h, hidden));
	const g1 = s.matmul(turned(d1, hidden), turned(x, inputs));
	s.map(
		w1.dims,
		(i, j) =>
			at(w1, i, j)
				.sub(at(g1, i, j).rsh(3))
				.clamp(w1.lo, w1.hi),
		{ to: w1 },
	);
	s.map(
		w2.dims,
		(i, j) =>
			at(w2, i, j)
				.sub(at(g2, i, j).rsh(3))
				.clamp(w2.lo, w2.hi),
		{ to: w2 },
	);
	return {
		program: b.program(),
		given: {
			data: drawn("i8", [rows, inputs], -100, 100, 1),
			labels: drawn("i8", [rows, outputs], -100, 100, 2),
		},
	};
}

/**
 * Every operator, reduction and edge, a gather, turns with loads inside; sizes that cross leaves in unaligned
 * places.
 */
export function mixedSample(turns = 70): Sample {
	const b = buildProgram({ k: 2 });
	const x = b.tensor("input", "x", "i16", [6, 700], -3000, 3000);
	const y = b.tensor("input", "y", "i32", [3, 700], -(2 ** 20), 2 ** 20);
	const ids = b.tensor("input", "ids", "i16", [700], 0, 4);
	const table = drawn("i32", [256], 0, 2 ** 16, 9);
	const lookup = b.constant("lookup", "i32", [256], 0, 2 ** 16, tensorRoot(table));
	const kept = b.tensor("state", "kept", "i64", [6, 5], -(2n ** 50n), 2n ** 50n);
	const noise = b.tensor("state", "noise", "i32", [33], 0, 2 ** 20);
	const memory = b.tensor("scratch", "memory", "i64", [6], -(2n ** 40n), 2n ** 40n);
	const best = b.tensor("result", "best", "i16", [6], 0, 699);
	const small = b.tensor("metric", "small", "i16", [6], -3000, 3000);
	b.init.map(
		[33],
		(i) =>
			i
				.value()
				.mul(-7)
				.rand(5)
				.shr(13)
				.clamp(0, 2 ** 20),
		{ to: noise },
	);
	const s = b.step;
	const product = s.matmul(view(x, 2, 3, 700), view(y, 1, 3, 700));
	s.reduce("argmax", x, { to: best });
	s.reduce("argmin", y);
	s.reduce("max", x);
	s.reduce("min", x, { to: small });
	s.reduce("sum", view(x, 2, 2100));
	const sums = s.scatterAdd(x, ids, 5);
	const remembered = s.map(
		[6],
		(i) =>
			at(memory, i)
				.add(at(view(product, 18), i.times(3)))
				.clamp(memory.lo, memory.hi),
		{ to: memory },
	);
	const walk = s.map([6, 5], (i, j) => {
		const from = at(noise, i.plus(j).plus(index(step)).plus(-2).zero());
		const [place, total] = repeat(
			turns,
			[
				{ from, lo: 0, hi: 255 },
				{ from: at(remembered, i), lo: -(2n ** 41n), hi: 2n ** 41n },
			],
			(p, t) => [
				p!.mul(5).add(turn).and(255),
				t!
					.add(at(lookup, p!))
					.sub(at(x, i, index(turn).times(11).wrap()))
					.xor(1),
			],
		);
		return total!.add(at(ids, index(place!).plus(500).clamp()).mul(1000)).sub(at(sums, j, i));
	});
	s.map(
		[6, 5],
		(i, j) =>
			at(kept, i, j)
				.add(at(walk, i, j))
				.clamp(kept.lo, kept.hi),
		{ to: kept },
	);
	return {
		program: b.program(),
		given: {
			x: drawn("i16", [6, 700], -3000, 3000, 3),
			y: drawn("i32", [3, 700], -(2 ** 20), 2 ** 20, 4),
			ids: drawn("i16", [700], 0, 4, 5),
			lookup: table,
		},
	};
}

/**
 * Loops that come to rest, at another turn for each element; one that never does; and one that seems to rest
 * until a late turn, which its body reads as a number or in a place.
 */
export function settlingSample(): Sample {
	const b = buildProgram();
	const x = b.tensor("input", "x", "i16", [2000], 0, 60);
	const s = b.step;
	const looped = (name: string, body: (value: Expression) => Expression) => {
		const out = b.tensor("result", name, "i16", [2000], -100, 100);
		s.map([2000], (i) => repeat(90, [{ from: at(x, i), lo: -100, hi: 100 }], (value) => [body(value!)])[0]!, {
			to: out,
		});
	};
	looped("down", (value) => value.sub(1).max(0));
	looped("swing", (value) => value.neg());
	looped("late", (value) => turn.eq(77).select(value.add(1), value));
	looped("placed", (value) => value.max(at(x, index(turn).times(20))));
	return { program: b.program(), given: { x: drawn("i16", [2000], 0, 60, 6) } };
}
