// safetensors files, read and written: u64 length of the header, a JSON header {name: {dtype, shape, data_offsets}}, the bytes. Strict:
// tensors lie one after the other without gaps, sizes fit, floats are finite; anything else is refused. Not here: what a model means.
import { AssayError } from "../../protocol/assay-error.ts";
import { int, list, object, oneOf } from "../../protocol/bytes/shape.ts";
import { codes } from "../../protocol/codes.ts";

export interface FloatTensor {
	readonly name: string;
	readonly dims: readonly number[];
	readonly values: Float32Array;
}

const MOST_HEADER = 16 * 2 ** 20;
const MOST_TENSORS = 65_536;
const MOST_NAME = 256;
const BYTES = 4;
/** Plain names: what no terminal, path or page would obey. */
const NAME = /^[\w./-]+$/;
const entry = object({
	dtype: oneOf("F32"),
	shape: list(int(0, 2 ** 31 - 1), 8),
	data_offsets: list(int(), 2),
});

function wrong(name: string, why: string): AssayError {
	return new AssayError("WEIGHTS_FILE", `${name}: ${why}`, { hint: codes.WEIGHTS_FILE.hint });
}

function headerOf(
	bytes: Uint8Array,
	file: string,
): { readonly header: Record<string, unknown>; readonly body: number } {
	if (bytes.length < 8) throw wrong(file, "ends in the length of its header");
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const length = view.getBigUint64(0, true);
	if (length > MOST_HEADER) throw wrong(file, `has a header of more than ${MOST_HEADER} bytes`);
	const body = 8 + Number(length);
	if (body > bytes.length) throw wrong(file, "ends in its header");
	let header: unknown;
	try {
		header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, body)));
	} catch (cause) {
		throw new AssayError("WEIGHTS_FILE", `${file}: its header is no JSON`, { hint: codes.WEIGHTS_FILE.hint, cause });
	}
	if (typeof header !== "object" || header === null || Array.isArray(header))
		throw wrong(file, "its header is no object");
	return { header: header as Record<string, unknown>, body };
}

function readTensor(
	bytes: Uint8Array,
	[name, { shape, begin, end }]: readonly [string, { shape: readonly number[]; begin: number; end: number }],
	file: string,
): FloatTensor {
	const view = new DataView(bytes.buffer, bytes.byteOffset + begin, end - begin);
	const values = new Float32Array((end - begin) / BYTES);
	for (let i = 0; i < values.length; i++) {
		const value = view.getFloat32(BYTES * i, true);
		if (!Number.isFinite(value)) throw wrong(file, `element ${i} of ${name} is not a finite number`);
		values[i] = value;
	}
	return { name, dims: shape, values };
}

/** `file` is what messages call it. Tensors in the order of their bytes. */
export function readSafetensors(bytes: Uint8Array, file: string): FloatTensor[] {
	const { header, body } = headerOf(bytes, file);
	const names = Object.keys(header).filter((name) => name !== "__metadata__");
	if (names.length > MOST_TENSORS) throw wrong(file, `has more than ${MOST_TENSORS} tensors`);
	const places = names.map((name) => {
		if (!NAME.test(name) || name.length > MOST_NAME) throw wrong(file, "has a tensor whose name is not plain");
		const found = entry(header[name], name);
		if (found !== null) throw wrong(file, `${found.where} ${found.detail}`);
		const { shape, data_offsets } = header[name] as { shape: number[]; data_offsets: number[] };
		const [begin = -1, end = -1] = data_offsets;
		const size = shape.reduce((count, dim) => count * BigInt(dim), 1n) * BigInt(BYTES);
		if (begin < 0 || end < begin || BigInt(end - begin) !== size)
			throw wrong(file, `${name} does not lie where its shape says`);
		return [name, { shape, begin: begin + body, end: end + body }] as const;
	});
	places.sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
	let at = body;
	for (const [name, { begin, end }] of places) {
		if (begin !== at) throw wrong(file, `${name} does not begin where the tensor before it ends`);
		at = end;
	}
	if (at !== bytes.length) throw wrong(file, `has ${bytes.length} bytes where its header says ${at}`);
	return places.map((place) => readTensor(bytes, place, file));
}

export function writeSafetensors(tensors: readonly FloatTensor[]): Uint8Array {
	let at = 0;
	const header: Record<string, unknown> = {};
	for (const { name, dims, values } of tensors) {
		header[name] = { dtype: "F32", shape: dims, data_offsets: [at, at + BYTES * values.length] };
		at += BYTES * values.length;
	}
	const text = JSON.stringify(header);
	// Numbers begin at a multiple of 8, as other writers have it.
	const head = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
	const bytes = new Uint8Array(8 + head.length + at);
	const view = new DataView(bytes.buffer);
	view.setBigUint64(0, BigInt(head.length), true);
	bytes.set(head, 8);
	let place = 8 + head.length;
	for (const { values } of tensors)
		for (const value of values) {
			view.setFloat32(place, value, true);
			place += BYTES;
		}
	return bytes;
}
