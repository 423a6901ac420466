// Scalars and points of BN254 and the transcript of docs/zk.md, for reading: bigints, textbook formulas,
// nothing imported from src/.
import { keccak_256 } from "@noble/hashes/sha3.js";

/** Of the scalars. */
export const R = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
/** Of the coordinates. */
export const P = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;

export function mod(value: bigint, order: bigint = R): bigint {
	const rest = value % order;
	return rest < 0n ? rest + order : rest;
}

export function power(base: bigint, exponent: bigint, order: bigint = R): bigint {
	let result = 1n;
	for (let b = mod(base, order), e = exponent; e > 0n; e >>= 1n, b = (b * b) % order)
		if (e & 1n) result = (result * b) % order;
	return result;
}

/** By Euclid's algorithm; 0 of 0. */
export function inverse(value: bigint, order: bigint = R): bigint {
	let [a, b, x, y] = [mod(value, order), order, 1n, 0n];
	while (a > 1n) {
		const q = b / a;
		[a, b, x, y] = [b - q * a, a, y - q * x, x];
	}
	return a === 0n ? 0n : mod(x, order);
}

/** All of them by one; none is 0. */
export function inverses(list: readonly bigint[]): bigint[] {
	const products = [1n];
	for (const one of list) products.push(mod(products.at(-1)! * one));
	let back = inverse(products.at(-1)!);
	const result = new Array<bigint>(list.length);
	for (let i = list.length - 1; i >= 0; i--) {
		result[i] = mod(back * products[i]!);
		back = mod(back * list[i]!);
	}
	return result;
}

/** Null: the point at infinity. */
export type Point = readonly [x: bigint, y: bigint] | null;

type Whole = NonNullable<Point>;

function doubled([x1, y1]: Whole): Whole {
	const slope = mod(3n * x1 * x1 * inverse(2n * y1, P), P);
	const x = mod(slope * slope - 2n * x1, P);
	return [x, mod(slope * (x1 - x) - y1, P)];
}

/** 2^i times the generator. */
const DOUBLES: Whole[] = [[1n, 2n]];

/**
 * So many times the generator. In coordinates x/z², y/z³: one division at the end instead of one for each
 * sum.
 */
export function timesGenerator(scalar: bigint): Point {
	let sum: readonly [x: bigint, y: bigint, z: bigint] | null = null;
	for (let i = 0, rest = mod(scalar); rest > 0n; i++, rest >>= 1n) {
		if (i > 0) DOUBLES[i] ??= doubled(DOUBLES[i - 1]!);
		if ((rest & 1n) === 0n) continue;
		const [x2, y2] = DOUBLES[i]!;
		if (sum === null) sum = [x2, y2, 1n];
		else {
			// Never the same point nor its opposite: below 2^i times the generator lies no 2^i times, and all of
			// them together are below R.
			const [x1, y1, z1]: readonly [bigint, bigint, bigint] = sum;
			const square = (z1 * z1) % P;
			const h = mod(x2 * square - x1, P);
			const r = mod(y2 * square * z1 - y1, P);
			const [h2, h3] = [(h * h) % P, (h * h * h) % P];
			const x = mod(r * r - h3 - 2n * x1 * h2, P);
			sum = [x, mod(r * (x1 * h2 - x) - y1 * h3, P), (z1 * h) % P];
		}
	}
	if (sum === null) return null;
	const back = inverse(sum[2], P);
	return [mod(sum[0] * back * back, P), mod(sum[1] * back * back * back, P)];
}

export const word = (value: bigint): Uint8Array => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
export const pointBytes = (point: Point): Uint8Array =>
	point === null ? new Uint8Array(64) : Buffer.concat(point.map(word));

export const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString("hex")}`);

/** What a known τ is made of: nobody may rely on powers of it. */
export const DEV_TAU = number(keccak_256(Buffer.from("assay/zk/dev"))) % R;

/** A state, to which messages go and from which challenges come. */
export class Transcript {
	private state: Uint8Array;
	private hasDrawn = false;

	constructor(statement: Uint8Array) {
		this.state = keccak_256(Buffer.concat([Buffer.from("assay/zk/1"), statement]));
	}

	absorb(kind: number, bytes: Uint8Array): void {
		const head = Buffer.alloc(5);
		head.writeUInt8(kind, 0);
		head.writeUInt32BE(bytes.length, 1);
		this.state = keccak_256(Buffer.concat([this.state, head, bytes]));
		this.hasDrawn = false;
	}

	challenge(): bigint {
		if (this.hasDrawn) this.state = keccak_256(Buffer.concat([this.state, Uint8Array.of(0xff)]));
		this.hasDrawn = true;
		return number(this.state) % R;
	}
}
