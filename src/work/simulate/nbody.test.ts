// Bodies that attract each other: an orbit closes, momentum and centre are kept exactly, energy nearly, and
// the steps run backwards.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SEED } from "../models/training.test-kit.ts";
import { discOf } from "./disc.ts";
import { type Bodies, type NBody, nbodySimulation, PLACE_SCALE } from "./nbody.ts";
import { paceOf } from "./pace.ts";
import { metricOf, simulated } from "./simulation.test-kit.ts";

const pace = (steps: number) => paceOf({ steps, frames: 0, stepsPerSegment: null });
const UNIT = 2 ** PLACE_SCALE;
const big = (values: readonly number[]) => BigInt64Array.from(values, (value) => BigInt(Math.round(value * UNIT)));

/** Rows of x, y, z, vx, vy, vz, mass. */
function bodiesOf(rows: readonly (readonly number[])[], step: number): Bodies {
	const column = (i: number) => rows.map((row) => row[i]!);
	return {
		places: big([0, 1, 2].flatMap(column)),
		halves: big([3, 4, 5].flatMap(column).map((v) => (v * step) / 2)),
		masses: Int16Array.from(column(6)),
	};
}
const nbody = (rows: readonly (readonly number[])[], step: number, more: Partial<NBody> = {}): NBody => ({
	...{ gravity: 1, step, softening: 2 ** -6, size: [8, 8], reach: 2 },
	start: bodiesOf(rows, step),
	...more,
});

test("two bodies: the orbit closes after its period, and not before", () => {
	// Masses 1 and 1 at distance 1: each on a circle of radius 1/2. ω² = 2/(1 + ε²)^(3/2).
	const omega = Math.sqrt(2 / (1 + 2 ** -12) ** 1.5);
	const steps = 240;
	const step = (2 * Math.PI) / omega / steps;
	const rows = [
		[0.5, 0, 0, 0, omega / 2, 0, 1],
		[-0.5, 0, 0, 0, -omega / 2, 0, 1],
	];
	const simulation = nbodySimulation(nbody(rows, step), pace(steps));
	const trial = simulated(simulation, pace(steps).segments);
	const [x0, , y0] = trial.floats("places", UNIT) as unknown as number[];
	assert.ok(Math.hypot(x0! - 0.5, y0!) < 1e-3, `${x0} ${trial.floats("places", UNIT)[2]}`);
	assert.ok(Math.abs(metricOf(simulation, trial, "drift")) < 1);
	const half = simulated(nbodySimulation(nbody(rows, step), pace(steps / 2)), 1);
	assert.ok(Math.abs(half.floats("places", UNIT)[0]! + 0.5) < 1e-3);
});

/** The same scheme in doubles. */
function twin(rows: readonly (readonly number[])[], gravity: number, step: number, softening: number, steps: number) {
	const x = rows.map((row) => row.slice(0, 3));
	const v = rows.map((row) => row.slice(3, 6));
	for (let t = 0; t < steps; t++) {
		for (const [i, one] of x.entries()) for (let a = 0; a < 3; a++) one[a]! += (v[i]![a]! * step) / 2;
		for (const [i, one] of x.entries())
			for (const [j, other] of x.entries()) {
				const d = other.map((value, a) => value - one[a]!);
				const r = Math.sqrt(d.reduce((sum, value) => sum + value * value, softening ** 2));
				for (let a = 0; a < 3; a++) v[i]![a]! += (gravity * rows[j]![6]! * step * d[a]!) / r ** 3;
			}
		for (const [i, one] of x.entries()) for (let a = 0; a < 3; a++) one[a]! += (v[i]![a]! * step) / 2;
	}
	return x;
}

const SYSTEM = [
	[0, 0, 0, 0, 0, 0, 100],
	[1, 0, 0.1, 0, 1, 0, 3],
	[0, -1.5, 0, 0.8, 0, 0.1, 1],
	[-2, 0.3, -0.2, 0, -0.7, 0, 7],
];

test("unlike masses: as in doubles; momentum is kept to the last bit; backwards it ends where it began", () => {
	const [step, gravity, softening, steps] = [0.01, 0.01, 0.05, 200];
	const simulation = nbodySimulation(nbody(SYSTEM, step, { gravity, softening }), pace(steps));
	const start = simulated(simulation, 0);
	const trial = simulated(simulation, pace(steps).segments);
	const expected = twin(SYSTEM, gravity, step, softening, steps);
	const found = trial.floats("places", UNIT);
	for (const [i, place] of expected.entries())
		for (let a = 0; a < 3; a++) assert.ok(Math.abs(found[4 * a + i]! - place[a]!) < 1e-5, `body ${i} axis ${a}`);
	const momentum = (of: typeof trial) =>
		[0, 1, 2].map((a) =>
			SYSTEM.reduce((sum, row, i) => sum + BigInt(row[6]!) * (of.tensor("halves")[4 * a + i] as bigint), 0n),
		);
	assert.deepEqual(momentum(trial), momentum(start));
	assert.notDeepEqual(trial.tensor("halves"), start.tensor("halves"));
	assert.ok(Math.abs(metricOf(simulation, trial, "drift")) < 1000);
	trial.set(
		"halves",
		(trial.tensor("halves") as BigInt64Array).map((half) => -half),
	);
	for (let i = 0; i < pace(steps).segments; i++) trial.machine.runSegment();
	assert.deepEqual(trial.tensor("places"), start.tensor("places"));
});

test("energy drift is seen where steps are too long", () => {
	const rows = [
		[0.5, 0, 0, 0, 0.2, 0, 1],
		[-0.5, 0, 0, 0, -0.2, 0, 1],
	];
	const drift = (step: number, steps: number) => {
		const simulation = nbodySimulation(nbody(rows, step), pace(steps));
		return Math.abs(metricOf(simulation, simulated(simulation, pace(steps).segments), "drift"));
	};
	assert.ok(drift(0.05, 16) > 20 * drift(0.005, 160), `${drift(0.05, 16)} ${drift(0.005, 160)}`);
});

test("a disc: the seed makes it; its picture counts every body inside", () => {
	const start = discOf(SEED, 40, 1, 0.01);
	const of: NBody = { gravity: 1 / 40, step: 0.01, softening: 0.05, size: [16, 16], reach: 1.25, start };
	const simulation = nbodySimulation(of, pace(4));
	const trial = simulated(simulation, 1);
	const shades = [...(trial.tensor("picture") as Int8Array)].map((shade) => shade + 128);
	const counts = shades.map((shade) => Math.round((shade / 120) ** 2));
	assert.equal(
		counts.reduce((a, n) => a + n, 0),
		40,
	);
	assert.deepEqual(discOf(SEED, 40, 1, 0.01), start);
	assert.notDeepEqual(discOf(new Uint8Array(32), 40, 1, 0.01), start);
	const far = simulated(nbodySimulation({ ...of, reach: 0.25 }, pace(4)), 1);
	assert.ok([...(far.tensor("picture") as Int8Array)].filter((shade) => shade > -128).length < 10);
});
