// Powers of tau for keys of Groth16, as Hermez's ceremony publishes them (`.ptau`, version 1): powers of τ in
// both groups, of ατ and βτ in the first, β in the second. What a file says is checked as points and by
// pairings; that the ceremony was honest shows its own transcript. docs/zk.md §13.
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import {
	bigOf,
	bytesOf,
	Fp,
	type G1,
	G1_ONE,
	type G2,
	G2_ONE,
	g1Of,
	g2Of,
	isOne,
	R,
	times,
} from "../../../protocol/maths/bn254.ts";
import type { SrsFault } from "../srs.ts";
import { g1Bytes, g2Bytes } from "./key-bytes.ts";

export interface KeyPowers {
	/** 2n - 1 of them, for circuits of n rows. */
	readonly tau1: readonly G1[];
	/** n of each. */
	readonly tau2: readonly G2[];
	readonly alpha1: readonly G1[];
	readonly beta1: readonly G1[];
	readonly beta2: G2;
}

/** 1/2^256: coordinates stand in Montgomery's form. */
const UNMONT = Fp.inv(Fp.create(2n ** 256n));
const fault = (code: SrsFault["code"], detail: string): SrsFault => ({ code, detail });

/** Section number → where its bytes begin and how many there are. */
function sectionsOf(bytes: Uint8Array): Map<number, Uint8Array> | null {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (bytes.length < 12 || new TextDecoder().decode(bytes.subarray(0, 4)) !== "ptau" || view.getUint32(4, true) !== 1)
		return null;
	const found = new Map<number, Uint8Array>();
	let at = 12;
	for (let i = 0; i < view.getUint32(8, true); i++) {
		if (at + 12 > bytes.length) return null;
		const size = Number(view.getBigUint64(at + 4, true));
		if (at + 12 + size > bytes.length) return null;
		found.set(view.getUint32(at, true), bytes.subarray(at + 12, at + 12 + size));
		at += 12 + size;
	}
	return found;
}

/** Of the first sections' points, as many as a circuit of `rows` rows needs, a power of two. */
export function readPtau(bytes: Uint8Array, rows: number): KeyPowers | SrsFault {
	const sections = sectionsOf(bytes);
	const wanted = [
		[2, 64 * (2 * rows - 1)],
		[3, 128 * rows],
		[4, 64 * rows],
		[5, 64 * rows],
		[6, 128],
	] as const;
	if (sections === null || wanted.some(([type, size]) => (sections.get(type)?.length ?? 0) < size))
		return fault("SRS_FORM", `it is no .ptau file with powers for ${rows} rows`);
	let isForm = true;
	const coordinates = (part: Uint8Array, from: number, count: number): bigint[] =>
		Array.from({ length: count }, (_, i) => {
			const raw = bigOf(part.subarray(from + 32 * i, from + 32 * i + 32).toReversed());
			if (raw >= Fp.ORDER) isForm = false;
			return Fp.mul(raw, UNMONT);
		});
	const ones = (type: number, count: number) =>
		Array.from({ length: count }, (_, i) => {
			const [x, y] = coordinates(sections.get(type)!, 64 * i, 2) as [bigint, bigint];
			return g1Of(x, y);
		});
	const twos = (type: number, count: number) =>
		Array.from({ length: count }, (_, i) => {
			const [xr, xi, yr, yi] = coordinates(sections.get(type)!, 128 * i, 4) as [bigint, bigint, bigint, bigint];
			return g2Of(xi, xr, yi, yr);
		});
	const lists = [ones(2, 2 * rows - 1), twos(3, rows), ones(4, rows), ones(5, rows), twos(6, 1)] as const;
	if (!isForm) return fault("SRS_FORM", "a number is not below the field's order");
	if (lists.flat().some((one) => typeof one === "string" || one.is0())) return fault("SRS_WRONG", "a point is none");
	const [tau1, tau2, alpha1, beta1, [beta2]] = lists as unknown as [G1[], G2[], G1[], G1[], [G2]];
	const powers = { tau1, tau2, alpha1, beta1, beta2 };
	return areRight(powers) ? powers : fault("SRS_WRONG", "the points are not powers of one τ, α and β");
}

/**
 * All steps at once, by factors that follow from the points: each list goes on by τ, and α and β are the same
 * in all.
 */
function areRight({ tau1, tau2, alpha1, beta1, beta2 }: KeyPowers): boolean {
	if (!tau1[0]!.equals(G1_ONE) || !tau2[0]!.equals(G2_ONE)) return false;
	const all = [...[...tau1, ...alpha1, ...beta1].map(g1Bytes), ...[...tau2, beta2].map(g2Bytes)];
	const start = keccak(...all);
	let drawn = 0;
	const factor = () => bigOf(keccak(start, bytesOf(BigInt(drawn++)))) >> 128n;
	const step = tau2[1] ?? G2_ONE;
	let [here, next] = [times(G1_ONE, 0n), times(G1_ONE, 0n)];
	for (const list of [tau1, alpha1, beta1])
		for (let i = 0; i + 1 < list.length; i++) {
			const by = factor();
			here = here.add(times(list[i]!, by));
			next = next.add(times(list[i + 1]!, by));
		}
	// Powers in both groups are the same; β too.
	let [ones, twos] = [times(beta1[0]!, 1n), beta2];
	for (const [i, one] of tau2.entries()) {
		const by = factor();
		ones = ones.add(times(tau1[i]!, by));
		twos = twos.add(one.multiplyUnsafe(by % R));
	}
	return (
		isOne([
			{ g1: next.negate(), g2: G2_ONE },
			{ g1: here, g2: step },
		]) &&
		isOne([
			{ g1: ones.negate(), g2: G2_ONE },
			{ g1: G1_ONE, g2: twos },
		])
	);
}
