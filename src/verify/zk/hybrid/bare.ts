// Shows that commitments are of so many numbers and of nothing behind them, docs/zk.md §15: an opening says nothing of what stands behind the numbers that it is about, so without this a commitment to the same weights
// could be another. WeightJudge.sol verifies it. In TypeScript, so for lists that are not long.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { bigOf, bytesOf, R } from "../../../protocol/maths/bn254.ts";
import { mod } from "../field.ts";
import { power } from "../scalars.ts";
import { commitTo, type ProverPowers, srsWord } from "../srs.ts";
import { combined, divided, valueAt } from "./polynomials.ts";

const NAME = utf8ToBytes("assay/zk/bare/1");

/** `chunks`: what each commitment is of, all but the last one 2^chunkBits numbers; `count`: of all together. 224 bytes: D, both quotients, the value. */
export function proveBare(
	chunks: readonly (readonly bigint[])[],
	count: number,
	chunkBits: number,
	powers: ProverPowers,
): Uint8Array {
	const size = 2 ** chunkBits;
	const shift = chunks.length * size - count;
	const points = concatBytes(...chunks.map((one) => commitTo(powers, one)));
	const first = keccak(NAME, srsWord(powers.id), bytesOf(BigInt(count)), points);
	const rho = bigOf(first) % R;
	const shiftOf = (k: number) => (k === chunks.length - 1 ? shift : 0);

	const turned = new Array<bigint>(size).fill(0n);
	for (const [k, one] of chunks.entries())
		for (const [i, value] of one.entries()) {
			const to = size - 1 - shiftOf(k) - i;
			// Behind the last of them stands nothing.
			if (to >= 0) turned[to] = mod(turned[to]! + power(rho, BigInt(k)) * value);
		}
	const d = commitTo(powers, turned);
	const second = keccak(first, d);
	const zeta = bigOf(second) % R;
	const back = power(zeta, R - 2n);
	const together = combined(
		...chunks.map((list, k) => ({ list, factor: mod(power(rho, BigInt(k)) * power(back, BigInt(shiftOf(k)))) })),
	);
	const quotients = [divided(together, back), divided(turned, zeta)].map((one) => commitTo(powers, one));
	return concatBytes(d, ...quotients, bytesOf(valueAt(together, back)));
}
