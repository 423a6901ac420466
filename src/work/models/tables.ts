// The tables that models look up, made with whole numbers only, so that every machine makes the same ones: an
// entry is f·2^bits to the nearest, docs/training.md §3. Not here: how they are read (softmax.ts,
// activation.ts).
import type { Elements } from "../operators/tensor-type.ts";

/** Working scale, far below half a unit of any table. */
const BITS = 128n;
const ONE = 1n << BITS;

const mul = (a: bigint, b: bigint): bigint => (a * b) >> BITS;
const ratio = (a: number, b: number): bigint => (BigInt(a) << BITS) / BigInt(b);
const rounded = (x: bigint, bits: number): number => {
	const drop = BITS - BigInt(bits);
	return Number((x + (1n << (drop - 1n))) >> drop);
};

/** exp(−x), x ≥ 0: the series at x/256, then eight squares. */
function exp(x: bigint): bigint {
	const small = x >> 8n;
	let [sum, term] = [ONE, ONE];
	for (let i = 1n; term !== 0n; i++) {
		term = mul(term, small) / i;
		sum += i % 2n === 1n ? -term : term;
	}
	for (let i = 0; i < 8; i++) sum = mul(sum, sum);
	return sum;
}

/** ln((1 + y)/(1 − y)) = 2·(y + y³/3 + y⁵/5 + …). */
function logRatio(y: bigint): bigint {
	const square = mul(y, y);
	let [sum, power] = [0n, y];
	for (let i = 1n; power !== 0n; i += 2n) {
		sum += power / i;
		power = mul(power, square);
	}
	return 2n * sum;
}

function root(x: bigint): bigint {
	const target = x << BITS;
	let guess = 1n << ((BigInt(target.toString(2).length) + 1n) / 2n);
	for (;;) {
		const next = (guess + target / guess) >> 1n;
		if (next >= guess) return guess;
		guess = next;
	}
}

/** By Machin's formula. */
function pi(): bigint {
	const arctan = (n: bigint): bigint => {
		let [sum, power] = [0n, ONE / n];
		for (let i = 1n; power !== 0n; i += 2n) {
			sum += i % 4n === 1n ? power / i : -(power / i);
			power /= n * n;
		}
		return sum;
	};
	return 4n * (4n * arctan(5n) - arctan(239n));
}

let factor: bigint | null = null;
/** 1/√(2π). */
function normalFactor(): bigint {
	factor ??= (ONE * ONE) / root(2n * pi());
	return factor;
}

/** Φ(x) and φ(x), x ≥ 0: φ·(x + x³/3 + x⁵/15 + …) + ½. */
function normal(x: bigint): { readonly below: bigint; readonly density: bigint } {
	const square = mul(x, x);
	const density = mul(normalFactor(), exp(square / 2n));
	let [sum, term] = [0n, x];
	for (let i = 3n; term !== 0n; i += 2n) {
		sum += term;
		term = mul(term, square) / i;
	}
	return { below: ONE / 2n + mul(density, sum), density };
}

/** σ(x) = 1/(1 + exp(−x)), x ≥ 0. */
const sigmoid = (x: bigint): bigint => (ONE * ONE) / (ONE + exp(x));

/** ln x, x above 0: digits, then the rest between 1 and 2. */
function ln(x: bigint): bigint {
	const digits = BigInt(x.toString(2).length) - BITS - 1n;
	const rest = digits >= 0n ? x >> digits : x << -digits;
	return digits * logRatio(ONE / 3n) + logRatio(((rest - ONE) << BITS) / (rest + ONE));
}

/** ln of a float from 1 on, whose 52 bits are all taken. */
function log(x: number): bigint {
	let [digits, rest] = [0n, x];
	for (; rest >= 2; rest /= 2) digits++;
	return ln((BigInt(rest * 2 ** 52) << (BITS + digits)) >> 52n);
}

/** cos and sin of an angle between 0 and 1 by their series. */
function turnOf(angle: bigint): readonly [cos: bigint, sin: bigint] {
	const sums: [bigint, bigint] = [0n, 0n];
	let term = ONE;
	for (let i = 0n; term !== 0n; i++) {
		sums[Number(i % 2n)]! += i % 4n < 2n ? term : -term;
		term = mul(term, angle) / (i + 1n);
	}
	return sums;
}

const table = (length: number, entry: (i: number) => number): Elements =>
	Int32Array.from({ length }, (_, i) => entry(i));

/** exp(−i/16), 2^30; the last is 0, so that whatever is below e^−15.9 vanishes. */
export const expCoarse = (): Elements => table(256, (i) => (i === 255 ? 0 : rounded(exp(ratio(i, 16)), 30)));
/** exp(−i/4096), 2^30. */
export const expFine = (): Elements => table(256, (i) => rounded(exp(ratio(i, 4096)), 30));
/** ln(1 + i/256), 2^20. */
export const logTable = (): Elements => table(257, (i) => rounded(logRatio(ratio(i, 512 + i)), 20));
/** Φ(i/32), 2^15: what GELU multiplies by. */
export const geluTable = (): Elements => table(257, (i) => rounded(normal(ratio(i, 32)).below, 15));
/** GELU's slope Φ(x) + x·φ(x) at i/32, 2^15. */
export const geluSlopeTable = (): Elements =>
	table(257, (i) => {
		const x = ratio(i, 32);
		const { below, density } = normal(x);
		return rounded(below + mul(x, density), 15);
	});
/** round(2^bits/√n). */
export const inverseRoot = (n: number, bits: number): number => rounded((ONE * ONE) / root(BigInt(n) << BITS), bits);
/** σ(i/32), 2^20. */
export const sigmoidTable = (): Elements => table(513, (i) => rounded(sigmoid(ratio(i, 32)), 20));

/**
 * GELU by tanh, as GPT-2 has it: ½(1 + tanh z) = σ(2z), z = √(2/π)·(x + 0.044715·x³). Gives σ(2z) and its
 * slope by x.
 */
function byTanh(x: bigint): { readonly below: bigint; readonly slope: bigint } {
	const factor = 4n * normalFactor();
	const cubic = ratio(44_715, 1_000_000);
	const square = mul(x, x);
	const below = sigmoid(mul(factor, x + mul(cubic, mul(square, x))));
	const inner = mul(factor, ONE + 3n * mul(cubic, square));
	return { below, slope: mul(inner, mul(below, ONE - below)) };
}

/** What GPT-2's GELU multiplies by, at i/32, 2^15. */
export const geluTanhTable = (): Elements => table(257, (i) => rounded(byTanh(ratio(i, 32)).below, 15));
/** Its slope at i/32, 2^15. */
export const geluTanhSlopeTable = (): Elements =>
	table(257, (i) => {
		const x = ratio(i, 32);
		const { below, slope } = byTanh(x);
		return rounded(below + mul(x, slope), 15);
	});

/**
 * cos and sin of place·theta^(−2i/headWidth), [context, headWidth/2], 2^bits. Each place is the one before,
 * turned once more.
 */
export function ropeTables(
	theta: number,
	headWidth: number,
	context: number,
	bits: number,
): { readonly cos: Int32Array; readonly sin: Int32Array } {
	const pairs = headWidth / 2;
	const [cos, sin] = [new Int32Array(context * pairs), new Int32Array(context * pairs)];
	const base = log(theta);
	for (let i = 0; i < pairs; i++) {
		const [c, s] = turnOf(exp((2n * BigInt(i) * base) / BigInt(headWidth)));
		let [x, y] = [ONE, 0n];
		for (let place = 0; place < context; place++) {
			cos[place * pairs + i] = rounded(x, bits);
			sin[place * pairs + i] = rounded(y, bits);
			[x, y] = [mul(x, c) - mul(y, s), mul(x, s) + mul(y, c)];
		}
	}
	return { cos, sin };
}

/** Knots a unit of `restTable`, and the units: beyond, nothing is left. */
export const REST = { knots: 128, units: 24 } as const;
const BELOW = {
	gelu: (x: bigint) => (x >= 9n * ONE ? ONE : normal(x).below),
	"gelu-tanh": (x: bigint) => byTanh(x).below,
	silu: sigmoid,
} as const;

const made = new Map<string, Elements>();
/** Made once: it takes a while. */
function once(name: string, make: () => Elements): Elements {
	const found = made.get(name) ?? make();
	made.set(name, found);
	return found;
}

/**
 * What an activation lacks of max(x, 0), at s = |x| = i/128: s·(1 − f(s)), 2^30. Two knots beyond the last
 * cell.
 */
export const restTable = (kind: keyof typeof BELOW): Elements =>
	once(kind, () =>
		table(REST.knots * REST.units + 2, (i) => {
			const x = ratio(i, REST.knots);
			return rounded(mul(x, ONE - BELOW[kind](x)), 30);
		}),
	);

/** exp(−i/2^scale), 2^bits, for 2^size i: what proofs look up in one piece. */
export const expTable = (size: number, scale: number, bits: number): Elements =>
	once(`exp ${size} ${scale} ${bits}`, () => table(2 ** size, (i) => rounded(exp(ratio(i, 2 ** scale)), bits)));

/**
 * −ln(−ln(1 − u)), 2^16, at u = 2^(octave − 32)·(1 + knot/128), i = 128·octave + knot: fine where u is small
 * and the value large. The last is that of u = 1 − 2^−33.
 */
export const gumbelTable = (): Elements =>
	once("gumbel", () =>
		table(32 * 128 + 1, (i) => {
			const [octave, knot] = [BigInt(i >> 7), BigInt(i & 127)];
			const u = i === 32 * 128 ? ONE - (ONE >> 33n) : ((ONE >> 32n) << octave) + (((ONE >> 39n) * knot) << octave);
			return rounded(-ln(-ln(ONE - u)), 16);
		}),
	);

/**
 * z with P(Z > z) = U/2^33 at the places U = 2^o·(1 + m/64), o = 0 … 31, m = 0 … 63, and 0 for 2^32; 2^24.
 * Newton's steps, each place from its neighbour.
 */
export const normalQuantiles = (): Elements => once("normal", madeQuantiles);
function madeQuantiles(): Elements {
	const entries = new Int32Array(32 * 64 + 1);
	let z = 0n;
	for (let i = entries.length - 2; i >= 0; i--) {
		const beyond = (BigInt(64 + (i % 64)) << (BITS + BigInt(i >> 6))) >> 39n;
		for (let turn = 0; turn < 4; turn++) {
			const { below, density } = normal(z);
			z += ((ONE - below - beyond) << BITS) / density;
		}
		entries[i] = rounded(z, 24);
	}
	return entries;
}

/** e^−x at 2^60, x ≥ 0 at 2^28. */
export const expNegative = (x: number): bigint => exp(ratio(x, 2 ** 28)) >> (BITS - 60n);
