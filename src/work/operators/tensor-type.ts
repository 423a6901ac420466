// Element types and how a tensor's bytes are read, docs/work.md §1: two's complement, little-endian,
// row-major. Not here: what a program declares of a tensor (program/shapes.ts), its root
// (trace/tensor-tree.ts).

/** In the order of their codes: type t has 2^t bytes. */
export const TENSOR_TYPES = ["i8", "i16", "i32", "i64"] as const;
export type TensorType = (typeof TENSOR_TYPES)[number];

export type Elements = Int8Array | Int16Array | Int32Array | BigInt64Array;

export interface Interval {
	readonly lo: bigint;
	readonly hi: bigint;
}

const BYTES: Readonly<Record<TensorType, number>> = { i8: 1, i16: 2, i32: 4, i64: 8 };

export const I64: Interval = { lo: -(2n ** 63n), hi: 2n ** 63n - 1n };

export function bytesOf(type: TensorType): number {
	return BYTES[type];
}

export function intervalOf(type: TensorType): Interval {
	const half = 2n ** BigInt(8 * BYTES[type] - 1);
	return { lo: -half, hi: half - 1n };
}

export const isInside = (inner: Interval, outer: Interval): boolean => outer.lo <= inner.lo && inner.hi <= outer.hi;

/** The largest magnitude of an interval. */
export const magnitude = ({ lo, hi }: Interval): bigint => (-lo > hi ? -lo : hi);

export function createElements(type: TensorType, count: number): Elements {
	if (type === "i8") return new Int8Array(count);
	if (type === "i16") return new Int16Array(count);
	return type === "i32" ? new Int32Array(count) : new BigInt64Array(count);
}

export const elementCount = (dims: readonly number[]): number => dims.reduce((count, dim) => count * dim, 1);

/** One element of little-endian bytes. */
export function readElement(bytes: Uint8Array, type: TensorType, index: number): bigint {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (type === "i8") return BigInt(view.getInt8(index));
	if (type === "i16") return BigInt(view.getInt16(2 * index, true));
	return type === "i32" ? BigInt(view.getInt32(4 * index, true)) : view.getBigInt64(8 * index, true);
}

/** Then elements lie in memory as they are written. */
const IS_LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

const ownBytes = ({ buffer, byteOffset, byteLength }: Elements): Uint8Array =>
	new Uint8Array(buffer, byteOffset, byteLength);

/**
 * Elements of a tensor's bytes, whatever the order of bytes of the machine. Null when the length is another.
 */
export function bytesToElements(bytes: Uint8Array, type: TensorType, count: number): Elements | null {
	if (bytes.length !== count * BYTES[type]) return null;
	if (!IS_LITTLE) return elementByElement(bytes, type, count);
	const elements = createElements(type, count);
	ownBytes(elements).set(bytes);
	return elements;
}

/** On any machine. Exported for the test that holds the two together. */
export function elementByElement(bytes: Uint8Array, type: TensorType, count: number): Elements {
	const elements = createElements(type, count);
	if (elements instanceof BigInt64Array) for (let i = 0; i < count; i++) elements[i] = readElement(bytes, type, i);
	else {
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		for (let i = 0; i < count; i++)
			elements[i] =
				type === "i8" ? view.getInt8(i) : type === "i16" ? view.getInt16(2 * i, true) : view.getInt32(4 * i, true);
	}
	return elements;
}

/** Their own memory where the machine writes as we do: not to be changed. */
export const elementsAsBytes = (elements: Elements): Uint8Array =>
	IS_LITTLE ? ownBytes(elements) : bytesByElement(elements);

export const elementsToBytes = (elements: Elements): Uint8Array =>
	IS_LITTLE ? ownBytes(elements).slice() : bytesByElement(elements);

/** On any machine. Exported for the test that holds the two together. */
export function bytesByElement(elements: Elements): Uint8Array {
	const size = elements.BYTES_PER_ELEMENT;
	const bytes = new Uint8Array(elements.length * size);
	const view = new DataView(bytes.buffer);
	if (elements instanceof BigInt64Array) for (const [i, v] of elements.entries()) view.setBigInt64(8 * i, v, true);
	else
		for (let i = 0; i < elements.length; i++) {
			const value = elements[i]!;
			if (size === 1) view.setInt8(i, value);
			else if (size === 2) view.setInt16(2 * i, value, true);
			else view.setInt32(4 * i, value, true);
		}
	return bytes;
}
