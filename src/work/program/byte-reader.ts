// Reads the fields of hostile program bytes, docs/work.md §6: each is checked as it is read, and the first
// that is wrong ends the reading.
import { type Interval, TENSOR_TYPES, type TensorType } from "../operators/tensor-type.ts";
import type { FaultCode } from "./fault.ts";
import { LIMITS } from "./shapes.ts";

/** Thrown inside the decoder only. */
export class Unreadable extends Error {
	readonly code: FaultCode;

	constructor(code: FaultCode, message: string) {
		super(message);
		this.code = code;
	}
}

export class ByteReader {
	at = 0;
	readonly bytes: Uint8Array;
	readonly #view: DataView;

	constructor(bytes: Uint8Array) {
		this.bytes = bytes;
		this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	malformed(message: string): never {
		throw new Unreadable("PROGRAM_MALFORMED", `byte ${this.at}: ${message}`);
	}

	limit(message: string): never {
		throw new Unreadable("PROGRAM_LIMIT", `byte ${this.at}: ${message}`);
	}

	#take(size: number): number {
		const at = this.at;
		if (at + size > this.bytes.length) this.malformed("the bytes end here");
		this.at += size;
		return at;
	}

	raw(size: number): Uint8Array {
		const at = this.#take(size);
		return this.bytes.slice(at, at + size);
	}

	u8(): number {
		return this.#view.getUint8(this.#take(1));
	}

	u16(): number {
		return this.#view.getUint16(this.#take(2));
	}

	u32(): number {
		return this.#view.getUint32(this.#take(4));
	}

	i32(): number {
		return this.#view.getInt32(this.#take(4));
	}

	i64(): bigint {
		return this.#view.getBigInt64(this.#take(8));
	}

	interval(): Interval {
		return { lo: this.i64(), hi: this.i64() };
	}

	/** A code that must name one of these. */
	oneOf<T>(names: readonly T[], what: string): T {
		const code = this.u8();
		const name = names[code];
		return name === undefined ? this.malformed(`${code} is no ${what}`) : name;
	}

	/** A number below `below`, or malformed. */
	below(value: number, below: number, what: string): number {
		return value < below ? value : this.malformed(`${what} ${value}, of ${below}`);
	}

	atMost(value: number, most: number, what: string): number {
		return value <= most ? value : this.limit(`${value} ${what}; ${most} is the most`);
	}

	type(): TensorType {
		return this.oneOf(TENSOR_TYPES, "type");
	}

	dims(): number[] {
		const rank = this.u8();
		if (rank < 1 || rank > LIMITS.rank) this.limit(`rank ${rank}; a tensor has 1 to ${LIMITS.rank} axes`);
		let count = 1;
		return Array.from({ length: rank }, () => {
			const dim = this.u32();
			if (dim < 1 || dim > LIMITS.dim) this.limit(`an axis of ${dim}; it has 1 to ${LIMITS.dim} elements`);
			count *= dim;
			if (count > LIMITS.elements) this.limit(`more than ${LIMITS.elements} elements`);
			return dim;
		});
	}
}
