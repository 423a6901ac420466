// The walk over boxes finds what trying every triangle and every sphere finds, bit for bit: random scenes,
// rays from everywhere, along axes and edges too. Trying all is the same code over a list without boxes, so a
// second, plain reading of the tests (BigInt) stands beside both.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { numbersFrom } from "../builder/samples.test-kit.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine } from "../program/run-program.ts";
import { GRID, ID_BITS, NODE, ONE } from "./numbers.ts";
import { placeScene } from "./place-scene.ts";
import { sceneOf } from "./render.test-kit.ts";
import { noHit, walk } from "./walk.ts";

type Kind = "triangles" | "spheres";
const COLUMNS = { triangles: NODE.columns, spheres: NODE.sphereColumns } as const;

interface Rays {
	readonly origin: Int32Array;
	readonly direction: Int32Array;
}

function hits(kind: Kind, nodes: Int32Array, { origin, direction }: Rays): Elements {
	const count = origin.length / 3;
	const b = buildProgram();
	const [columns, rows] = [COLUMNS[kind], nodes.length / COLUMNS[kind]];
	const tree = b.tensor("input", "tree", "i32", [rows, columns], -GRID, GRID);
	const ray = {
		origin: b.tensor("input", "origin", "i32", [3, count], -GRID, GRID),
		direction: b.tensor("input", "direction", "i32", [3, count], -ONE, ONE),
	};
	const found = b.tensor("result", "found", "i64", [count], 0, 2n ** 41n);
	b.step.map([count], walk(kind, tree, { firstId: 0, lostId: rows }, ray, { hit: () => noHit, isAlive: () => 1 }), {
		to: found,
	});
	const machine = createMachine(orThrow(sealProgram(b.program())), new Uint8Array(32), {
		tree: nodes,
		origin,
		direction,
	});
	machine.runSegment();
	machine.runSegment();
	return machine.tensors[3]!;
}

/** The same nodes, each passed by every ray: a list. */
function withoutBoxes(kind: Kind, nodes: Int32Array): Int32Array {
	const columns = COLUMNS[kind];
	const all = Int32Array.from(nodes);
	for (let at = 0; at < all.length - columns; at += columns) all.set([-GRID, -GRID, -GRID, GRID, GRID, GRID], at);
	return all;
}

function randomRays(count: number, seed: number, targets: readonly (readonly number[])[]): Rays {
	const draw = numbersFrom(seed);
	const [origin, direction] = [new Int32Array(3 * count), new Int32Array(3 * count)];
	for (let i = 0; i < count; i++) {
		const from = [0, 1, 2].map(() => draw(2 * GRID - 200) - GRID + 100);
		// A third go to a corner or along an axis: edges and corners are where walks go wrong.
		const target = targets[draw(targets.length)]!;
		const to =
			i % 3 === 0
				? target
				: [0, 1, 2].map((axis) => (i % 3 === 1 && axis !== i % 2 ? from[axis]! : draw(2 * GRID) - GRID));
		const way = to.map((one, axis) => one - from[axis]!);
		const length = Math.hypot(...way) || 1;
		for (let axis = 0; axis < 3; axis++) {
			origin[axis * count + i] = from[axis]!;
			direction[axis * count + i] = Math.round((way[axis]! / length) * ONE) || 1;
		}
	}
	return { origin, direction };
}

const at = (draw: (below: number) => number, size: number) =>
	[0, 1, 2].map(() => draw(2 * size + 1) / 100 - size / 100);

function randomScene(triangles: number, spheres: number, size: number, seed: number) {
	const draw = numbersFrom(seed);
	const polygons = Array.from({ length: triangles }, () => {
		const middle = at(draw, 1000);
		return [0, 1, 2].map(() => at(draw, size).map((one, axis) => one + middle[axis]!));
	});
	return sceneOf({
		camera: { position: [0, 0, 12], target: [0, 0, 0] },
		background: { below: [1, 1, 1], above: [1, 1, 1] },
		materials: { a: { kind: "diffuse" } },
		meshes: triangles === 0 ? [] : [{ polygons, material: "a" }],
		spheres: Array.from({ length: spheres }, () => ({
			center: at(draw, 1000),
			radius: 0.01 + draw(size) / 100,
			material: "a",
		})),
	});
}

/** The nearest triangle by exact fractions of BigInt, none of the walk's roundings: [node, depth]. */
function nearestExact(nodes: Int32Array, rays: Rays, i: number): { node: number; depth: number } | null {
	const count = rays.origin.length / 3;
	const axis = (from: Int32Array) => [0, 1, 2].map((n) => from[n * count + i]!) as [number, number, number];
	const [o, d] = [axis(rays.origin), axis(rays.direction)];
	const longest = d.map(Math.abs).indexOf(Math.max(...d.map(Math.abs)));
	let best: { node: number; depth: number } | null = null;
	for (let node = 0; node < nodes.length / NODE.columns - 1; node++) {
		const corner = (n: number) =>
			[0, 1, 2].map((k) => BigInt(nodes[node * NODE.columns + NODE.a + 3 * n + k]! - o[k]!));
		const [a, b, c] = [corner(0), corner(1), corner(2)] as [bigint[], bigint[], bigint[]];
		const triple = (u: bigint[], v: bigint[]) =>
			BigInt(d[0]) * (u[1]! * v[2]! - u[2]! * v[1]!) +
			BigInt(d[1]) * (u[2]! * v[0]! - u[0]! * v[2]!) +
			BigInt(d[2]) * (u[0]! * v[1]! - u[1]! * v[0]!);
		const [u, v, w] = [triple(c, b), triple(a, c), triple(b, a)];
		const area = u + v + w;
		const isInside = (u >= 0n && v >= 0n && w >= 0n) || (u <= 0n && v <= 0n && w <= 0n);
		if (!isInside || area === 0n) continue;
		const sum = u * a[longest]! + v * b[longest]! + w * c[longest]!;
		const depth = (Number(sum) / Number(area)) * Math.sign(d[longest]!);
		if (depth > 1 && (best === null || depth < best.depth)) best = { node, depth };
	}
	return best;
}

test("a walk finds what trying everything finds, bit for bit", () => {
	for (const [kind, count, size] of [
		["triangles", 90, 300],
		["triangles", 60, 20],
		["triangles", 1, 900],
		["spheres", 60, 200],
		["spheres", 2, 600],
	] as const) {
		const scene = randomScene(kind === "triangles" ? count : 0, kind === "spheres" ? count : 0, size, count + size);
		const nodes = placeScene(scene, new Map(), 1).scene[kind]!;
		const first = Array.from({ length: nodes.length / COLUMNS[kind] }, (_, n) => [
			...nodes.subarray(n * COLUMNS[kind] + NODE.a, n * COLUMNS[kind] + NODE.a + 3),
		]);
		const rays = randomRays(600, count, first);
		const [walked, tried] = [hits(kind, nodes, rays), hits(kind, withoutBoxes(kind, nodes), rays)];
		assert.deepEqual(walked, tried);
		const found = [...walked].filter((one) => BigInt(one) !== BigInt(noHit as number)).length;
		assert.ok(found > 20, `${found} of 600 rays hit`);
	}
});

test("boxes without their rim lose hits: the comparison sees it", () => {
	const nodes = placeScene(randomScene(90, 0, 300, 7), new Map(), 1).scene.triangles!;
	const small = Int32Array.from(nodes);
	for (let at = 0; at < small.length - NODE.columns; at += NODE.columns)
		for (let side = 0; side < 6; side++) small[at + side]! += side < 3 ? 4000 : -4000;
	const rays = randomRays(600, 3, [[0, 0, 0]]);
	assert.notDeepEqual(hits("triangles", small, rays), hits("triangles", nodes, rays));
});

test("triangles are hit where exact fractions say", () => {
	const nodes = placeScene(randomScene(60, 0, 400, 5), new Map(), 1).scene.triangles!;
	const rays = randomRays(300, 11, [[0, 0, 0]]);
	const found = hits("triangles", nodes, rays);
	let [same, compared] = [0, 0];
	for (let i = 0; i < 300; i++) {
		const exact = nearestExact(nodes, rays, i);
		const value = BigInt(found[i]!);
		const isMiss = value === BigInt(noHit as number);
		if (exact === null && isMiss) continue;
		compared += 1;
		const depth = Number(value >> BigInt(ID_BITS));
		// An edge may be rounded to the other side; where both hit, the depth is right to two places.
		if (exact !== null && !isMiss && Math.abs(depth - exact.depth) <= 2) same += 1;
	}
	assert.ok(compared > 80 && same >= compared - 1, `${same} of ${compared}`);
});

test("a closed mesh has no gap: no ray from inside gets out through an edge or a corner", () => {
	const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [(n & 1) * 2 - 1, (n & 2) - 1, (n & 4) / 2 - 1]);
	const faces = [
		[0, 4, 6, 2],
		[1, 3, 7, 5],
		[0, 1, 5, 4],
		[2, 6, 7, 3],
		[0, 2, 3, 1],
		[4, 5, 7, 6],
	];
	const scene = sceneOf({
		camera: { position: [0, 0, 0.5], target: [0, 0, 0] },
		background: { below: [1, 1, 1], above: [1, 1, 1] },
		materials: { a: { kind: "diffuse" } },
		meshes: [{ polygons: faces.map((face) => face.map((n) => corners[n])), material: "a", rotate: [31, 17, 5] }],
	});
	const nodes = placeScene(scene, new Map(), 1).scene.triangles!;
	const leaves = Array.from({ length: nodes.length / NODE.columns }, (_, n) => [
		...nodes.subarray(n * NODE.columns + NODE.a, n * NODE.columns + NODE.columns),
	]).filter((leaf) => leaf.some((one) => one !== 0));
	// At corners, at middles of edges and of the squares' diagonals, from random places inside.
	const targets = leaves.flatMap((leaf) =>
		[0, 1, 2].flatMap((n) => [
			leaf.slice(3 * n, 3 * n + 3),
			[0, 1, 2].map((axis) => Math.round((leaf[3 * n + axis]! + leaf[((3 * n + 3) % 9) + axis]!) / 2)),
		]),
	);
	const draw = numbersFrom(1);
	const count = 900;
	const rays = { origin: new Int32Array(3 * count), direction: new Int32Array(3 * count) };
	for (let i = 0; i < count; i++) {
		const from = [0, 1, 2].map(() => draw(GRID / 4) - GRID / 8);
		const way = targets[i % targets.length]!.map((one, axis) => one - from[axis]!);
		for (let axis = 0; axis < 3; axis++) {
			rays.origin[axis * count + i] = from[axis]!;
			rays.direction[axis * count + i] = Math.round((way[axis]! / Math.hypot(...way)) * ONE) || 1;
		}
	}
	assert.equal([...hits("triangles", nodes, rays)].filter((one) => BigInt(one) === BigInt(noHit as number)).length, 0);
});
