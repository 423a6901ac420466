// The wire format of protocol buffers, read and written, as far as ONNX files need it. By hand, because six
// message types of one format do not earn a library and its generated code, and because this floor takes
// none. Strict: lengths lie inside their message, numbers have ten bytes at most, groups are refused; unknown
// fields are passed over, as the format wants. Not here: what the fields mean.
import type { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToUtf8, concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";

/** No file has more, and a hostile one does not fill the memory with small fields. */
const MOST_FIELDS = 2 ** 20;
const MOST_DIGITS = 10;
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

export const wrongFile = (why: string): AssayError => codedError("ONNX_FILE", `the ONNX file ${why}`);

interface Field {
	readonly wire: number;
	/** Of wire type 0: 64 bits without sign. */
	readonly number: bigint;
	readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array();

/** At `at`: the number, and where it ends. */
function varint(bytes: Uint8Array, at: number): readonly [bigint, number] {
	let [value, shift] = [0n, 0n];
	for (let i = at; i < at + MOST_DIGITS; i++) {
		const digit = bytes[i];
		if (digit === undefined) throw wrongFile("ends in a number");
		value |= BigInt(digit & 127) << shift;
		if (digit < 128) {
			if (value >= 2n ** 64n) break;
			return [value, i + 1];
		}
		shift += 7n;
	}
	throw wrongFile("has a number of more than 64 bits");
}

/** The fields of one message. */
export class Message {
	readonly fields = new Map<number, Field[]>();

	constructor(bytes: Uint8Array) {
		let at = 0;
		let count = 0;
		while (at < bytes.length) {
			if (++count > MOST_FIELDS) throw wrongFile("has too many fields");
			const [key, start] = varint(bytes, at);
			const [tag, wire] = [Number(key >> 3n), Number(key & 7n)];
			if (tag === 0 || tag >= 2 ** 29) throw wrongFile("has a field without a number");
			let [number, begin, length] = [0n, start, 0];
			if (wire === VARINT) [number, begin] = varint(bytes, start);
			else if (wire === LENGTH) {
				const [size, from] = varint(bytes, start);
				if (size > BigInt(bytes.length - from)) throw wrongFile("has a field that is longer than what it lies in");
				[begin, length] = [from, Number(size)];
			} else if (wire === FIXED32) length = 4;
			else if (wire === FIXED64) length = 8;
			else throw wrongFile("has a field of a kind that is not read");
			if (begin + length > bytes.length) throw wrongFile("ends in a field");
			const field = { wire, number, bytes: length === 0 ? NOTHING : bytes.subarray(begin, begin + length) };
			const held = this.fields.get(tag);
			if (held === undefined) this.fields.set(tag, [field]);
			else held.push(field);
			at = begin + length;
		}
	}

	#all(tag: number, wire: number): readonly Field[] {
		const held = this.fields.get(tag) ?? [];
		if (held.some((field) => field.wire !== wire)) throw wrongFile("has a field of another kind than ONNX has it");
		return held;
	}

	#one(tag: number, wire: number): Field | null {
		const held = this.#all(tag, wire);
		if (held.length > 1) throw wrongFile("has a field twice that is there once");
		return held[0] ?? null;
	}

	/** −2^63 … 2^63 − 1; 0 where it is not there. */
	int(tag: number): bigint {
		return BigInt.asIntN(64, this.#one(tag, VARINT)?.number ?? 0n);
	}

	/** One by one, or packed. */
	ints(tag: number): bigint[] {
		return (this.fields.get(tag) ?? []).flatMap(({ wire, number, bytes }) => {
			if (wire === VARINT) return [BigInt.asIntN(64, number)];
			if (wire !== LENGTH) throw wrongFile("has a field of another kind than ONNX has it");
			const packed: bigint[] = [];
			for (let at = 0; at < bytes.length; ) {
				const [value, next] = varint(bytes, at);
				packed.push(BigInt.asIntN(64, value));
				at = next;
			}
			return packed;
		});
	}

	float(tag: number): number | null {
		const field = this.#one(tag, FIXED32);
		return field === null ? null : floatsOf(field.bytes)[0]!;
	}

	/** One by one, or packed. */
	floats(tag: number): Float32Array {
		const held = this.fields.get(tag) ?? [];
		if (held.some(({ wire }) => wire !== LENGTH && wire !== FIXED32))
			throw wrongFile("has a field of another kind than ONNX has it");
		if (held.length === 1) return floatsOf(held[0]!.bytes);
		return Float32Array.from(held.flatMap(({ bytes }) => [...floatsOf(bytes)]));
	}

	has(tag: number): boolean {
		return this.fields.has(tag);
	}

	bytes(tag: number): Uint8Array | null {
		return this.#one(tag, LENGTH)?.bytes ?? null;
	}

	text(tag: number): string {
		return textOf(this.bytes(tag) ?? NOTHING);
	}

	texts(tag: number): string[] {
		return this.#all(tag, LENGTH).map(({ bytes }) => textOf(bytes));
	}

	message(tag: number): Message | null {
		const bytes = this.bytes(tag);
		return bytes === null ? null : new Message(bytes);
	}

	messages(tag: number): Message[] {
		return this.#all(tag, LENGTH).map(({ bytes }) => new Message(bytes));
	}
}

function textOf(bytes: Uint8Array): string {
	const text = bytesToUtf8(bytes);
	if (text === null) throw wrongFile("has a text that is no UTF-8");
	return text;
}

/** Little-endian, four bytes each. */
export function floatsOf(bytes: Uint8Array): Float32Array {
	if (bytes.length % 4 !== 0) throw wrongFile("has floats that are cut");
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

function digitsOf(value: bigint): Uint8Array {
	const digits: number[] = [];
	let rest = BigInt.asUintN(64, value);
	for (; rest > 127n; rest >>= 7n) digits.push(Number(rest & 127n) | 128);
	return Uint8Array.of(...digits, Number(rest));
}

const keyOf = (tag: number, wire: number): Uint8Array => digitsOf(BigInt(tag * 8 + wire));

/** Fields, to be joined. */
export const intField = (tag: number, value: number): Uint8Array =>
	concatBytes(keyOf(tag, VARINT), digitsOf(BigInt(value)));
export const bytesField = (tag: number, value: Uint8Array): Uint8Array =>
	concatBytes(keyOf(tag, LENGTH), digitsOf(BigInt(value.length)), value);
export const textField = (tag: number, value: string): Uint8Array => bytesField(tag, utf8ToBytes(value));
