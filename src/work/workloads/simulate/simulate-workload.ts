// `"workload": "simulate"`: a field, bodies or paths move on in whole numbers; pictures and arrays come out.
// docs/workloads.md.
import { int, oneOf, type Shape, variants } from "../../../protocol/bytes/shape.ts";
import { writeNpy } from "../../formats/write-npy.ts";
import { writePng } from "../../formats/write-png.ts";
import { elementCount } from "../../operators/tensor-type.ts";
import { LIMITS } from "../../program/shapes.ts";
import { type Pace, paceOf } from "../../simulate/pace.ts";
import { paint } from "../../simulate/palette.ts";
import type { SimulatedField, Simulation } from "../../simulate/simulation.ts";
import { seed, wrongField } from "../job-fields.ts";
import type { Workload, WorkloadFile, WorkloadKind } from "../workload.ts";
import { grayScottKind, heatKind, lifeKind, waveKind } from "./grid-kinds.ts";
import { nbodyKind, pricingKind } from "./other-kinds.ts";
import type { SimulationKind } from "./simulation-kind.ts";

export const SIMULATIONS: Readonly<Record<string, SimulationKind>> = {
	heat: heatKind,
	wave: waveKind,
	"gray-scott": grayScottKind,
	life: lifeKind,
	nbody: nbodyKind,
	pricing: pricingKind,
};

export interface SimulateSpec {
	readonly workload: "simulate";
	readonly kind: string;
	readonly seed: Uint8Array;
	/** As the job file has them. */
	readonly fields: unknown;
	readonly pace: Pace;
}

const shared = {
	workload: oneOf("simulate"),
	steps: int(1, 2 ** 31 - 1),
	/** Pictures on the way, evenly spaced; the last is the end. */
	frames: int(0, 1024),
	stepsPerSegment: int(1, LIMITS.steps),
	seed,
};
/** Of all frames together, a byte each. */
const MOST_FRAME_BYTES = 2 ** 28;

const shapes: Readonly<Record<string, Shape>> = Object.fromEntries(
	Object.entries(SIMULATIONS).map(([name, { shape }]) => [name, shape(shared, name)]),
);

interface SharedFields {
	readonly kind: string;
	readonly steps: number;
	readonly frames?: number;
	readonly stepsPerSegment?: number;
}

/** The state as an array of doubles. */
const fieldFile = ({ name, tensor, dims, scale }: SimulatedField): WorkloadFile => ({
	name: `${name}.npy`,
	tensors: [tensor],
	isPreview: false,
	make: (elements) => {
		const values = new Float64Array(elementCount(dims));
		for (const [i, value] of elements(tensor).entries()) values[i] = Number(value) / scale;
		const bytes = new Uint8Array(8 * values.length);
		const view = new DataView(bytes.buffer);
		for (const [i, value] of values.entries()) view.setFloat64(8 * i, value, true);
		return writeNpy("f64", dims, bytes);
	},
});

function pictureFile(
	name: string,
	tensor: string,
	number: number,
	picture: NonNullable<Simulation["picture"]>,
): WorkloadFile {
	const [height, width] = picture.size;
	const cells = height * width;
	return {
		name,
		tensors: [tensor],
		isPreview: tensor === "picture",
		make: (elements) => {
			const shades = (elements(tensor) as Int8Array).subarray(number * cells, (number + 1) * cells);
			return writePng({ width, height, channels: 3, pixels: paint(shades, picture.palette) });
		},
	};
}

function filesOf({ fields, picture, summary }: Simulation, frames: number): WorkloadFile[] {
	const files = fields.map(fieldFile);
	if (picture !== null) {
		files.push(pictureFile("picture.png", "picture", 0, picture));
		for (let i = 0; i < frames; i++)
			files.push(pictureFile(`frames/${String(i + 1).padStart(4, "0")}.png`, "frames", i, picture));
	}
	if (summary !== undefined)
		files.push({
			name: "summary.json",
			tensors: [summary.tensor],
			isPreview: false,
			make: (elements) =>
				new TextEncoder().encode(`${JSON.stringify(summary.read(elements(summary.tensor)), null, "\t")}\n`),
		});
	return files;
}

export const simulateKind: WorkloadKind<SimulateSpec> = {
	shape: variants("kind", shapes),
	required: ["kind", "steps"],
	length: "steps",
	read(json, key) {
		const fields = json as SharedFields;
		const { kind, steps, frames = 0, stepsPerSegment = null } = fields;
		const simulation = SIMULATIONS[kind]!;
		for (const name of simulation.required as readonly string[])
			if (!Object.hasOwn(fields, name)) throw wrongField(name, "is missing");
		if (steps % Math.max(1, frames) !== 0) throw wrongField("frames", "must divide steps");
		if (stepsPerSegment !== null && steps % stepsPerSegment !== 0)
			throw wrongField("stepsPerSegment", "must divide steps");
		simulation.check(fields as never, steps);
		const pace = paceOf({ steps, frames, stepsPerSegment }, simulation.mostTogether);
		return { workload: "simulate", kind, seed: key, fields, pace };
	},
	async build({ kind, seed: key, fields, pace }, files): Promise<Workload> {
		const simulation = await SIMULATIONS[kind]!.build(fields as never, pace, { files, seed: key });
		const { program, given, metrics, picture } = simulation;
		const cells = picture === null ? 0 : elementCount(picture.size);
		if (pace.frames > 0 && cells === 0) throw wrongField("frames", "is for a simulation with pictures");
		if (pace.frames * cells > MOST_FRAME_BYTES)
			throw wrongField("frames", `times the size must be at most ${MOST_FRAME_BYTES}`, "Keep fewer or smaller ones.");
		return { program, given, metrics, seed: key, segments: pace.segments, files: filesOf(simulation, pace.frames) };
	},
};
