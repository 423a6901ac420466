// fma in fp64 by whole numbers: slow, plainly right, for every operand. The rare route of fma.ts and its
// oracle in tests.

const double = new DataView(new ArrayBuffer(8));

/** x = mantissa·2^exponent, for finite x. */
function decompose(x: number): { mantissa: bigint; exponent: number } {
	double.setFloat64(0, x);
	const bits = double.getBigUint64(0);
	const field = Number((bits >> 52n) & 0x7ffn);
	const fraction = bits & 0xf_ffff_ffff_ffffn;
	const size = field === 0 ? fraction : fraction | (1n << 52n);
	return { mantissa: bits >> 63n === 1n ? -size : size, exponent: Math.max(field, 1) - 1075 };
}

function bitLength(x: bigint): number {
	return x.toString(2).length;
}

/** mantissa·2^exponent to the nearest double, ties to even; mantissa > 0. */
function roundToDouble(mantissa: bigint, exponent: number): number {
	// The last place of the result: 53 bits down from the top, but never below 2^-1074.
	const last = Math.max(exponent + bitLength(mantissa) - 53, -1074);
	let kept = mantissa;
	if (last > exponent) {
		const shift = BigInt(last - exponent);
		const rest = mantissa & ((1n << shift) - 1n);
		const half = 1n << (shift - 1n);
		kept = mantissa >> shift;
		if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
	} else kept = mantissa << BigInt(exponent - last);
	// kept ≤ 2^53 is exact as a number; above the range the product is Infinity, which is the right rounding.
	const value = Number(kept);
	return last > 900
		? value * 2 ** 900 * 2 ** (last - 900)
		: last < -1000
			? value * 2 ** -1000 * 2 ** (last + 1000)
			: value * 2 ** last;
}

export function fma64Exact(a: number, b: number, c: number): number {
	// Zeros, infinities and NaN: plain arithmetic rounds at most once, and gives IEEE's signs.
	if (a === 0 || b === 0 || !Number.isFinite(a) || !Number.isFinite(b) || !Number.isFinite(c)) {
		return Number.isFinite(a) && Number.isFinite(b) && !Number.isFinite(c) ? c : a * b + c;
	}
	const x = decompose(a);
	const y = decompose(b);
	const z = decompose(c);
	const product = x.mantissa * y.mantissa;
	const exponent = x.exponent + y.exponent;
	if (z.mantissa === 0n) {
		const size = product < 0n ? -product : product;
		return product < 0n ? -roundToDouble(size, exponent) : roundToDouble(size, exponent);
	}
	const lowest = Math.min(exponent, z.exponent);
	const sum = (product << BigInt(exponent - lowest)) + (z.mantissa << BigInt(z.exponent - lowest));
	if (sum === 0n) return 0; // exact cancellation is +0 when rounding to nearest
	return sum < 0n ? -roundToDouble(-sum, lowest) : roundToDouble(sum, lowest);
}
