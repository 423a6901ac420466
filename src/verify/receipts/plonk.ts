// PLONK as gnark writes it, over BN254 with one committed value (BSB22): challenges from SHA-256, the
// linearised polynomial, two KZG openings (at ζ and at ωζ) folded into one pairing check. The circuit's key
// and the powers are published constants.
import { expand_message_xmd } from "@noble/curves/abstract/hash-to-curve.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import {
	bigOf,
	bytesOf,
	Fr,
	type G1,
	G2_ONE,
	g1Of,
	isOne,
	knownG1,
	knownG2,
	mod,
	type NoPoint,
	R,
	times,
	wordsOf,
} from "../../protocol/maths/bn254.ts";

export const PLONK_BYTES = 864;

export interface PlonkKey {
	readonly domain: number;
	readonly commitmentAt: number;
	/** Points QL, QR, QM, QO, QK, S1, S2, S3, QCP. */
	readonly key: readonly string[];
}

/** gnark's root of unity of order 2^28, and the shift between its cosets. */
const ROOT = 19103219067921713944291392827692070036145651957329286315305642004821462161904n;
const SHIFT = 5n;

/** Where the points and openings of a proof stand, in words. */
const AT = { l: 0, r: 2, o: 4, h0: 6, h1: 8, h2: 10, z: 17, atZeta: 20, atZetaOmega: 22, commitment: 25 } as const;

interface Proof {
	readonly bytes: Uint8Array;
	readonly point: (name: keyof typeof AT) => G1;
	/** l, r, o, s1, s2 and qcp at ζ; z at ωζ. */
	readonly l: bigint;
	readonly r: bigint;
	readonly o: bigint;
	readonly s1: bigint;
	readonly s2: bigint;
	readonly zOmega: bigint;
	readonly qcp: bigint;
}

function readProof(bytes: Uint8Array): Proof | NoPoint {
	if (bytes.length !== PLONK_BYTES) return "spelling";
	const words = wordsOf(bytes);
	const [l, r, o, s1, s2] = words.slice(12, 17) as [bigint, bigint, bigint, bigint, bigint];
	const [zOmega, qcp] = [words[19]!, words[24]!];
	if ([l, r, o, s1, s2, zOmega, qcp].some((one) => one >= R)) return "spelling";
	const points = new Map<string, G1>();
	for (const [name, at] of Object.entries(AT)) {
		const point = g1Of(words[at]!, words[at + 1]!);
		if (typeof point === "string") return point;
		points.set(name, point);
	}
	return { ...{ bytes, l, r, o, s1, s2, zOmega, qcp }, point: (name) => points.get(name)! };
}

interface Challenges {
	readonly gamma: bigint;
	readonly beta: bigint;
	readonly alpha: bigint;
	readonly zeta: bigint;
}

/**
 * Each from its name, the challenge before it and what was said since. Unreduced in the hash, reduced in use.
 */
function challengesOf(key: readonly string[], proof: Uint8Array, inputs: readonly bigint[]): Challenges {
	const point = (i: number) => concatBytes(...[key[2 * i]!, key[2 * i + 1]!].map((one) => bytesOf(BigInt(`0x${one}`))));
	const hash = (name: string, ...parts: Uint8Array[]) => sha256(concatBytes(utf8ToBytes(name), ...parts));
	const part = (first: number, words: number) => proof.subarray(32 * first, 32 * (first + words));
	const selectors = [5, 6, 7, 0, 1, 2, 3, 4, 8].map(point);
	const gamma = hash("gamma", ...selectors, ...inputs.map(bytesOf), part(AT.l, 6));
	const beta = hash("beta", gamma);
	const alpha = hash("alpha", beta, part(AT.commitment, 2), part(AT.z, 2));
	const zeta = hash("zeta", alpha, part(AT.h0, 6));
	const [g, b, a, z] = [gamma, beta, alpha, zeta].map((one) => bigOf(one) % R);
	return { gamma: g!, beta: b!, alpha: a!, zeta: z! };
}

/** The committed value as a number: RFC 9380's hash to a field, 48 bytes. */
function committed(proof: Uint8Array): bigint {
	const point = proof.subarray(32 * AT.commitment, 32 * AT.commitment + 64);
	return bigOf(expand_message_xmd(point, "BSB22-Plonk", 48, sha256)) % R;
}

export function verifyPlonk(
	{ domain, commitmentAt, key }: PlonkKey,
	powers: readonly string[],
	bytes: Uint8Array,
	inputs: readonly bigint[],
): "true" | "false" | NoPoint {
	const proof = readProof(bytes);
	if (typeof proof === "string") return proof;
	if (inputs.some((one) => one < 0n || one >= R)) return "spelling";
	const known = Array.from({ length: 9 }, (_, i) =>
		knownG1(BigInt(`0x${key[2 * i]!}`), BigInt(`0x${key[2 * i + 1]!}`)),
	);
	const [ql, qr, qm, qo, qk, s1, s2, s3, qcp] = known as [G1, G1, G1, G1, G1, G1, G1, G1, G1];
	const { gamma, beta, alpha, zeta } = challengesOf(key, bytes, inputs);
	const n = BigInt(domain);
	const omega = Fr.pow(ROOT, 2n ** 28n / n);
	const vanishing = mod(Fr.pow(zeta, n) - 1n);
	// ζ in the domain would leave the openings free; a hash that lands there is not found.
	if (vanishing === 0n) return "false";
	const lagrange = (i: number): bigint => {
		const root = Fr.pow(omega, BigInt(i));
		return (((vanishing * Fr.inv(n)) % R) * root * Fr.inv(mod(zeta - root))) % R;
	};
	let given = (committed(bytes) * lagrange(inputs.length + commitmentAt)) % R;
	for (const [i, input] of inputs.entries()) given = (given + input * lagrange(i)) % R;
	const first = (((alpha * alpha) % R) * lagrange(0)) % R;
	const { l, r, o, zOmega } = proof;
	const left = mod(beta * proof.s1 + l + gamma);
	const right = mod(beta * proof.s2 + r + gamma);
	/** What the linearised polynomial must be at ζ. */
	const opening = mod(first - given - ((((left * right) % R) * mod(o + gamma)) % R) * ((alpha * zOmega) % R));
	const towards = (((left * right) % R) * ((beta * zOmega) % R) * alpha) % R;
	const shifted = (k: bigint, value: bigint) => mod(beta * zeta * k + value + gamma);
	const away = mod(first - ((shifted(1n, l) * shifted(SHIFT, r)) % R) * ((shifted(SHIFT * SHIFT, o) * alpha) % R));
	const step = Fr.pow(zeta, n + 2n);
	const quotient = times(times(proof.point("h2"), step).add(proof.point("h1")), step).add(proof.point("h0"));
	const linearised = times(ql, l)
		.add(times(qr, r))
		.add(times(qm, l * r))
		.add(times(qo, o))
		.add(qk)
		.add(times(proof.point("commitment"), proof.qcp))
		.add(times(s3, towards))
		.add(times(proof.point("z"), away))
		.add(times(quotient, vanishing).negate());
	const opened: readonly (readonly [G1, bigint])[] = [
		[linearised, opening],
		[proof.point("l"), l],
		[proof.point("r"), r],
		[proof.point("o"), o],
		[s1, proof.s1],
		[s2, proof.s2],
		[qcp, proof.qcp],
	];
	return isOpened(proof, opened, { zeta, omega, powers }) ? "true" : "false";
}

const affine = (point: G1): Uint8Array => {
	const { x, y } = point.is0() ? { x: 0n, y: 0n } : point.toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
};

/** The seven polynomials at ζ, folded by powers of a challenge, and z at ωζ beside them by another. */
function isOpened(
	proof: Proof,
	opened: readonly (readonly [G1, bigint])[],
	{ zeta, omega, powers }: { readonly zeta: bigint; readonly omega: bigint; readonly powers: readonly string[] },
): boolean {
	const said = [...opened.map(([point]) => affine(point)), ...opened.map(([, value]) => bytesOf(value))];
	const name = utf8ToBytes("gamma");
	const fold = bigOf(sha256(concatBytes(name, bytesOf(zeta), ...said, bytesOf(proof.zOmega)))) % R;
	let [digest, value, factor] = [opened[0]![0], opened[0]![1], fold];
	for (const [point, at] of opened.slice(1)) {
		digest = digest.add(times(point, factor));
		value = (value + at * factor) % R;
		factor = (factor * fold) % R;
	}
	// Which number it is matters not, as long as nobody chose proof and key after it.
	const beside =
		bigOf(sha256(concatBytes(utf8ToBytes("assay/plonk-openings"), affine(digest), bytesOf(value), proof.bytes))) % R;
	const [one, other] = [proof.point("atZeta"), proof.point("atZetaOmega")];
	const [xi, xr, yi, yr, gx, gy] = powers.map((word) => BigInt(`0x${word}`)) as [
		...[bigint, bigint, bigint],
		...[bigint, bigint, bigint],
	];
	const sum = digest
		.add(times(proof.point("z"), beside))
		.add(times(knownG1(gx, gy), value + proof.zOmega * beside).negate())
		.add(times(one, zeta))
		.add(times(other, ((beside * zeta) % R) * omega));
	const quotients = one.add(times(other, beside));
	return isOne([
		{ g1: sum, g2: G2_ONE },
		{ g1: quotients.negate(), g2: knownG2(xi, xr, yi, yr) },
	]);
}
