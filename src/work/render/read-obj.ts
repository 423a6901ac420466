// Meshes in OBJ files: corners (`v`), faces of any number of corners (`f`, cut into a fan), names of
// materials (`usemtl`). All else, such as texture places and normals, is passed over. Strict about what it
// reads: a hostile file is refused, with its line.
import { codedError } from "../../protocol/coded-error.ts";
import type { Mesh } from "./mesh.ts";
import { MOST_TRIANGLES } from "./numbers.ts";
import { textOf, type Vector } from "./read-scene.ts";

const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?$/;
/** A corner of a face: its point, then texture and normal, which are not used. */
const CORNER = /^(-?\d{1,9})(?:\/(?:-?\d{1,9})?(?:\/(?:-?\d{1,9})?)?)?$/;
const MOST_CORNERS = 2 ** 22;
const MOST_SIDES = 1024;
const FAR = 1e9;

function pointOf(words: readonly string[], where: string): Vector {
	const numbers = words.slice(1, 4).map((word) => (NUMBER.test(word) ? Number(word) : Number.NaN));
	if (numbers.length < 3 || numbers.some((one) => !(Math.abs(one) <= FAR)))
		throw codedError("MESH_FORMAT", `${where}: a corner must be three numbers`);
	return numbers as unknown as Vector;
}

/**
 * Places of a face's corners among the points, from 0. Negative ones count back from the last point so far.
 */
function placesOf(words: readonly string[], points: number, where: string): number[] {
	if (words.length < 4 || words.length > MOST_SIDES + 1)
		throw codedError("MESH_FORMAT", `${where}: a face must have 3 to ${MOST_SIDES} corners`);
	return words.slice(1).map((word) => {
		const number = Number(CORNER.exec(word)?.[1] ?? Number.NaN);
		if (!Number.isInteger(number) || number === 0)
			throw codedError("MESH_FORMAT", `${where}: a corner of a face must be the number of a point, from 1 on`);
		const place = number > 0 ? number - 1 : points + number;
		if (place < 0) throw codedError("MESH_FORMAT", `${where}: a face names a point before the first`);
		return place;
	});
}

/** `name` is what messages call the file. */
export function readObj(bytes: Uint8Array, name: string): Mesh {
	const source = textOf(bytes, name);
	if (source === null) throw codedError("MESH_FORMAT", `${name} is no text`);
	const points: Vector[] = [];
	const triangles: [number, number, number][] = [];
	const materials: (string | null)[] = [];
	const places: [place: number, line: number][] = [];
	let material: string | null = null;
	for (const [i, line] of source.split(/\r\n|[\r\n]/).entries()) {
		const words = line.trim().split(/[ \t]+/);
		const where = `${name} line ${i + 1}`;
		if (line.endsWith("\\")) throw codedError("MESH_FORMAT", `${where}: lines that go on are not read`);
		if (words[0] === "v") points.push(pointOf(words, where));
		else if (words[0] === "usemtl") material = words[1] ?? null;
		else if (words[0] === "f") {
			const corners = placesOf(words, points.length, where);
			for (let n = 2; n < corners.length; n++) {
				triangles.push([corners[0]!, corners[n - 1]!, corners[n]!]);
				materials.push(material);
			}
			places.push([Math.max(...corners), i + 1]);
		}
		if (points.length > MOST_CORNERS || triangles.length > MOST_TRIANGLES)
			throw codedError("SCENE_SIZE", `${name} has more than ${MOST_TRIANGLES} triangles or ${MOST_CORNERS} points`);
	}
	const hole = places.find(([place]) => place >= points.length);
	if (hole !== undefined)
		throw codedError("MESH_FORMAT", `${name} line ${hole[1]}: a face names point ${hole[0] + 1} of ${points.length}`);
	if (triangles.length === 0) throw codedError("MESH_FORMAT", `${name} has no faces`);
	return { points, triangles, materials };
}
