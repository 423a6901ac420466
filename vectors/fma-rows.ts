// The rows about scalar arithmetic: fma itself, single lanes, whole rounds. Part of generate.ts.
import { type FmaPrecision, fmaBits, laneBits } from "./naive-fma.ts";
import { taggedHash, tree } from "./naive-maths.ts";
import { hex, label, numbers, type Row } from "./rows.ts";

function bitsHex(precision: FmaPrecision, bits: bigint): string {
	return bits.toString(16).padStart(precision === "fp64" ? 16 : 8, "0");
}

export function recurrenceRows(): Row[] {
	const rows: Row[] = [];
	for (const precision of ["fp32", "fp64", "int32"] as const)
		for (const steps of [512, 2048])
			for (let i = 0; i < 6; i++) {
				const seed = label(`recurrence ${precision} ${i % 2}`);
				const lane = [0, 1, 255, 65537, 268435455, 12345678][i]!;
				rows.push({
					precision,
					seed: hex(seed),
					lane,
					steps,
					bits: bitsHex(precision, laneBits(precision, seed, lane, steps)),
				});
			}
	return rows;
}

/**
 * Triples that are hard to round: near halfway cases, cancellation, subnormals, overflow, signed zeros, and
 * plain ones.
 */
export function fmaRows(): Row[] {
	const rows: Row[] = [];
	for (const precision of ["fp32", "fp64"] as const) {
		const draw = numbers(`fma ${precision}`);
		const width = precision === "fp32" ? 32n : 64n;
		const fraction = precision === "fp32" ? 23n : 52n;
		const bias = precision === "fp32" ? 127 : 1023;
		const add = (a: bigint, b: bigint, c: bigint) =>
			rows.push({
				precision,
				a: bitsHex(precision, a),
				b: bitsHex(precision, b),
				c: bitsHex(precision, c),
				r: bitsHex(precision, fmaBits(precision, a, b, c)),
			});
		const make = (sign: number, exponent: number, low: bigint) =>
			(BigInt(sign) << (width - 1n)) | (BigInt(exponent) << fraction) | (low & ((1n << fraction) - 1n));
		const anyFraction = () => (BigInt(draw(2 ** 32)) << 32n) | BigInt(draw(2 ** 32));
		const minus = 1n << (width - 1n);
		const one = make(0, bias, 0n);
		const largest = make(0, 2 * bias, -1n);
		for (const [a, b, c] of [
			[0n, 0n, 0n],
			[minus, 0n, minus],
			[minus, 0n, 0n],
			[one, one, one | minus],
			[one, one | minus, one],
			[largest, one, largest],
			[largest, largest, 0n],
			[1n, 1n, 0n],
			[1n, 1n, 1n],
			[1n, one, 1n | minus],
			[largest, one, make(0, 2 * bias - Number(fraction) - 1, 0n)],
			[largest, one, make(0, 2 * bias - Number(fraction) - 1, 0n) - 1n],
			[make(0, bias - 1, 0n), 1n, 0n],
			[make(0, bias - 1, 0n), 3n, 0n],
			[make(0, bias - 1, 0n), 1n, 1n],
			[make(0, 1, 0n), make(0, bias - 1, 1n), 0n],
		] as [bigint, bigint, bigint][])
			add(a, b, c);
		for (let i = 0; i < 40; i++) {
			// Cancellation: c is −(a·b) rounded, so that what is left is the product's own rounding error.
			const a = make(draw(2), bias - 20 + draw(40), anyFraction());
			const b = make(draw(2), bias - 20 + draw(40), anyFraction());
			const rounded = fmaBits(precision, a, b, 0n);
			add(a, b, rounded ^ minus ^ BigInt(draw(3)));
			// Halfway: a has few bits and c lies a whole width above, so the sum ends exactly at or beside a
			// midpoint.
			const few = make(draw(2), bias, BigInt(draw(4)) << (fraction - 2n));
			add(
				few,
				make(draw(2), bias - Number(fraction) - 1, BigInt(draw(2))),
				make(draw(2), bias + draw(2), anyFraction()),
			);
			// A hair below half of c's last place: two roundings would meet exactly halfway.
			const u = BigInt(1 + draw(300));
			const hair = make(draw(2), bias - 2 - Number(fraction), (1n << fraction) - 2n * u);
			add(make(0, bias, u), hair, make(draw(2), bias, anyFraction()));
			// The recurrence's own range, then all exponents.
			const x = make(draw(2), bias - draw(12), anyFraction());
			add(x, x, make(1, bias, (1n << fraction) - 1n - (anyFraction() >> (64n - fraction + 5n))));
			add(
				make(draw(2), draw(2 * bias + 1), anyFraction()),
				make(draw(2), draw(2 * bias + 1), anyFraction()),
				make(draw(2), draw(2 * bias + 1), anyFraction()),
			);
		}
	}
	return rows;
}

export function fmaRoundRows(): Row[] {
	return (["fp32", "fp64", "int32"] as const).map((precision) => {
		const seed = label(`fma round ${precision}`);
		const lanes = 256;
		const steps = 512;
		const size = precision === "fp64" ? 8 : 4;
		const bytes = Buffer.alloc(lanes * size);
		for (let lane = 0; lane < lanes; lane++) {
			const bits = laneBits(precision, seed, lane, steps);
			if (size === 8) bytes.writeBigUInt64LE(bits, lane * 8);
			else bytes.writeUInt32LE(Number(bits), lane * 4);
		}
		const leaves = Array.from(
			{ length: bytes.length / 1024 },
			(_, i) => new Uint8Array(bytes.subarray(i * 1024, i * 1024 + 1024)),
		);
		const { root } = tree(leaves);
		return {
			precision,
			lanes,
			steps,
			seed: hex(seed),
			root: hex(root),
			nextSeed: hex(taggedHash("assay/seed/1", seed, root)),
		};
	});
}
