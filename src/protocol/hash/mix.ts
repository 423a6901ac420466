// The `stream` mix: 64 bits from a 1 KiB leaf under a fresh nonce, so that no summary shorter than the leaf
// is enough. docs/hardware-proof.md §5; vectors/mix.json pins it.
import { readU32, writeU32 } from "../bytes/bytes.ts";
import { DOMAIN, philoxBlock, philoxKey } from "./philox.ts";

const LANES = 32;
const ROWS = 8;

export interface MixKeys {
	/** Odd, so that the multiplication loses nothing. */
	readonly mul: Uint32Array;
	readonly add: Uint32Array;
	readonly start: number;
}

export function mixKeys(nonce: Uint8Array): MixKeys {
	const key = philoxKey(nonce);
	const mul = new Uint32Array(ROWS);
	const add = new Uint32Array(ROWS);
	const words = new Uint32Array(4);
	let start = 0;
	for (let j = 0; j < ROWS; j++) {
		philoxBlock(key, j, DOMAIN.stream, readU32(nonce, 8), readU32(nonce, 12), words, 0);
		mul[j] = words[0]! | 1;
		add[j] = words[1]!;
		if (j === 0) start = words[2]!;
	}
	return { mul, add, start };
}

const rotl = (x: number, r: number) => (x << r) | (x >>> (32 - r));

/** The 8-byte digest of kept leaf `keptLeaf`, counted from the first leaf of the oldest kept round. */
export function mixLeaf(keys: MixKeys, leaf: Uint8Array, keptLeaf: number): Uint8Array {
	let a = 0;
	let b = 0;
	for (let lane = 0; lane < LANES; lane++) {
		let x = keys.start ^ Math.imul(keptLeaf, 0x9e3779b1) ^ Math.imul(lane, 0x85ebca77);
		for (let j = 0; j < ROWS; j++) {
			const word = readU32(leaf, 4 * (LANES * j + lane));
			x = (rotl(Math.imul(x ^ word, keys.mul[j]!), 13) + keys.add[j]!) | 0;
		}
		a = (a + Math.imul(x, Math.imul(0x9e3779b1, 2 * lane + 1))) | 0;
		b ^= lane === 0 ? Math.imul(x, 0xc2b2ae3d) : rotl(Math.imul(x, 0xc2b2ae3d), lane);
	}
	const digest = new Uint8Array(8);
	writeU32(digest, 0, a);
	writeU32(digest, 4, b);
	return digest;
}
