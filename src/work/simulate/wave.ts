// Waves on a grid, docs/workloads.md: u' = 2u − u₋₁ + c²·(Σ neighbours − 4u), c = wave speed·Δt/Δx, c² ≤ 1/2.
// Rounded are only the flows between neighbours, so the mean moves exactly; and the steps run backwards: u
// and u₋₁ exchanged, they lead to the first field, bit for bit.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import {
	type Drops,
	dropsAt,
	FIELD_SCALE,
	fixed,
	flowInto,
	type Grid,
	ONE,
	recordPictures,
	type Start,
	shade,
	startState,
	sumMetric,
} from "./grid.ts";
import type { Pace } from "./pace.ts";
import type { Simulation } from "./simulation.ts";

export interface Wave extends Grid {
	/** Cells a time step; its square is at most 1/2. */
	readonly speed: number;
	/** Heights that pictures show in full colour. */
	readonly range: number;
	/** At rest. */
	readonly start: Start<Drops>;
}

/** Heights reach ±8. */
export const WAVE_LIMIT = 8;
const LIMIT = WAVE_LIMIT * ONE;
const DOMAIN = 0x7761_7665;

/** Energies are at 2^24. */
export function waveSimulation(wave: Wave, pace: Pace): Simulation {
	const b = buildProgram({ k: pace.k });
	const given: Record<string, Elements> = {};
	const { size, start } = wave;
	const square = fixed(wave.speed * wave.speed);
	const made = "elements" in start ? start : { make: dropsAt(start, wave, ONE, DOMAIN) };
	const tensor = { type: "i32", lo: -LIMIT, hi: LIMIT } as const;
	const { state, first } = startState(b, given, { name: "height", ...tensor }, size, made);
	// At rest: before as now.
	const last = b.tensor("state", "before", "i32", size, -LIMIT, LIMIT);
	b.init.map(size, (y, x) => at(first, y!, x!), { to: last });
	const pull = (of: Value, y: Index, x: Index): Expression => flowInto(of, wave, y, x, square);
	let [before, now]: [Value, Value] = [last, state];
	for (let i = 0; i < pace.together; i++) {
		const [old, field] = [before, now];
		const next = (y: Index, x: Index): Expression =>
			at(field, y, x)
				.shl(1)
				.sub(at(old, y, x))
				.add(pull(field, y, x))
				.clamp(-LIMIT, LIMIT);
		[before, now] = [field, b.step.map(size, (y, x) => next(y!, x!), { type: "i32" })];
	}
	recordPictures(b, pace, size, (y, x) => shade(at(now, y, x), fixed(-wave.range), fixed(wave.range)));
	// What the exact scheme keeps: Σ (u' − u)² − c²·u'·(Σ neighbours of u − 4u), halved.
	const energy = b.step.map(size, (y, x) => {
		const speed = at(now, y!, x!).sub(at(before, y!, x!));
		return speed
			.mul(speed)
			.sub(at(now, y!, x!).mul(pull(before, y!, x!)))
			.rsh(FIELD_SCALE + 1);
	});
	sumMetric(b, "energy", energy);
	// Last of all: what reads a state tensor comes before what writes it.
	b.step.map(size, (y, x) => at(before, y!, x!), { to: last });
	b.step.map(size, (y, x) => at(now, y!, x!), { to: state });
	return {
		program: b.program(),
		given,
		metrics: [{ name: "energy", label: "energy", unit: "", read: (elements) => Number(elements[0]!) / ONE }],
		fields: [
			{ name: "height", tensor: "height", dims: size, scale: ONE },
			{ name: "before", tensor: "before", dims: size, scale: ONE },
		],
		picture: { size, palette: "tide" },
	};
}
