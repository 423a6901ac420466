// Powers of tau, docs/zk.md §1: the points [τ^i] of a ceremony that commitments are made of, and τ in the
// second group, which is all that a verifier needs. A file is believed by its SHA-256, and its points are
// checked besides. Test parameters (`dev`), powers of a τ that everybody knows, prove nothing to anybody.

import { pippenger } from "@noble/curves/abstract/curve.js";
import { bn254 } from "@noble/curves/bn254.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import type { Code } from "../../protocol/codes.ts";
import { keccak, keccakLeaf, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import {
	bigOf,
	bytesOf,
	type G1,
	G1_ONE,
	type G2,
	G2_ONE,
	g1Of,
	g2Of,
	isOne,
	knownG1,
	knownG2,
	R,
	times,
} from "../../protocol/maths/bn254.ts";
import { IGNITION_IDS, IGNITION_TAU } from "../../protocol/maths/ignition.ts";
import { IGNITION_POWERS, TEST_PARAMETERS } from "../../protocol/proof-powers.ts";

export interface Powers {
	/** Root of the keccak tree over the points, x ‖ y big-endian; or `dev`. */
	readonly id: string;
	/** [τ^0], [τ^1], … */
	readonly points: readonly G1[];
	readonly tauG2: G2;
}

export interface SrsFault {
	readonly code: Code;
	readonly detail: string;
}

/**
 * The first 2^15 + 1 powers of Aztec's Ignition as alxiong/ark-srs@59e89164 keeps them:
 * data/kzg10-bn254-aztec-srs-32768.bin.
 */
const IGNITION_SHA256 = "adfc7e882e487656ce92f4a0542a74c4c92022497fd6e29d70d22e74f5a229fe";
const P = bn254.fields.Fp.ORDER;
const COUNT_BYTES = 8;
const MASK = (1n << 254n) - 1n;
const fault = (code: Code, detail: string): SrsFault => ({ code, detail });
const little = (bytes: Uint8Array): bigint => bigOf(bytes.toReversed());

/**
 * arkworks' form: the coordinate's second top bit says infinity, the top bit that y is the larger of the two.
 * One spelling only.
 */
function yOf(bytes: Uint8Array): bigint | null {
	const raw = little(bytes);
	const y = raw & MASK;
	return y < P && raw >> 254n === (y > P - y ? 2n : 0n) ? y : null;
}

/** The id of powers: a tree, so that a contract can be shown one of them. */
function srsId(points: readonly G1[]): string {
	const leaves = points.map((one) => {
		const { x, y } = one.toAffine();
		return keccakLeaf(concatBytes(bytesOf(x), bytesOf(y)));
	});
	return bytesToHex(keccakTree(leaves).root);
}

/**
 * Whether each point is τ times the one before, the first the generator: all steps at once, by factors that
 * follow from the points.
 */
export function arePowers(points: readonly G1[], tauG2: G2): boolean {
	if (points.length < 2 || !points[0]!.equals(G1_ONE) || points.some((one) => one.is0()) || tauG2.is0()) return false;
	const { x, y } = tauG2.toAffine();
	const seed = keccak(utf8ToBytes(srsId(points)), ...[x.c0, x.c1, y.c0, y.c1].map(bytesOf));
	// 128 bits: a false step passes with that much luck.
	const factors = points.slice(1).map((_, i) => bigOf(keccak(seed, bytesOf(BigInt(i))).subarray(0, 16)) | 1n);
	const sumOf = (list: readonly G1[]) => pippenger(bn254.G1.Point, [...list], factors);
	return isOne([
		{ g1: sumOf(points.slice(1)), g2: G2_ONE },
		{ g1: sumOf(points.slice(0, -1)).negate(), g2: tauG2 },
	]);
}

/** The first `count` powers of the file in `../shared/srs`, or of any copy of it. */
export function readIgnition(file: Uint8Array, count: number): Powers | SrsFault {
	if (bytesToHex(sha256Of(file)) !== IGNITION_SHA256)
		return fault("SRS_UNKNOWN", "the file's SHA-256 is not that of any known powers of Ignition");
	return readArkworks(file, count);
}

/** Powers as a prover needs them: x ‖ y of each, big-endian. Null: made by whoever proves, of a known τ. */
export interface ProverPowers {
	readonly id: string;
	readonly points: Uint8Array | null;
	/** The one after them, which hides what is committed to (docs/zk.md §13); null: made too. */
	readonly next: Uint8Array | null;
}

export const DEV_POWERS: ProverPowers = { id: "dev", points: null, next: null };

/**
 * The first `count` powers of the file, for a prover. By the file's SHA-256 alone: who verifies needs no
 * powers, and believes none.
 */
export function ignitionPowers(file: Uint8Array, count: number): ProverPowers | SrsFault {
	const id = ignitionId(count);
	if (bytesToHex(sha256Of(file)) !== IGNITION_SHA256 || id === null)
		return fault("SRS_UNKNOWN", "the file's SHA-256 is not that of any known powers of Ignition");
	const points = new Uint8Array(64 * (count + 1));
	for (let i = 0; i < 2 * (count + 1); i++) {
		const number = file.slice(COUNT_BYTES + 32 * i, COUNT_BYTES + 32 * (i + 1)).reverse();
		// Of y the two highest bits are flags.
		number[0]! &= 0x3f;
		points.set(number, 32 * i);
	}
	return { id, points: points.subarray(0, 64 * count), next: points.subarray(64 * count) };
}

/**
 * Layout: u64 count; points, x and y little-endian; u64 0; the generator and τ of the second group; u64 0.
 */
export function readArkworks(file: Uint8Array, count: number): Powers | SrsFault {
	const all = file.length < COUNT_BYTES ? 0 : Number(little(file.subarray(0, COUNT_BYTES)));
	if (!Number.isSafeInteger(count) || count < 2 || count > all) return fault("SRS_FORM", `it has ${all} powers`);
	const end = COUNT_BYTES + 64 * all;
	if (file.length !== end + 2 * COUNT_BYTES + 256)
		return fault("SRS_FORM", `a file of ${all} powers has another length`);
	const seconds = [0, 1].map((i) =>
		g2At(file.subarray(end + COUNT_BYTES + 128 * i, end + COUNT_BYTES + 128 * i + 128)),
	);
	const points: G1[] = [];
	for (let i = 0; i < count; i++) {
		const bytes = file.subarray(COUNT_BYTES + 64 * i, COUNT_BYTES + 64 * i + 64);
		const y = yOf(bytes.subarray(32));
		const point = y === null ? "spelling" : g1Of(little(bytes.subarray(0, 32)), y);
		if (point === "spelling") return fault("SRS_FORM", `power ${i} is spelt in another way`);
		if (point === "nowhere") return fault("SRS_WRONG", `power ${i} is on no curve`);
		points.push(point);
	}
	const [one, tau] = seconds;
	if (typeof one !== "object" || typeof tau !== "object")
		return fault("SRS_FORM", "a point of the second group is none");
	if (!one.equals(G2_ONE) || !tau.equals(ignitionTau())) return fault("SRS_WRONG", "its τ is not Ignition's");
	if (!arePowers(points, tau)) return fault("SRS_WRONG", "a step from one power to the next is not τ");
	return { id: srsId(points), points, tauG2: tau };
}

function g2At(bytes: Uint8Array): G2 | "spelling" | "nowhere" {
	const [xr, xi, yr] = [0, 1, 2].map((i) => little(bytes.subarray(32 * i, 32 * i + 32))) as [bigint, bigint, bigint];
	// The sign is that of the pair, imaginary part first; the point is compared with a known one anyway.
	return g2Of(xi, xr, little(bytes.subarray(96)) & MASK, yr);
}

const ignitionTau = (): G2 => knownG2(...IGNITION_TAU);

/** τ of the powers that are made on the spot: whoever reads this line can prove anything over them. */
const DEV_TAU = bigOf(keccak(utf8ToBytes("assay/zk/dev"))) % R;
export const DEV_ID = "dev";

const known = new WeakMap<ProverPowers, (i: number) => G1>();

/** [τ^i] of a prover's powers, as a point; each is made once. */
export function powerOf(powers: ProverPowers): (i: number) => G1 {
	const found = known.get(powers) ?? powersAsPoints(powers);
	known.set(powers, found);
	return found;
}

function powersAsPoints({ points }: ProverPowers): (i: number) => G1 {
	const made = new Map<number, G1>();
	const make = (i: number): G1 =>
		points === null
			? G1_ONE.multiply(bn254.fields.Fr.pow(DEV_TAU, BigInt(i)))
			: knownG1(bigOf(points.subarray(64 * i, 64 * i + 32)), bigOf(points.subarray(64 * i + 32, 64 * i + 64)));
	return (i) => {
		const found = made.get(i) ?? make(i);
		made.set(i, found);
		return found;
	};
}

/** Σ list_i·[τ^i], x ‖ y. Slow for long lists, as all of this is. */
export function commitTo(powers: ProverPowers, list: readonly bigint[]): Uint8Array {
	const { Fr } = bn254.fields;
	const some = list.flatMap((value, i) => (value === 0n ? [] : [i]));
	const known = () => list.reduceRight((all, value) => Fr.create(all * DEV_TAU + value), 0n);
	const scalars = some.map((i) => Fr.create(list[i]!));
	const sum =
		powers.points === null || some.length === 0
			? times(G1_ONE, known())
			: pippenger(bn254.G1.Point, some.map(powerOf(powers)), scalars);
	if (sum.is0()) return new Uint8Array(64);
	const { x, y } = sum.toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
}

/** How hashes name powers: those of a known τ by zeros. */
export const srsWord = (id: string): Uint8Array => (id === DEV_ID ? new Uint8Array(32) : hexToBytes(id, 32)!);

/** Whether these are powers of Ignition, however many. */
export const isIgnition = (id: string): boolean => [...IGNITION_IDS.values()].includes(id);

/** Powers in words, by their id. */
export const powersName = (id: string): string =>
	id === DEV_ID ? TEST_PARAMETERS : isIgnition(id) ? IGNITION_POWERS : "powers of no known ceremony";

/** Of the first `count` of Ignition's powers; null where nobody has written it down. */
export const ignitionId = (count: number): string | null => IGNITION_IDS.get(count) ?? null;

/**
 * τ in the second group for the powers that a statement names: Ignition's by their id, `dev` only for whoever
 * asks for it. A fault says that nothing can be told, not that something is false.
 */
export function tauOf(id: string, { isDevAllowed }: { readonly isDevAllowed: boolean }): G2 | SrsFault {
	if (id === DEV_ID) {
		if (isDevAllowed) return G2_ONE.multiply(DEV_TAU);
		return fault("SRS_DEV", "the proof is over test parameters (not secure): everybody knows the τ of its powers");
	}
	if (isIgnition(id)) return ignitionTau();
	return fault("SRS_UNKNOWN", `no known powers have the id ${id.slice(0, 64)}`);
}
