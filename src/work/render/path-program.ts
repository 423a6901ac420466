// A path tracer as a program, docs/render.md §2: a step is one pass, one path a pixel. A path is a list of
// ops, one walk or two for each of its rays; what a ray is lies in tensors between them. The state is the sum
// of all light so far; the result is the picture that it makes.
import { buildProgram, type PhaseBuilder } from "../builder/build-program.ts";
import { at, type Expression, type Index, segment, step, type Value, view } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { GRID, MATERIAL, MOST_INDEX, MOST_LIGHT, NODE, ONE, ONE_BITS } from "./numbers.ts";
import * as scatter from "./scatter.ts";
import { circleTable, screenTable } from "./tables.ts";
import { isCut, noHit, type Ray, type Start, walk } from "./walk.ts";

/** A scene on the grid: what place-scene.ts makes. */
export interface PlacedScene {
	/** [n + 1, columns] each, the last one the end of the walk; null: none of these. */
	readonly triangles: Int32Array | null;
	readonly spheres: Int32Array | null;
	/** [triangle nodes + 1, 3]. */
	readonly normals: Int32Array | null;
	/** By id: triangle nodes, then sphere nodes, then what a lost path sees. */
	readonly materialOf: Int16Array;
	readonly materials: Int32Array;
	readonly lights: Int32Array;
	/** From below, from above. */
	readonly sky: Int32Array;
	/**
	 * Position; to the upper left corner; across; down; lens across and down on the grid; the same as a change
	 * of direction.
	 */
	readonly camera: Int32Array;
	readonly hasLens: boolean;
}

export interface PathOptions {
	readonly width: number;
	readonly height: number;
	readonly bounces: number;
	/** Steps a segment. */
	readonly k: number;
	/** Light that makes a white pixel is 1/exposure. */
	readonly exposure: number;
}

const CAMERA_ROWS = 8;
const CAMERA_MOST = 2 ** 28;
const MOST_SUM = 2n ** 62n;
const DOMAIN = { pixel: 0, lens: 1, bounce: 2 } as const;

interface Tensors extends scatter.SceneTensors {
	readonly triangles: Value | null;
	readonly camera: Value;
	readonly lostId: number;
}

/** Declares what the scene gives, with its elements. */
function declare(b: ReturnType<typeof buildProgram>, scene: PlacedScene, given: Record<string, Elements>): Tensors {
	const input = (name: string, elements: Elements, dims: readonly number[], lo: number, hi: number): Value => {
		given[name] = elements;
		return b.tensor("input", name, elements instanceof Int16Array ? "i16" : "i32", dims, lo, hi);
	};
	const { triangles, spheres, normals, materials } = scene;
	const kinds = materials.length / MATERIAL.columns;
	const rows = (nodes: Int32Array, columns: number) => [nodes.length / columns, columns];
	const circle = circleTable();
	given.circle = circle;
	return {
		triangles: triangles && input("triangles", triangles, rows(triangles, NODE.columns), -GRID, GRID),
		spheres: spheres && input("spheres", spheres, rows(spheres, NODE.sphereColumns), -GRID, GRID),
		normals: normals && input("normals", normals, rows(normals, 3), -ONE, ONE),
		materialOf: input("material_of", scene.materialOf, [scene.materialOf.length], 0, kinds - 1),
		materials: input("materials", materials, [kinds, MATERIAL.columns], 0, MOST_INDEX * ONE),
		lights: input("lights", scene.lights, [kinds, 3], 0, MOST_LIGHT * ONE),
		sky: input("sky", scene.sky, [2, 3], 0, MOST_LIGHT * ONE),
		camera: input("camera", scene.camera, [CAMERA_ROWS, 3], -CAMERA_MOST, CAMERA_MOST),
		circle: b.constant("circle", "i32", [circle.length], -ONE, ONE, tensorRoot(circle)),
		lostId: scene.materialOf.length - 1,
	};
}

/** A point of the lens, in 2^-16 of its radius. */
function lens(circle: Value, pixel: Index): readonly [Expression, Expression] {
	const word = pixel.value().rand(DOMAIN.lens);
	const radius = word.and(0xffff).shl(ONE_BITS).isqrt();
	const angle = word.shr(22);
	const along = (by: number) => at(circle, angle.add(by).and(1023)).mul(radius).rsh(ONE_BITS);
	return [along(0), along(768)];
}

function firstRay(s: PhaseBuilder, { camera, circle }: Tensors, hasLens: boolean, { width, height }: PathOptions): Ray {
	const dims = [3, width * height];
	const shifted = (own: Expression, row: number, axis: Index, pixel: Index) => {
		if (!hasLens) return own;
		const [x, y] = lens(circle, pixel);
		return own.add(
			at(camera, row, axis)
				.mul(x)
				.add(at(camera, row + 1, axis).mul(y))
				.rsh(ONE_BITS),
		);
	};
	const origin = s.map(dims, (axis, pixel) => shifted(at(camera, 0, axis), 4, axis, pixel).clamp(-GRID, GRID), {
		type: "i32",
	});
	const towards = s.map(
		dims,
		(axis, pixel) => {
			const word = pixel.value().rand(DOMAIN.pixel);
			const y = pixel.value().div(width);
			const x = pixel.value().sub(y.mul(width));
			const share = (place: Expression, jitter: Expression, count: number) =>
				place
					.shl(16)
					.add(jitter)
					.shl(14)
					.div(count)
					.clamp(0, 2 ** 30);
			const across = share(x, word.and(0xffff), width)
				.mul(at(camera, 2, axis))
				.rsh(30);
			const down = share(y, word.shr(16), height)
				.mul(at(camera, 3, axis))
				.rsh(30);
			const own = at(camera, 1, axis).add(across).add(down);
			return shifted(own, 6, axis, pixel).clamp(-CAMERA_MOST, CAMERA_MOST);
		},
		{ type: "i32" },
	);
	return { origin, direction: scatter.normalised(s, towards) };
}

/** Nearest hit among spheres and triangles. */
function hitOf(s: PhaseBuilder, { triangles, spheres, lostId }: Tensors, ray: Ray, throughput: Value | null): Value {
	const pixels = ray.origin.dims[1]!;
	const isAlive: Start["isAlive"] = throughput === null ? () => 1 : scatter.isAlive(throughput);
	const firstSphere = triangles?.dims[0] ?? 0;
	let hit: Value | null = null;
	for (const [kind, nodes, firstId] of [
		["spheres", spheres, firstSphere],
		["triangles", triangles, 0],
	] as const) {
		if (nodes === null) continue;
		const before: Value | null = hit;
		const start: Start = { hit: (pixel) => (before === null ? noHit : at(before, pixel)), isAlive };
		hit = s.map([pixels], walk(kind, nodes, { firstId, lostId }, ray, start));
	}
	return hit!;
}

/** Sum of a tensor that has more elements than one sum may. */
function total(s: PhaseBuilder, of: Value, rows: number, to: Parameters<PhaseBuilder["reduce"]>[2]): void {
	const count = of.dims.reduce((a, b) => a * b, 1);
	s.reduce("sum", view(s.reduce("sum", view(of, rows, count / rows)), 1, rows), to);
}

/** One path a pixel; its light [3, pixels], and how many of its walks were cut, where that can be. */
function trace(s: PhaseBuilder, tensors: Tensors, first: Ray, bounces: number): { light: Value; lost: Value | null } {
	const canLose = [tensors.triangles, tensors.spheres].some((nodes) => nodes !== null && isCut(nodes));
	let ray = first;
	let throughput: Value | null = null;
	let light: Value | null = null;
	let lost: Value | null = null;
	for (let bounce = 0; ; bounce++) {
		const hit = hitOf(s, tensors, ray, throughput);
		light = scatter.lightAfter(s, tensors, ray, hit, throughput, light);
		if (canLose) {
			const before: Value | null = lost;
			lost = s.map(hit.dims, (pixel) => {
				const isLost = at(hit, pixel).eq(tensors.lostId);
				return before === null ? isLost : isLost.add(at(before, pixel));
			});
		}
		if (bounce === bounces) return { light, lost };
		throughput = scatter.throughputAfter(s, tensors, hit, throughput);
		const point = scatter.pointOf(s, ray, hit);
		const normal = scatter.normalOf(s, tensors, point, hit);
		const domain = DOMAIN.bounce + 2 * bounce;
		const bend = scatter.bendOf(s, tensors, ray, normal, hit, domain);
		const direction = scatter.directionAfter(s, tensors, ray, normal, bend, domain + 1);
		ray = { origin: scatter.originAfter(s, point, normal, bend), direction };
	}
}

export function pathProgram(
	scene: PlacedScene,
	options: PathOptions,
): { program: Program; given: Record<string, Elements> } {
	const { width, height, bounces, k, exposure } = options;
	const b = buildProgram({ k });
	const given: Record<string, Elements> = {};
	const tensors = declare(b, scene, given);
	const screen = screenTable();
	given.screen = screen;
	const levels = b.constant("screen", "i16", [screen.length], 0, 255, tensorRoot(screen));
	const sums = b.tensor("state", "sums", "i64", [3, width * height], 0, MOST_SUM);
	const picture = b.tensor("result", "picture", "i16", [height, width, 3], 0, 255);
	const mean = b.tensor("metric", "light", "i64", [1], 0, MOST_SUM);
	const s = b.step;
	const { light, lost } = trace(s, tensors, firstRay(s, tensors, scene.hasLens, options), bounces);
	const now = s.map(
		sums.dims,
		(axis, pixel) =>
			at(sums, axis, pixel)
				.add(at(light, axis, pixel))
				.clamp(0, MOST_SUM),
		{ to: sums },
	);
	s.map(
		[width * height, 3],
		(pixel, axis) => {
			const passes = segment.sub(1).mul(k).add(step).add(1);
			const average = at(now, axis, pixel)
				.div(passes)
				.min(MOST_LIGHT * ONE * (bounces + 1));
			// 2^16 is white, and the table has 2^12 levels.
			const level = average.mul(Math.round(exposure * 2 ** 12)).shr(16);
			return at(levels, level.min(screen.length - 1));
		},
		{ to: picture },
	);
	total(s, light, 3 * height, { to: mean });
	if (lost !== null) total(s, lost, height, { to: b.tensor("metric", "lost", "i64", [1], 0, 2n ** 40n) });
	return { program: b.program(), given };
}
