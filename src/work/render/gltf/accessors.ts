// Numbers of a glTF file: buffers, views into them, and accessors that say what lies there. Every place is
// checked to be inside its buffer.
import { codedError } from "../../../protocol/coded-error.ts";
import type { Vector } from "../read-scene.ts";
import type { Gltf } from "./shapes.ts";

export interface Accessors {
	positions(accessor: number): Vector[];
	indices(accessor: number): number[];
}

type Wrong = (why: string) => Error;

const FLOAT = 5126;
/** Unsigned whole numbers by glTF's codes. */
const BYTES: Readonly<Record<number, number>> = { 5121: 1, 5123: 2, 5125: 4 };
export const MOST_POINTS = 2 ** 22;
const MOST_INDICES = 2 ** 24;
const FAR = 1e9;
const BASE64 = /^data:[^,]{0,128};base64,/;

function decoded(uri: string, where: string, wrong: Wrong): Uint8Array {
	try {
		const text = atob(uri.slice(uri.indexOf(",") + 1));
		return Uint8Array.from(text, (char) => char.charCodeAt(0));
	} catch {
		throw wrong(`${where} is no base64`);
	}
}

async function bufferOf(
	{ uri, byteLength }: NonNullable<Gltf["buffers"]>[number],
	i: number,
	binary: Uint8Array | null,
	file: (name: string) => Promise<Uint8Array>,
	wrong: Wrong,
): Promise<Uint8Array> {
	const where = `buffers[${i}]`;
	let bytes: Uint8Array;
	if (uri === undefined) {
		if (i !== 0 || binary === null) throw wrong(`${where} has no bytes`);
		bytes = binary;
	} else if (uri.startsWith("data:")) {
		if (!BASE64.test(uri)) throw wrong(`${where}.uri is no base64`);
		bytes = decoded(uri, where, wrong);
	} else {
		// A file beside this one and nothing else: no address, no way up.
		if (!/^[A-Za-z0-9_][A-Za-z0-9_. -]{0,127}$/.test(uri))
			throw wrong(`${where}.uri must be the name of a file beside it`);
		bytes = await file(uri);
	}
	if (bytes.length < byteLength) throw wrong(`${where} has ${bytes.length} of ${byteLength} bytes`);
	return bytes.subarray(0, byteLength);
}

interface Numbers {
	readonly view: DataView;
	readonly stride: number;
	readonly count: number;
	readonly componentType: number;
}

/** Where the numbers of an accessor lie; `width`: bytes of one item. */
function numbersOf(
	gltf: Gltf,
	buffers: readonly Uint8Array[],
	number: number,
	type: string,
	most: number,
	wrong: Wrong,
	bytesOf: (code: number) => number | undefined,
): Numbers {
	const where = `accessors[${number}]`;
	const accessor = gltf.accessors?.[number];
	if (accessor === undefined) throw wrong(`${where} is not there`);
	const { bufferView, byteOffset = 0, count, componentType } = accessor;
	if (accessor.sparse !== undefined || bufferView === undefined) throw wrong(`${where} is sparse`);
	if (count > most) throw codedError("SCENE_SIZE", `${where} has ${count} items; ${most} are read`);
	const width = bytesOf(componentType);
	if (accessor.type !== type || width === undefined) throw wrong(`${where} is not of a type that belongs there`);
	const from = gltf.bufferViews?.[bufferView];
	const buffer = from && buffers[from.buffer];
	if (buffer === undefined) throw wrong(`bufferViews[${bufferView}] or its buffer is not there`);
	const { byteOffset: start = 0, byteLength, byteStride: stride = width } = from!;
	if (start + byteLength > buffer.length) throw wrong(`bufferViews[${bufferView}] reaches over its buffer`);
	if (stride < width || byteOffset + stride * (count - 1) + width > byteLength)
		throw wrong(`${where} reaches over its bufferView`);
	const first = buffer.byteOffset + start + byteOffset;
	return { view: new DataView(buffer.buffer, first, stride * (count - 1) + width), stride, count, componentType };
}

export async function accessorsOf(
	gltf: Gltf,
	binary: Uint8Array | null,
	file: (name: string) => Promise<Uint8Array>,
	wrong: Wrong,
): Promise<Accessors> {
	const buffers: Uint8Array[] = [];
	for (const [i, buffer] of (gltf.buffers ?? []).entries())
		buffers.push(await bufferOf(buffer, i, binary, file, wrong));
	return {
		positions(accessor) {
			const { view, stride, count } = numbersOf(gltf, buffers, accessor, "VEC3", MOST_POINTS, wrong, (code) =>
				code === FLOAT ? 12 : undefined,
			);
			return Array.from({ length: count }, (_, i) => {
				const point = [0, 4, 8].map((at) => view.getFloat32(i * stride + at, true));
				if (point.some((one) => !(Math.abs(one) <= FAR))) throw wrong(`accessors[${accessor}] item ${i} is no point`);
				return point as unknown as Vector;
			});
		},
		indices(accessor) {
			const { view, stride, count, componentType } = numbersOf(
				gltf,
				buffers,
				accessor,
				"SCALAR",
				MOST_INDICES,
				wrong,
				(code) => BYTES[code],
			);
			return Array.from({ length: count }, (_, i) => {
				const at = i * stride;
				if (componentType === 5121) return view.getUint8(at);
				return componentType === 5123 ? view.getUint16(at, true) : view.getUint32(at, true);
			});
		},
	};
}
