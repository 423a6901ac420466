// Powers of tau, docs/zk.md §1: the points [τ^i] of a ceremony that commitments are made of, and τ in the
// second group, which is all that a verifier needs. A file is believed by its SHA-256. Test parameters
// (`dev`), powers of a τ that everybody knows, prove nothing to anybody.

import { pippenger } from "@noble/curves/abstract/curve.js";
import { bn254 } from "@noble/curves/bn254.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import type { Code } from "../../protocol/codes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import {
	bigOf,
	bytesOf,
	type G1,
	G1_ONE,
	type G2,
	G2_ONE,
	knownG1,
	knownG2,
	R,
	times,
} from "../../protocol/maths/bn254.ts";
import { IGNITION_IDS, IGNITION_TAU } from "../../protocol/maths/ignition.ts";
import { IGNITION_POWERS, TEST_PARAMETERS } from "../../protocol/proof-powers.ts";

export interface SrsFault {
	readonly code: Code;
	readonly detail: string;
}

/**
 * The first 2^15 + 1 powers of Aztec's Ignition as alxiong/ark-srs@59e89164 keeps them:
 * data/kzg10-bn254-aztec-srs-32768.bin.
 */
const IGNITION_SHA256 = "adfc7e882e487656ce92f4a0542a74c4c92022497fd6e29d70d22e74f5a229fe";
const COUNT_BYTES = 8;
const fault = (code: Code, detail: string): SrsFault => ({ code, detail });

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
 * powers, and believes none. Layout: u64 count; points, x and y little-endian; u64 0; the generator and τ of
 * the second group; u64 0.
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
	if (isIgnition(id)) return knownG2(...IGNITION_TAU);
	return fault("SRS_UNKNOWN", `no known powers have the id ${id.slice(0, 64)}`);
}
