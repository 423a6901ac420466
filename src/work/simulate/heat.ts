// Heat that spreads on a grid, docs/workloads.md: u ← u + Σ over the four sides of r·(neighbour − u), r =
// κ·Δt/Δx² ≤ 1/4. Each side's flow is rounded once and counts for both of its cells, so on a closed grid
// (edges wrap or clamp) no heat is ever lost, to the last bit.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import {
	type Drops,
	dropsAt,
	fixed,
	flowInto,
	type Grid,
	largestMetric,
	ONE,
	recordPictures,
	type Start,
	shade,
	startState,
	sumMetric,
} from "./grid.ts";
import type { Pace } from "./pace.ts";
import type { Simulation } from "./simulation.ts";

export interface Heat extends Grid {
	/** κ·Δt/Δx², at most 1/4. */
	readonly rate: number;
	/** What pictures show from black to white. */
	readonly range: readonly [number, number];
	readonly start: Start<Drops>;
}

/** Temperatures reach ±64. */
export const HEAT_LIMIT = 64;
const LIMIT = HEAT_LIMIT * ONE;
const DOMAIN = 0x6865_6174;

export function heatSimulation(heat: Heat, pace: Pace): Simulation {
	const b = buildProgram({ k: pace.k });
	const given: Record<string, Elements> = {};
	const { size, start } = heat;
	const rate = fixed(heat.rate);
	const made = "elements" in start ? start : { make: dropsAt(start, heat, ONE, DOMAIN) };
	const { state } = startState(b, given, { name: "heat", type: "i32", lo: -LIMIT, hi: LIMIT }, size, made);
	let now: Value = state;
	for (let i = 1; i <= pace.together; i++) {
		const field = now;
		const moved = (y: Index, x: Index): Expression =>
			at(field, y, x)
				.add(flowInto(field, heat, y, x, rate))
				.clamp(-LIMIT, LIMIT);
		now = b.step.map(size, (y, x) => moved(y!, x!), i === pace.together ? { to: state } : { type: "i32" });
	}
	const [lo, hi] = heat.range.map((value) => fixed(value)) as [number, number];
	recordPictures(b, pace, size, (y, x) => shade(at(now, y, x), lo, hi));
	sumMetric(b, "total", now);
	largestMetric(b, "peak", now);
	const read = (elements: Elements): number => Number(elements[0]!) / ONE;
	return {
		program: b.program(),
		given,
		metrics: [
			{ name: "total", label: "total heat", unit: "", read },
			{ name: "peak", label: "highest", unit: "", read },
		],
		fields: [{ name: "heat", tensor: "heat", dims: size, scale: ONE }],
		picture: { size, palette: "fire" },
	};
}
