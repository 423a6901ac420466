// Bodies that attract each other, docs/workloads.md: softened gravity, Δv = G·m·Δt²·d/(d² + ε²)^(3/2),
// drift–kick–drift. Positions and half velocities are at 2^48 and only ever added to, so nothing is rounded
// but the pull between two bodies, and that one is the same in both directions: momentum is kept to the last
// bit, and the steps run backwards to where they began. All pairs, each step.
import { buildProgram, type PhaseBuilder } from "../builder/build-program.ts";
import { at, constant, type Expression, type Value, view } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { recordPictures } from "./grid.ts";
import type { Pace } from "./pace.ts";
import type { Simulation } from "./simulation.ts";

export interface Bodies {
	/** [3, N] each, at 2^48: places, and half of what they move in a step. */
	readonly places: BigInt64Array;
	readonly halves: BigInt64Array;
	/** Relative, 1 … 256. */
	readonly masses: Int16Array;
}

export interface NBody {
	/** G times the unit of mass. */
	readonly gravity: number;
	/** Δt. */
	readonly step: number;
	/** ε. */
	readonly softening: number;
	/** Rows, columns of the pictures, and how far from the middle they reach. */
	readonly size: readonly [number, number];
	readonly reach: number;
	readonly start: Bodies;
}

export const PLACE_SCALE = 48;
/** Places reach ±32, half velocities ±1/8; a body that would leave stays at the wall. */
export const PLACE_LIMIT = 32;
export const HALF_LIMIT = 1 / 8;
export const NBODY_LIMITS = { bodies: 4096, mass: 256, pull: 2 ** -8, softening: 2 ** -6 } as const;
/** Distances are at 2^24, so that the sum of three squares fits. */
const NEAR = 24;
const PLACES = BigInt(PLACE_LIMIT) << BigInt(PLACE_SCALE);
const HALVES = 2n ** 45n;
/** Bits of the constant of gravity. */
const PULL_BITS = 30;

type Place = Parameters<typeof at>[1];

interface Pair {
	/** d along an axis, at 2^24. */
	readonly along: (axis: Place) => Expression;
	/** d² + ε² at 2^48, and its root at 2^24: at least ε. */
	readonly square: Expression;
	readonly distance: Expression;
}

function pairOf(near: Value, softening: number, i: Place, j: Place): Pair {
	const along = (axis: Place): Expression => at(near, axis, j).sub(at(near, axis, i));
	const least = BigInt(Math.round(softening * 2 ** NEAR));
	const squares = [0, 1, 2].map((axis) => along(axis).mul(along(axis)));
	const square = squares.reduce((sum, one) => sum.add(one)).add(least * least);
	return { along, square, distance: square.isqrt() };
}

const pullOf = ({ gravity, step }: NBody): number => gravity * step * step;

/** Places at 2^24. */
const nearOf = (s: PhaseBuilder, places: Value): Value =>
	s.map(places.dims, (axis, i) => at(places, axis!, i!).shr(PLACE_SCALE - NEAR));

/** Half of what bodies are pulled in one step, [3, N] at 2^48. */
function pulls(s: PhaseBuilder, of: NBody, places: Value, masses: Value): Value {
	const count = masses.dims[0]!;
	const near = nearOf(s, places);
	// pull/2 at 2^48 is factor·2^−shift: 30 bits of it whatever its size.
	const half = pullOf(of) / 2;
	const shift = PULL_BITS - 1 - Math.floor(Math.log2(half)) - PLACE_SCALE;
	const factor = Math.round(half * 2 ** (PLACE_SCALE + shift));
	const terms = s.map([3, count, count], (axis, i, j) => {
		const { along, square, distance } = pairOf(near, of.softening, i!, j!);
		const d = along(axis!);
		// By magnitude, then the sign: what i gets of j is what j gets of i, the other way.
		const direction = d
			.abs()
			.shl(30)
			.rdiv(distance)
			.min(2 ** 30);
		const size = direction.mul(factor).rdiv(square.shr(18));
		const scaled = shift >= 0 ? size.rsh(shift) : size.shl(-shift);
		return d.lt(0).select(scaled.neg(), scaled).mul(at(masses, j!));
	});
	return s.reduce("sum", terms);
}

/** Bits after the point of an energy: as many as surely fit. */
function energyScale(of: NBody, count: number): number {
	const mass = count * NBODY_LIMITS.mass;
	const most = Math.max(6 * mass * HALF_LIMIT ** 2, (mass * mass * pullOf(of)) / 2 / of.softening);
	return Math.min(44, Math.floor(61 - Math.log2(most)));
}

/** (Kinetic + potential energy)·Δt², [1]: Σ 2·m·h² − Σ over pairs of pull·m·m/√(d² + ε²). */
function energyOf(s: PhaseBuilder, of: NBody, places: Value, halves: Value, masses: Value): Value {
	const count = masses.dims[0]!;
	const scale = energyScale(of, count);
	const near = nearOf(s, places);
	const kinetic = s.map([count], (i) => {
		const squares = [0, 1, 2].map((axis) => at(halves, axis, i!).rsh(20)).map((half) => half.mul(half));
		return squares
			.reduce((sum, one) => sum.add(one))
			.mul(at(masses, i!))
			.rsh(2 * (PLACE_SCALE - 20) - 1 - scale);
	});
	const factor = BigInt(Math.round((pullOf(of) / 2) * 2 ** (scale + NEAR)));
	const pairs = s.map([count, count], (i, j) => {
		const one = constant(factor).rdiv(pairOf(near, of.softening, i!, j!).distance);
		return i!
			.value()
			.eq(j!.value())
			.select(0, one.mul(at(masses, j!)));
	});
	const rows = s.reduce("sum", pairs);
	return s.reduce(
		"sum",
		s.map([count], (i) => at(kinetic, i!).sub(at(rows, i!).mul(at(masses, i!)))),
	);
}

/**
 * How many bodies each pixel shows, [rows·columns + 1, 1]; the last counts those outside. Seen along the
 * third axis.
 */
function counted(s: PhaseBuilder, { size: [rows, columns], reach }: NBody, places: Value): Value {
	const near = nearOf(s, places);
	const count = places.dims[1]!;
	const half = Math.round(reach * 2 ** NEAR);
	const pixel = s.map([count], (i) => {
		const along = (axis: 0 | 1, length: number): Expression =>
			at(near, axis, i!)
				.add(half)
				.mul(length)
				.div(2 * half);
		const [x, y] = [along(0, columns), along(1, rows)];
		const isIn = (place: Expression, length: number): Expression => place.lt(0).eq(0).and(place.lt(length));
		const inside = y
			.clamp(0, rows - 1)
			.mul(columns)
			.add(x.clamp(0, columns - 1));
		return isIn(x, columns)
			.and(isIn(y, rows))
			.select(inside, rows * columns);
	});
	return s.scatterAdd(
		s.map([1, count], () => constant(1)),
		pixel,
		rows * columns + 1,
	);
}

export function nbodySimulation(of: NBody, pace: Pace): Simulation {
	const b = buildProgram({ k: pace.k });
	const { size, start } = of;
	const count = start.masses.length;
	const given: Record<string, Elements> = { masses: start.masses };
	const masses = b.tensor("input", "masses", "i16", [count], 1, NBODY_LIMITS.mass);
	const tensor = (name: string, limit: bigint, elements: BigInt64Array) => {
		const state = b.tensor("state", name, "i64", [3, count], -limit, limit);
		const input = b.tensor("input", `${name}.start`, "i64", [3, count], -limit, limit);
		given[`${name}.start`] = elements;
		return { state, first: b.init.map([3, count], (axis, i) => at(input, axis!, i!), { to: state }) };
	};
	const [x, h] = [tensor("places", PLACES, start.places), tensor("halves", HALVES, start.halves)];
	const atFirst = energyOf(b.init, of, x.first, h.first, masses);
	const kept = b.tensor("state", "energy.start", "i64", [1], atFirst.lo, atFirst.hi);
	b.init.map([1], (i) => at(atFirst, i!), { to: kept });
	let [places, halves]: [Value, Value] = [x.state, h.state];
	const added = (a: Value, c: Value, limit: bigint): Value =>
		b.step.map(
			[3, count],
			(axis, i) =>
				at(a, axis!, i!)
					.add(at(c, axis!, i!))
					.clamp(-limit, limit),
			{ type: "i64" },
		);
	for (let i = 0; i < pace.together; i++) {
		const middle = added(places, halves, PLACES);
		halves = added(halves, view(pulls(b.step, of, middle, masses), 3, count), HALVES);
		places = added(middle, halves, PLACES);
	}
	const seen = counted(b.step, of, places);
	recordPictures(b, pace, size, (y, x) => at(seen, y.times(size[1]).plus(x), 0).mul(14_400).isqrt().min(255));
	const now = energyOf(b.step, of, places, halves, masses);
	const drift = b.tensor("metric", "drift", "i64", [2], atFirst.lo, atFirst.hi);
	b.step.map([2], (i) => i!.value().eq(0).select(at(now, 0), at(kept, 0)), { to: drift });
	b.step.map([3, count], (axis, i) => at(halves, axis!, i!), { to: h.state });
	b.step.map([3, count], (axis, i) => at(places, axis!, i!), { to: x.state });
	return {
		program: b.program(),
		given,
		metrics: [{ name: "drift", label: "energy drift", unit: "ppm", read: (elements) => 1e6 * driftOf(elements) }],
		fields: [
			{ name: "places", tensor: "places", dims: [3, count], scale: 2 ** PLACE_SCALE },
			{ name: "velocities", tensor: "halves", dims: [3, count], scale: (2 ** PLACE_SCALE * of.step) / 2 },
		],
		picture: { size, palette: "night" },
	};
}

function driftOf([now, first]: Elements): number {
	return first === undefined || Number(first) === 0 ? 0 : (Number(now) - Number(first)) / Math.abs(Number(first));
}
