// The protocol's maths a second time, written for reading and not for speed, from docs/hardware-proof.md
// alone: nothing here is imported from src/, so that an error there cannot hide itself in the vectors. Only
// SHA-256 comes from elsewhere (node:crypto).
import { createHash } from "node:crypto";

export type Bytes = Uint8Array;

const WORD = 1n << 32n;

export function sha256(...parts: readonly Bytes[]): Bytes {
	const hash = createHash("sha256");
	for (const part of parts) hash.update(part);
	return new Uint8Array(hash.digest());
}

export function taggedHash(tag: string, ...parts: readonly Bytes[]): Bytes {
	const tagHash = sha256(Buffer.from(tag, "ascii"));
	return sha256(tagHash, tagHash, ...parts);
}

export function le32(value: number): Bytes {
	return Uint8Array.from([0, 8, 16, 24], (shift) => (value >>> shift) & 0xff);
}

function word(bytes: Bytes, i: number): bigint {
	return (Buffer.from(bytes).readBigUInt64LE(8 * Math.floor(i / 2)) >> (i % 2 === 0 ? 0n : 32n)) & (WORD - 1n);
}

/** Philox4x32-10 as the paper writes it, on big integers. */
export function philox(key: readonly [bigint, bigint], counter: readonly bigint[]): number[] {
	let [x0, x1, x2, x3] = counter as [bigint, bigint, bigint, bigint];
	let [k0, k1] = key;
	for (let round = 0; round < 10; round++) {
		const p0 = 0xd2511f53n * x0;
		const p1 = 0xcd9e8d57n * x2;
		[x0, x1, x2, x3] = [(p1 / WORD) ^ x1 ^ k0, p1 % WORD, (p0 / WORD) ^ x3 ^ k1, p0 % WORD];
		k0 = (k0 + 0x9e3779b9n) % WORD;
		k1 = (k1 + 0xbb67ae85n) % WORD;
	}
	return [x0, x1, x2, x3].map(Number);
}

function seedKey(seed: Bytes): [bigint, bigint] {
	return [word(seed, 0), word(seed, 1)];
}

export function philoxOf(seed: Bytes, ...counter: readonly number[]): number[] {
	return philox(seedKey(seed), counter.map(BigInt));
}

function wordsToBytes(words: readonly number[]): Bytes {
	return new Uint8Array(Buffer.concat(words.map(le32)));
}

/**
 * The 1 KiB leaf number `leaf` of the vectors: blocks 0 … 63 with counter (block, 9, leaf, 0), words
 * little-endian.
 */
export function vectorLeaf(seed: Bytes, leaf: number): Bytes {
	const words: number[] = [];
	for (let block = 0; block < 64; block++) words.push(...philoxOf(seed, block, 9, leaf, 0));
	return wordsToBytes(words);
}

export interface Tree {
	readonly root: Bytes;
	path(index: number): Bytes[];
}

export function tree(leaves: readonly Bytes[]): Tree {
	const levels = [leaves.map((leaf) => taggedHash("assay/leaf/1", leaf))];
	while (levels.at(-1)!.length > 1) {
		const below = levels.at(-1)!;
		const above: Bytes[] = [];
		for (let i = 0; i + 1 < below.length; i += 2) above.push(taggedHash("assay/node/1", below[i]!, below[i + 1]!));
		if (below.length % 2 === 1) above.push(below.at(-1)!);
		levels.push(above);
	}
	return {
		root: levels.at(-1)![0]!,
		path(index) {
			const siblings: Bytes[] = [];
			for (const [height, level] of levels.entries()) {
				const at = Math.floor(index / 2 ** height);
				const sibling = level[at % 2 === 0 ? at + 1 : at - 1];
				if (sibling !== undefined) siblings.push(sibling);
			}
			return siblings;
		},
	};
}

export type GemmPrecision = "int8" | "fp8" | "fp16" | "bf16" | "tf32";

export function entry(
	precision: GemmPrecision,
	seed: Bytes,
	matrix: 0 | 1,
	row: number,
	col: number,
	k: number,
): number {
	const index = row * k + col;
	if (precision === "int8" || precision === "fp8") {
		const byte = wordsToBytes(philoxOf(seed, Math.floor(index / 16), matrix, 0, 0))[index % 16]!;
		if (precision === "fp8") return Math.floor((byte * 17) / 256) - 8;
		return byte < 128 ? byte : byte - 256;
	}
	const block = Buffer.from(wordsToBytes(philoxOf(seed, Math.floor(index / 8), matrix, 0, 0)));
	return Math.floor((block.readUInt16LE(2 * (index % 8)) * 363) / 65536) - 181;
}

/** The whole matrix, `rows` × k, each block drawn once. */
function matrix(precision: GemmPrecision, seed: Bytes, which: 0 | 1, rows: number, k: number): number[][] {
	const per = precision === "int8" || precision === "fp8" ? 16 : 8;
	const all: number[] = [];
	for (let block = 0; block < (rows * k) / per; block++) {
		const bytes = Buffer.from(wordsToBytes(philoxOf(seed, block, which, 0, 0)));
		for (let i = 0; i < per; i++) {
			if (precision === "int8") all.push(bytes.readInt8(i));
			else if (precision === "fp8") all.push(Math.floor((bytes.readUInt8(i) * 17) / 256) - 8);
			else all.push(Math.floor((bytes.readUInt16LE(2 * i) * 363) / 65536) - 181);
		}
	}
	return Array.from({ length: rows }, (_, row) => all.slice(row * k, row * k + k));
}

/** C = A·Bᵀ mod 2^16 as its leaves of 512 elements. */
export function gemmLeaves(precision: GemmPrecision, seed: Bytes, m: number, n: number, k: number): Bytes[] {
	const a = matrix(precision, seed, 0, m, k);
	const b = matrix(precision, seed, 1, n, k);
	const leaves: Bytes[] = [];
	for (let row = 0; row < m; row++)
		for (let first = 0; first < n; first += 512) {
			const leaf = new Uint8Array(1024);
			for (let col = first; col < first + 512; col++) {
				let sum = 0;
				for (let i = 0; i < k; i++) sum += a[row]![i]! * b[col]![i]!;
				const kept = ((sum % 65536) + 65536) % 65536;
				leaf[2 * (col - first)] = kept % 256;
				leaf[2 * (col - first) + 1] = Math.floor(kept / 256);
			}
			leaves.push(leaf);
		}
	return leaves;
}

function rotl(x: bigint, r: bigint): bigint {
	return ((x << r) | (x >> (32n - r))) % WORD;
}

/** `chase` puts a state's low word in the place of `start`. */
export function mix(nonce: Bytes, leaf: Bytes, keptLeaf: number, start?: number): Bytes {
	const params = [0, 1, 2, 3, 4, 5, 6, 7].map((j) =>
		philox(seedKey(nonce), [BigInt(j), 3n, word(nonce, 2), word(nonce, 3)]).map(BigInt),
	);
	let a = 0n;
	let b = 0n;
	for (let lane = 0n; lane < 32n; lane++) {
		let x =
			(start === undefined ? params[0]![2]! : BigInt(start)) ^
			((BigInt(keptLeaf) * 0x9e3779b1n) % WORD) ^
			((lane * 0x85ebca77n) % WORD);
		for (let j = 0; j < 8; j++) {
			const [w0, w1] = params[j] as [bigint, bigint];
			x = (rotl(((x ^ word(leaf, 32 * j + Number(lane))) * (w0 | 1n)) % WORD, 13n) + w1) % WORD;
		}
		a = (a + x * (0x9e3779b1n * (2n * lane + 1n))) % WORD;
		b ^= rotl((x * 0xc2b2ae3dn) % WORD, lane);
	}
	return wordsToBytes([Number(a), Number(b)]);
}

/** draw(range) of §7. */
export function drawer(seed: Bytes): (range: number) => number {
	let count = 0;
	return (range) => {
		const block = Buffer.from(taggedHash("assay/sample/1", seed, le32(Math.floor(count / 4))));
		const value = block.readBigUInt64LE(8 * (count++ % 4));
		return Number((value * BigInt(range)) / (1n << 64n));
	};
}
