// The tree of points under a commitment, docs/zk.md §6: a leaf is the point of 128 values in a row, a node
// has the sum of both below it, and its hash is of both with their points. So a commitment that is not that
// of the bytes has a wrong sum somewhere, or a wrong leaf, and one way down shows it.
// contracts/src/zk/TwinTree.sol is its twin. Not here: which bytes.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { bytesOf, type G1, G1_ONE, times } from "../../protocol/maths/bn254.ts";

/** A leaf has 2^7 values. */
const LEAF_BITS = 7;
export const leafBits = (chunkBits: number): number => Math.min(LEAF_BITS, chunkBits);

export interface TwinNode {
	/** Of the two below; zeros of a leaf. */
	readonly hash: Uint8Array;
	readonly point: G1;
}

/** Both below a node. */
export type TwinPair = readonly [TwinNode, TwinNode];

/** x ‖ y; zeros are the point at infinity. */
export function pointBytes(point: G1): Uint8Array {
	if (point.is0()) return new Uint8Array(64);
	const { x, y } = point.toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
}

const nodeBytes = ({ hash, point }: TwinNode): Uint8Array => concatBytes(hash, pointBytes(point));
const NODE = Uint8Array.of(1);
const twinHash = ([left, right]: TwinPair): Uint8Array => keccak(NODE, nodeBytes(left), nodeBytes(right));

/** Bits of a value that are looked at together. */
const DIGIT_BITS = 5n;
const DIGITS = 2 ** Number(DIGIT_BITS);

/**
 * Σ digit·point, by the points of each digit: from the largest on, each sum counts once more with every
 * smaller one.
 */
function digitSum(digits: readonly number[], points: readonly G1[]): G1 {
	const buckets = new Array<G1 | undefined>(DIGITS);
	for (const [i, digit] of digits.entries())
		if (digit > 0) buckets[digit] = buckets[digit]?.add(points[i]!) ?? points[i]!;
	let [running, sum] = [NOTHING, NOTHING];
	for (let digit = DIGITS - 1; digit > 0; digit--) {
		const one = buckets[digit];
		if (one !== undefined) running = running.add(one);
		sum = sum.add(running);
	}
	return sum;
}

const NOTHING = times(G1_ONE, 0n);

/**
 * Σ value·power; `powers`: those of the values' places in the commitment. Digit by digit over all values, the
 * highest first.
 */
export function twinLeaf(values: readonly bigint[], powers: readonly G1[]): G1 {
	const sizes = values.map((value) => (value < 0n ? -value : value));
	const signed = powers.map((one, i) => (values[i]! < 0n ? one.negate() : one));
	const most = sizes.reduce((a, b) => (a > b ? a : b), 0n);
	const digits = most === 0n ? 0 : Math.ceil(most.toString(2).length / Number(DIGIT_BITS));
	let sum = NOTHING;
	for (let place = digits - 1; place >= 0; place--) {
		for (let i = 0n; i < DIGIT_BITS; i++) sum = sum.double();
		const shift = BigInt(place) * DIGIT_BITS;
		const own = sizes.map((size) => Number((size >> shift) & BigInt(DIGITS - 1)));
		sum = sum.add(digitSum(own, signed));
	}
	return sum;
}

/** All nodes, the leaves first. `sums`: points that somebody says instead of the sums, by level and place. */
export function twinLevels(
	leaves: readonly G1[],
	sums: (level: number, place: number, sum: G1) => G1 = (_, __, sum) => sum,
): TwinNode[][] {
	const levels: TwinNode[][] = [leaves.map((point) => ({ hash: new Uint8Array(32), point }))];
	for (let below = levels[0]!; below.length > 1; below = levels.at(-1)!)
		levels.push(
			Array.from({ length: below.length / 2 }, (_, i) => {
				const both: TwinPair = [below[2 * i]!, below[2 * i + 1]!];
				return { hash: twinHash(both), point: sums(levels.length, i, both[0].point.add(both[1].point)) };
			}),
		);
	return levels;
}

/** Sums and hashes of each two, as whoever answers a demand must have them. */
export const twinParents = (nodes: readonly TwinNode[]): TwinNode[] =>
	Array.from({ length: nodes.length / 2 }, (_, i) => {
		const both: TwinPair = [nodes[2 * i]!, nodes[2 * i + 1]!];
		return { hash: twinHash(both), point: both[0].point.add(both[1].point) };
	});

export const twinTop = (levels: readonly (readonly TwinNode[])[]): TwinNode => levels.at(-1)![0]!;

/** From the top down to a node of a level: both on each level on the way, and the node's own. */
export function twinWay(levels: readonly (readonly TwinNode[])[], level: number, place: number): TwinPair[] {
	const way: TwinPair[] = [];
	for (let k = levels.length - 2; k >= level; k--) {
		const left = 2 * Math.floor(place / 2 ** (k - level + 1));
		way.push([levels[k]![left]!, levels[k]![left + 1]!]);
	}
	return way;
}
