// Render jobs: what a job file may say, where files are looked for, what is refused, what comes home.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { ONE } from "../../render/numbers.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const JOB = { workload: "render", scene: "scenes/a.json", size: [6, 4], passes: 8, seed: `0x${"01".repeat(32)}` };
const SCENE = {
	camera: { position: [0, 0, 5], target: [0, 0, 0] },
	background: { below: [1, 1, 1], above: [1, 1, 1] },
	materials: { a: { kind: "diffuse" } },
	meshes: [{ file: "parts/m.obj", material: "a" }],
};
const OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 1 2\n";

const build = (job: object, scene: object = SCENE, asked: string[] = []) =>
	buildWorkload(readJob({ ...JOB, ...job }), (name) => {
		asked.push(name);
		return new TextEncoder().encode(name.endsWith(".obj") ? OBJ : JSON.stringify(scene));
	});
const refused = (code: string, words: RegExp, work: () => Promise<unknown>) =>
	assert.rejects(
		async () => work(),
		(error) => error instanceof AssayError && error.code === code && words.test(error.message),
		String(words),
	);

test("a job names its scene, the scene its meshes, each relative to the file that names it", async () => {
	const asked: string[] = [];
	const work = await build({ passesPerSegment: 4 }, SCENE, asked);
	assert.deepEqual(asked, ["scenes/a.json", "scenes/parts/m.obj"]);
	assert.deepEqual([work.segments, work.program.k], [2, 4]);
	assert.deepEqual(
		work.files.map(({ name, isPreview }) => [name, isPreview]),
		[
			["picture.png", true],
			["picture.hdr", false],
		],
	);
	assert.match(work.notes![0]!, /^1 triangles or spheres/);
	assert.deepEqual(
		work.metrics.map(({ label, read }) => [label, read(BigInt64Array.of(BigInt(3 * 24 * ONE)))]),
		[["light", 1]],
	);
});

test("jobs of another shape are refused", async () => {
	for (const [change, words] of [
		[{ size: [6] }, /size must be width and height/],
		[{ size: [6, 4, 2] }, /size must have at most 2/],
		[{ size: [16_385, 1] }, /size\[0\]/],
		[{ size: [16_384, 16_384] }, /size must be at most 16777216 pixels/],
		[{ size: [0, 4] }, /size\[0\]/],
		[{ size: [2.5, 4] }, /size\[0\]/],
		[{ passes: 0 }, /passes/],
		[{ passesPerSegment: 3 }, /passesPerSegment must divide/],
		[{ bounces: 33 }, /bounces/],
		[{ scene: undefined }, /scene/],
		[{ samples: 3 }, /does not belong/],
	] as const)
		await refused("JOB_FIELD", words, () => build(change));
	const file = (name: string) => ({ ...SCENE, meshes: [{ file: name, material: "a" }] });
	await refused("MESH_FORMAT", /no .obj/, () => build({}, file("m.stl")));
	await refused("SCENE_DARK", /no light/, () => build({}, { ...SCENE, background: undefined }));
});
