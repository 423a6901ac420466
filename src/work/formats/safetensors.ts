// safetensors files, read and written: u64 length of the header, a JSON header {name: {dtype, shape,
// data_offsets}}, the bytes. Strict: tensors lie one after the other without gaps, sizes fit, floats are
// finite; anything else is refused. The header is read at once, numbers when they are asked for: a file of
// gigabytes is never held twice. Not here: what a model means.
import type { AssayError } from "../../protocol/assay-error.ts";
import { hasDoubleKeys } from "../../protocol/bytes/double-keys.ts";
import { int, list, object, oneOf } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { bfloatBytes, NUMBER_BITS, NUMBER_TYPES, type NumberType, numbersOf, READ_TYPES } from "./number-types.ts";

export interface FloatTensor {
	readonly name: string;
	readonly dims: readonly number[];
	readonly values: Float32Array;
}

/** A file that is read in parts; `name` is what messages call it. */
export interface PartFile {
	readonly name: string;
	readonly size: number;
	/** Exactly the bytes from `begin` up to `end`. */
	read(begin: number, end: number): Uint8Array;
}

export const heldFile = (name: string, bytes: Uint8Array): PartFile => ({
	name,
	size: bytes.length,
	read: (begin, end) => bytes.subarray(begin, end),
});

export interface TensorEntry {
	readonly name: string;
	readonly type: NumberType;
	readonly dims: readonly number[];
	/** Bytes in the file. */
	readonly begin: number;
	readonly end: number;
}

export interface SafetensorsFile {
	/** What messages call it. */
	readonly name: string;
	/** In the order of their bytes. */
	readonly entries: readonly TensorEntry[];
	/** Reads an entry's numbers; refuses a type that is not read, NaN and infinities. */
	values(entry: TensorEntry): Float32Array;
	/** The same, as they lie in the file. */
	bytes(entry: TensorEntry): Uint8Array;
}

const MOST_HEADER = 16 * 2 ** 20;
const MOST_TENSORS = 65_536;
const MOST_NAME = 256;
/** Plain names: what no terminal, path or page would obey. */
const NAME = /^[\w./-]+$/;
const entryShape = object({
	dtype: oneOf(...NUMBER_TYPES),
	shape: list(int(0, 2 ** 31 - 1), 8),
	data_offsets: list(int(), 2),
});

type Code = "WEIGHTS_FILE" | "WEIGHTS_LAYOUT" | "WEIGHTS_TYPE" | "WEIGHTS_NUMBER";

function wrong(file: string, why: string, code: Code = "WEIGHTS_FILE", cause?: unknown): AssayError {
	return codedError(code, `${file}: ${why}`, { cause });
}

function headerOf(file: PartFile): { readonly header: ReadonlyMap<string, unknown>; readonly body: number } {
	const { name, size } = file;
	if (size < 8) throw wrong(name, "ends in the length of its header");
	const head = file.read(0, 8);
	const length = new DataView(head.buffer, head.byteOffset, 8).getBigUint64(0, true);
	if (length > MOST_HEADER) throw wrong(name, `has a header of more than ${MOST_HEADER} bytes`);
	const body = 8 + Number(length);
	if (body > size) throw wrong(name, "ends in its header");
	let header: unknown;
	let text: string;
	try {
		text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(file.read(8, body));
		header = JSON.parse(text);
	} catch (cause) {
		throw wrong(name, "its header is no JSON", "WEIGHTS_FILE", cause);
	}
	if (typeof header !== "object" || header === null || Array.isArray(header))
		throw wrong(name, "its header is no object");
	if (hasDoubleKeys(text, header)) throw wrong(name, "its header names something twice");
	return { header: new Map(Object.entries(header)), body };
}

function entryOf(file: string, name: string, value: unknown, body: number): TensorEntry {
	if (!NAME.test(name) || name.length > MOST_NAME) throw wrong(file, "has a tensor whose name is not plain");
	const found = entryShape(value, name);
	if (found !== null)
		throw wrong(file, `${found.where} ${found.detail}`, found.where === `${name}.dtype` ? "WEIGHTS_TYPE" : undefined);
	const { shape, dtype, data_offsets } = value as { shape: number[]; dtype: NumberType; data_offsets: number[] };
	const [begin = -1, end = -1] = data_offsets;
	const bits = shape.reduce((count, dim) => count * BigInt(dim), BigInt(NUMBER_BITS[dtype]));
	if (begin < 0 || end < begin || BigInt(end - begin) * 8n !== bits)
		throw wrong(file, `${name} has other bytes than its shape and type say`, "WEIGHTS_LAYOUT");
	return { name, type: dtype, dims: shape, begin: begin + body, end: end + body };
}

/** Reads and checks the header. */
export function openSafetensors(file: PartFile): SafetensorsFile {
	const { header, body } = headerOf(file);
	if (header.size > MOST_TENSORS) throw wrong(file.name, `has more than ${MOST_TENSORS} tensors`);
	const entries = [...header]
		.filter(([name]) => name !== "__metadata__")
		.map(([name, value]) => entryOf(file.name, name, value, body));
	entries.sort((a, b) => a.begin - b.begin || a.end - b.end);
	let at = body;
	for (const { name, begin, end } of entries) {
		if (begin !== at)
			throw wrong(file.name, `${name} does not begin where the tensor before it ends`, "WEIGHTS_LAYOUT");
		at = end;
	}
	if (at !== file.size) throw wrong(file.name, `has ${file.size} bytes where its header says ${at}`, "WEIGHTS_LAYOUT");
	const bytes = ({ begin, end }: TensorEntry): Uint8Array => file.read(begin, end);
	const values = (entry: TensorEntry): Float32Array => {
		const numbers = numbersOf(entry.type, bytes(entry));
		if (numbers === null)
			throw wrong(file.name, `${entry.name} is ${entry.type}; read are ${READ_TYPES.join(", ")}`, "WEIGHTS_TYPE");
		for (let i = 0; i < numbers.length; i++)
			if (!Number.isFinite(numbers[i]))
				throw wrong(file.name, `element ${i} of ${entry.name} is not a finite float32`, "WEIGHTS_NUMBER");
		return numbers;
	};
	return { name: file.name, entries, values, bytes };
}

/** All of a small file. `name` is what messages call it. Tensors in the order of their bytes. */
export function readSafetensors(bytes: Uint8Array, name: string): FloatTensor[] {
	const file = openSafetensors(heldFile(name, bytes));
	return file.entries.map((entry) => ({ name: entry.name, dims: entry.dims, values: file.values(entry) }));
}

/** Length and header of a file of such tensors, one after the other. */
export function safetensorsHead(
	tensors: Iterable<{ readonly name: string; readonly dims: readonly number[] }>,
	type: "F32" | "BF16",
): Uint8Array {
	let at = 0;
	const header: Record<string, unknown> = {};
	for (const { name, dims } of tensors) {
		const bytes = dims.reduce((count, dim) => count * dim, NUMBER_BITS[type] / 8);
		header[name] = { dtype: type, shape: dims, data_offsets: [at, at + bytes] };
		at += bytes;
	}
	const text = JSON.stringify(header);
	// Numbers begin at a multiple of 8, as other writers have it.
	const json = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
	const head = new Uint8Array(8 + json.length);
	new DataView(head.buffer).setBigUint64(0, BigInt(json.length), true);
	head.set(json, 8);
	return head;
}

/** Numbers as they lie in such a file: as they are, or rounded to half the size. */
export const tensorBytes = (values: Float32Array, type: "F32" | "BF16"): Uint8Array =>
	type === "BF16" ? bfloatBytes(values) : new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

export function writeSafetensors(tensors: readonly FloatTensor[], type: "F32" | "BF16" = "F32"): Uint8Array {
	const parts = [safetensorsHead(tensors, type), ...tensors.map(({ values }) => tensorBytes(values, type))];
	const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
	let at = 0;
	for (const part of parts) {
		bytes.set(part, at);
		at += part.length;
	}
	return bytes;
}
