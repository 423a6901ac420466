// Two substances that react and spread (Gray and Scott), docs/workloads.md: u + 2v → 3v, u is fed, v dies.
//   u ← u + Du·∇²u − u·v² + feed·(1 − u),  v ← v + Dv·∇²v + u·v² − (feed + kill)·v;
//   both stay in [0, 1]. Rounded once, from 2^48.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import { type Elements, elementCount } from "../operators/tensor-type.ts";
import {
	type Drops,
	dropsAt,
	FIELD_SCALE,
	fixed,
	type Grid,
	laplacian,
	ONE,
	recordPictures,
	type Start,
	shade,
	startState,
	sumMetric,
} from "./grid.ts";
import type { Pace } from "./pace.ts";
import type { Simulation } from "./simulation.ts";

export interface GrayScott extends Grid {
	readonly feed: number;
	readonly kill: number;
	/** Du and Dv, a time step and a cell. */
	readonly spread: readonly [number, number];
	/** Elements: u, then v. */
	readonly start: Start<Drops>;
}

const DOMAIN = 0x6772_6179;
/** Of v, in the middle of a drop; u is lowered by twice as much there. */
const DROP = ONE / 4;
/** Pictures show v from 0 to this. */
const BRIGHTEST = 0.4;

export function grayScottSimulation(of: GrayScott, pace: Pace): Simulation {
	const b = buildProgram({ k: pace.k });
	const given: Record<string, Elements> = {};
	const { size, start } = of;
	const [du, dv] = of.spread.map((value) => fixed(value)) as [number, number];
	const [feed, loss] = [fixed(of.feed), fixed(of.feed) + fixed(of.kill)];
	const field = (name: string) => ({ name, type: "i32", lo: 0, hi: ONE }) as const;
	const cells = elementCount(size);
	const half = (from: Elements, i: number) => ({ elements: from.slice(i * cells, (i + 1) * cells) });
	const drops = "elements" in start ? null : dropsAt(start, of, DROP, DOMAIN);
	const from = (i: 0 | 1, make: (drop: Expression) => Expression) =>
		drops === null
			? half((start as { elements: Elements }).elements, i)
			: { make: (y: Index, x: Index) => make(drops(y, x)) };
	const states = [
		startState(
			b,
			given,
			field("u"),
			size,
			from(0, (drop) => drop.mul(-2).add(ONE).clamp(0, ONE)),
		).state,
		startState(
			b,
			given,
			field("v"),
			size,
			from(1, (drop) => drop.clamp(0, ONE)),
		).state,
	] as const;
	let [u, v]: [Value, Value] = [...states];
	for (let i = 0; i < pace.together; i++) {
		const [a, c] = [u, v];
		const reacted = (y: Index, x: Index): Expression =>
			at(c, y, x)
				.mul(at(c, y, x))
				.rsh(FIELD_SCALE)
				.mul(at(a, y, x));
		const moved = (of: Value, y: Index, x: Index, change: Expression): Expression =>
			at(of, y, x).add(change.rsh(FIELD_SCALE)).clamp(0, ONE);
		const fed = (y: Index, x: Index): Expression =>
			laplacian(a, of, y, x)
				.mul(du)
				.sub(reacted(y, x))
				.add(at(a, y, x).neg().add(ONE).mul(feed));
		const grown = (y: Index, x: Index): Expression =>
			laplacian(c, of, y, x)
				.mul(dv)
				.add(reacted(y, x))
				.sub(at(c, y, x).mul(loss));
		u = b.step.map(size, (y, x) => moved(a, y!, x!, fed(y!, x!)), { type: "i32" });
		v = b.step.map(size, (y, x) => moved(c, y!, x!, grown(y!, x!)), { type: "i32" });
	}
	recordPictures(b, pace, size, (y, x) => shade(at(v, y, x), 0, fixed(BRIGHTEST)));
	sumMetric(b, "amount", v);
	b.step.map(size, (y, x) => at(u, y!, x!), { to: states[0] });
	b.step.map(size, (y, x) => at(v, y!, x!), { to: states[1] });
	const read = (elements: Elements): number => Number(elements[0]!) / ONE / cells;
	return {
		program: b.program(),
		given,
		metrics: [{ name: "amount", label: "mean of v", unit: "", read }],
		fields: ["u", "v"].map((name) => ({ name, tensor: name, dims: size, scale: ONE })),
		picture: { size, palette: "reef" },
	};
}
