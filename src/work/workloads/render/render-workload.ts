// A picture as a job: `"workload": "render"`, a scene file, a size and a number of passes. docs/render.md.
import { int, list, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { writeHdr } from "../../formats/write-hdr.ts";
import { writePng } from "../../formats/write-png.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { LIMITS } from "../../program/shapes.ts";
import { MOST_BOUNCES, ONE } from "../../render/numbers.ts";
import { pathProgram } from "../../render/path-program.ts";
import { placeScene } from "../../render/place-scene.ts";
import { readMeshes } from "../../render/read-meshes.ts";
import { readScene } from "../../render/read-scene.ts";
import { file, partial, seed, wrongField } from "../job-fields.ts";
import type { Files, Workload, WorkloadKind } from "../workload.ts";

export interface RenderSpec {
	readonly workload: "render";
	/** Scene file; what it names lies relative to it. */
	readonly scene: string;
	readonly width: number;
	readonly height: number;
	readonly passes: number;
	readonly bounces: number;
	readonly passesPerSegment: number;
	readonly seed: Uint8Array;
}

const MOST_SIDE = 16_384;
const MOST_PIXELS = 2 ** 24;

const shape = partial({
	workload: oneOf("render"),
	scene: file,
	size: list(int(1, MOST_SIDE), 2),
	passes: int(1, 2 ** 31 - 1),
	bounces: int(0, MOST_BOUNCES),
	passesPerSegment: int(1, LIMITS.steps),
	seed,
});

async function build(spec: RenderSpec, files: Files): Promise<Workload> {
	const { width, height, passes, bounces, passesPerSegment: k } = spec;
	const scene = readScene(await files(spec.scene));
	const meshes = await readMeshes(scene, spec.scene, files);
	const placed = placeScene(scene, meshes, width / height);
	const { program, given } = pathProgram(placed.scene, { width, height, bounces, k, exposure: scene.exposure });
	const pixels = width * height;
	const metrics = [
		{
			name: "light",
			label: "light",
			unit: "mean a pixel",
			read: (elements: Elements) => Number(elements[0]!) / ONE / 3 / pixels,
		},
		...program.tensors
			.filter(({ name }) => name === "lost")
			.map(({ name }) => ({ name, label: "cut walks", unit: "", read: (elements: Elements) => Number(elements[0]!) })),
	];
	const hasDropped = placed.dropped > 0;
	return {
		...{ program, given, seed: spec.seed, segments: passes / k, metrics },
		notes: hasDropped ? [`${placed.dropped} triangles or spheres are smaller than the grid and are left out`] : [],
		files: [
			{
				name: "picture.png",
				tensors: ["picture"],
				isPreview: true,
				make: (elements) =>
					writePng({ width, height, channels: 3, pixels: Uint8Array.from(elements("picture"), Number) }),
			},
			{
				name: "picture.hdr",
				tensors: ["sums"],
				isPreview: false,
				make: (elements) => {
					const sums = elements("sums");
					const value = (channel: number, pixel: number) => Number(sums[channel * pixels + pixel]!) / passes / ONE;
					return writeHdr({ width, height, light: (i) => [value(0, i), value(1, i), value(2, i)] });
				},
			},
		],
	};
}

export const renderKind: WorkloadKind<RenderSpec> = {
	shape,
	required: ["scene", "size", "passes"],
	length: "passes",
	read(json, key) {
		const { scene, size, passes, bounces = 5, passesPerSegment = 1 } = json as Typed<typeof shape>;
		const [width, height] = size!;
		if (width === undefined || height === undefined) throw wrongField("size", "must be width and height");
		if (width * height > MOST_PIXELS) throw wrongField("size", `must be at most ${MOST_PIXELS} pixels`);
		if (passes! % passesPerSegment !== 0) throw wrongField("passesPerSegment", "must divide passes");
		return { workload: "render", scene: scene!, width, height, passes: passes!, bounces, passesPerSegment, seed: key };
	},
	build,
};
