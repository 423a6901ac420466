// A scene of real numbers on the grid, docs/render.md §3: from here on everything is whole. Only + − × ÷ and
// square roots on the way, which every machine rounds alike. What has no size on the grid is left out and
// counted.
import { codedError } from "../../protocol/coded-error.ts";
import { type Box, buildTree } from "./bvh.ts";
import { type Mesh, moved, type Transform } from "./mesh.ts";
import { BOX_RIM, GRID, KIND, MOST_NODES, MOST_TRIANGLES, NODE, ONE, RIM } from "./numbers.ts";
import type { PlacedScene } from "./path-program.ts";
import { cross, length, type Material, type Scene, type SceneMesh, subtract, type Vector } from "./read-scene.ts";
import { sinCos } from "./tables.ts";

export interface Placed {
	readonly scene: PlacedScene;
	/** Places of the grid a unit of the scene. */
	readonly placesPerUnit: number;
	readonly triangles: number;
	readonly spheres: number;
	/** Triangles and spheres without size on the grid. */
	readonly dropped: number;
}

interface Corners {
	readonly at: readonly [Vector, Vector, Vector];
	readonly material: number;
}

const scaled = (v: Vector, by: number): Vector => [v[0] * by, v[1] * by, v[2] * by];
const plus = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const unit = (v: Vector): Vector => scaled(v, 1 / length(v));
const rounded = (v: Vector): Vector => [Math.round(v[0]), Math.round(v[1]), Math.round(v[2])];

function transformOf({ scale, rotate, translate }: SceneMesh): Transform {
	const [[sx, cx], [sy, cy], [sz, cz]] = [sinCos(rotate[0]), sinCos(rotate[1]), sinCos(rotate[2])];
	// About x, then y, then z.
	const turn = [
		[cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
		[sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
		[-sy, cy * sx, cy * cx],
	];
	return turn.flatMap((row, i) => [...row.map((one, axis) => one * scale[axis]!), translate[i]!]);
}

function polygonMesh({ polygons }: SceneMesh): Mesh {
	const points: Vector[] = [];
	const triangles: [number, number, number][] = [];
	for (const polygon of polygons) {
		const first = points.length;
		points.push(...polygon);
		for (let n = 2; n < polygon.length; n++) triangles.push([first, first + n - 1, first + n]);
	}
	return { points, triangles, materials: triangles.map(() => null) };
}

function cornersOf(scene: Scene, files: ReadonlyMap<string, Mesh>, numbers: ReadonlyMap<string, number>): Corners[] {
	const all: Corners[] = [];
	for (const [i, mesh] of scene.meshes.entries()) {
		const source = mesh.file === null ? polygonMesh(mesh) : files.get(mesh.file)!;
		const { points, triangles, materials } = moved(source, transformOf(mesh));
		if (all.length + triangles.length > MOST_TRIANGLES)
			throw codedError("SCENE_SIZE", `the scene has more than ${MOST_TRIANGLES} triangles`);
		for (const [n, [a, b, c]] of triangles.entries()) {
			const material = numbers.get(mesh.material ?? materials[n] ?? "");
			if (material === undefined)
				throw codedError(
					"SCENE_FIELD",
					`meshes[${i}] has no material, and triangle ${n} of its file names none of the scene's`,
				);
			all.push({ at: [points[a]!, points[b]!, points[c]!], material });
		}
	}
	return all;
}

/** The cube around everything that is hit, and the camera. */
function cubeOf(points: Iterable<Vector>): { middle: Vector; half: number } {
	const [from, to] = [
		[Infinity, Infinity, Infinity],
		[-Infinity, -Infinity, -Infinity],
	];
	for (const point of points)
		for (let axis = 0; axis < 3; axis++) {
			from[axis] = Math.min(from[axis]!, point[axis]!);
			to[axis] = Math.max(to[axis]!, point[axis]!);
		}
	const middle = from.map((one, axis) => (one + to[axis]!) / 2) as unknown as Vector;
	return { middle, half: Math.max(...from.map((one, axis) => (to[axis]! - one) / 2)) };
}

function cameraRows(
	{ camera }: Scene,
	aspect: number,
	onGrid: (v: Vector) => Vector,
	placesPerUnit: number,
): Int32Array {
	const ahead = unit(subtract(camera.target, camera.position));
	const right = unit(cross(ahead, camera.up));
	const up = cross(right, ahead);
	const [sin, cos] = sinCos(camera.fov / 2);
	const [high, wide] = [sin / cos, (sin / cos) * aspect];
	const lens = camera.aperture / 2;
	// The largest that keeps all components below 2^28, a lens's share with them.
	const size = 2 ** 26 / (1 + wide + high + (2 * lens) / camera.focus);
	const corner = plus(plus(ahead, scaled(right, -wide)), scaled(up, high));
	const rows = [
		onGrid(camera.position),
		...[scaled(corner, size), scaled(right, 2 * wide * size), scaled(up, -2 * high * size)],
		...[scaled(right, lens * placesPerUnit), scaled(up, lens * placesPerUnit)],
		...[scaled(right, (-lens / camera.focus) * size), scaled(up, (-lens / camera.focus) * size)],
	];
	return Int32Array.from(rows.flatMap((row) => rounded(row)));
}

/** 2^16 for 1. */
const fixed = (value: number): number => Math.round(value * ONE);

function materialRows(materials: readonly Material[]): { materials: Int32Array; lights: Int32Array } {
	const rows = materials.flatMap(({ kind, color, roughness, index }) => {
		const reflected = ((1 - index) / (1 + index)) * ((1 - index) / (1 + index));
		return [KIND[kind], ...color.map(fixed), fixed(roughness), fixed(index), fixed(1 / index), fixed(reflected)];
	});
	return {
		materials: Int32Array.from(rows),
		lights: Int32Array.from(
			materials.flatMap(({ kind, emission }) => (kind === "light" ? emission.map(fixed) : [0, 0, 0])),
		),
	};
}

interface Tree {
	readonly nodes: Int32Array;
	/** What each node holds; −1: nothing. The last one is the end of the walk. */
	readonly holds: readonly number[];
}

/** Rows of nodes: box, where a miss goes on, then what `leaf` says of what the node holds. */
function treeOf(boxes: readonly Box[], columns: number, leaf: (item: number) => readonly number[]): Tree | null {
	if (boxes.length === 0) return null;
	const tree = buildTree(boxes);
	if (tree.length >= MOST_NODES) throw codedError("SCENE_SIZE", `the scene needs more than ${MOST_NODES} boxes`);
	const nodes = new Int32Array((tree.length + 1) * columns);
	for (const [i, { box, miss, holds }] of tree.entries()) {
		const rim = box.map((one, side) => (side < 3 ? one - BOX_RIM : one + BOX_RIM));
		nodes.set([...rim, miss, ...(holds < 0 ? [] : leaf(holds))], i * columns);
	}
	// The end: a box that nothing passes, and which leads to itself.
	nodes.set([GRID, GRID, GRID, -GRID, -GRID, -GRID, tree.length], tree.length * columns);
	return { nodes, holds: [...tree.map(({ holds }) => holds), -1] };
}

const boxOf = (points: readonly Vector[]): Box =>
	[0, 1, 2, 3, 4, 5].map((side) => {
		const along = points.map((point) => point[side % 3]!);
		return side < 3 ? Math.min(...along) : Math.max(...along);
	}) as unknown as Box;

const normalOf = ([a, b, c]: Corners["at"]): Vector => cross(subtract(b, a), subtract(c, a));

/** `files`: the meshes that the scene names. `aspect`: width by height of the picture. */
export function placeScene(scene: Scene, files: ReadonlyMap<string, Mesh>, aspect: number): Placed {
	const names = [...scene.materials.keys()];
	const corners = cornersOf(scene, files, new Map(names.map((name, i) => [name, i])));
	const around = (center: Vector, r: number): Vector[] => [plus(center, [r, r, r]), plus(center, [-r, -r, -r])];
	const { camera } = scene;
	const { middle, half } = cubeOf(
		[
			...corners.map(({ at }) => at),
			...scene.spheres.map(({ center, radius }) => around(center, radius)),
			around(camera.position, camera.aperture / 2),
		].flat(),
	);
	const placesPerUnit = (GRID - RIM - BOX_RIM) / half;
	const onGrid = (point: Vector): Vector => rounded(scaled(subtract(point, middle), placesPerUnit));
	const triangles = corners
		.map(({ at: [a, b, c], material }): Corners => ({ at: [onGrid(a), onGrid(b), onGrid(c)], material }))
		.filter(({ at }) => normalOf(at).some((one) => one !== 0));
	const spheres = scene.spheres
		.map(({ center, radius, material }) => ({
			at: onGrid(center),
			r: Math.round(radius * placesPerUnit),
			material: names.indexOf(material),
		}))
		.filter(({ r }) => r > 0);
	if (triangles.length + spheres.length === 0) throw codedError("SCENE_EMPTY", "nothing in the scene has any size");
	const black: Material = { kind: "light", color: [0, 0, 0], roughness: 0, index: 1, emission: [0, 0, 0] };
	const materials = [...scene.materials.values(), black];
	const { below, above } = scene.background;
	const shines = ({ material }: { material: number }) =>
		materials[material]!.kind === "light" && materials[material]!.emission.some((one) => one > 0);
	if (![...below, ...above].some((one) => one > 0) && ![...triangles, ...spheres].some(shines))
		throw codedError("SCENE_DARK", "the scene has no light: nothing in it shines, and its background is black");
	const flat = treeOf(
		triangles.map(({ at }) => boxOf(at)),
		NODE.columns,
		(item) => triangles[item]!.at.flat(),
	);
	const round = treeOf(
		spheres.map(({ at, r }) => boxOf(around(at, r))),
		NODE.sphereColumns,
		(item) => [...spheres[item]!.at, spheres[item]!.r],
	);
	const ofFlat = flat?.holds.map((item) => (item < 0 ? 0 : triangles[item]!.material)) ?? [];
	const ofRound = round?.holds.map((item) => (item < 0 ? 0 : spheres[item]!.material)) ?? [];
	const normals =
		flat?.holds.flatMap((item) => (item < 0 ? [0, 0, 0] : rounded(scaled(unit(normalOf(triangles[item]!.at)), ONE)))) ??
		[];
	return {
		scene: {
			triangles: flat?.nodes ?? null,
			spheres: round?.nodes ?? null,
			normals: flat && Int32Array.from(normals),
			materialOf: Int16Array.from([...ofFlat, ...ofRound, materials.length - 1]),
			...materialRows(materials),
			sky: Int32Array.from([...below, ...above].map(fixed)),
			camera: cameraRows(scene, aspect, onGrid, placesPerUnit),
			hasLens: camera.aperture > 0,
		},
		...{ placesPerUnit, triangles: triangles.length, spheres: spheres.length },
		dropped: corners.length - triangles.length + scene.spheres.length - spheres.length,
	};
}
