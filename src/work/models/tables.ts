// The tables that models look up, made with whole numbers only, so that every machine makes the same ones: an entry is f·2^bits to the
// nearest, docs/training.md §3. Not here: how they are read (softmax.ts, activation.ts).
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

/** 1/√(2π), by Machin's formula for π. */
function normalFactor(): bigint {
	const arctan = (n: bigint): bigint => {
		let [sum, power] = [0n, ONE / n];
		for (let i = 1n; power !== 0n; i += 2n) {
			sum += i % 4n === 1n ? power / i : -(power / i);
			power /= n * n;
		}
		return sum;
	};
	const pi = 4n * (4n * arctan(5n) - arctan(239n));
	return (ONE * ONE) / root(2n * pi);
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
