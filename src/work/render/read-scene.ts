// A scene file, docs/render.md §1: JSON with a camera, materials, spheres, meshes and what lies around them.
// Reads and refuses; what is left out gets its default. Not here: the files of meshes (read-meshes.ts), the
// grid (place-scene.ts).
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { list, object, oneOf, type Shape, type Typed, text, variants } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { file, partial, real } from "../workloads/job-fields.ts";
import { MOST_INDEX, MOST_LIGHT, MOST_SPHERES } from "./numbers.ts";

export type Vector = readonly [number, number, number];

const FAR = 1e6;
const MOST_MATERIALS = 4096;
const MOST_MESHES = 4096;
const MOST_POLYGONS = 65_536;

function vector(min: number, max: number): Shape<Vector> {
	const each = real(min, max);
	return (value, where) => {
		if (!Array.isArray(value) || value.length !== 3) return { where, detail: "must be three numbers" };
		return value.map((one, i) => each(one, `${where}[${i}]`)).find((found) => found !== null) ?? null;
	};
}

const place = vector(-FAR, FAR);
const color = vector(0, 1);
const light = vector(0, MOST_LIGHT);
const name = text(64, 1);

const camera = partial({
	position: place,
	target: place,
	up: place,
	/** From the top of the picture to its bottom, in degrees. */
	fov: real(1, 150),
	/** Width of the lens; 0: all is sharp. */
	aperture: real(0, FAR),
	/** Distance that is sharp; the target's, unless given. */
	focus: real(1e-6, FAR),
});

const MATERIALS = {
	diffuse: partial({ kind: oneOf("diffuse"), color }),
	metal: partial({ kind: oneOf("metal"), color, roughness: real(0, 1) }),
	glass: partial({ kind: oneOf("glass"), color, index: real(1, MOST_INDEX) }),
	light: partial({ kind: oneOf("light"), emission: light }),
};
const material = variants("kind", MATERIALS);

function named<T>(item: Shape<T>, most: number): Shape<Readonly<Record<string, T>>> {
	return (value, where) => {
		if (typeof value !== "object" || value === null || Array.isArray(value))
			return { where, detail: "must be an object: name to material" };
		const entries = Object.entries(value);
		if (entries.length > most) return { where, detail: `must have at most ${most} items` };
		for (const [key, one] of entries) {
			const found = name(key, where) ?? item(one, `${where}.${key}`);
			if (found !== null) return found;
		}
		return null;
	};
}

const sphere = object({ center: place, radius: real(1e-6, FAR), material: name });
const mesh = partial({
	file,
	/** In place of a file: flat polygons by their corners. */
	polygons: list(list(place, 64), MOST_POLYGONS),
	/** Of all faces; unless given, the file's own names of materials are looked up. */
	material: name,
	/** In this order: scale, turns about x, y and z in degrees, translate. */
	scale: vector(-FAR, FAR),
	rotate: vector(-36_000, 36_000),
	translate: place,
});
const background = object({ below: light, above: light });

const scene = partial({
	camera,
	background,
	materials: named(material, MOST_MATERIALS),
	spheres: list(sphere, MOST_SPHERES),
	meshes: list(mesh, MOST_MESHES),
	exposure: real(1 / 4096, 256),
});

type SceneMaterial = Typed<(typeof MATERIALS)[keyof typeof MATERIALS]>;
type SceneSphere = Typed<typeof sphere>;

interface SceneCamera {
	readonly position: Vector;
	readonly target: Vector;
	readonly up: Vector;
	readonly fov: number;
	readonly aperture: number;
	readonly focus: number;
}

export interface SceneMesh {
	readonly file: string | null;
	readonly polygons: readonly (readonly Vector[])[];
	readonly material: string | null;
	readonly scale: Vector;
	readonly rotate: Vector;
	readonly translate: Vector;
}

export interface Material {
	readonly kind: "diffuse" | "metal" | "glass" | "light";
	readonly color: Vector;
	readonly roughness: number;
	readonly index: number;
	readonly emission: Vector;
}

export interface Scene {
	readonly camera: SceneCamera;
	readonly background: { readonly below: Vector; readonly above: Vector };
	readonly materials: ReadonlyMap<string, Material>;
	readonly spheres: readonly SceneSphere[];
	readonly meshes: readonly SceneMesh[];
	readonly exposure: number;
}

/** Text is held as one piece while it is read. */
const MOST_TEXT = 2 ** 28;

/** Null: it is no text. */
export function textOf(bytes: Uint8Array, name: string): string | null {
	if (bytes.length > MOST_TEXT) throw codedError("SCENE_SIZE", `${name} has more than ${MOST_TEXT} bytes of text`);
	return bytesToUtf8(bytes);
}

const BLACK: Vector = [0, 0, 0];
const WHITE: Vector = [1, 1, 1];
const DEFAULT: Material = { kind: "diffuse", color: [0.8, 0.8, 0.8], roughness: 0, index: 1.5, emission: BLACK };

export const subtract = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const cross = (a: Vector, b: Vector): Vector => [
	a[1] * b[2] - a[2] * b[1],
	a[2] * b[0] - a[0] * b[2],
	a[0] * b[1] - a[1] * b[0],
];
export const length = ([x, y, z]: Vector): number => Math.sqrt(x * x + y * y + z * z);

function cameraOf(held: Typed<typeof camera> | undefined): SceneCamera {
	const { position, target, up = [0, 1, 0], fov = 40, aperture = 0 } = held ?? {};
	if (position === undefined || target === undefined)
		throw codedError("SCENE_CAMERA", "the camera has no position or no target");
	const ahead = subtract(target, position);
	const distance = length(ahead);
	if (distance < 1e-9) throw codedError("SCENE_CAMERA", "the camera's target is where the camera is");
	if (length(cross(ahead, up)) < 1e-6 * distance * length(up) || length(up) < 1e-9)
		throw codedError("SCENE_CAMERA", "the camera's up is where it looks, or nowhere");
	return { position, target, up, fov, aperture, focus: held?.focus ?? distance };
}

function meshOf(held: Typed<typeof mesh>, i: number): SceneMesh {
	const { scale = WHITE, rotate = BLACK, translate = BLACK } = held;
	if ((held.file === undefined) === (held.polygons === undefined))
		throw codedError("SCENE_FIELD", `meshes[${i}] must have one of file, polygons`);
	if (held.polygons !== undefined && held.material === undefined)
		throw codedError("SCENE_FIELD", `meshes[${i}].material is missing`);
	if (scale.includes(0)) throw codedError("SCENE_FIELD", `meshes[${i}].scale must not be 0`);
	return {
		file: held.file ?? null,
		polygons: held.polygons ?? [],
		material: held.material ?? null,
		...{ scale, rotate, translate },
	};
}

/** `bytes`: of a scene file. */
export function readScene(bytes: Uint8Array): Scene {
	const source = textOf(bytes, "the scene");
	let json: unknown = null;
	try {
		json = JSON.parse(source ?? "");
	} catch {
		throw codedError("SCENE_FIELD", "the scene is no JSON");
	}
	const found = scene(json, "");
	if (found !== null)
		throw codedError("SCENE_FIELD", `${found.where === "" ? "the scene" : found.where} ${found.detail}`);
	const held = json as Typed<typeof scene>;
	const materials = new Map(
		Object.entries(held.materials ?? {}).map(([key, one]) => [
			key,
			{ ...DEFAULT, ...glassIsClear(one), ...one } as Material,
		]),
	);
	const spheres = held.spheres ?? [];
	const meshes = (held.meshes ?? []).map(meshOf);
	for (const [where, { material: of }] of [
		...spheres.map((one, i) => [`spheres[${i}]`, one] as const),
		...meshes.map((one, i) => [`meshes[${i}]`, one] as const),
	])
		if (of !== null && !materials.has(of))
			throw codedError("SCENE_FIELD", `${where}.material names none of the materials`);
	if (spheres.length + meshes.length === 0) throw codedError("SCENE_EMPTY", "the scene has no spheres and no meshes");
	return {
		camera: cameraOf(held.camera),
		background: held.background ?? { below: BLACK, above: BLACK },
		...{ materials, spheres, meshes, exposure: held.exposure ?? 1 },
	};
}

const glassIsClear = ({ kind }: SceneMaterial): { color?: Vector } => (kind === "glass" ? { color: WHITE } : {});
