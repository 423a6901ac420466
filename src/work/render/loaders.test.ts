// Scenes and meshes as files: what is right is read, what is wrong is refused with its code, and no changed
// file does anything else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, seed } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { numbersFrom } from "../builder/samples.test-kit.ts";
import { cubeGlb, cubeGltf } from "./gltf/gltf.test-kit.ts";
import { readGltf } from "./gltf/read-gltf.ts";
import type { Mesh } from "./mesh.ts";
import { MOST_TRIANGLES } from "./numbers.ts";
import { placeScene } from "./place-scene.ts";
import { readObj } from "./read-obj.ts";
import { readScene } from "./read-scene.ts";
import { sceneOf } from "./render.test-kit.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const none = async (): Promise<Uint8Array> => {
	throw new AssayError("FILE_UNREADABLE", "no such file");
};
const refuses = (code: string, run: () => unknown, words = /./) =>
	assert.throws(
		run,
		(error) => error instanceof AssayError && error.code === code && words.test(error.message),
		String(words),
	);
const rejects = (code: string, run: Promise<unknown>, words = /./) =>
	assert.rejects(run, (error) => error instanceof AssayError && error.code === code && words.test(error.message));

const OBJ = `# a roof
mtllib x.mtl
o roof
v 0 0 0
v 1 0 0
v 1 1e0 .5
v 0 1. -0.5
vn 0 0 1
usemtl tiles
f 1//1 2//1 3//1 4//1
usemtl wood
f -4 -3/2 -2/2/1
`;

test("OBJ: corners, polygons as fans, places from the end, names of materials", () => {
	const { points, triangles, materials } = readObj(bytes(OBJ), "roof.obj");
	assert.deepEqual(points, [
		[0, 0, 0],
		[1, 0, 0],
		[1, 1, 0.5],
		[0, 1, -0.5],
	]);
	assert.deepEqual(triangles, [
		[0, 1, 2],
		[0, 2, 3],
		[0, 1, 2],
	]);
	assert.deepEqual(materials, ["tiles", "tiles", "wood"]);
	assert.deepEqual(readObj(bytes(OBJ.replaceAll("\n", "\r\n")), "roof.obj").triangles, triangles);
});

test("OBJ: holes in the indices, numbers that are none and cut lines are refused, each with its line", () => {
	for (const [from, to, words] of [
		["f 1//1", "f 9//1", /line 10: a face names point 9 of 4/],
		["f 1//1", "f 0//1", /line 10: .*from 1 on/],
		["f -4", "f -5", /line 12: .*before the first/],
		["f -4", "f 1.5", /line 12/],
		["f 1//1 2//1 3//1 4//1", "f 1//1 2//1", /line 10: .*3 to/],
		["v 1 0 0", "v 1 0", /line 5/],
		["v 1 0 0", "v 1 0 nan", /line 5/],
		["v 1 0 0", "v 1 0 1e99", /line 5/],
		["v 1 0 0", "v 1 0 0x10", /line 5/],
		["v 1 0 0", "v 1 0 0 \\\\", /line 5: lines that go on/],
	] as const)
		refuses("MESH_FORMAT", () => readObj(bytes(OBJ.replace(from, to)), "roof.obj"), words);
	refuses("MESH_FORMAT", () => readObj(bytes("v 0 0 0\n"), "x.obj"), /no faces/);
	refuses("MESH_FORMAT", () => readObj(Uint8Array.of(0xff, 0xfe), "x.obj"), /no text/);
	const many = `v 0 0 0\nv 1 0 0\nv 0 1 0\n${"f 1 2 3\n".repeat(MOST_TRIANGLES + 1)}`;
	refuses("SCENE_SIZE", () => readObj(bytes(many), "x.obj"));
});

test("glTF: a cube inside, beside and as .glb is one and the same, moved by its nodes", async () => {
	const inside = await readGltf(bytes(JSON.stringify(cubeGltf("inside").json)), "c.gltf", none);
	const { json, buffer } = cubeGltf("beside");
	const beside = await readGltf(bytes(JSON.stringify(json)), "c.gltf", async (name) => {
		assert.equal(name, "cube.bin");
		return buffer;
	});
	const glb = await readGltf(cubeGlb(), "c.glb", none);
	assert.deepEqual(inside, beside);
	assert.deepEqual(inside, glb);
	assert.equal(inside.triangles.length, 24);
	assert.deepEqual(new Set(inside.materials), new Set(["crate"]));
	const along = (mesh: Mesh, axis: number) => mesh.points.map((point) => Math.round(point[axis]! * 100) / 100);
	// The first cube is scaled by 2 and raised by 1; its child is turned about y by 90°, and 3 to the side
	// before that scale.
	assert.deepEqual([Math.min(...along(inside, 1)), Math.max(...along(inside, 1))], [-1, 3]);
	assert.deepEqual([Math.min(...along(inside, 0)), Math.max(...along(inside, 0))], [-2, 8]);
});

test("glTF: places outside their buffer, wrong types, missing parts and circles are refused", async () => {
	type Json = ReturnType<typeof cubeGltf>["json"];
	const changed = (change: (json: Json) => void) => {
		const { json } = cubeGltf("inside");
		change(json);
		return readGltf(bytes(JSON.stringify(json)), "c.gltf", none);
	};
	// biome-ignore lint/suspicious/noExplicitAny: hostile values
	const any = (value: unknown) => value as any;
	for (const [change, words] of [
		[(json: Json) => (json.accessors[0]!.count = 100), /accessors\[0\] reaches over/],
		[(json: Json) => (json.accessors[1]!.count = 2 ** 30), /accessors\[1\]/],
		[(json: Json) => (json.accessors[0]!.componentType = 5123), /accessors\[0\] is not of a type/],
		[(json: Json) => (json.accessors[0]!.type = "VEC2"), /accessors\[0\] is not of a type/],
		[(json: Json) => (json.accessors[1]!.componentType = 5126), /accessors\[1\] is not of a type/],
		[(json: Json) => (json.bufferViews[0]!.byteOffset = 999), /bufferViews\[0\] reaches over/],
		[(json: Json) => (json.bufferViews[0]!.buffer = 1), /bufferViews\[0\]/],
		[(json: Json) => (any(json.bufferViews[1]).byteStride = 4), /accessors\[0\] reaches over/],
		[(json: Json) => (json.buffers[0]!.byteLength = 2 ** 30), /buffers\[0\] has/],
		[(json: Json) => (any(json.buffers[0]).uri = "data:application/octet-stream;base64,****"), /base64/],
		[(json: Json) => (any(json.buffers[0]).uri = "../secret"), /beside it/],
		[(json: Json) => (any(json.buffers[0]).uri = "https://x.test/y"), /beside it/],
		[(json: Json) => (any(json.accessors[0]).sparse = {}), /sparse/],
		[(json: Json) => (any(json.meshes[0]!.primitives[0]).mode = 5), /no list of triangles/],
		[(json: Json) => (any(json.meshes[0]!.primitives[0]).targets = [{}]), /morph/],
		[(json: Json) => (json.meshes[0]!.primitives[0]!.material = 7), /material is not there/],
		[(json: Json) => (json.nodes[0]!.mesh = 4), /mesh is not there/],
		[(json: Json) => (any(json.nodes[1]).children = [0]), /two parents, or is its own/],
		[(json: Json) => (any(json.nodes[0]).children = [9]), /node 9 is not there/],
		[(json: Json) => (any(json.nodes[0]).skin = 0), /skin/],
		[(json: Json) => (any(json.nodes[0]).scale = [1, 2]), /3 numbers/],
		[(json: Json) => (any(json).extensionsRequired = ["KHR_draco_mesh_compression"]), /extension/],
		[(json: Json) => (json.asset.version = "1.0"), /version 2/],
		[(json: Json) => (any(json).meshes = []), /mesh is not there/],
	] as const)
		await assert.rejects(
			changed(change),
			(error) =>
				error instanceof AssayError && /^(MESH_FORMAT|SCENE_SIZE)$/.test(error.code) && words.test(error.message),
			String(words),
		);
	const glb = cubeGlb();
	await rejects("MESH_FORMAT", readGltf(glb.subarray(0, glb.length - 1), "c.glb", none), /another length/);
	await rejects(
		"MESH_FORMAT",
		readGltf(
			glb.map((byte, i) => (i === 4 ? 1 : byte)),
			"c.glb",
			none,
		),
		/version 2/,
	);
	await rejects(
		"MESH_FORMAT",
		readGltf(
			glb.map((byte, i) => (i === 15 ? 255 : byte)),
			"c.glb",
			none,
		),
		/ends in a chunk/,
	);
	await rejects("MESH_FORMAT", readGltf(bytes("{"), "c.gltf", none), /no JSON/);
});

const GOOD = {
	camera: { position: [0, 0, 5], target: [0, 0, 0] },
	background: { below: [1, 1, 1], above: [0.5, 0.7, 1] },
	materials: { a: { kind: "diffuse" }, lamp: { kind: "light", emission: [4, 4, 4] } },
	spheres: [{ center: [0, 0, 0], radius: 1, material: "a" }],
};
const place = (json: unknown) => placeScene(sceneOf(json), new Map(), 1);

test("scenes: what looks nowhere, shows nothing, has no light or names what is not there is refused", () => {
	assert.deepEqual([place(GOOD).spheres, place(GOOD).triangles, place(GOOD).dropped], [1, 0, 0]);
	const dark = { ...GOOD, background: { below: [0, 0, 0], above: [0, 0, 0] } };
	refuses("SCENE_DARK", () => place(dark));
	place({ ...dark, spheres: [...GOOD.spheres, { center: [0, 5, 0], radius: 1, material: "lamp" }] });
	refuses("SCENE_EMPTY", () => place({ ...GOOD, spheres: [] }));
	const camera = (change: object) => () => place({ ...GOOD, camera: { ...GOOD.camera, ...change } });
	refuses("SCENE_CAMERA", camera({ target: [0, 0, 5] }));
	refuses("SCENE_CAMERA", camera({ up: [0, 0, 1] }));
	refuses("SCENE_CAMERA", camera({ up: [0, 0, 0] }));
	refuses("SCENE_CAMERA", () => place({ ...GOOD, camera: undefined }));
	for (const [change, words] of [
		[{ spheres: [{ center: [0, 0, 0], radius: 1, material: "b" }] }, /spheres\[0\].material/],
		[{ spheres: [{ center: [0, 0, null], radius: 1, material: "a" }] }, /spheres\[0\].center\[2\]/],
		[{ spheres: [{ center: [0, 0, 0], radius: -1, material: "a" }] }, /radius/],
		[{ spheres: [{ center: [0, 0, 1e99], radius: 1, material: "a" }] }, /center\[2\]/],
		[{ materials: { a: { kind: "plasma" } } }, /materials.a.kind/],
		[{ materials: { a: { kind: "diffuse", color: [2, 0, 0] } } }, /materials.a.color\[0\]/],
		[{ materials: { a: { kind: "glass", index: 9 } } }, /index/],
		[{ meshes: [{ material: "a" }] }, /one of file, polygons/],
		[{ meshes: [{ polygons: [] }] }, /material is missing/],
		[{ meshes: [{ file: "x.obj", material: "a", scale: [1, 0, 1] }] }, /scale/],
		[{ colour: 3 }, /does not belong/],
		[{ exposure: 0 }, /exposure/],
	] as const)
		refuses("SCENE_FIELD", () => place({ ...GOOD, ...change }), words);
	refuses("SCENE_FIELD", () => readScene(bytes("{")), /no JSON/);
});

test("triangles without area are left out and counted; a name that the scene lacks is refused", () => {
	const mesh: Mesh = {
		points: [
			[0, 0, 0],
			[1, 0, 0],
			[0, 1, 0],
			[2, 0, 0],
			[1e-9, 0, 0],
		],
		triangles: [
			[0, 1, 2],
			[0, 1, 3],
			[0, 0, 2],
			[0, 4, 2],
		],
		materials: ["a", "a", "a", "a"],
	};
	const scene = sceneOf({ ...GOOD, spheres: [], meshes: [{ file: "m.obj" }] });
	const files = new Map([["m.obj", mesh]]);
	const { triangles, dropped } = placeScene(scene, files, 1);
	assert.deepEqual([triangles, dropped], [1, 3]);
	const other = new Map([["m.obj", { ...mesh, materials: ["a", "?", "a", "a"] }]]);
	refuses("SCENE_FIELD", () => placeScene(scene, other, 1), /triangle 1/);
	const flat = new Map([["m.obj", { ...mesh, triangles: mesh.triangles.slice(1) }]]);
	refuses("SCENE_EMPTY", () => placeScene(scene, flat, 1));
});

/** Some bytes changed, cut, doubled or moved. */
function changedFile(good: Uint8Array, draw: (below: number) => number): Uint8Array {
	let file = Uint8Array.from(good);
	for (let n = draw(4); n >= 0; n--) {
		const at = draw(file.length);
		const kind = draw(6);
		if (kind === 0) file = file.slice(0, at);
		else if (kind === 1) file = Uint8Array.from([...file.subarray(0, at), ...file.subarray(draw(file.length))]);
		else if (kind === 2) file[at] = draw(256);
		else if (kind === 3) file[at] = 0x30 + draw(10);
		else if (kind === 4) file.copyWithin(at, draw(file.length), draw(file.length));
		else file[at] = '-.e[]{}",:/ \n'[draw(13)]!.charCodeAt(0);
		if (file.length === 0) return file;
	}
	return file;
}

test("changed files are read or refused, and never do anything else", async () => {
	const count = isDeep ? 100_000 : 2_000;
	const good = [
		bytes(OBJ),
		bytes(JSON.stringify(cubeGltf("inside").json)),
		cubeGlb(),
		bytes(
			JSON.stringify({
				...GOOD,
				meshes: [
					{
						polygons: [
							[
								[0, 0, 0],
								[1, 0, 0],
								[0, 1, 0],
							],
						],
						material: "a",
					},
				],
			}),
		),
	];
	const draw = numbersFrom(seed);
	let [read, refused] = [0, 0];
	for (let i = 0; i < count; i++) {
		const kind = i % 4;
		const file = changedFile(good[kind]!, draw);
		try {
			const mesh = kind === 0 ? readObj(file, "x.obj") : kind === 3 ? null : await readGltf(file, "x.glb", none);
			if (mesh === null) placeScene(readScene(file), new Map(), 1);
			else
				for (const triangle of mesh.triangles) assert.ok(triangle.every((corner) => mesh.points[corner] !== undefined));
			read += 1;
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			refused += 1;
		}
	}
	assert.ok(read > count / 100 && refused > count / 4, `${read} read, ${refused} refused`);
});
