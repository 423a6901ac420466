// The next token, docs/inference.md §6: the largest logit, or the largest of logit/temperature + Gumbel
// noise, which draws from the softmax. The noise of a place depends on the job's seed, the sequence and the
// place alone: words that the init phase draws, stirred with the token's number. So whoever computes the
// place again, in another batch or all at once, has the same noise.
import { at, constant, type Expression, type Index, type Value } from "../builder/expression.ts";
import { constantOf } from "../models/numbers.ts";
import { gumbelTable } from "../models/tables.ts";
import type { Net } from "./numbers.ts";

export type Sampling =
	| { readonly kind: "greedy" }
	/** From 0.05 to 20. */
	| { readonly kind: "seeded"; readonly temperature: number };

/** Domains of `rand`. */
const DOMAIN = { low: 0x736d_706c, high: 0x736d_7068 } as const;
const TEMPERATURE = 16;
const WORD = 2 ** 32 - 1;
/** Odd, and below 2^31: a word times such a number fits 64 bits. */
const FACTORS = [0x7feb_352d, 0x68e3_1da5, 0x1b56_c4e9] as const;
const SPREAD = 0x9e37_79b1;

/**
 * [sequences, places]: 62 bits of noise for every place to be sampled, as a state tensor; null where none is
 * needed.
 */
export function drawsOf({ b }: Net, sampling: Sampling, sequences: number, places: number): Value | null {
	if (sampling.kind === "greedy") return null;
	const draws = b.tensor("state", "draws", "i64", [sequences, places], 0, 2n ** 62n - 1n);
	b.init.map(
		draws.dims,
		(n, g) => {
			const place = n!.value().mul(places).add(g!.value());
			return place.rand(DOMAIN.low).shr(1).add(place.rand(DOMAIN.high).shr(1).shl(31));
		},
		{ to: draws },
	);
	return draws;
}

/** A word of 32 bits from 62 drawn ones and a number below 2^18. */
function stirred(draw: Expression, number: Expression): Expression {
	const xorHigh = (x: Expression, bits: number) => x.xor(x.shr(bits));
	const times = (x: Expression, factor: number) => x.mul(factor).and(WORD);
	let x = number
		.mul(SPREAD)
		.add(draw.and(2 ** 31 - 1).shl(1))
		.and(WORD);
	x = times(xorHigh(x, 16), FACTORS[0]);
	x = times(xorHigh(x, 15), FACTORS[1]).xor(draw.shr(31));
	x = times(xorHigh(x, 16), FACTORS[2]);
	return xorHigh(x, 15);
}

/** −ln(−ln(1 − u)) at 2^16 for u = word/2^32: straight lines between the knots of each octave. */
function gumbel(table: Value, word: Expression): Expression {
	const held = word.max(1);
	const digits = held.bitlen();
	const rest = held
		.rshv(digits.sub(32))
		.clamp(2 ** 31, WORD)
		.sub(2 ** 31);
	const low = digits.sub(1).shl(7).add(rest.shr(24));
	const part = rest.shr(8).and(65_535);
	return at(table, low)
		.mul(constant(65_536).sub(part))
		.add(at(table, low.add(1)).mul(part))
		.rsh(16);
}

/** [rows]: the token of each row. `logits`: [rows, vocabulary] at 2^16; `draw`: the noise of a row. */
export function sampled(net: Net, sampling: Sampling, logits: Value, draw: ((row: Index) => Expression) | null): Value {
	const { s, numbers } = net;
	if (sampling.kind === "greedy" || draw === null) return s.reduce("argmax", logits);
	const table = constantOf(net, "gumbel", gumbelTable);
	const inverse = Math.floor(2 ** TEMPERATURE / sampling.temperature + 0.5);
	const scores = s.map(logits.dims, (r, c) =>
		at(logits, r!, c!)
			.mul(inverse)
			.rsh(TEMPERATURE + numbers.logit - 16)
			.add(gumbel(table, stirred(draw(r!), c!.value()))),
	);
	return s.reduce("argmax", scores);
}
