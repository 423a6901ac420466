// The formula of presence in exact integers. What it is made from is in presence.ts, why in docs/scores.md
// and docs/roll-call.md.

const PPM = 1_000_000n;

/**
 * Wilson's lower bound (z = 1) of answered ÷ counted, over the bound of a full window: 0 … 10⁶, rounded down.
 * The bound is (2a + 1 − √((4a(n − a) + n) ÷ n)) ÷ 2(n + 1), and n ÷ (n + 1) when all were answered.
 */
export function presencePpm(answered: bigint, counted: bigint, window: bigint): bigint {
	if (counted <= 0n || window <= 0n || answered < 0n || answered > counted) return 0n;
	const spread = 4n * answered * (counted - answered) + counted;
	const root = ceilSqrt((spread * PPM * PPM + counted - 1n) / counted);
	const bound = (2n * answered + 1n) * PPM - root;
	const ppm = (bound * (window + 1n)) / (2n * (counted + 1n) * window);
	return ppm < 0n ? 0n : ppm > PPM ? PPM : ppm;
}

/** The least r with r² ≥ square; Newton's steps fall until they are there. */
function ceilSqrt(square: bigint): bigint {
	if (square < 2n) return square;
	let root = 1n << BigInt(Math.ceil(square.toString(2).length / 2));
	for (;;) {
		const next = (root + square / root) / 2n;
		if (next >= root) return root * root < square ? root + 1n : root;
		root = next;
	}
}
