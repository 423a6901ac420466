// Heat, waves, reactions and life against analytic cases and against the same equations in doubles.
import assert from "node:assert/strict";
import { test } from "node:test";
import { grayScottSimulation } from "./gray-scott.ts";
import { type Grid, ONE } from "./grid.ts";
import { type Heat, heatSimulation } from "./heat.ts";
import { lifeSimulation } from "./life.ts";
import { paceOf } from "./pace.ts";
import { cells, elementsOf, largestDifference, metricOf, simulated } from "./simulation.test-kit.ts";
import { type Wave, waveSimulation } from "./wave.ts";

const pace = (steps: number, frames = 0) => paceOf({ steps, frames, stepsPerSegment: null });
const SIZE = [16, 24] as const;
const TURN = 2 * Math.PI;

/** The float twin's view of a neighbour. */
function neighbour(field: Float64Array, { size: [rows, columns], edge }: Grid, y: number, x: number): number {
	const isInside = y >= 0 && y < rows && x >= 0 && x < columns;
	if (!isInside && edge === "zero") return 0;
	const place = (at: number, n: number) => (edge === "wrap" ? (at + n) % n : Math.min(Math.max(at, 0), n - 1));
	return field[place(y, rows) * columns + place(x, columns)]!;
}

const laplacianOf = (field: Float64Array, grid: Grid): Float64Array =>
	cells(grid.size, (y, x) => {
		const near = (dy: number, dx: number) => neighbour(field, grid, y + dy, x + dx);
		return near(-1, 0) + near(1, 0) + near(0, -1) + near(0, 1) - 4 * near(0, 0);
	});

const heat = (more: Partial<Heat>): Heat => ({
	size: SIZE,
	edge: "wrap",
	rate: 0.2,
	range: [0, 1],
	start: { count: 3, radius: 5 },
	...more,
});

test("heat: a mode decays as the scheme says, and as nature nearly does", () => {
	const mode = cells(SIZE, (y, x) => Math.cos((TURN * y) / 16) * Math.cos((TURN * x) / 24));
	const trial = simulated(heatSimulation(heat({ start: { elements: elementsOf(mode) } }), pace(40)), 1);
	const factor = 1 - 0.2 * (4 - 2 * Math.cos(TURN / 16) - 2 * Math.cos(TURN / 24));
	const found = trial.floats("heat", ONE);
	const expected = mode.map((value) => value * factor ** 40);
	assert.ok(largestDifference(found, expected) < 1e-5);
	const continuous = Math.exp(-0.2 * 40 * ((TURN / 16) ** 2 + (TURN / 24) ** 2));
	assert.ok(Math.abs(found[0]! / continuous - 1) < 0.1);
	// The twin of this check: another rate is seen.
	const other = simulated(heatSimulation(heat({ rate: 0.19, start: { elements: elementsOf(mode) } }), pace(40)), 1);
	assert.ok(largestDifference(other.floats("heat", ONE), expected) > 1e-3);
});

for (const edge of ["wrap", "zero", "clamp"] as const)
	test(`heat: as in doubles, edges ${edge}; ${edge === "zero" ? "it leaves" : "no bit of it is lost"}`, () => {
		// Of a quarter, every other product is half way between two numbers.
		const of = heat({ edge, rate: 0.25 });
		const simulation = heatSimulation(of, pace(60));
		const start = simulated(simulation, 0);
		let twin = start.floats("heat", ONE);
		assert.equal(Math.max(...twin) > 0.5, true);
		const total = [...start.tensor("heat")].reduce((sum: number, value) => sum + Number(value), 0);
		for (let i = 0; i < 60; i++) {
			const change = laplacianOf(twin, of);
			twin = twin.map((value, j) => value + 0.25 * change[j]!);
		}
		const end = simulated(simulation, 1);
		assert.ok(largestDifference(end.floats("heat", ONE), twin) < 2e-6);
		const left = metricOf(simulation, end, "total") * ONE;
		if (edge === "zero") assert.ok(left < total * 0.99);
		else assert.equal(left, total);
	});

const wave = (more: Partial<Wave>): Wave => ({
	size: [32, 48],
	edge: "wrap",
	speed: 0.5,
	range: 0.5,
	start: { count: 2, radius: 8 },
	...more,
});

test("wave: a mode swings with its own frequency", () => {
	const size = [8, 64] as const;
	const mode = cells(size, (_, x) => Math.cos((TURN * x) / 64));
	const trial = simulated(waveSimulation(wave({ size, start: { elements: elementsOf(mode) } }), pace(96)), 1);
	// At rest at time −1/2: cos(ω(t + 1/2))/cos(ω/2), sin(ω/2) = c·sin(q/2).
	const omega = 2 * Math.asin(0.5 * Math.sin(TURN / 128));
	const expected = mode.map((value) => (value * Math.cos(omega * 96.5)) / Math.cos(omega / 2));
	assert.ok(largestDifference(trial.floats("height", ONE), expected) < 1e-5);
});

test("wave: a front runs at its speed and nothing runs ahead of one cell a step", () => {
	const size = [3, 128] as const;
	const line = cells(size, (_, x) => Math.max(0, 1 - ((x - 64) / 6) ** 2) ** 2);
	const trial = simulated(waveSimulation(wave({ size, start: { elements: elementsOf(line) } }), pace(80)), 1);
	const row = [...trial.floats("height", ONE).slice(0, 128)];
	const crest = row.indexOf(Math.max(...row.slice(64)), 64);
	assert.ok(Math.abs(crest - 64 - 40) <= 1, `crest at ${crest}`);
	const early = simulated(waveSimulation(wave({ size, start: { elements: elementsOf(line) } }), pace(20)), 1);
	assert.equal(early.floats("height", ONE)[64 + 6 + 21], 0);
});

for (const edge of ["wrap", "zero", "clamp"] as const)
	test(`wave: keeps its energy and runs backwards to the first bits, edges ${edge}`, () => {
		const simulation = waveSimulation(wave({ edge }), pace(60));
		const start = simulated(simulation, 0);
		const first = [start.tensor("height"), start.tensor("before")];
		const once = simulated(waveSimulation(wave({ edge }), pace(1)), 1);
		const trial = simulated(simulation, 1);
		const [early, late] = [metricOf(simulation, once, "energy"), metricOf(simulation, trial, "energy")];
		assert.ok(early > 1 && Math.abs(late / early - 1) < 1e-4, `${early} became ${late}`);
		const [height, before] = [trial.tensor("height"), trial.tensor("before")];
		assert.notDeepEqual(height, first[0]);
		trial.set("height", before);
		trial.set("before", height);
		trial.machine.runSegment();
		assert.deepEqual([trial.tensor("before"), trial.tensor("height")], first);
	});

const REACTION = { size: [32, 32], edge: "wrap", feed: 0.04, kill: 0.06, spread: [0.16, 0.08] } as const;

test("Gray and Scott: as in doubles; the pattern grows and stays inside 0 … 1", () => {
	const of = { ...REACTION, start: { count: 1, radius: 8 } };
	const simulation = grayScottSimulation(of, pace(200));
	const start = simulated(simulation, 0);
	const first = start.floats("v", ONE);
	let [u, v] = [start.floats("u", ONE), first];
	const step = () => {
		const [lu, lv] = [laplacianOf(u, of), laplacianOf(v, of)];
		const reacted = u.map((value, i) => value * v[i]! ** 2);
		const next = u.map((value, i) => value + 0.16 * lu[i]! - reacted[i]! + 0.04 * (1 - value));
		v = v.map((value, i) => value + 0.08 * lv[i]! + reacted[i]! - 0.1 * value);
		u = next;
	};
	for (let i = 0; i < 200; i++) step();
	const end = simulated(simulation, simulationSegments(200));
	assert.ok(largestDifference(end.floats("v", ONE), v) < 1e-4);
	assert.ok(largestDifference(end.floats("u", ONE), u) < 1e-4);
	const above = (field: Float64Array) => field.filter((value) => value > 0.1).length;
	assert.ok(above(end.floats("v", ONE)) > 3 * above(first) && above(first) > 0);
	assert.ok([...u, ...v].every((value) => value >= 0 && value <= 1));
});
const simulationSegments = (steps: number) => pace(steps).segments;

test("Gray and Scott: what is killed too fast dies", () => {
	const simulation = grayScottSimulation({ ...REACTION, kill: 0.09, start: { count: 1, radius: 8 } }, pace(150));
	assert.ok(metricOf(simulation, simulated(simulation, simulationSegments(150)), "amount") < 1e-3);
});

const board = (size: readonly [number, number], alive: readonly (readonly [number, number])[]) => ({
	elements: Int8Array.from(cells(size, (y, x) => Number(alive.some(([a, b]) => a === y && b === x)))),
});
const life = (alive: readonly (readonly [number, number])[], edge: Grid["edge"] = "wrap", rule = "B3/S23") => ({
	...{ size: [8, 10] as const, edge, rule },
	start: board([8, 10], alive),
});
const GLIDER = [
	[0, 1],
	[1, 2],
	[2, 0],
	[2, 1],
	[2, 2],
] as const;

test("life: a blinker blinks, a block stays, a glider moves one cell in four steps and goes round the edge", () => {
	const after = (of: ReturnType<typeof life>, steps: number) =>
		simulated(lifeSimulation(of, pace(steps)), simulationSegments(steps)).tensor("cells");
	const across = [
		[4, 3],
		[4, 4],
		[4, 5],
	] as const;
	const upright = [
		[3, 4],
		[4, 4],
		[5, 4],
	] as const;
	assert.deepEqual(after(life(across), 1), life(upright).start.elements);
	assert.deepEqual(after(life(across), 2), life(across).start.elements);
	const block = [
		[0, 0],
		[0, 1],
		[1, 0],
		[1, 1],
	] as const;
	assert.deepEqual(after(life(block, "zero"), 5), life(block).start.elements);
	const moved = (by: number) => GLIDER.map(([y, x]) => [(y + by) % 8, (x + by) % 10] as const);
	assert.deepEqual(after(life(GLIDER), 4), life(moved(1)).start.elements);
	assert.deepEqual(after(life(GLIDER), 28), life(moved(7)).start.elements);
	// Against a wall it ends as a block.
	assert.equal(after(life(GLIDER, "zero"), 60).filter((cell) => cell === 1).length, 4);
	// Seeds: nothing stays.
	assert.deepEqual(after(life(block, "wrap", "B2/S"), 1).filter((cell) => cell === 1).length, 8);
});

test("frames: the one that is due is filled, with the field of that very step; the others wait", () => {
	const of = { size: [8, 10] as const, edge: "wrap", rule: "B3/S23", start: { density: 0.4 } } as const;
	const simulation = lifeSimulation(of, paceOf({ steps: 12, frames: 3, stepsPerSegment: 2 }));
	const trial = simulated(simulation, 0);
	const shades = (alive: Int8Array) => alive.map((cell) => (cell === 1 ? 127 : -128));
	const seen: Int8Array[] = [];
	for (let segment = 1; segment <= 6; segment++) {
		trial.machine.runSegment();
		if (segment % 2 === 0) seen.push(shades(trial.tensor("cells") as Int8Array));
		const frames = trial.tensor("frames") as Int8Array;
		for (let f = 0; f < 3; f++)
			assert.deepEqual(
				frames.slice(80 * f, 80 * (f + 1)),
				seen[f] ?? new Int8Array(80),
				`segment ${segment} frame ${f}`,
			);
		assert.deepEqual(trial.tensor("picture"), shades(trial.tensor("cells") as Int8Array));
	}
	assert.ok(largestDifference(seen[0]!, seen[1]!) > 0 && largestDifference(seen[1]!, seen[2]!) > 0);
});

test("the same job cut in another way gives the same field", () => {
	const fields = [null, 1, 3, 12].map((stepsPerSegment) => {
		const cut = paceOf({ steps: 12, frames: 0, stepsPerSegment });
		const trial = simulated(grayScottSimulation({ ...REACTION, start: { count: 9, radius: 5 } }, cut), cut.segments);
		return Buffer.from(trial.tensor("v").buffer).toString("hex");
	});
	assert.equal(new Set(fields).size, 1);
});

test("time is cut without a rest", () => {
	for (const steps of [1, 7, 60, 100, 360, 2000, 9973, 65_536])
		for (const frames of [0, 1, 4, 20])
			for (const stepsPerSegment of [null, 1, 4, 20]) {
				if (steps % Math.max(1, frames) !== 0 || steps % (stepsPerSegment ?? 1) !== 0) continue;
				const cut = paceOf({ steps, frames, stepsPerSegment });
				assert.equal(cut.together * cut.k * cut.segments, steps);
				assert.equal(cut.together * cut.every * Math.max(1, frames), steps);
				assert.ok(Object.values(cut).every(Number.isInteger));
				if (stepsPerSegment !== null) assert.equal(cut.together * cut.k, stepsPerSegment);
			}
});
