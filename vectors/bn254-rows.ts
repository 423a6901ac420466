// Numbers and points of BN254 by bigints, and keccak256: what engine/src/core must find too.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { inverse, mod, P, pointBytes, R, timesGenerator, word } from "./naive-bn254.ts";
import { hex, label, numbers, type Row } from "./rows.ts";

const text = (value: bigint): string => hex(word(value));

function numberRows(kind: "scalar" | "coordinate", order: bigint): Row[] {
	const drawn = (what: string) => BigInt(`0x${hex(label(`${kind} ${what}`))}`) % order;
	const edges = [0n, 1n, 2n, order - 1n, order - 2n, 2n ** 64n - 1n, 2n ** 128n, 2n ** 253n % order];
	const pairs = edges.flatMap((a) => [[a, a] as const, [a, order - 1n] as const, [a, drawn(`edge ${a}`)] as const]);
	for (let i = 0; i < 24; i++) pairs.push([drawn(`a ${i}`), drawn(`b ${i}`)]);
	return pairs.map(([a, b]) => ({
		kind,
		a: text(a),
		b: text(b),
		sum: text(mod(a + b, order)),
		difference: text(mod(a - b, order)),
		product: text(mod(a * b, order)),
		inverse: text(inverse(a, order)),
	}));
}

/** Points are known multiples of the generator, so that their sum is one too. */
function msmRow(name: string, count: number, scalarOf: (i: number) => bigint, multipleOf: (i: number) => bigint): Row {
	const list = Array.from({ length: count }, (_, i) => ({ scalar: scalarOf(i), multiple: multipleOf(i) }));
	const total = list.reduce((sum, { scalar, multiple }) => mod(sum + scalar * multiple), 0n);
	return {
		kind: "msm",
		name,
		points: list.map(({ multiple }) => hex(pointBytes(timesGenerator(multiple)))).join(""),
		scalars: list.map(({ scalar }) => text(scalar)).join(""),
		sum: hex(pointBytes(timesGenerator(total))),
	};
}

export function bn254Rows(): Row[] {
	const draw = numbers("bn254 small");
	const scalar = (i: number) => BigInt(`0x${hex(label(`msm scalar ${i}`))}`) % R;
	const multiple = (i: number) => BigInt(`0x${hex(label(`msm point ${i}`))}`) % R;
	const texts = ["", "abc", "a".repeat(135), "a".repeat(136), "a".repeat(137), "a".repeat(300)];
	return [
		...numberRows("scalar", R),
		...numberRows("coordinate", P),
		msmRow("one", 1, scalar, multiple),
		msmRow("many", 70, scalar, multiple),
		msmRow("small", 40, () => BigInt(draw(2 ** 20)), multiple),
		msmRow("edges", 8, (i) => [0n, 1n, R - 1n, R - 2n, 2n ** 253n, 0n, 2n ** 64n, 2n ** 128n - 1n][i]!, multiple),
		msmRow("the same point, and one at infinity", 6, scalar, (i) => (i === 3 ? 0n : 7n)),
		msmRow(
			"opposite points",
			2,
			() => 5n,
			(i) => (i === 0 ? 9n : R - 9n),
		),
		...texts.map((one) => ({ kind: "keccak", a: hex(Buffer.from(one)), sum: hex(keccak_256(Buffer.from(one))) })),
	];
}
