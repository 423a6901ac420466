// Job files of simulations without a grid: nbody, pricing. docs/workloads.md.

import { int, oneOf } from "../../../protocol/bytes/shape.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readNpy } from "../../formats/npy.ts";
import { LIMITS } from "../../program/shapes.ts";
import { discOf } from "../../simulate/disc.ts";
import {
	type Bodies,
	HALF_LIMIT,
	NBODY_LIMITS,
	nbodySimulation,
	PLACE_LIMIT,
	PLACE_SCALE,
} from "../../simulate/nbody.ts";
import { type Option, pricingSimulation } from "../../simulate/pricing.ts";
import { file, partial, real, wrongField } from "../job-fields.ts";
import { checkSize, size } from "./grid-kinds.ts";
import { type SimulationKind, simulationKind } from "./simulation-kind.ts";

interface NBodyFields {
	readonly bodies?: number;
	readonly initial?: { readonly file?: string };
	readonly timeStep?: number;
	readonly gravity?: number;
	readonly softening?: number;
	readonly size?: readonly [number, number];
	readonly reach?: number;
}

const COLUMNS = 7;

/** Rows of x, y, z, vx, vy, vz, mass. */
function bodiesOf(bytes: Uint8Array, path: string, timeStep: number): Bodies {
	const { dims, values } = readNpy(bytes, path);
	const [count = 0, columns] = dims;
	if (dims.length !== 2 || columns !== COLUMNS || count < 1 || count > NBODY_LIMITS.bodies)
		throw codedError(
			"DATA_FORMAT",
			`${path} has dims [${dims.join(",")}]; wanted are 1 to ${NBODY_LIMITS.bodies} rows of x, y, z, vx, vy, vz, mass`,
		);
	const bodies = {
		places: new BigInt64Array(3 * count),
		halves: new BigInt64Array(3 * count),
		masses: new Int16Array(count),
	};
	for (let i = 0; i < count; i++) {
		const row = Array.from({ length: COLUMNS }, (_, c) => Number(values[COLUMNS * i + c]!));
		const mass = row[6]!;
		if (!Number.isInteger(mass) || mass < 1 || mass > NBODY_LIMITS.mass)
			throw codedError(
				"DATA_RANGE",
				`row ${i} of ${path}: the mass must be a whole number from 1 to ${NBODY_LIMITS.mass}`,
			);
		bodies.masses[i] = mass;
		for (let axis = 0; axis < 3; axis++) {
			const [place, half] = [row[axis]!, (row[3 + axis]! * timeStep) / 2];
			if (Math.abs(place) > PLACE_LIMIT)
				throw codedError("DATA_RANGE", `row ${i} of ${path} is outside ±${PLACE_LIMIT}`);
			if (Math.abs(half) > HALF_LIMIT)
				throw codedError("DATA_RANGE", `row ${i} of ${path} moves more than ${2 * HALF_LIMIT} in a time step`);
			bodies.places[axis * count + i] = BigInt(Math.round(place * 2 ** PLACE_SCALE));
			bodies.halves[axis * count + i] = BigInt(Math.round(half * 2 ** PLACE_SCALE));
		}
	}
	return bodies;
}

export const nbodyKind: SimulationKind = simulationKind<NBodyFields>({
	fields: {
		bodies: int(2, NBODY_LIMITS.bodies),
		initial: partial({ file }),
		timeStep: real(1e-6, 0.1),
		gravity: real(1e-9, 1e6),
		softening: real(NBODY_LIMITS.softening, 8),
		size,
		reach: real(0.01, PLACE_LIMIT),
	},
	required: [],
	check({ bodies, initial, size: pixels = [256, 256] }) {
		if ((bodies === undefined) === (initial?.file === undefined))
			throw wrongField("bodies", "or initial.file must be there, and only one of them");
		checkSize(pixels);
	},
	async build(fields, pace, { files, seed }) {
		const { bodies, initial, timeStep = 0.01, softening = 0.05, size: pixels = [256, 256], reach = 1.5 } = fields;
		const path = initial?.file;
		const start = path === undefined ? discOf(seed, bodies!, 1, timeStep) : bodiesOf(await files(path), path, timeStep);
		const total = start.masses.reduce((sum, mass) => sum + mass, 0);
		const gravity = fields.gravity ?? 1 / total;
		const pull = gravity * timeStep * timeStep;
		if (pull > NBODY_LIMITS.pull || pull < 2 ** -60)
			throw wrongField(
				"gravity",
				`times timeStep² must be from 2^-60 to ${NBODY_LIMITS.pull}`,
				"Take a shorter timeStep.",
			);
		return nbodySimulation({ gravity, step: timeStep, softening, size: pixels, reach, start }, pace);
	},
});

type PricingFields = Partial<Option> & Pick<Option, "spot" | "strike" | "volatility" | "years">;

const MOST_PATHS = 2 ** 33;

export const pricingKind: SimulationKind = simulationKind<PricingFields>({
	fields: {
		style: oneOf("european", "asian"),
		side: oneOf("call", "put"),
		spot: real(1e-6, 1e9),
		strike: real(1e-6, 1e9),
		rate: real(-1, 1),
		volatility: real(0.001, 10),
		years: real(0.001, 100),
		dates: int(1, LIMITS.turns),
		paths: int(1024, 2 ** 22),
	},
	required: ["spot", "strike", "volatility", "years"],
	mostTogether: 1,
	check({ style = "european", dates, paths = 65_536, spot, strike, rate = 0, volatility, years }, steps) {
		if (style === "european" && dates !== undefined && dates !== 1)
			throw wrongField("dates", "is for an Asian option; a European one looks at its end only");
		if (paths % 1024 !== 0) throw wrongField("paths", "must be a multiple of 1024");
		if (steps * paths > MOST_PATHS) throw wrongField("steps", `times paths must be at most ${MOST_PATHS}`);
		if (strike / spot < 1 / 8 || strike / spot > 8)
			throw wrongField("strike", "must be within 1/8 to 8 times the spot");
		if (volatility * Math.sqrt(years) > 1) throw wrongField("volatility", "times √years must be at most 1");
		if (Math.abs((rate - volatility ** 2 / 2) * years) > 2)
			throw wrongField("rate", "less half the volatility squared, times years, must be within ±2");
	},
	async build(fields, pace) {
		const { style = "european", side = "call", rate = 0, paths = 65_536, ...rest } = fields;
		const dates = fields.dates ?? (style === "asian" ? 12 : 1);
		const { spot, strike, volatility, years } = rest;
		return pricingSimulation({ style, side, rate, paths, dates, spot, strike, volatility, years }, pace);
	},
});
