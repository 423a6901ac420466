// Shows that commitments are of so many numbers and of nothing behind them, docs/zk.md §15: an opening says
// nothing of what stands behind the numbers that it is about, so without this a commitment to the same
// weights could be another. Of one list of numbers, or of several at once: the weights after each segment of
// a part (§12). WeightJudge.sol verifies it. In TypeScript, so for lists that are not long.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { bigOf, bytesOf, Fr, mod, R } from "../../../protocol/maths/bn254.ts";
import { commitTo, type ProverPowers, srsWord } from "../srs.ts";
import { combined, divided, valueAt } from "./polynomials.ts";

const NAME = utf8ToBytes("assay/zk/bare/1");

export interface BareSizes {
	/** Numbers of each list. */
	readonly count: number;
	readonly chunkBits: number;
	readonly powers: ProverPowers;
}

/** All that a proof is made of. */
export interface BareSums extends BareSizes {
	/** Hash of what was said before anything is drawn. */
	readonly first: Uint8Array;
	/** Σ ρ^k·f_k of all commitments but the last ones of their lists; and of those, which are shifted. */
	readonly plain: readonly bigint[];
	readonly shifted: readonly bigint[];
}

/**
 * Lists are added one after the other, so that they need not all be there at once. `points`: the commitments
 * of all of them, 64 bytes each.
 */
export function createBare(points: Uint8Array, sizes: BareSizes) {
	const { count, chunkBits, powers } = sizes;
	const size = 2 ** chunkBits;
	const first = keccak(NAME, srsWord(powers.id), bytesOf(BigInt(count)), points);
	const rho = bigOf(first) % R;
	const [plain, shifted] = [new Array<bigint>(size).fill(0n), new Array<bigint>(size).fill(0n)];
	let factor = 1n;
	return {
		/** The next list, by commitments: all but the last one of 2^chunkBits numbers. */
		add(list: readonly (readonly bigint[])[]): void {
			for (const [k, chunk] of list.entries()) {
				const sum = k + 1 === list.length ? shifted : plain;
				for (const [i, value] of chunk.entries()) if (value !== 0n) sum[i] = mod((sum[i] ?? 0n) + factor * value);
				factor = mod(factor * rho);
			}
		},
		/** When all are there. */
		sums: (): BareSums => ({ ...sizes, first, plain, shifted }),
	};
}

/**
 * 224 bytes: D, both quotients, the value. Three sums of points over as many numbers as a commitment is of:
 * some seconds for 2^14.
 */
export function bareProof({ count, chunkBits, powers, first, plain, shifted }: BareSums): Uint8Array {
	const size = 2 ** chunkBits;
	const shift = Math.ceil(count / size) * size - count;
	const turned = new Array<bigint>(size).fill(0n);
	for (const [list, by] of [[plain, 0] as const, [shifted, shift] as const])
		for (const [i, value] of list.entries()) {
			const to = size - 1 - by - i;
			// Behind the last of them stands nothing.
			if (to >= 0) turned[to] = mod(turned[to]! + value);
		}
	const d = commitTo(powers, turned);
	const zeta = bigOf(keccak(first, d)) % R;
	const back = Fr.inv(zeta);
	const together = combined({ list: plain, factor: 1n }, { list: shifted, factor: Fr.pow(back, BigInt(shift)) });
	const quotients = [divided(together, back), divided(turned, zeta)].map((one) => commitTo(powers, one));
	return concatBytes(d, ...quotients, bytesOf(valueAt(together, back)));
}

/** Of one list. `chunks`: what each commitment is of. */
export function proveBare(
	chunks: readonly (readonly bigint[])[],
	count: number,
	chunkBits: number,
	powers: ProverPowers,
): Uint8Array {
	const points = concatBytes(...chunks.map((one) => commitTo(powers, one)));
	const bare = createBare(points, { count, chunkBits, powers });
	bare.add(chunks);
	return bareProof(bare.sums());
}
