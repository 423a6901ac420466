// Triangles of glTF 2.0 files: .gltf with buffers inside (base64) or beside it, and .glb. Nodes with their
// transforms, indexed and plain triangles, strips and fans refused, as is what changes geometry (sparse
// numbers, skins, morphs, required extensions). Names of materials are kept. Every number of the file is
// checked: a hostile one is refused with the place that is wrong.

import { readU32 } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { compose, IDENTITY, type Mesh, moved, type Transform } from "../mesh.ts";
import { MOST_TRIANGLES } from "../numbers.ts";
import { textOf, type Vector } from "../read-scene.ts";
import { type Accessors, accessorsOf, MOST_POINTS } from "./accessors.ts";
import { type Gltf, gltfShape } from "./shapes.ts";

const MAGIC = 0x46546c67;
const JSON_CHUNK = 0x4e4f534a;
const BIN_CHUNK = 0x004e4942;
const TRIANGLES = 4;
const MOST_NODES = 65_536;

type Wrong = (why: string) => Error;

/** JSON and the first binary piece of a .glb; of a .gltf, the JSON alone. */
function piecesOf(bytes: Uint8Array, wrong: Wrong): { json: Uint8Array; binary: Uint8Array | null } {
	if (bytes.length < 12 || readU32(bytes, 0) !== MAGIC) return { json: bytes, binary: null };
	if (readU32(bytes, 4) !== 2) throw wrong("is not of version 2");
	if (readU32(bytes, 8) !== bytes.length) throw wrong("has another length than it says");
	const chunks: [kind: number, body: Uint8Array][] = [];
	for (let at = 12; at < bytes.length; ) {
		if (bytes.length - at < 8) throw wrong("ends in a chunk's head");
		const [length, kind] = [readU32(bytes, at), readU32(bytes, at + 4)];
		if (length > bytes.length - at - 8) throw wrong("ends in a chunk");
		chunks.push([kind, bytes.subarray(at + 8, at + 8 + length)]);
		at += 8 + length;
	}
	if (chunks[0]?.[0] !== JSON_CHUNK) throw wrong("does not begin with JSON");
	return { json: chunks[0][1], binary: chunks[1]?.[0] === BIN_CHUNK ? chunks[1][1] : null };
}

function jsonOf(bytes: Uint8Array, wrong: Wrong): Gltf {
	const text = textOf(bytes, "the JSON");
	let json: unknown;
	try {
		json = JSON.parse(text ?? "");
	} catch {
		throw wrong("is no JSON");
	}
	const found = gltfShape(json, "");
	if (found !== null) throw wrong(`${found.where === "" ? "the file" : found.where} ${found.detail}`);
	const gltf = json as Gltf;
	if (!/^2\.\d+$/.test(gltf.asset.version)) throw wrong("is not of version 2");
	if ((gltf.extensionsRequired ?? []).length > 0) throw wrong("needs an extension; none is read");
	return gltf;
}

/** Columns of four to rows of four, or a quaternion's turn between scale and translation. */
function transformOf({
	matrix,
	translation = [0, 0, 0],
	rotation = [0, 0, 0, 1],
	scale = [1, 1, 1],
}: NonNullable<Gltf["nodes"]>[number]): Transform {
	if (matrix !== undefined) return [0, 1, 2].flatMap((row) => [0, 1, 2, 3].map((column) => matrix[column * 4 + row]!));
	const [x, y, z, w] = rotation as readonly [number, number, number, number];
	const turn = [
		[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
		[2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
		[2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
	];
	return turn.flatMap((row, i) => [...row.map((one, axis) => one * scale[axis]!), translation[i]!]);
}

function primitive(gltf: Gltf, mesh: number, i: number, accessors: Accessors, wrong: Wrong): Mesh {
	const where = `meshes[${mesh}].primitives[${i}]`;
	const { attributes, indices, material, mode = TRIANGLES, targets } = gltf.meshes![mesh]!.primitives[i]!;
	if (mode !== TRIANGLES) throw wrong(`${where} is no list of triangles`);
	if ((targets ?? []).length > 0) throw wrong(`${where} has morph targets`);
	if (attributes.POSITION === undefined) throw wrong(`${where} has no POSITION`);
	const points = accessors.positions(attributes.POSITION);
	const corners = indices === undefined ? points.map((_, n) => n) : accessors.indices(indices);
	if (corners.length % 3 !== 0) throw wrong(`${where} ends in the middle of a triangle`);
	const hole = corners.findIndex((corner) => corner >= points.length);
	if (hole >= 0) throw wrong(`${where} names point ${corners[hole]} of ${points.length}`);
	const name = material === undefined ? null : gltf.materials?.[material]?.name;
	if (name === undefined && material !== undefined && gltf.materials?.[material] === undefined)
		throw wrong(`${where}.material is not there`);
	const triangles = Array.from(
		{ length: corners.length / 3 },
		(_, n) => [corners[3 * n]!, corners[3 * n + 1]!, corners[3 * n + 2]!] as const,
	);
	return { points, triangles, materials: triangles.map(() => name ?? null) };
}

function joined(meshes: readonly Mesh[]): Mesh {
	const points: Vector[] = [];
	const triangles: [number, number, number][] = [];
	const materials: (string | null)[] = [];
	for (const mesh of meshes) {
		const first = points.length;
		for (const point of mesh.points) points.push(point);
		for (const [a, b, c] of mesh.triangles) triangles.push([a + first, b + first, c + first]);
		for (const name of mesh.materials) materials.push(name);
	}
	return { points, triangles, materials };
}

/**
 * Nodes that are drawn, each with its transform in the scene. A node has one parent at most, so no path comes
 * round.
 */
function* placedNodes(gltf: Gltf, wrong: Wrong): Generator<{ mesh: number; transform: Transform }> {
	const nodes = gltf.nodes ?? [];
	const scene = gltf.scenes?.[gltf.scene ?? 0];
	if (gltf.scenes !== undefined && scene === undefined) throw wrong("scene is not there");
	const isChild = new Set(nodes.flatMap(({ children = [] }) => children));
	const roots = scene?.nodes ?? nodes.map((_, i) => i).filter((i) => !isChild.has(i));
	const open = roots.map((node) => ({ node, parent: IDENTITY })).reverse();
	const seen = new Set<number>();
	while (open.length > 0) {
		const { node, parent } = open.pop()!;
		const found = nodes[node];
		if (found === undefined) throw wrong(`node ${node} is not there`);
		if (seen.has(node)) throw wrong(`node ${node} has two parents, or is its own`);
		seen.add(node);
		if (found.skin !== undefined) throw wrong(`nodes[${node}] has a skin`);
		const transform = compose(parent, transformOf(found));
		if (found.mesh !== undefined) {
			if (gltf.meshes?.[found.mesh] === undefined) throw wrong(`nodes[${node}].mesh is not there`);
			yield { mesh: found.mesh, transform };
		}
		for (const child of [...(found.children ?? [])].reverse()) open.push({ node: child, parent: transform });
	}
}

/** `name` is what messages call the file; `file` gives a buffer that lies beside it. */
export async function readGltf(
	bytes: Uint8Array,
	name: string,
	file: (name: string) => Promise<Uint8Array>,
): Promise<Mesh> {
	const wrong: Wrong = (why) => codedError("MESH_FORMAT", `${name}: ${why}`);
	const { json, binary } = piecesOf(bytes, wrong);
	const gltf = jsonOf(json, wrong);
	if ((gltf.nodes ?? []).length > MOST_NODES) throw wrong(`has more than ${MOST_NODES} nodes`);
	const accessors = await accessorsOf(gltf, binary, file, wrong);
	const parts: Mesh[] = [];
	let [count, points] = [0, 0];
	for (const { mesh, transform } of placedNodes(gltf, wrong))
		for (const i of gltf.meshes![mesh]!.primitives.keys()) {
			const part = moved(primitive(gltf, mesh, i, accessors, wrong), transform);
			count += part.triangles.length;
			// A mesh that many nodes show is read for each: few triangles may stand on many points.
			points += part.points.length;
			if (count > MOST_TRIANGLES || points > MOST_POINTS)
				throw codedError("SCENE_SIZE", `${name} has more than ${MOST_TRIANGLES} triangles or ${MOST_POINTS} points`);
			parts.push(part);
		}
	if (count === 0) throw wrong("has no triangles");
	return joined(parts);
}
