// 64-bit elements as doubles and back, by their two halves: several times quicker than through big integers.
// Exact for numbers below 2^53, which intervals promise.
const TWO_32 = 2 ** 32;
/** Of its two halves the lower one comes first; or else it goes the slow way. */
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

const halvesOf = (elements: BigInt64Array): Int32Array =>
	new Int32Array(elements.buffer, elements.byteOffset, 2 * elements.length);

/** elements[at + i] = numbers[i]. */
export function numbersToWide(numbers: Float64Array, elements: BigInt64Array, at: number, count: number): void {
	if (!isLittleEndian) {
		for (let i = 0; i < count; i++) elements[at + i] = BigInt(numbers[i]!);
		return;
	}
	const halves = halvesOf(elements);
	for (let i = 0; i < count; i++) {
		const value = numbers[i]!;
		halves[2 * (at + i)] = value | 0;
		halves[2 * (at + i) + 1] = Math.floor(value / TWO_32);
	}
}

/** numbers[i] = elements[indexes[i]]; 0 where the index is below 0. */
export function gatherWide(elements: BigInt64Array, indexes: Float64Array, numbers: Float64Array, count: number): void {
	const halves = isLittleEndian ? halvesOf(elements) : null;
	for (let i = 0; i < count; i++) {
		const index = indexes[i]!;
		if (index < 0) numbers[i] = 0;
		else if (halves === null) numbers[i] = Number(elements[index]!);
		else numbers[i] = halves[2 * index + 1]! * TWO_32 + (halves[2 * index]! >>> 0);
	}
}
