// Job files of simulations on a grid: heat, wave, gray-scott, life. Fields, defaults, first fields from a
// file. docs/workloads.md.

import { int, list, oneOf, pattern, type Shape } from "../../../protocol/bytes/shape.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readNpy } from "../../formats/npy.ts";
import { type Elements, elementCount } from "../../operators/tensor-type.ts";
import { LIMITS } from "../../program/shapes.ts";
import { grayScottSimulation } from "../../simulate/gray-scott.ts";
import { type GridEdge, ONE } from "../../simulate/grid.ts";
import { HEAT_LIMIT, heatSimulation } from "../../simulate/heat.ts";
import { LIFE_RULE, lifeSimulation } from "../../simulate/life.ts";
import { WAVE_LIMIT, waveSimulation } from "../../simulate/wave.ts";
import { file, partial, real, wrongField } from "../job-fields.ts";
import type { Files } from "../workload.ts";
import { type SimulationKind, simulationKind } from "./simulation-kind.ts";

/** Rows, columns. */
type Size = readonly [number, number];

const MOST_CELLS = 2 ** 26;

/** Two numbers of this shape. */
const pair = <T>(item: Shape<T>): Shape<readonly [T, T]> => {
	const all = list(item, 2);
	return (value, where) =>
		all(value, where) ?? ((value as readonly T[]).length === 2 ? null : { where, detail: "must have two numbers" });
};
export const size = pair(int(3, 16_384));

export function checkSize([rows, columns]: Size): void {
	if (rows * columns > MOST_CELLS) throw wrongField("size", `must have at most ${MOST_CELLS} cells`);
}

const edge = oneOf("wrap", "zero", "clamp");
const drops = partial({ file, drops: int(1, LIMITS.turns), radius: int(1, 1024) });
type Initial = { readonly file?: string; readonly drops?: number; readonly radius?: number };

interface GridFields {
	readonly size: Size;
	readonly edge?: GridEdge;
}

/** An array of floats with these dims as whole numbers at 2^24, inside the limits. */
async function fieldOf(
	path: string,
	dims: readonly number[],
	[lo, hi]: readonly [number, number],
	files: Files,
): Promise<Int32Array> {
	const { dims: found, values } = readNpy(await files(path), path);
	if (found.join() !== dims.join())
		throw codedError("DATA_FORMAT", `${path} has dims [${found.join(",")}]; the field has [${dims.join(",")}]`);
	const elements = new Int32Array(elementCount(dims));
	for (let i = 0; i < elements.length; i++) {
		const value = Number(values[i]!);
		if (value < lo || value > hi)
			throw codedError("DATA_RANGE", `element ${i} of ${path} is ${value}, outside ${lo} … ${hi}`);
		elements[i] = Math.round(value * ONE);
	}
	return elements;
}

/** A file, or discs from the seed. */
async function startOf(
	{ file: path, drops: count = 5, radius = 8 }: Initial,
	dims: readonly number[],
	limits: readonly [number, number],
	files: Files,
): Promise<{ readonly elements: Elements } | { readonly count: number; readonly radius: number }> {
	return path === undefined ? { count, radius } : { elements: await fieldOf(path, dims, limits, files) };
}

function checkInitial(initial: Initial | { readonly file?: string; readonly density?: number } = {}): void {
	if (initial.file !== undefined && Object.keys(initial).length > 1)
		throw wrongField("initial", "has a file, or says how to make the field; not both");
}

const common = { size, edge };

interface HeatFields extends GridFields {
	readonly rate?: number;
	readonly range?: Size;
	readonly initial?: Initial;
}

export const heatKind: SimulationKind = simulationKind<HeatFields>({
	fields: { ...common, rate: real(0, 0.25), range: pair(real(-HEAT_LIMIT, HEAT_LIMIT)), initial: drops },
	required: ["size"],
	check({ size, range = [0, 1], initial }) {
		checkSize(size);
		checkInitial(initial);
		if (range[1] - range[0] < 2 ** -16) throw wrongField("range", "must go upwards");
	},
	async build({ size, edge = "wrap", rate = 0.2, range = [0, 1], initial = {} }, pace, { files }) {
		const start = await startOf(initial, size, [-HEAT_LIMIT, HEAT_LIMIT], files);
		return heatSimulation({ size, edge, rate, range, start }, pace);
	},
});

interface WaveFields extends GridFields {
	readonly speed?: number;
	readonly range?: number;
	readonly initial?: Initial;
}

export const waveKind: SimulationKind = simulationKind<WaveFields>({
	fields: { ...common, speed: real(0, 0.7), range: real(2 ** -10, WAVE_LIMIT), initial: drops },
	required: ["size"],
	check({ size, initial }) {
		checkSize(size);
		checkInitial(initial);
	},
	async build({ size, edge = "wrap", speed = 0.5, range = 0.5, initial = {} }, pace, { files }) {
		const start = await startOf(initial, size, [-WAVE_LIMIT, WAVE_LIMIT], files);
		return waveSimulation({ size, edge, speed, range, start }, pace);
	},
});

interface GrayScottFields extends GridFields {
	readonly feed?: number;
	readonly kill?: number;
	readonly spread?: readonly [number, number];
	readonly initial?: Initial;
}

export const grayScottKind: SimulationKind = simulationKind<GrayScottFields>({
	fields: { ...common, feed: real(0, 0.2), kill: real(0, 0.2), spread: pair(real(0, 0.25)), initial: drops },
	required: ["size"],
	check({ size, initial }) {
		checkSize(size);
		checkInitial(initial);
	},
	async build(fields, pace, { files }) {
		const { size, edge = "wrap", feed = 0.04, kill = 0.06, spread = [0.16, 0.08], initial = {} } = fields;
		const start = await startOf(initial, [2, ...size], [0, 1], files);
		return grayScottSimulation({ size, edge, feed, kill, spread, start }, pace);
	},
});

interface LifeFields extends GridFields {
	readonly rule?: string;
	readonly initial?: { readonly file?: string; readonly density?: number };
}

export const lifeKind: SimulationKind = simulationKind<LifeFields>({
	fields: {
		...common,
		rule: pattern(LIFE_RULE, 'must be like "B3/S23"'),
		initial: partial({ file, density: real(0, 1) }),
	},
	required: ["size"],
	check({ size, initial }) {
		checkSize(size);
		checkInitial(initial);
	},
	async build({ size, edge = "wrap", rule = "B3/S23", initial = {} }, pace, { files }) {
		const { file: path, density = 0.3 } = initial;
		if (path === undefined) return lifeSimulation({ size, edge, rule, start: { density } }, pace);
		const field = await fieldOf(path, size, [0, 1], files);
		const half = field.findIndex((value) => value !== 0 && value !== ONE);
		if (half >= 0) throw codedError("DATA_RANGE", `element ${half} of ${path} is neither 0 nor 1`);
		return lifeSimulation(
			{ size, edge, rule, start: { elements: Int8Array.from(field, (value) => value / ONE) } },
			pace,
		);
	},
});
