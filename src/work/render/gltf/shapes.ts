// The fields of a glTF file that are read. Unlike our own files a glTF file may hold any others: those are
// passed over.
import { int, list, type Shape, type Typed } from "../../../protocol/bytes/shape.ts";
import { real } from "../../workloads/job-fields.ts";

type Fields = Readonly<Record<string, Shape>>;
type Known<Must extends Fields, May extends Fields> = { readonly [K in keyof Must]: Typed<Must[K]> } & {
	readonly [K in keyof May]?: Typed<May[K]>;
};

/** An object with these fields, some of which may be missing, and any others. */
function some<Must extends Fields, May extends Fields>(must: Must, may: May): Shape<Known<Must, May>> {
	return (value, where) => {
		if (typeof value !== "object" || value === null || Array.isArray(value))
			return { where, detail: "must be an object" };
		const held = value as Readonly<Record<string, unknown>>;
		const inside = (name: string) => (where === "" ? name : `${where}.${name}`);
		for (const [name, shape] of Object.entries(must)) {
			const found = Object.hasOwn(held, name)
				? shape(held[name], inside(name))
				: { where: inside(name), detail: "is missing" };
			if (found !== null) return found;
		}
		for (const [name, shape] of Object.entries(may)) {
			const found = Object.hasOwn(held, name) ? shape(held[name], inside(name)) : null;
			if (found !== null) return found;
		}
		return null;
	};
}

const MOST = 65_536;
const FAR = 1e9;
const index = int(0, 2 ** 31 - 1);
const size = int(0, 2 ** 31 - 1);
/** Names come to the eye only when they fit one of the scene's own. */
const anyText: Shape<string> = (value, where) => (typeof value === "string" ? null : { where, detail: "must be text" });
const numbers =
	(count: number): Shape<readonly number[]> =>
	(value, where) =>
		Array.isArray(value) && value.length === count
			? list(real(-FAR, FAR), count)(value, where)
			: { where, detail: `must be ${count} numbers` };

const primitive = some(
	{ attributes: some({}, { POSITION: index }) },
	{ indices: index, material: index, mode: int(0, 6), targets: list((() => null) as Shape, MOST) },
);

const accessor = some(
	{ componentType: int(0, 65_535), count: int(1, 2 ** 31 - 1), type: anyText },
	{ bufferView: index, byteOffset: size, sparse: (() => null) as Shape, normalized: (() => null) as Shape<boolean> },
);

const node = some(
	{},
	{
		children: list(index, MOST),
		mesh: index,
		skin: index,
		matrix: numbers(16),
		translation: numbers(3),
		rotation: numbers(4),
		scale: numbers(3),
	},
);

export const gltfShape = some(
	{ asset: some({ version: anyText }, {}) },
	{
		extensionsRequired: list(anyText, MOST),
		scene: index,
		scenes: list(some({}, { nodes: list(index, MOST) }), MOST),
		nodes: list(node, MOST),
		meshes: list(some({ primitives: list(primitive, MOST) }, {}), MOST),
		materials: list(some({}, { name: anyText }), MOST),
		accessors: list(accessor, MOST),
		bufferViews: list(some({ buffer: index, byteLength: size }, { byteOffset: size, byteStride: int(4, 252) }), MOST),
		buffers: list(some({ byteLength: size }, { uri: anyText }), 64),
	},
);

export type Gltf = Typed<typeof gltfShape>;
