// The key of a circuit, from powers of tau, and contributions to it (Groth16's second phase, ePrint
// 2017/1050): each multiplies δ by a secret that its author forgets, and shows that it knew it. As long as
// one of them did forget, nobody can prove what is false. Everything is checked again by whoever relies on a
// key. docs/zk.md §13. Sums of points are plain: for circuits of some thousand rows; larger keys are made by
// programs that read our .r1cs files (r1cs-file.ts).
import { bytesToHex, concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import {
	bigOf,
	bytesOf,
	Fr,
	type G1,
	G1_ONE,
	type G2,
	G2_ONE,
	isOne,
	mod,
	R,
	times,
} from "../../../protocol/maths/bn254.ts";
import type { Circuit, Wires } from "../run/circuit.ts";
import { g1Bytes, g2Bytes } from "./key-bytes.ts";
import type { KeyPowers } from "./powers-file.ts";

/** What a prover needs; γ is 1. */
export interface ProvingKey {
	readonly alpha1: G1;
	readonly beta1: G1;
	readonly beta2: G2;
	readonly delta1: G1;
	readonly delta2: G2;
	/** By wire. */
	readonly a: readonly G1[];
	readonly b1: readonly G1[];
	readonly b2: readonly G2[];
	/** Of 1 and the inputs; of the other wires, divided by δ. */
	readonly inputs: readonly G1[];
	readonly others: readonly G1[];
	/** (τ^n - 1)·τ^i, divided by δ. */
	readonly powers: readonly G1[];
}

/** δ after it, and that its author knew the factor: Schnorr's proof, to the base of δ before. */
export interface Contribution {
	readonly delta1: G1;
	readonly delta2: G2;
	readonly commitment: G1;
	readonly answer: bigint;
}

type System = Pick<Circuit, "constraints" | "inputs" | "wires">;

/** Inputs have a row of their own each. */
export const rowsOf = ({ constraints, inputs }: System): number =>
	2 ** Math.ceil(Math.log2(constraints.length + inputs + 1));

/** 5 has no square root, so this has order 2^28. */
const ROOT = Fr.pow(5n, (R - 1n) >> 28n);
const times2 = (point: G2, by: bigint): G2 =>
	point.is0() || mod(by) === 0n ? G2_ONE.subtract(G2_ONE) : point.multiplyUnsafe(mod(by));

/** From powers of τ to values of Lagrange's polynomials there. */
function lagrange<Point extends G1 | G2>(
	powers: readonly Point[],
	by: (point: Point, scalar: bigint) => Point,
): Point[] {
	const back = Fr.inv(Fr.pow(ROOT, BigInt(2 ** 28 / powers.length)));
	const transformed = (list: readonly Point[], root: bigint): Point[] => {
		if (list.length === 1) return [...list];
		const half = (k: number) =>
			transformed(
				list.filter((_, i) => i % 2 === k),
				mod(root * root),
			);
		const [even, odd] = [half(0), half(1)];
		const turned = odd.map((one, i) => by(one, Fr.pow(root, BigInt(i))));
		const added = even.map((one, i) => one.add(turned[i] as never) as Point);
		return [...added, ...even.map((one, i) => one.subtract(turned[i] as never) as Point)];
	};
	const share = Fr.inv(BigInt(powers.length));
	return transformed(powers, back).map((one) => by(one, share));
}

/** Before anybody contributed: δ is 1. It follows from circuit and powers alone. */
export function firstKey(system: System, powers: KeyPowers): ProvingKey {
	const rows = rowsOf(system);
	const at1 = lagrange(powers.tau1.slice(0, rows), times);
	const at2 = lagrange(powers.tau2.slice(0, rows), times2);
	const [alphas, betas] = [lagrange(powers.alpha1.slice(0, rows), times), lagrange(powers.beta1.slice(0, rows), times)];
	const [zero1, zero2] = [times(G1_ONE, 0n), times2(G2_ONE, 0n)];
	const ones = () => new Array<G1>(system.wires).fill(zero1);
	const [a, b1, joined] = [ones(), ones(), ones()];
	const b2 = new Array<G2>(system.wires).fill(zero2);
	const addAll = (list: G1[], wires: Wires, point: G1) => {
		for (const [wire, factor] of wires) list[wire] = list[wire]!.add(times(point, factor));
	};
	const rowOf = (row: number, wires: { readonly a: Wires; readonly b: Wires; readonly c: Wires }) => {
		addAll(a, wires.a, at1[row]!);
		addAll(b1, wires.b, at1[row]!);
		for (const [wire, factor] of wires.b) b2[wire] = b2[wire]!.add(times2(at2[row]!, factor));
		addAll(joined, wires.a, betas[row]!);
		addAll(joined, wires.b, alphas[row]!);
		addAll(joined, wires.c, at1[row]!);
	};
	for (const [row, constraint] of system.constraints.entries()) rowOf(row, constraint);
	const none: Wires = new Map();
	for (let i = 0; i <= system.inputs; i++)
		rowOf(system.constraints.length + i, { a: new Map([[i, 1n]]), b: none, c: none });
	return {
		...{ alpha1: powers.alpha1[0]!, beta1: powers.beta1[0]!, beta2: powers.beta2, delta1: G1_ONE, delta2: G2_ONE },
		...{ a, b1, b2, inputs: joined.slice(0, system.inputs + 1), others: joined.slice(system.inputs + 1) },
		powers: Array.from({ length: rows - 1 }, (_, i) => powers.tau1[rows + i]!.subtract(powers.tau1[i]!)),
	};
}

const packed = ({ alpha1, beta1, beta2, delta1, delta2, a, b1, b2, inputs, others, powers }: ProvingKey): Uint8Array =>
	concatBytes(
		...[alpha1, beta1, delta1, ...a, ...b1, ...inputs, ...others, ...powers].map(g1Bytes),
		...[beta2, delta2, ...b2].map(g2Bytes),
	);

/** With which a chain of contributions begins. */
export const firstHash = (first: ProvingKey): Uint8Array => keccak(utf8ToBytes("assay/zk/phase2/1"), packed(first));

/** Each one's hash has all before it. */
export const nextHash = (hash: Uint8Array, { delta1, delta2, commitment, answer }: Contribution): Uint8Array =>
	keccak(hash, g1Bytes(delta1), g2Bytes(delta2), g1Bytes(commitment), bytesOf(answer));

const challengeOf = (hash: Uint8Array, before: G1, after: G1, commitment: G1): bigint =>
	bigOf(keccak(utf8ToBytes("assay/zk/phase2/known"), hash, g1Bytes(before), g1Bytes(after), g1Bytes(commitment))) % R;

/** `hash`: of the chain so far. `secret`, `blind`: drawn, not 0, and forgotten. */
export function contribute(
	key: ProvingKey,
	hash: Uint8Array,
	{ secret, blind }: { readonly secret: bigint; readonly blind: bigint },
): { readonly key: ProvingKey; readonly contribution: Contribution } {
	const back = Fr.inv(secret);
	const [delta1, delta2] = [times(key.delta1, secret), times2(key.delta2, secret)];
	const commitment = times(key.delta1, blind);
	const answer = mod(blind + challengeOf(hash, key.delta1, delta1, commitment) * secret);
	const less = (list: readonly G1[]) => list.map((one) => times(one, back));
	return {
		key: { ...key, delta1, delta2, others: less(key.others), powers: less(key.powers) },
		contribution: { delta1, delta2, commitment, answer },
	};
}

/**
 * Null: the key is that of circuit and powers, with these contributions. `first`: what firstKey makes of the
 * two; nobody's word stands for it.
 */
export function keyFault(first: ProvingKey, contributions: readonly Contribution[], key: ProvingKey): string | null {
	const own = { ...key, delta1: G1_ONE, delta2: G2_ONE, others: first.others, powers: first.powers };
	if (bytesToHex(packed(own)) !== bytesToHex(packed(first))) return "it is not of this circuit and these powers";
	if (key.others.length !== first.others.length || key.powers.length !== first.powers.length)
		return "it has another number of points";
	if (contributions.length === 0) return "nobody has contributed to it";
	let hash = firstHash(first);
	let before = G1_ONE;
	for (const [i, one] of contributions.entries()) {
		const { delta1, delta2, commitment, answer } = one;
		if (delta1.is0()) return `contribution ${i + 1} takes everything away`;
		const drawn = challengeOf(hash, before, delta1, commitment);
		if (!times(before, answer).equals(commitment.add(times(delta1, drawn))))
			return `who made contribution ${i + 1} did not know it`;
		if (
			!isOne([
				{ g1: delta1.negate(), g2: G2_ONE },
				{ g1: G1_ONE, g2: delta2 },
			])
		)
			return `contribution ${i + 1} has another δ in the second group`;
		hash = nextHash(hash, one);
		before = delta1;
	}
	const last = contributions.at(-1)!;
	if (!key.delta1.equals(last.delta1) || !key.delta2.equals(last.delta2))
		return "its δ is not that of the last contribution";
	return areDivided(first, key, hash) ? null : "its points are not divided by δ";
}

/** All at once, by factors that follow from the key: e(Σ point, δ) = e(Σ point before, 1). */
function areDivided(first: ProvingKey, key: ProvingKey, hash: Uint8Array): boolean {
	const start = keccak(hash, packed(key));
	let [before, after] = [times(G1_ONE, 0n), times(G1_ONE, 0n)];
	const lists = [...first.others, ...first.powers];
	for (const [i, one] of [...key.others, ...key.powers].entries()) {
		const by = bigOf(keccak(start, bytesOf(BigInt(i)))) >> 128n;
		after = after.add(times(one, by));
		before = before.add(times(lists[i]!, by));
	}
	return isOne([
		{ g1: after.negate(), g2: key.delta2 },
		{ g1: before, g2: G2_ONE },
	]);
}

/** As verifyGroth16 takes it: words of 64 hex digits. */
export const verifyingWords = ({ alpha1, beta2, delta2, inputs }: ProvingKey): string[] =>
	bytesToHex(concatBytes(g1Bytes(alpha1), ...[beta2, G2_ONE, delta2].map(g2Bytes), ...inputs.map(g1Bytes))).match(
		/.{64}/g,
	)!;
