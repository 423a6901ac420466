// Rows of hop.json and chase.json, written for reading from docs/hardware-proof.md §13: the whole label tree
// is made anew for every interval, with empty labels where there are none yet.
import { type Bytes, le32, mix, taggedHash, tree, vectorLeaf } from "./naive-maths.ts";
import { hex, label, numbers, type Product, type Row } from "./rows.ts";

const U64 = 1n << 64n;
const bits = (state: bigint) => state.toString(16).padStart(16, "0");
const words = (bytes: Bytes) => [0, 8, 16, 24].map((at) => Buffer.from(bytes).readBigUInt64LE(at));
const joined = (states: readonly bigint[]): Bytes => new Uint8Array(BigUint64Array.from(states).buffer);

function fmix64(value: bigint): bigint {
	let x = value;
	for (const factor of [0xff51afd7ed558ccdn, 0xc4ceb9fe1a85ec53n]) x = ((x ^ (x / 2n ** 33n)) * factor) % U64;
	return x ^ (x / 2n ** 33n);
}

const target = (state: bigint, leaves: number) => Number((state * BigInt(leaves)) / U64);

function next(state: bigint, nonce: Bytes, leaf: Bytes): bigint {
	const digest = mix(nonce, leaf, Number(state / 2n ** 32n), Number(state % 2n ** 32n));
	return fmix64(state ^ Buffer.from(digest).readBigUInt64LE());
}

export function hopRows(): Row[] {
	const draw = numbers("hop");
	return Array.from({ length: 16 }, (_, i) => {
		const nonce = label(`hop nonce ${i % 4}`);
		const seed = label(`hop seed ${i % 3}`);
		const state = i === 0 ? 0n : i === 1 ? U64 - 1n : words(label(`hop state ${i}`))[0]!;
		const leaf = draw(1000);
		const leaves = i < 4 ? 128 : draw(2 ** 32);
		const read = vectorLeaf(seed, leaf);
		return {
			nonce: hex(nonce),
			seed: hex(seed),
			leaf,
			state: bits(state),
			leaves,
			target: target(state, leaves),
			next: bits(next(state, nonce, read)),
		};
	});
}

function feed(nonce: Bytes, r: number, labels: readonly Bytes[], intervals: number): bigint[] {
	const all = Array.from({ length: intervals }, (_, i) => labels[i] ?? new Uint8Array(0));
	const lefts = tree(all)
		.path(r)
		.filter((_, height) => Math.floor(r / 2 ** height) % 2 === 1);
	return words(taggedHash("assay/chase/1", nonce, le32(r), ...lefts));
}

/** Over both rounds of a product, and over the newest alone, as stream.json. `seed` is the first round's. */
export function chaseRows(made: readonly Product[]): Row[] {
	const cases = [
		{ product: 0, keep: 2, intervals: 2 },
		{ product: 10, keep: 2, intervals: 8 },
		{ product: 4, keep: 1, intervals: 16 },
	];
	return cases.map(({ product, keep, intervals }, i) => {
		const { precision, m, n, k, seed, leaves: one } = made[product]!;
		const covered = made.slice(product + 2 - keep, product + 2).flatMap(({ leaves }) => leaves);
		const nonce = label(`chase ${i}`);
		const labels: Bytes[] = [];
		const visited: number[][][] = [];
		for (let r = 0; r < intervals; r++) {
			const start = r === 0 ? feed(nonce, 0, labels, intervals) : feed(nonce, r - 1, labels, intervals);
			const hops: number[][] = [];
			const ends = start.map((word, chain) => {
				let state = r === 0 ? word : word ^ words(labels[r - 1]!)[chain]!;
				hops.push([]);
				for (let hop = 0; hop < 64; hop++) {
					const q = target(state, covered.length);
					hops[chain]!.push(q);
					state = next(state, nonce, covered[q]!);
				}
				return state;
			});
			labels.push(joined(ends));
			visited.push(hops);
		}
		const [interval, chain] = [intervals - 1, i + 1];
		const places = visited[interval]![chain]!.map((q) => {
			const round = 2 - keep + Math.floor(q / one.length);
			return `${round},${q % one.length}`;
		});
		return {
			...{ precision, m, n, k, seed: hex(seed), rounds: 2, keep, nonce: hex(nonce), intervals },
			root: hex(tree(labels).root),
			labels: labels.map(hex).join(""),
			...{ interval, chain, places: places.join(";") },
		};
	});
}
