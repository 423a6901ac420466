// Conway's life and its kin, docs/workloads.md: a cell is born or stays by the number of its eight neighbours
// that live.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { cell, type Grid, recordPictures, type Start, startState, sumMetric } from "./grid.ts";
import type { Pace } from "./pace.ts";
import type { Simulation } from "./simulation.ts";

export interface Life extends Grid {
	/** "B3/S23": born with 3 neighbours, stays with 2 or 3. */
	readonly rule: string;
	/** Elements: 0 or 1; else the share of cells that live at first, by the seed. */
	readonly start: Start<{ readonly density: number }>;
}

export const LIFE_RULE = /^B([0-8]*)\/S([0-8]*)$/;
const DOMAIN = 0x6c69_6665;
const AROUND = [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((x) => [y, x] as const)).filter(([y, x]) => y !== 0 || x !== 0);

/** By 9·(it lives) + neighbours: does it live next? */
function table(rule: string): Int8Array {
	const [, born = "", stays = ""] = LIFE_RULE.exec(rule) ?? [];
	return Int8Array.from({ length: 18 }, (_, i) => Number((i < 9 ? born : stays).includes(`${i % 9}`)));
}

export function lifeSimulation(life: Life, pace: Pace): Simulation {
	const b = buildProgram({ k: pace.k });
	const { size, start } = life;
	const given: Record<string, Elements> = { rule: table(life.rule) };
	const rule = b.constant("rule", "i8", [18], 0, 1, tensorRoot(given.rule!));
	const make = (density: number) => (y: Index, x: Index) =>
		y
			.value()
			.mul(size[1])
			.add(x.value())
			.rand(DOMAIN)
			.lt(Math.round(density * 2 ** 32));
	const made = "elements" in start ? start : { make: make(start.density) };
	const { state } = startState(b, given, { name: "cells", type: "i8", lo: 0, hi: 1 }, size, made);
	let now: Value = state;
	for (let i = 1; i <= pace.together; i++) {
		const field = now;
		const next = (y: Index, x: Index): Expression => {
			const near = AROUND.map(([rows, columns]) => cell(field, life, y, x, rows, columns));
			return at(
				rule,
				near.reduce((sum, one) => sum.add(one), at(field, y, x).mul(9)),
			);
		};
		now = b.step.map(size, (y, x) => next(y!, x!), i === pace.together ? { to: state } : { type: "i8" });
	}
	recordPictures(b, pace, size, (y, x) => at(now, y, x).mul(255));
	sumMetric(b, "alive", now);
	return {
		program: b.program(),
		given,
		metrics: [{ name: "alive", label: "living cells", unit: "", read: (elements) => Number(elements[0]!) }],
		fields: [{ name: "cells", tensor: "cells", dims: size, scale: 1 }],
		picture: { size, palette: "ink" },
	};
}
