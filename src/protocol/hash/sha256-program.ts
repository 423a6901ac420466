// SHA-256 by WebAssembly, several times as fast as JavaScript where a verifier begins: the program needs no
// warming up and leaves no garbage. The program is written by sha256-program.test-kit.ts; tagged-hash.ts says
// who uses it.
import { SHA256_PROGRAM_CODE } from "./sha256-program-code.ts";

/** Of the program's memory: constants, the state, then blocks. */
const STATE_AT = 256;
const BLOCKS_AT = 512;
const BLOCKS_BYTES = 65536;
const BLOCK = 64;

const INITIAL = [
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const;

export interface Sha256Program {
	/** Of the parts, one after the other. `begin`: the state after whole blocks that came before them. */
	hash(parts: readonly Uint8Array[], begin?: Midstate): Uint8Array;
	/** After one block. */
	midstate(block: Uint8Array): Midstate;
}

export interface Midstate {
	readonly words: Uint32Array;
	readonly bytes: number;
}

const START: Midstate = { words: Uint32Array.from(INITIAL), bytes: 0 };

/** Null where there is no WebAssembly, or a page's policy forbids it. */
export function startSha256Program(): Sha256Program | null {
	let started: { compress(state: number, from: number, blocks: number): void; memory: WebAssembly.Memory };
	try {
		const code = Uint8Array.from(atob(SHA256_PROGRAM_CODE), (character) => character.charCodeAt(0));
		started = new WebAssembly.Instance(new WebAssembly.Module(code)).exports as unknown as typeof started;
	} catch {
		return null;
	}
	const { compress, memory } = started;
	const state = new Uint32Array(memory.buffer, STATE_AT, 8);
	const blocks = new Uint8Array(memory.buffer, BLOCKS_AT, BLOCKS_BYTES + 2 * BLOCK);
	/** Takes all parts in; what is left, less than a block, lies at the beginning. */
	const takeIn = (parts: readonly Uint8Array[]): number => {
		let used = 0;
		for (const part of parts)
			for (let at = 0; at < part.length; ) {
				const take = Math.min(part.length - at, BLOCKS_BYTES - used);
				blocks.set(take === part.length ? part : part.subarray(at, at + take), used);
				at += take;
				used += take;
				if (used < BLOCKS_BYTES) continue;
				compress(STATE_AT, BLOCKS_AT, BLOCKS_BYTES / BLOCK);
				used = 0;
			}
		return used;
	};
	return {
		hash(parts, begin = START) {
			state.set(begin.words);
			const used = takeIn(parts);
			const bytes = parts.reduce((sum, part) => sum + part.length, begin.bytes);
			const end = Math.ceil((used + 9) / BLOCK) * BLOCK;
			blocks.fill(0, used, end);
			blocks[used] = 0x80;
			writeBigEndian(blocks, end - 8, Math.floor(bytes / 2 ** 29));
			writeBigEndian(blocks, end - 4, (bytes * 8) >>> 0);
			compress(STATE_AT, BLOCKS_AT, end / BLOCK);
			const digest = new Uint8Array(32);
			for (let i = 0; i < 8; i++) writeBigEndian(digest, 4 * i, state[i]!);
			return digest;
		},
		midstate(block) {
			state.set(START.words);
			blocks.set(block);
			compress(STATE_AT, BLOCKS_AT, 1);
			return { words: state.slice(), bytes: BLOCK };
		},
	};
}

function writeBigEndian(to: Uint8Array, at: number, word: number): void {
	to[at] = word >>> 24;
	to[at + 1] = word >>> 16;
	to[at + 2] = word >>> 8;
	to[at + 3] = word;
}
