// Fields of a frame's payload (engine/FRAMES.md): little-endian integers, hashes, texts, written and read in order.
// Knows no frame; frames.ts puts the fields together, frame-reader.ts cuts the stream.
import { AssayError } from "../../protocol/assay-error.ts";

/** Bounds of a frame's `length` field: it counts kind, id and payload. */
export const MIN_LENGTH = 5;
export const MAX_LENGTH_TO_ENGINE = 1 << 20;
export const MAX_LENGTH_TO_VERIFIER = 4 << 20;
export const HASH_BYTES = 32;

/** One frame as cut from the stream, its payload not yet read. */
export interface Frame {
	readonly kind: number;
	readonly id: number;
	readonly payload: Uint8Array;
}

export function badFrame(message: string): AssayError {
	return new AssayError("FRAME_BAD", message);
}

/** Fields in, bytes out. A number that does not fit its field is our own mistake, hence a RangeError and not an AssayError. */
export class FieldWriter {
	readonly bytes: Uint8Array;
	private readonly view: DataView;
	private at = 0;

	constructor(size: number) {
		this.bytes = new Uint8Array(size);
		this.view = new DataView(this.bytes.buffer);
	}
	uint(size: 1 | 2 | 4, value: number): this {
		if (!Number.isInteger(value) || value < 0 || value >= 2 ** (8 * size)) {
			throw new RangeError(`${value} is no u${8 * size}`);
		}
		if (size === 1) this.view.setUint8(this.at, value);
		else if (size === 2) this.view.setUint16(this.at, value, true);
		else this.view.setUint32(this.at, value, true);
		this.at += size;
		return this;
	}
	raw(bytes: Uint8Array): this {
		this.bytes.set(bytes, this.at);
		this.at += bytes.length;
		return this;
	}
	hash(bytes: Uint8Array): this {
		if (bytes.length !== HASH_BYTES) throw new RangeError(`a hash, seed or nonce has 32 bytes, not ${bytes.length}`);
		return this.raw(bytes);
	}
}

/** Reads a payload from front to back; `end()` refuses surplus bytes, every other call refuses missing ones. */
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
	zeros(count: number): void {
		for (let i = 0; i < count; i++) if (this.u8() !== 0) throw badFrame("a reserved byte is not 0");
	}
	/** A copy: a view would keep the whole frame alive for as long as the record lives. */
	raw(size: number): Uint8Array {
		const from = this.take(size);
		return new Uint8Array(this.bytes.subarray(from, from + size));
	}
	hash(): Uint8Array {
		return this.raw(HASH_BYTES);
	}
	rest(): Uint8Array {
		return this.raw(this.bytes.length - this.at);
	}
	text(max: number): string {
		const bytes = this.rest();
		if (bytes.length > max) throw badFrame(`a text of ${bytes.length} bytes where ${max} are allowed`);
		try {
			return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
		} catch {
			throw badFrame("a text is not UTF-8");
		}
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
