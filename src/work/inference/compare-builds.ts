// What a build with small weights costs a model, measured on text against the wide build of the same program:
// signal to noise at every block, and what becomes of the answers. Pure statistics, docs/models.md §5. Not
// here: who runs the programs.

/** Σ signal² and Σ (signal − other)², as 10·log10 of their quotient; infinity where nothing differs. */
export function signalToNoiseDb(signal: Float64Array, other: Float64Array): number {
	let [size, noise] = [0, 0];
	for (let i = 0; i < signal.length; i++) {
		size += signal[i]! ** 2;
		noise += (signal[i]! - other[i]!) ** 2;
	}
	return noise === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10(size / noise);
}

export interface LogitsReport {
	/** exp of the mean surprise at the text's own next tokens; null without any. */
	readonly perplexity: number | null;
	/** Share of places whose most likely token is that of the wide build. */
	readonly top1: number;
	/** Mean of Σ p·ln(p/q): p of the wide build, q of this one. */
	readonly kl: number;
}

/** ln of each token's probability, into `out`; gives the place of the largest logit. */
function logProbabilities(logits: Float64Array, out: Float64Array): number {
	let best = 0;
	for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[best]!) best = i;
	const most = logits[best]!;
	let sum = 0;
	for (const logit of logits) sum += Math.exp(logit - most);
	const total = most + Math.log(sum);
	for (let i = 0; i < logits.length; i++) out[i] = logits[i]! - total;
	return best;
}

/**
 * Rows of logits [places, vocabulary]; `next`: the token that follows each place in the text, −1 where none
 * does or the place is not one.
 */
export function compareLogits(
	wide: Float64Array,
	build: Float64Array,
	vocabulary: number,
	next: Int32Array,
): LogitsReport {
	const [p, q] = [new Float64Array(vocabulary), new Float64Array(vocabulary)];
	let [surprise, known, agreed, kl] = [0, 0, 0, 0];
	for (let place = 0; place < next.length; place++) {
		if (next[place]! < 0) continue;
		const from = place * vocabulary;
		const isSame =
			logProbabilities(wide.subarray(from, from + vocabulary), p) ===
			logProbabilities(build.subarray(from, from + vocabulary), q);
		if (isSame) agreed++;
		for (let i = 0; i < vocabulary; i++) kl += Math.exp(p[i]!) * (p[i]! - q[i]!);
		surprise -= q[next[place]!]!;
		known++;
	}
	if (known === 0) return { perplexity: null, top1: 1, kl: 0 };
	// Rounding can leave a sum of zeros a little below zero.
	return { perplexity: Math.exp(surprise / known), top1: agreed / known, kl: Math.max(0, kl / known) };
}
