// Groth16 (ePrint 2016/260) over BN254, for reading and for tests: a key whose secrets are known,
// contributions that end that, and proofs, on bigints. Nothing imported from src/; nobody should use it for
// more.

import { pippenger } from "@noble/curves/abstract/curve.js";
import { bn254 } from "@noble/curves/bn254.js";
import { inverse, inverses, mod, power, R } from "./naive-bn254.ts";

type G1 = typeof bn254.G1.Point.BASE;
type G2 = typeof bn254.G2.Point.BASE;
/** By wire. */
export type Sum = ReadonlyMap<number, bigint>;

/** a·b = c; wire 0 is 1, then come the inputs. */
export interface System {
	readonly inputs: number;
	readonly wires: number;
	readonly constraints: readonly { readonly a: Sum; readonly b: Sum; readonly c: Sum }[];
}

export interface Secrets {
	readonly tau: bigint;
	readonly alpha: bigint;
	readonly beta: bigint;
	readonly gamma: bigint;
	readonly delta: bigint;
}

export interface Key {
	readonly alpha1: G1;
	readonly beta1: G1;
	readonly beta2: G2;
	readonly gamma2: G2;
	readonly delta1: G1;
	readonly delta2: G2;
	/** By wire. */
	readonly a: readonly G1[];
	readonly b1: readonly G1[];
	readonly b2: readonly G2[];
	/** Of 1 and the inputs; of the other wires. */
	readonly inputs: readonly G1[];
	readonly others: readonly G1[];
	readonly powers: readonly G1[];
}

const one = { g1: bn254.G1.Point.BASE, g2: bn254.G2.Point.BASE };
const at1 = (scalar: bigint): G1 => (scalar === 0n ? bn254.G1.Point.ZERO : one.g1.multiply(scalar));
const at2 = (scalar: bigint): G2 => (scalar === 0n ? bn254.G2.Point.ZERO : one.g2.multiply(scalar));

/** Inputs have a constraint of their own each, so that none of them can stand for another. */
const sizeOf = ({ constraints, inputs }: System): number => 2 ** Math.ceil(Math.log2(constraints.length + inputs + 1));
/** 5 has no square root, so this has order 2^28. */
const ROOT = power(5n, (R - 1n) >> 28n);
const rootOf = (size: number): bigint => power(ROOT, BigInt(2 ** 28 / size));

/** Each wire's polynomials at τ. */
function wiresAt(system: System, tau: bigint) {
	const size = sizeOf(system);
	const root = rootOf(size);
	const roots = Array.from({ length: size }, () => 1n);
	for (let i = 1; i < size; i++) roots[i] = mod(roots[i - 1]! * root);
	const zero = mod(power(tau, BigInt(size)) - 1n);
	const below = inverses(roots.map((one) => mod(BigInt(size) * (tau - one))));
	const lagrange = roots.map((one, i) => mod(zero * mod(one * below[i]!)));
	const lists = () => new Array<bigint>(system.wires).fill(0n);
	const [a, b, c] = [lists(), lists(), lists()];
	const add = (list: bigint[], sum: Sum, row: number) => {
		for (const [wire, factor] of sum) list[wire] = mod(list[wire]! + factor * lagrange[row]!);
	};
	for (const [row, constraint] of system.constraints.entries()) {
		add(a, constraint.a, row);
		add(b, constraint.b, row);
		add(c, constraint.c, row);
	}
	for (let i = 0; i <= system.inputs; i++) add(a, new Map([[i, 1n]]), system.constraints.length + i);
	return { a, b, c, zero, size };
}

export function keyOf(system: System, { tau, alpha, beta, gamma, delta }: Secrets): Key {
	const { a, b, c, zero, size } = wiresAt(system, tau);
	const joined = a.map((one, i) => mod(beta * one + alpha * b[i]! + c[i]!));
	const [byGamma, byDelta] = [inverse(gamma), inverse(delta)];
	const publics = system.inputs + 1;
	let step = mod(zero * byDelta);
	const powers = Array.from({ length: size - 1 }, () => {
		const point = at1(step);
		step = mod(step * tau);
		return point;
	});
	return {
		...{ alpha1: at1(alpha), beta1: at1(beta), beta2: at2(beta), gamma2: at2(gamma), delta1: at1(delta) },
		...{ delta2: at2(delta), a: a.map(at1), b1: b.map(at1), b2: b.map(at2), powers },
		inputs: joined.slice(0, publics).map((one) => at1(mod(one * byGamma))),
		others: joined.slice(publics).map((one) => at1(mod(one * byDelta))),
	};
}

/** Somebody more whose secret must be known before anybody can prove what is false. */
export function contribute(key: Key, secret: bigint): Key {
	const back = inverse(secret);
	const less = (point: G1) => (point.is0() ? point : point.multiply(back));
	return {
		...key,
		...{ delta1: key.delta1.multiply(secret), delta2: key.delta2.multiply(secret) },
		...{ others: key.others.map(less), powers: key.powers.map(less) },
	};
}

/** Values of a polynomial at all roots, from its coefficients. */
function transformed(list: readonly bigint[], root: bigint): bigint[] {
	if (list.length === 1) return [...list];
	const square = mod(root * root);
	const [even, odd] = [0, 1].map((k) =>
		transformed(
			list.filter((_, i) => i % 2 === k),
			square,
		),
	) as [bigint[], bigint[]];
	const [low, high]: [bigint[], bigint[]] = [[], []];
	for (let i = 0, x = 1n; i < even.length; i++, x = mod(x * root)) {
		const turned = mod(x * odd[i]!);
		low.push(mod(even[i]! + turned));
		high.push(mod(even[i]! - turned));
	}
	return [...low, ...high];
}

/** Coefficients of (a·b - c) / (X^size - 1), by values on a coset. */
function quotient(system: System, values: readonly bigint[]): bigint[] {
	const size = sizeOf(system);
	const root = rootOf(size);
	const [shift, share] = [5n, inverse(BigInt(size))];
	const number = (sum: Sum) => {
		let total = 0n;
		for (const [wire, factor] of sum) total += factor * values[wire]!;
		return mod(total);
	};
	const rows = {
		a: new Array<bigint>(size).fill(0n),
		b: new Array<bigint>(size).fill(0n),
		c: new Array<bigint>(size).fill(0n),
	};
	for (const [row, { a, b, c }] of system.constraints.entries())
		[rows.a[row], rows.b[row], rows.c[row]] = [number(a), number(b), number(c)];
	for (let i = 0; i <= system.inputs; i++) rows.a[system.constraints.length + i] = values[i]!;
	const shifted = (list: readonly bigint[], by: bigint) => {
		let factor = 1n;
		return list.map((one) => {
			const result = mod(one * factor);
			factor = mod(factor * by);
			return result;
		});
	};
	const coset = (list: readonly bigint[]) =>
		transformed(
			shifted(transformed(list, inverse(root)), shift).map((one) => mod(one * share)),
			root,
		);
	const [a, b, c] = [coset(rows.a), coset(rows.b), coset(rows.c)];
	const under = inverse(mod(power(shift, BigInt(size)) - 1n));
	const there = a.map((one, i) => mod(mod(one * b[i]! - c[i]!) * under));
	return shifted(
		transformed(there, inverse(root)).map((one) => mod(one * share)),
		inverse(shift),
	);
}

function summed<Point extends G1 | G2>(points: readonly Point[], scalars: readonly bigint[], zero: Point): Point {
	const used = scalars.flatMap((scalar, i) => (scalar === 0n || points[i]!.is0() ? [] : [i]));
	if (used.length === 0) return zero;
	const group = zero.constructor as never;
	return pippenger(
		group,
		used.map((i) => points[i]!) as never,
		used.map((i) => scalars[i]!),
	) as unknown as Point;
}

const word = (value: bigint) => value.toString(16).padStart(64, "0");
const words1 = (point: G1): string[] => {
	const { x, y } = point.toAffine();
	return [x, y].map(word);
};
/** Imaginary parts first. */
const words2 = (point: G2): string[] => {
	const { x, y } = point.toAffine();
	return [x.c1, x.c0, y.c1, y.c0].map(word);
};

/** A, B, C; `r`, `s`: what hides the wires. */
export function proveGroth16(
	system: System,
	key: Key,
	values: readonly bigint[],
	[r, s]: readonly [bigint, bigint],
): Uint8Array {
	const { ZERO } = bn254.G1.Point;
	const a = key.alpha1.add(summed(key.a, values, ZERO)).add(key.delta1.multiply(r));
	const b2 = key.beta2.add(summed(key.b2, values, bn254.G2.Point.ZERO)).add(key.delta2.multiply(s));
	const b1 = key.beta1.add(summed(key.b1, values, ZERO)).add(key.delta1.multiply(s));
	const c = summed(key.others, values.slice(system.inputs + 1), ZERO)
		.add(summed(key.powers, quotient(system, values).slice(0, -1), ZERO))
		.add(a.multiply(s))
		.add(b1.multiply(r))
		.subtract(key.delta1.multiply(mod(r * s)));
	return Buffer.from([...words1(a), ...words2(b2), ...words1(c)].join(""), "hex");
}

const dot = (list: readonly bigint[], values: readonly bigint[]): bigint => {
	let sum = 0n;
	for (const [i, one] of list.entries()) sum += one * values[i]!;
	return mod(sum);
};

/**
 * What keyOf and proveGroth16 make, by the secrets themselves: three products of points instead of one for
 * each wire.
 */
export function provenBySecrets(
	system: System,
	secrets: Secrets,
	values: readonly bigint[],
	[r, s]: readonly [bigint, bigint],
): { readonly key: string[]; readonly proof: Uint8Array } {
	const { tau, alpha, beta, gamma, delta } = secrets;
	const wires = wiresAt(system, tau);
	const known = values.slice(0, system.inputs + 1);
	const inputs = known.map((_, i) => mod(beta * wires.a[i]! + alpha * wires.b[i]! + wires.c[i]!));
	const a = mod(alpha + dot(wires.a, values) + r * delta);
	const b = mod(beta + dot(wires.b, values) + s * delta);
	const c = mod((a * b - alpha * beta - dot(inputs, known)) * inverse(delta));
	const publics = inputs.map((one) => at1(mod(one * inverse(gamma))));
	return {
		key: [
			...words1(at1(alpha)),
			...[beta, gamma, delta].flatMap((one) => words2(at2(one))),
			...publics.flatMap(words1),
		],
		proof: Buffer.from([...words1(at1(a)), ...words2(at2(b)), ...words1(at1(c))].join(""), "hex"),
	};
}

/**
 * All of a key, for who proves with it; numbers of inputs, wires and log₂ of the roots first, little-endian.
 */
export function keyBytes(system: System, key: Key): Buffer {
	const head = Uint32Array.of(system.inputs, system.wires, Math.log2(sizeOf(system)));
	const words = [
		...[key.alpha1, key.beta1, key.delta1].flatMap(words1),
		...[key.beta2, key.gamma2, key.delta2].flatMap(words2),
		...[key.inputs, key.a, key.b1].flat().flatMap(words1),
		...key.b2.flatMap(words2),
		...[key.others, key.powers].flat().flatMap(words1),
	];
	return Buffer.concat([Buffer.from(head.buffer), Buffer.from(words.join(""), "hex")]);
}

/** alpha; beta, gamma, delta; a point for 1 and one for each input. */
export const keyWords = (key: Key): string[] => [
	...words1(key.alpha1),
	...[key.beta2, key.gamma2, key.delta2].flatMap(words2),
	...key.inputs.flatMap(words1),
];
