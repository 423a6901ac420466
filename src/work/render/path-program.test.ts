// What a picture must be whatever the noise: a white furnace loses and makes no light, for every material;
// mirrors and glass show what they must; the same seed gives the same bits. The comparison with a tracer in
// doubles runs on the engine, in tests/engine-render.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { rendered, sceneOf } from "./render.test-kit.ts";

const CUBE = [
	[
		[-1, -1, 1],
		[1, -1, 1],
		[1, 1, 1],
		[-1, 1, 1],
	],
	[
		[1, -1, -1],
		[-1, -1, -1],
		[-1, 1, -1],
		[1, 1, -1],
	],
	[
		[1, -1, 1],
		[1, -1, -1],
		[1, 1, -1],
		[1, 1, 1],
	],
	[
		[-1, -1, -1],
		[-1, -1, 1],
		[-1, 1, 1],
		[-1, 1, -1],
	],
	[
		[-1, 1, 1],
		[1, 1, 1],
		[1, 1, -1],
		[-1, 1, -1],
	],
	[
		[-1, -1, -1],
		[1, -1, -1],
		[1, -1, 1],
		[-1, -1, 1],
	],
];
const WHITE = [1, 1, 1];
const furnace = (material: object, isMesh: boolean) =>
	sceneOf({
		camera: { position: [1.5, 1.2, 4], target: [0, 0, 0], fov: 36 },
		background: { below: WHITE, above: WHITE },
		materials: { a: material },
		...(isMesh
			? { meshes: [{ polygons: CUBE, material: "a" }] }
			: { spheres: [{ center: [0, 0, 0], radius: 1.2, material: "a" }] }),
	});

const mean = (light: Float64Array): number => light.reduce((sum, one) => sum + one, 0) / light.length;

for (const isMesh of [false, true])
	for (const [name, material, bounces, least] of [
		// What leaves a convex body never comes back: one bounce, and every path is worth 1.
		["diffuse", { kind: "diffuse", color: WHITE }, 1, 0.9999],
		["polished metal", { kind: "metal", color: WHITE }, 1, 0.9999],
		["rough metal", { kind: "metal", color: WHITE, roughness: 1 }, 1, 0.9999],
		// Light may go round inside glass for longer than any number of bounces; in a cube, most of all.
		["glass", { kind: "glass", index: 1.5 }, 10, isMesh ? 0.9 : 0.999],
	] as const)
		test(`a white furnace is white: ${name} ${isMesh ? "cube" : "sphere"}`, () => {
			const { light } = rendered(furnace(material, isMesh), { width: 12, height: 12, passes: 2, bounces });
			assert.ok(mean(light) >= least && Math.max(...light) <= 1.0001, `${mean(light)}, ${Math.max(...light)}`);
		});

test("a gray furnace is gray: half of the light a bounce", () => {
	const { light } = rendered(furnace({ kind: "diffuse", color: [0.5, 0.25, 0] }, false), {
		width: 12,
		height: 12,
		passes: 1,
		bounces: 1,
	});
	const middle = 3 * (6 * 12 + 6);
	assert.deepEqual(
		[...light.subarray(middle, middle + 3)].map((one) => Math.round(one * 1000)),
		[500, 250, 0],
	);
});

test("glass of index 1 is not there; a mirror shows what lies behind the camera", () => {
	const light = (material: object, rotate = [0, 0, 0]) => {
		const scene = sceneOf({
			camera: { position: [0, 0, 4], target: [0, 0, 0], fov: 20 },
			background: { below: [1, 0, 0], above: [0, 0, 1] },
			materials: { a: material },
			meshes: [{ polygons: CUBE, material: "a", rotate }],
		});
		return rendered(scene, { passes: 1, width: 8, height: 8, bounces: 3 }).light;
	};
	const clear = light({ kind: "glass", index: 1 });
	// Straight through: red rises from the top row to the bottom one.
	assert.ok(clear[3 * 4]! < clear[3 * (7 * 8 + 4)]!);
	// The front of the cube turns rays back and leaves their height as it was.
	for (const [i, one] of light({ kind: "metal", color: WHITE }).entries()) assert.ok(Math.abs(clear[i]! - one) < 2e-4);
	// Turned, clear glass is as clear; glass that bends is not.
	const most = (other: Float64Array) => Math.max(...other.map((one, i) => Math.abs(clear[i]! - one)));
	assert.ok(most(light({ kind: "glass", index: 1 }, [30, 20, 0])) < 2e-4);
	assert.ok(most(light({ kind: "glass", index: 1.5 }, [30, 20, 0])) > 0.05);
});

test("the same seed gives the same bits, another one others; passes add up", () => {
	const scene = {
		...furnace({ kind: "diffuse", color: [0.5, 0.5, 0.5] }, true),
		background: { below: [0, 0, 0], above: [1, 1, 1] },
	} as const;
	const sums = (passes: number, seed: number) => {
		const { machine } = rendered(
			scene,
			{ width: 8, height: 8, passes, bounces: 1 },
			new Map(),
			new Uint8Array(32).fill(seed),
		);
		return [...machine.tensors[machine.checked.program.tensors.findIndex(({ name }) => name === "sums")]!];
	};
	const [one, two] = [sums(1, 1), sums(2, 1)];
	assert.deepEqual(sums(1, 1), one);
	assert.notDeepEqual(sums(1, 2), one);
	assert.ok(two.every((sum, i) => sum >= one[i]!) && two.some((sum, i) => sum > one[i]!));
});

test("a walk that does not come to its end is black and is counted; with fewer boxes every walk ends", () => {
	// Triangles one behind the other, whose boxes the ray passes and whose areas it misses.
	const stack = (count: number) => {
		const polygons = Array.from({ length: count }, (_, i) => {
			const z = -i / count;
			return [
				[-1, -1, z],
				[1, -1, z],
				[-1, 1, z],
			];
		});
		const scene = sceneOf({
			camera: { position: [0.8, 0.8, 3], target: [0.8, 0.8, 0], fov: 1 },
			background: { below: WHITE, above: WHITE },
			materials: { a: { kind: "diffuse" } },
			meshes: [{ polygons, material: "a" }],
		});
		const { light, machine } = rendered(scene, { width: 1, height: 1, passes: 1, bounces: 0 });
		const lost = machine.checked.program.tensors.findIndex(({ name }) => name === "lost");
		return { light: [...light], lost: lost < 0 ? null : machine.tensors[lost]![0] };
	};
	assert.deepEqual(stack(2200), { light: [0, 0, 0], lost: 1n });
	assert.deepEqual(stack(20), { light: WHITE, lost: null });
});
