// A path tracer in doubles, written apart from the program: no grid, no tree, its own tests for triangles
// (Möller–Trumbore) and spheres (the quadratic formula), its own random numbers. For the comparison of mean
// colours.
import type { Mesh } from "./mesh.ts";
import { cross, length, type Material, type Scene, subtract, type Vector } from "./read-scene.ts";

const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const times = (a: Vector, by: number): Vector => [a[0] * by, a[1] * by, a[2] * by];
const add = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const unit = (a: Vector): Vector => times(a, 1 / length(a));

interface Hit {
	readonly t: number;
	readonly normal: Vector;
	readonly material: Material;
}
interface Triangle {
	readonly corners: readonly [Vector, Vector, Vector];
	readonly material: Material;
}

/** Of a mesh that is not moved: scale, rotate and translate belong to the program's own tests. */
function trianglesOf(scene: Scene, files: ReadonlyMap<string, Mesh>): Triangle[] {
	return scene.meshes.flatMap((mesh) => {
		const source = mesh.file === null ? null : files.get(mesh.file)!;
		const fans = mesh.polygons.flatMap((points) =>
			points.slice(2).map((_, i) => [points[0]!, points[i + 1]!, points[i + 2]!] as const),
		);
		const own =
			source?.triangles.map(([a, b, c]) => [source.points[a]!, source.points[b]!, source.points[c]!] as const) ?? fans;
		return own.map((corners, i) => ({
			corners: corners.map((point) =>
				add(point.map((one, axis) => one * mesh.scale[axis]!) as unknown as Vector, mesh.translate),
			) as unknown as Triangle["corners"],
			material: scene.materials.get(mesh.material ?? source?.materials[i] ?? "")!,
		}));
	});
}

const NEAR = 1e-5;

function hitTriangle({ corners: [a, b, c], material }: Triangle, from: Vector, way: Vector): Hit | null {
	const [ab, ac] = [subtract(b, a), subtract(c, a)];
	const p = cross(way, ac);
	const det = dot(ab, p);
	if (Math.abs(det) < 1e-14) return null;
	const s = subtract(from, a);
	const u = dot(s, p) / det;
	const q = cross(s, ab);
	const v = dot(way, q) / det;
	const t = dot(ac, q) / det;
	if (u < 0 || v < 0 || u + v > 1 || t < NEAR) return null;
	return { t, normal: unit(cross(ab, ac)), material };
}

function hitSphere(center: Vector, radius: number, material: Material, from: Vector, way: Vector): Hit | null {
	const off = subtract(from, center);
	const half = dot(off, way);
	const rest = half * half - dot(off, off) + radius * radius;
	if (rest < 0) return null;
	const root = Math.sqrt(rest);
	const t = -half - root > NEAR ? -half - root : -half + root;
	if (t < NEAR) return null;
	return { t, normal: times(add(off, times(way, t)), 1 / radius), material };
}

type Random = () => number;

function randomUnit(random: Random): Vector {
	const z = 2 * random() - 1;
	const angle = 2 * Math.PI * random();
	const ring = Math.sqrt(1 - z * z);
	return [ring * Math.cos(angle), ring * Math.sin(angle), z];
}

function bend({ kind, index, roughness }: Material, way: Vector, normal: Vector, random: Random): Vector {
	const isBack = dot(way, normal) > 0;
	const facing = isBack ? times(normal, -1) : normal;
	const cosine = -dot(way, facing);
	const mirror = add(way, times(facing, 2 * cosine));
	if (kind === "diffuse") return unit(add(facing, times(randomUnit(random), 0.999)));
	if (kind === "metal") {
		const rough = add(mirror, times(randomUnit(random), roughness));
		const up = dot(rough, facing);
		return unit(up < 0 ? add(rough, times(facing, -2 * up)) : rough);
	}
	const ratio = isBack ? index : 1 / index;
	const rest = 1 - ratio * ratio * (1 - cosine * cosine);
	if (rest < 0) return mirror;
	const least = ((1 - index) / (1 + index)) ** 2;
	const share = least + (1 - least) * (1 - (isBack ? Math.sqrt(rest) : cosine)) ** 5;
	if (random() < share) return mirror;
	return unit(add(times(way, ratio), times(facing, ratio * cosine - Math.sqrt(rest))));
}

/** Mean light of each pixel, as `rendered` of render.test-kit.ts gives it. */
export function floatTraced(
	scene: Scene,
	files: ReadonlyMap<string, Mesh>,
	{ width, height, passes, bounces }: { width: number; height: number; passes: number; bounces: number },
	random: Random,
): Float64Array {
	const { camera, background } = scene;
	const triangles = trianglesOf(scene, files);
	const spheres = scene.spheres.map((one) => ({ ...one, of: scene.materials.get(one.material)! }));
	const ahead = unit(subtract(camera.target, camera.position));
	const right = unit(cross(ahead, camera.up));
	const up = cross(right, ahead);
	const high = Math.tan((camera.fov * Math.PI) / 360);
	const nearest = (from: Vector, way: Vector): Hit | null => {
		let best: Hit | null = null;
		const offer = (hit: Hit | null) => {
			if (hit !== null && (best === null || hit.t < best.t)) best = hit;
		};
		for (const { center, radius, of } of spheres) offer(hitSphere(center, radius, of, from, way));
		for (const one of triangles) offer(hitTriangle(one, from, way));
		return best;
	};
	const path = (x: number, y: number): Vector => {
		const across = high * (width / height) * (2 * ((x + random()) / width) - 1);
		const down = high * (1 - 2 * ((y + random()) / height));
		let way = unit(add(ahead, add(times(right, across), times(up, down))));
		let from = camera.position;
		if (camera.aperture > 0) {
			const [r, angle] = [(camera.aperture / 2) * Math.sqrt(random()), 2 * Math.PI * random()];
			const lens = add(times(right, r * Math.cos(angle)), times(up, r * Math.sin(angle)));
			const sharp = times(way, camera.focus / dot(way, ahead));
			way = unit(subtract(sharp, lens));
			from = add(from, lens);
		}
		let share: Vector = [1, 1, 1];
		for (let bounce = 0; ; bounce++) {
			const hit = nearest(from, way);
			const { below, above } = background;
			const sky = below.map((one, i) => one + ((above[i]! - one) * (way[1] + 1)) / 2) as unknown as Vector;
			const light = hit === null ? sky : hit.material.kind === "light" ? hit.material.emission : null;
			if (hit === null || light !== null) return share.map((one, i) => one * light![i]!) as unknown as Vector;
			if (bounce === bounces) return [0, 0, 0];
			share = share.map((one, i) => one * hit.material.color[i]!) as unknown as Vector;
			const point = add(from, times(way, hit.t));
			way = bend(hit.material, way, hit.normal, random);
			from = add(point, times(hit.normal, dot(way, hit.normal) > 0 ? NEAR : -NEAR));
		}
	};
	const sums = new Float64Array(3 * width * height);
	for (let pass = 0; pass < passes; pass++)
		for (let i = 0; i < width * height; i++) {
			const light = path(i % width, Math.floor(i / width));
			for (let axis = 0; axis < 3; axis++) sums[3 * i + axis]! += light[axis]! / passes;
		}
	return sums;
}
