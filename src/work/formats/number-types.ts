// The number types of safetensors files: how many bits each has, and numbers of them as float32 and back. Not
// here: where they lie.

/**
 * Bits of one number, for every type that a header may name; those not in `READERS` are known only to be
 * skipped.
 */
export const NUMBER_BITS = {
	F64: 64,
	F32: 32,
	F16: 16,
	BF16: 16,
	I64: 64,
	I32: 32,
	I16: 16,
	I8: 8,
	U64: 64,
	U32: 32,
	U16: 16,
	U8: 8,
	BOOL: 8,
	F8_E4M3: 8,
	F8_E5M2: 8,
} as const;
export type NumberType = keyof typeof NUMBER_BITS;
export const NUMBER_TYPES = Object.keys(NUMBER_BITS) as NumberType[];

/** The 65,536 numbers of F16: a look-up is faster than arithmetic, and is made when one is first read. */
let halves: Float32Array | undefined;

function halfTable(): Float32Array {
	const table = new Float32Array(65_536);
	for (let i = 0; i < 65_536; i++) {
		const [sign, exponent, fraction] = [i >> 15 === 0 ? 1 : -1, (i >> 10) & 31, i & 1023];
		const size =
			exponent === 0
				? fraction * 2 ** -24
				: exponent === 31
					? fraction === 0
						? Number.POSITIVE_INFINITY
						: Number.NaN
					: (1024 + fraction) * 2 ** (exponent - 25);
		table[i] = sign * size;
	}
	return table;
}

/** Not `slice`, which copies nothing where the bytes are Node's Buffer. */
const copied = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/**
 * The bits of numbers as a typed array; the bytes are copied only where they do not lie at a multiple of
 * their size.
 */
function aligned<T>(
	bytes: Uint8Array,
	of: { new (buffer: ArrayBufferLike, offset: number, length: number): T; readonly BYTES_PER_ELEMENT: number },
): T {
	const held = bytes.byteOffset % of.BYTES_PER_ELEMENT === 0 ? bytes : copied(bytes);
	return new of(held.buffer, held.byteOffset, held.byteLength / of.BYTES_PER_ELEMENT);
}

type Reader = (bytes: Uint8Array) => Float32Array;

function fromBfloat(bytes: Uint8Array): Float32Array {
	const from = aligned(bytes, Uint16Array);
	const bits = new Uint32Array(from.length);
	for (let i = 0; i < from.length; i++) bits[i] = from[i]! << 16;
	return new Float32Array(bits.buffer);
}

function fromHalf(bytes: Uint8Array): Float32Array {
	halves ??= halfTable();
	const from = aligned(bytes, Uint16Array);
	const values = new Float32Array(from.length);
	for (let i = 0; i < from.length; i++) values[i] = halves[from[i]!]!;
	return values;
}

/**
 * To the nearest float32 where one is not exact. Machines that assay runs on are little-endian, as the files
 * are.
 */
const READERS: Partial<Record<NumberType, Reader>> = {
	// A copy: whoever gets the numbers does not hold the whole file with them.
	F32: (bytes) => new Float32Array(copied(bytes).buffer),
	F16: fromHalf,
	BF16: fromBfloat,
	F64: (bytes) => Float32Array.from(aligned(bytes, Float64Array)),
	I8: (bytes) => Float32Array.from(aligned(bytes, Int8Array)),
	I16: (bytes) => Float32Array.from(aligned(bytes, Int16Array)),
	I32: (bytes) => Float32Array.from(aligned(bytes, Int32Array)),
	I64: (bytes) => Float32Array.from(aligned(bytes, BigInt64Array), Number),
	U8: (bytes) => Float32Array.from(bytes),
};
export const READ_TYPES = Object.keys(READERS) as NumberType[];

/** Null for a type whose numbers are not read. */
export const numbersOf = (type: NumberType, bytes: Uint8Array): Float32Array | null => READERS[type]?.(bytes) ?? null;

/** float32 as bfloat16, to the nearest, ties to even. */
export function bfloatBytes(values: Float32Array): Uint8Array {
	const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
	const out = new Uint16Array(values.length);
	for (let i = 0; i < out.length; i++) out[i] = (bits[i]! + 0x7fff + ((bits[i]! >>> 16) & 1)) >>> 16;
	return new Uint8Array(out.buffer);
}
