// `chase`, docs/hardware-proof.md §13: chains of reads each of which tells where the next one goes, folded
// into a tree whose left parts feed all that comes after. Here are the hop, the fold and F; vectors/hop.json
// and chase.json pin them.
import { u32 } from "../bytes/bytes.ts";
import { leafHash, nodeHash } from "./merkle.ts";
import { type MixKeys, mixLeaf } from "./mix.ts";
import { tagged } from "./tagged-hash.ts";

export const CHAINS = 4;
export const INTERVAL_HOPS = 64;
const U64 = (1n << 64n) - 1n;

/** Which of the covered leaves (counted as in `stream`) the next hop reads. */
export function hopTarget(state: bigint, coveredLeaves: number): number {
	return Number((state * BigInt(coveredLeaves)) >> 64n);
}

/** The state after a hop that read `leaf`; `keys` are those of the nonce. */
export function hopFrom(state: bigint, keys: MixKeys, leaf: Uint8Array): bigint {
	const start = Number(state & 0xffffffffn);
	const digest = mixLeaf({ ...keys, start }, leaf, Number(state >> 32n));
	return fmix64(state ^ u64At(digest, 0));
}

/** Murmur3's finaliser. */
function fmix64(value: bigint): bigint {
	let x = value;
	x = ((x ^ (x >> 33n)) * 0xff51afd7ed558ccdn) & U64;
	x = ((x ^ (x >> 33n)) * 0xc4ceb9fe1a85ec53n) & U64;
	return x ^ (x >> 33n);
}

function u64At(bytes: Uint8Array, at: number): bigint {
	return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at, true);
}

/** The four states of a label, or the four words of an F. */
export function statesOf(bytes: Uint8Array): bigint[] {
	return Array.from({ length: CHAINS }, (_, chain) => u64At(bytes, 8 * chain));
}

export function labelOf(states: readonly bigint[]): Uint8Array {
	return new Uint8Array(BigUint64Array.from(states).buffer);
}

/** F of an interval; `lefts` are the left siblings on its label's path, bottom up. */
export function chaseFeed(nonce: Uint8Array, interval: number, lefts: readonly Uint8Array[]): Uint8Array {
	return tagged("assay/chase/1", nonce, u32(interval), ...lefts);
}

/**
 * Those of a path's nodes that lie to the left; the tree is perfect, so that a level is a bit of the index.
 */
export function leftSiblings(index: number, path: readonly Uint8Array[]): Uint8Array[] {
	return path.filter((_, level) => ((index >>> level) & 1) === 1);
}

/** The left siblings of the next label, when `label` has the left siblings `lefts` and stands at `index`. */
export function foldLabel(lefts: readonly Uint8Array[], index: number, label: Uint8Array): Uint8Array[] {
	const rest = [...lefts];
	let node = leafHash(label);
	for (let at = index; at % 2 === 1; at >>>= 1) node = nodeHash(rest.shift()!, node);
	return [node, ...rest];
}
