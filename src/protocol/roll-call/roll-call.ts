// The bytes of a roll call, docs/roll-call.md: which blocks call, what a device computes then, what it
// commits to and which places are opened. Nothing here is secret, and nothing is anybody's choice but a
// device's sizes. Contracts hash the same bytes (contracts/src/rollcall/), therefore integers are big-endian
// here.
import { concatBytes, hexToBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { keccak, keccakLeaf } from "../hash/keccak-tree.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { gemmLeaves, keptLeafPlace, streamGroups } from "../probe/challenge-shape.ts";
import type { GemmSpec, StreamSpec } from "../probe/evidence.ts";
import { gemmSamples, streamSamples } from "../probe/samples.ts";

/** Places of the products, and as many of the pass over them. */
export const ROLL_SAMPLES = 8;
/** A demanded opening carries every root to the chain. */
export const MAX_ROLL_ROUNDS = 1024;
export const NO_ACCOUNT = `0x${"0".repeat(40)}` as const;

/** From a call to the block that the places are drawn from, seconds: what a contract should say. */
export const ROLL_WINDOW_S = 60;

/** What one device of a host answers: sizes that the host chooses, and what it computed with them. */
export interface RollSpec {
	/** Place in the host's claim. */
	readonly device: number;
	readonly m: number;
	readonly n: number;
	readonly k: number;
	readonly rounds: number;
	readonly keep: number;
}

export interface RollAnswer extends RollSpec {
	/** The seed that would follow the last round, hex: it binds every seed and every root. */
	readonly end: string;
	/** Root of the pass over all that was kept, hex. */
	readonly last: string;
}

/** What a device must show in its answer to count as there; the rule is market's. */
export interface RollRequired {
	readonly device: number;
	/** 24 s of a fast card are above 2⁵³. */
	readonly ops: bigint;
	readonly bytes: number;
}

type RollSizes = Omit<RollSpec, "device">;

/** Multiply-adds count as two operations. */
export const rollOps = ({ m, n, k, rounds }: RollSizes): bigint =>
	2n * BigInt(m) * BigInt(n) * BigInt(k) * BigInt(rounds);

/** What is held when the pass goes over it. */
export const rollBytes = ({ m, n, rounds, keep }: RollSizes): number => 2 * m * n * Math.min(keep, rounds);

/** Who answers: an Ed25519 key, and the account on the chain whose stake stands for it. */
export interface RollHost {
	/** Hex. */
	readonly key: string;
	/** 0x and 40 lower-case hex digits; NO_ACCOUNT without one. */
	readonly account: string;
}

/** Which call, on which chain. */
export interface RollCallId {
	readonly chainId: number;
	/** 0x and 40 lower-case hex digits. */
	readonly contract: string;
	/** Number of the block, or of the drand round. */
	readonly call: number;
}

const u32be = (value: number) => be(value, 4);
const u64be = (value: number) => be(value, 8);

function be(value: number, size: 4 | 8): Uint8Array {
	const bytes = new Uint8Array(8);
	new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
	return bytes.subarray(8 - size);
}

function fixed(hex: string, size: number): Uint8Array {
	const bytes = hexToBytes(hex.replace(/^0x/, ""), size);
	if (bytes === null) throw new RangeError(`not ${size} bytes in lower-case hex`);
	return bytes;
}

const CALL_TAG = utf8ToBytes("assay/roll-call/1");

/** Whether the block (or round) with this hash calls: one of `every` does, and nobody foresees which. */
export function isRollCall(beta0: Uint8Array, every: number): boolean {
	const drawn = keccak(CALL_TAG, beta0).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
	return drawn < (2n ** 256n - 1n) / BigInt(every);
}

/** 76 bytes: who, which device, which sizes. */
function headBytes({ key, account }: RollHost, spec: RollSpec): Uint8Array {
	const { device, m, n, k, rounds, keep } = spec;
	return concatBytes(fixed(key, 32), fixed(account, 20), ...[device, m, n, k, rounds, keep].map(u32be));
}

/**
 * Seed of the first product: nobody can begin before the block is there, and no two devices do the same work.
 */
export function rollSeed(beta0: Uint8Array, host: RollHost, spec: RollSpec): Uint8Array {
	return tagged("assay/roll-seed/1", beta0, headBytes(host, spec));
}

/** Nonce of the pass over the kept products: there is none before the last of them is done. */
export const rollNonce = (end: Uint8Array): Uint8Array => tagged("assay/roll-nonce/1", end);

/** What a validator's tree has of one device. */
export function rollLeaf(host: RollHost, answer: RollAnswer): Uint8Array {
	return keccakLeaf(concatBytes(headBytes(host, answer), fixed(answer.end, 32), fixed(answer.last, 32)));
}

/** What the host signs with its Ed25519 key: all its devices at once, in the claim's order. */
export function rollAnswerHash(
	{ chainId, contract, call }: RollCallId,
	beta0: Uint8Array,
	leaves: readonly Uint8Array[],
): Uint8Array {
	return tagged("assay/roll-answer/1", u64be(chainId), fixed(contract, 20), u64be(call), beta0, ...leaves);
}

/**
 * What the places are drawn from. ATTACK: were the answer in it, a tree could hold a thousand answers of one
 * device that differ in one leaf each, and the luckiest would be shown. β₂ is younger than every tree, so
 * none of them foresees it.
 */
export function rollOpenSeed(beta2: Uint8Array, key: string, device: number, kind: "gemm" | "stream"): Uint8Array {
	return tagged("assay/roll-open/1", beta2, fixed(key, 32), u32be(device), Uint8Array.of(kind === "gemm" ? 0 : 1));
}

/** The two challenges of an answer, as an engine is asked and as verify checks them. */
export function rollChallenges({ device, m, n, k, rounds, keep }: RollSpec): readonly [GemmSpec, StreamSpec] {
	return [
		{ kind: "gemm", device, precision: "int8", m, n, k, rounds, keep, samples: ROLL_SAMPLES },
		{ kind: "stream", device, of: 0, newest: 0, passes: 1, samples: ROLL_SAMPLES },
	];
}

export interface RollPlace {
	/** Of a digest: its pass, 0. */
	readonly round: number;
	readonly index: number;
}

/**
 * What is opened of an answer once β₂ is known: leaves of products, groups of digests, and the kept leaves
 * beneath those.
 */
export function rollPlaces(
	beta2: Uint8Array,
	key: string,
	spec: RollSpec,
): Readonly<Record<"products" | "digests" | "kept", readonly RollPlace[]>> {
	const seed = (kind: "gemm" | "stream") => rollOpenSeed(beta2, key, spec.device, kind);
	const samples = streamSamples(seed("stream"), 1, streamGroups(spec, spec.rounds, 0), ROLL_SAMPLES);
	return {
		products: gemmSamples(seed("gemm"), spec.rounds, gemmLeaves(spec), ROLL_SAMPLES).map(({ round, leaf }) => ({
			round,
			index: leaf,
		})),
		digests: samples.map(({ pass, group }) => ({ round: pass, index: group })),
		kept: samples.map(({ keptLeaf }) => {
			const { round, leaf } = keptLeafPlace(spec, spec.rounds, 0, keptLeaf);
			return { round, index: leaf };
		}),
	};
}
