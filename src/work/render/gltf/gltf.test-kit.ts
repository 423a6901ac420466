// A cube as glTF, for tests and samples: two nodes, one inside the other, indexed corners; as JSON with its
// buffer inside or beside, and as .glb.
const FACES = [
	[0, 4, 6, 2],
	[1, 3, 7, 5],
	[0, 1, 5, 4],
	[2, 6, 7, 3],
	[0, 2, 3, 1],
	[4, 5, 7, 6],
];
const INDICES = 36 * 2;
const POINTS = 8 * 12;

function cubeBuffer(): Uint8Array {
	const bytes = new Uint8Array(INDICES + POINTS);
	const view = new DataView(bytes.buffer);
	const corners = FACES.flatMap(([a, b, c, d]) => [a!, b!, c!, a!, c!, d!]);
	for (const [i, corner] of corners.entries()) view.setUint16(2 * i, corner, true);
	for (let n = 0; n < 8; n++)
		for (let axis = 0; axis < 3; axis++) view.setFloat32(INDICES + 12 * n + 4 * axis, ((n >> axis) & 1) * 2 - 1, true);
	return bytes;
}

function cubeJson(uri: string | undefined) {
	const half = Math.SQRT1_2;
	return {
		asset: { version: "2.0" },
		scene: 0,
		scenes: [{ nodes: [0] }],
		nodes: [
			{ mesh: 0, scale: [2, 2, 2], translation: [0, 1, 0], children: [1] },
			{ mesh: 0, translation: [3, 0, 0], rotation: [0, half, 0, half] },
		],
		meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1, material: 0 }] }],
		materials: [{ name: "crate" }],
		accessors: [
			{ bufferView: 1, componentType: 5126, count: 8, type: "VEC3", min: [-1, -1, -1], max: [1, 1, 1] },
			{ bufferView: 0, componentType: 5123, count: 36, type: "SCALAR" },
		],
		bufferViews: [
			{ buffer: 0, byteOffset: 0, byteLength: INDICES },
			{ buffer: 0, byteOffset: INDICES, byteLength: POINTS },
		],
		buffers: [{ byteLength: INDICES + POINTS, ...(uri === undefined ? {} : { uri }) }],
	};
}

export function cubeGltf(where: "inside" | "beside"): { json: ReturnType<typeof cubeJson>; buffer: Uint8Array } {
	const buffer = cubeBuffer();
	const inside = `data:application/octet-stream;base64,${btoa(String.fromCharCode(...buffer))}`;
	return { json: cubeJson(where === "inside" ? inside : "cube.bin"), buffer };
}

export function cubeGlb(): Uint8Array {
	const json = new TextEncoder().encode(JSON.stringify(cubeJson(undefined)));
	const [text, binary] = [Math.ceil(json.length / 4) * 4, INDICES + POINTS];
	const bytes = new Uint8Array(12 + 8 + text + 8 + binary).fill(0x20);
	const view = new DataView(bytes.buffer);
	const words = [0x46546c67, 2, bytes.length, text, 0x4e4f534a];
	for (const [i, word] of words.entries()) view.setUint32(4 * i, word, true);
	bytes.set(json, 20);
	view.setUint32(20 + text, binary, true);
	view.setUint32(24 + text, 0x004e4942, true);
	bytes.set(cubeBuffer(), 28 + text);
	return bytes;
}
