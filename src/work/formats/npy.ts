// Array files of NumPy (.npy, version 1 to 3): whole numbers and floats, little-endian, C order. Strict: what
// a hostile header could say is refused. Not here: what the numbers mean.
import type { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { elementCount } from "../operators/tensor-type.ts";

export interface NumberArray {
	readonly dims: readonly number[];
	/** i8, u8, …, f32, f64. */
	readonly type: NpyType;
	readonly values: Iterable<number | bigint> & { readonly length: number; readonly [i: number]: number | bigint };
}

const TYPES = {
	"|i1": "i8",
	"|u1": "u8",
	"<i2": "i16",
	"<u2": "u16",
	"<i4": "i32",
	"<u4": "u32",
	"<i8": "i64",
	"<f4": "f32",
	"<f8": "f64",
} as const;
type NpyType = (typeof TYPES)[keyof typeof TYPES];
const BYTES: Readonly<Record<NpyType, number>> = {
	i8: 1,
	u8: 1,
	i16: 2,
	u16: 2,
	i32: 4,
	u32: 4,
	i64: 8,
	f32: 4,
	f64: 8,
};
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const MOST_HEADER = 4096;
const MOST_ELEMENTS = 2 ** 31;
const HEADER =
	/^\{'descr': '([<|][iuf][1248])', 'fortran_order': False, 'shape': \(((?:\d{1,10}(?:, \d{1,10})*)?,?)\), \} *\n?$/;

function wrong(name: string, why: string): AssayError {
	return codedError("DATA_FORMAT", `${name}: ${why}`);
}

function valuesOf(bytes: Uint8Array, type: NpyType, count: number): NumberArray["values"] {
	// Pictures: as doubles they would take eight times as much.
	if (type === "u8") return bytes.slice();
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const read = {
		i8: (i: number) => view.getInt8(i),
		i16: (i: number) => view.getInt16(2 * i, true),
		u16: (i: number) => view.getUint16(2 * i, true),
		i32: (i: number) => view.getInt32(4 * i, true),
		u32: (i: number) => view.getUint32(4 * i, true),
		f32: (i: number) => view.getFloat32(4 * i, true),
		f64: (i: number) => view.getFloat64(8 * i, true),
	};
	if (type === "i64") {
		const values = new BigInt64Array(count);
		for (let i = 0; i < count; i++) values[i] = view.getBigInt64(8 * i, true);
		return values;
	}
	const values = new Float64Array(count);
	for (let i = 0; i < count; i++) values[i] = read[type](i);
	return values;
}

/** `name` is what messages call the file. NaN and infinity are refused. */
export function readNpy(bytes: Uint8Array, name: string): NumberArray {
	if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw wrong(name, "is no .npy file");
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const isLong = bytes[6] === 2 || bytes[6] === 3;
	if ((bytes[6] !== 1 && !isLong) || bytes[7] !== 0) throw wrong(name, "has a version of .npy that is not read");
	const start = isLong ? 12 : 10;
	if (bytes.length < start) throw wrong(name, "ends in its header");
	const length = isLong ? view.getUint32(8, true) : view.getUint16(8, true);
	if (length > MOST_HEADER) throw wrong(name, `has a header of more than ${MOST_HEADER} bytes`);
	if (bytes.length < start + length) throw wrong(name, "ends in its header");
	const [, descr = "", shape = ""] = HEADER.exec(String.fromCharCode(...bytes.subarray(start, start + length))) ?? [];
	const type = TYPES[descr as keyof typeof TYPES];
	if (type === undefined) throw wrong(name, "must hold little-endian numbers in C order");
	const dims = shape
		.split(",")
		.filter((part) => part.trim() !== "")
		.map(Number);
	const count = elementCount(dims);
	if (count > MOST_ELEMENTS) throw wrong(name, `has more than ${MOST_ELEMENTS} elements`);
	const body = bytes.subarray(start + length);
	if (body.length !== count * BYTES[type])
		throw wrong(name, `has ${body.length} bytes of numbers where its header says ${count * BYTES[type]}`);
	const values = valuesOf(body, type, count);
	if (type === "f32" || type === "f64")
		for (let i = 0; i < count; i++)
			if (!Number.isFinite(values[i])) throw wrong(name, `element ${i} is not a finite number`);
	return { dims, type, values };
}
