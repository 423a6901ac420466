// The mesh files of a scene: which reader a name asks for, and where the file lies.
import { codedError } from "../../protocol/coded-error.ts";
import type { Files } from "../workloads/workload.ts";
import { readGltf } from "./gltf/read-gltf.ts";
import type { Mesh } from "./mesh.ts";
import { readObj } from "./read-obj.ts";
import type { Scene } from "./read-scene.ts";

/** `name` as seen from `from`, a file in the same folder or above. */
const beside = (from: string, name: string): string =>
	name.startsWith("/") || !from.includes("/") ? name : `${from.slice(0, from.lastIndexOf("/"))}/${name}`;

/** By the names that the scene has for them; `path`: of the scene. */
export async function readMeshes(scene: Scene, path: string, files: Files): Promise<Map<string, Mesh>> {
	const meshes = new Map<string, Mesh>();
	for (const { file } of scene.meshes) {
		if (file === null || meshes.has(file)) continue;
		const where = beside(path, file);
		if (/\.obj$/i.test(file)) meshes.set(file, readObj(await files(where), file));
		else if (/\.(gltf|glb)$/i.test(file))
			meshes.set(file, await readGltf(await files(where), file, async (name) => await files(beside(where, name))));
		else throw codedError("MESH_FORMAT", `${file} is no .obj, .gltf or .glb`);
	}
	return meshes;
}
