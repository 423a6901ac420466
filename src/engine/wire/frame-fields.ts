// Fields of a frame's payload (engine/FRAMES.md): little-endian integers, hashes, texts, written and read in
// order. Knows no frame; frames.ts puts the fields together, frame-reader.ts cuts the stream.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8, concatBytes } from "../../protocol/bytes/bytes.ts";
import { HASH_BYTES } from "./frame-table.ts";

/** One frame as cut from the stream, its payload not yet read. */
export interface Frame {
	readonly kind: number;
	readonly id: number;
	readonly payload: Uint8Array;
}

export function badFrame(message: string): AssayError {
	return new AssayError("FRAME_BAD", message);
}

/**
 * Fields in, bytes out. A number that does not fit its field is our own mistake, hence a RangeError and not
 * an AssayError.
 */
export class FieldWriter {
	private readonly parts: Uint8Array[] = [];
	private readonly last: Uint8Array[] = [];

	uint(size: 1 | 2 | 4 | 8, value: number): this {
		if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** (8 * size)) {
			throw new RangeError(`${value} is no u${8 * size}`);
		}
		const bytes = new Uint8Array(size);
		for (let i = 0; i < size; i++) bytes[i] = value / 2 ** (8 * i);
		return this.raw(bytes);
	}
	raw(bytes: Uint8Array): this {
		this.parts.push(bytes);
		return this;
	}
	hash(bytes: Uint8Array): this {
		if (bytes.length !== HASH_BYTES) throw new RangeError(`a hash, seed or nonce has 32 bytes, not ${bytes.length}`);
		return this.raw(bytes);
	}
	/** After all that is written otherwise. */
	later(bytes: Uint8Array): this {
		this.last.push(bytes);
		return this;
	}
	bytes(): Uint8Array {
		return concatBytes(...this.parts, ...this.last);
	}
}

/**
 * Reads a payload from front to back; `end()` refuses surplus bytes, every other call refuses missing ones.
 */
export class FieldReader {
	private readonly view: DataView;
	private readonly bytes: Uint8Array;
	private at = 0;

	constructor(bytes: Uint8Array) {
		this.bytes = bytes;
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}
	private take(size: number): number {
		const from = this.at;
		if (this.bytes.length - from < size) throw badFrame("the payload is too short");
		this.at = from + size;
		return from;
	}
	u8(): number {
		return this.view.getUint8(this.take(1));
	}
	u16(): number {
		return this.view.getUint16(this.take(2), true);
	}
	u32(): number {
		return this.view.getUint32(this.take(4), true);
	}
	u64(): number {
		const value = Number(this.view.getBigUint64(this.take(8), true));
		if (!Number.isSafeInteger(value)) throw badFrame("a number is larger than any host has");
		return value;
	}
	zeros(count: number): undefined {
		for (let i = 0; i < count; i++) if (this.u8() !== 0) throw badFrame("a reserved byte is not 0");
	}
	/** A copy: a view would keep the whole frame alive for as long as the record lives. */
	raw(size: number): Uint8Array {
		const from = this.take(size);
		return new Uint8Array(this.bytes.subarray(from, from + size));
	}
	rest(max: number): Uint8Array {
		const size = this.bytes.length - this.at;
		if (size > max) throw badFrame(`${size} bytes, at most ${max} are allowed`);
		return this.raw(size);
	}
	text(max: number): string {
		const text = bytesToUtf8(this.rest(max));
		if (text === null) throw badFrame("a text is not UTF-8");
		return text;
	}
	pick<T>(table: readonly T[], number: number, what: string): T {
		const value = table[number];
		if (value === undefined) throw badFrame(`${what} ${number} is not known`);
		return value;
	}
	end<T>(value: T): T {
		if (this.at !== this.bytes.length) throw badFrame("the payload is too long");
		return value;
	}
}
