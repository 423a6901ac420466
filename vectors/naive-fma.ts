// fma, the recurrences and IEEE-754 rounding by exact fractions: a number is an integer times a power of two,
// and nothing is rounded but the one time the standard says. Independent of src/, like naive-maths.ts.
import { type Bytes, philoxOf } from "./naive-maths.ts";

export type FmaPrecision = "fp32" | "fp64" | "int32";

interface Format {
	readonly bits: number;
	readonly fractionBits: number;
}
const FORMATS: Readonly<Record<"fp32" | "fp64", Format>> = {
	fp32: { bits: 32, fractionBits: 23 },
	fp64: { bits: 64, fractionBits: 52 },
};

/** integer·2^power, exactly. */
interface Exact {
	readonly integer: bigint;
	readonly power: number;
}

function bitsToExact(format: "fp32" | "fp64", bits: bigint): Exact {
	const { bits: width, fractionBits } = FORMATS[format];
	const exponentBits = width - 1 - fractionBits;
	const bias = 2 ** (exponentBits - 1) - 1;
	const fraction = bits & ((1n << BigInt(fractionBits)) - 1n);
	const exponent = Number((bits >> BigInt(fractionBits)) & ((1n << BigInt(exponentBits)) - 1n));
	const size = exponent === 0 ? fraction : fraction + (1n << BigInt(fractionBits));
	const negative = bits >> BigInt(width - 1) === 1n;
	return { integer: negative ? -size : size, power: (exponent === 0 ? 1 : exponent) - bias - fractionBits };
}

/** Nearest, ties to even. `zeroBits` is what an exact zero becomes: its sign depends on the operation. */
function exactToBits(format: "fp32" | "fp64", value: Exact, zeroBits: bigint): bigint {
	if (value.integer === 0n) return zeroBits;
	const { bits: width, fractionBits } = FORMATS[format];
	const bias = 2 ** (width - 2 - fractionBits) - 1;
	const sign = value.integer < 0n ? 1n << BigInt(width - 1) : 0n;
	const size = value.integer < 0n ? -value.integer : value.integer;
	const top = value.power + size.toString(2).length - 1; // 2^top ≤ |value| < 2^(top+1)
	const place = Math.max(top, 1 - bias) - fractionBits; // weight of the last bit that can be kept
	let units: bigint;
	if (place <= value.power) units = size << BigInt(value.power - place);
	else {
		const divisor = 1n << BigInt(place - value.power);
		units = size / divisor;
		const twiceRest = 2n * (size % divisor);
		if (twiceRest > divisor || (twiceRest === divisor && units % 2n === 1n)) units += 1n;
	}
	// Subnormals and normals follow each other without a gap in the bit patterns, so a carry lands on the right
	// number.
	const step = BigInt(place + bias + fractionBits - 1) << BigInt(fractionBits);
	const pattern = step + units;
	const infinity = ((1n << BigInt(width - 1 - fractionBits)) - 1n) << BigInt(fractionBits);
	return sign | (pattern > infinity ? infinity : pattern);
}

/** fma of bit patterns of finite numbers. */
export function fmaBits(format: "fp32" | "fp64", a: bigint, b: bigint, c: bigint): bigint {
	const [x, y, z] = [a, b, c].map((bits) => bitsToExact(format, bits)) as [Exact, Exact, Exact];
	const product = { integer: x.integer * y.integer, power: x.power + y.power };
	const power = Math.min(product.power, z.power);
	const integer = (product.integer << BigInt(product.power - power)) + (z.integer << BigInt(z.power - power));
	const top = BigInt(FORMATS[format].bits - 1);
	// −0 only when both the product and c are −0.
	const productIsMinusZero = product.integer === 0n && a >> top !== b >> top;
	const minusZero = productIsMinusZero && z.integer === 0n && c >> top === 1n;
	return exactToBits(format, { integer, power }, minusZero ? 1n << top : 0n);
}

const WORD = 1n << 32n;

function fmix32(x: bigint): bigint {
	let h = x ^ (x >> 16n);
	h = (h * 0x85ebca6bn) % WORD;
	h ^= h >> 13n;
	h = (h * 0xc2b2ae35n) % WORD;
	return h ^ (h >> 16n);
}

function unit(format: "fp32" | "fp64", high: bigint, low: bigint): bigint {
	if (format === "fp32") return exactToBits("fp32", { integer: (high >> 8n) - (1n << 23n), power: -23 }, 0n);
	return exactToBits("fp64", { integer: (high >> 11n) * WORD + low - (1n << 52n), power: -52 }, 0n);
}

/** Final bits of a lane, §6. */
export function laneBits(precision: FmaPrecision, seed: Bytes, lane: number, steps: number): bigint {
	const number = { fp32: 5, fp64: 6, int32: 7 }[precision];
	const [w0, w1, w2, w3] = philoxOf(seed, lane, 2, number, 0).map(BigInt) as [bigint, bigint, bigint, bigint];
	const salt = (block: number) => (BigInt(lane) * 0x9e3779b1n + BigInt(block) * 0x85ebca77n) % WORD;
	if (precision === "int32") {
		const c = w0 | 1n;
		let x = w2;
		for (let step = 0; step < steps; step++) {
			if (step > 0 && step % 512 === 0) x = fmix32(x ^ salt(step / 512));
			const y = (x * x + c) % WORD;
			x = ((y << 7n) | (y >> 25n)) % WORD;
		}
		return x;
	}
	const c =
		precision === "fp32"
			? exactToBits("fp32", { integer: (w0 >> 14n) - (1n << 24n), power: -23 }, 0n)
			: exactToBits("fp64", { integer: (w0 & 0x7fffn) * WORD + w1 - (1n << 53n), power: -52 }, 0n);
	let x = precision === "fp32" ? unit("fp32", w2, 0n) : unit("fp64", w2, w3);
	for (let step = 0; step < steps; step++) {
		if (step > 0 && step % 512 === 0) {
			const h1 = fmix32((x % WORD) ^ salt(step / 512));
			x = precision === "fp32" ? unit("fp32", h1, 0n) : unit("fp64", fmix32((x >> 32n) ^ h1 ^ 0x27d4eb2fn), h1);
		}
		x = fmaBits(precision, x, x, c);
	}
	return x;
}
