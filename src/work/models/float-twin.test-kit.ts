// The models in plain floats, forwards only: the loss of a batch. Gradients are then slopes of it, found by
// moving weights. Independent of the programs: nothing here is shared with them but the names of the weights.

export type Weights = Readonly<Record<string, Float64Array>>;

/** x [rows, k] · wᵀ, w [n, k]. */
function product(x: Float64Array, w: Float64Array, k: number): Float64Array {
	const [rows, n] = [x.length / k, w.length / k];
	const out = new Float64Array(rows * n);
	for (let r = 0; r < rows; r++)
		for (let j = 0; j < n; j++) {
			let sum = 0;
			for (let i = 0; i < k; i++) sum += x[r * k + i]! * w[j * k + i]!;
			out[r * n + j] = sum;
		}
	return out;
}

const plus = (x: Float64Array, bias: Float64Array): Float64Array => x.map((v, i) => v + bias[i % bias.length]!);
const added = (x: Float64Array, y: Float64Array): Float64Array => x.map((v, i) => v + y[i]!);

function norm(x: Float64Array, gain: Float64Array, bias: Float64Array): Float64Array {
	const width = gain.length;
	const out = new Float64Array(x.length);
	for (let r = 0; r < x.length; r += width) {
		const row = x.subarray(r, r + width);
		const mean = row.reduce((a, v) => a + v, 0) / width;
		const variance = row.reduce((a, v) => a + (v - mean) ** 2, 0) / width;
		for (let c = 0; c < width; c++) out[r + c] = ((row[c]! - mean) / Math.sqrt(variance + 1e-5)) * gain[c]! + bias[c]!;
	}
	return out;
}

/** Φ by a series that suffices below 8. */
function below(x: number): number {
	if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
	let [sum, term] = [0, x];
	for (let i = 3; Math.abs(term) > 1e-18; i += 2) {
		sum += term;
		term *= (x * x) / i;
	}
	return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

function attention(qkv: Float64Array, context: number, heads: number, width: number): Float64Array {
	const rows = qkv.length / (3 * width);
	const size = width / heads;
	const out = new Float64Array(rows * width);
	for (let r = 0; r < rows; r++) {
		const first = r - (r % context);
		for (let h = 0; h < heads; h++) {
			const q = 3 * width * r + h * size;
			const scores: number[] = [];
			for (let j = first; j <= r; j++) {
				let dot = 0;
				for (let c = 0; c < size; c++) dot += qkv[q + c]! * qkv[3 * width * j + width + h * size + c]!;
				scores.push(dot / Math.sqrt(size));
			}
			const top = Math.max(...scores);
			const e = scores.map((s) => Math.exp(s - top));
			const sum = e.reduce((a, v) => a + v, 0);
			for (let c = 0; c < size; c++)
				out[r * width + h * size + c] =
					e.reduce((a, v, i) => a + v * qkv[3 * width * (first + i) + 2 * width + h * size + c]!, 0) / sum;
		}
	}
	return out;
}

function meanLoss(logits: Float64Array, labels: ArrayLike<number>): number {
	const classes = logits.length / labels.length;
	let total = 0;
	for (let r = 0; r < labels.length; r++) {
		const row = logits.subarray(r * classes, (r + 1) * classes);
		const top = row.reduce((a, v) => Math.max(a, v), Number.NEGATIVE_INFINITY);
		total += top + Math.log(row.reduce((a, v) => a + Math.exp(v - top), 0)) - row[labels[r]!]!;
	}
	return total / labels.length;
}

export function floatGpt(
	of: { readonly layers: number; readonly width: number; readonly heads: number; readonly context: number },
	weights: Weights,
	tokens: ArrayLike<number>,
	labels: ArrayLike<number>,
): number {
	const { layers, width, heads, context } = of;
	const table = weights["tokens.embedding"]!;
	let x: Float64Array = new Float64Array(tokens.length * width);
	for (let r = 0; r < tokens.length; r++)
		for (let c = 0; c < width; c++)
			x[r * width + c] = table[tokens[r]! * width + c]! + weights["places.embedding"]![(r % context) * width + c]!;
	for (let i = 0; i < layers; i++) {
		const of = (name: string): Float64Array => weights[`block${i}.${name}`]!;
		const vector = (from: number, length: number): Float64Array =>
			of("vectors").subarray(from * width, (from + length) * width);
		const y = norm(x, vector(0, 1), vector(1, 1));
		const mixed = attention(plus(product(y, of("qkv"), width), vector(2, 3)), context, heads, width);
		x = added(x, plus(product(mixed, of("out"), width), vector(5, 1)));
		const up = plus(product(norm(x, vector(6, 1), vector(7, 1)), of("up"), width), vector(8, 4));
		const active = up.map((u) => u * below(u));
		x = added(x, plus(product(active, of("down"), 4 * width), vector(12, 1)));
	}
	const last = weights["final.vectors"]!;
	return meanLoss(product(norm(x, last.subarray(0, width), last.subarray(width)), table, width), labels);
}

export function floatMlp(
	sizes: readonly number[],
	weights: Weights,
	features: Float64Array,
	labels: ArrayLike<number>,
): number {
	let x = features;
	for (let i = 0; i + 1 < sizes.length; i++) {
		x = plus(product(x, weights[`layer${i}.weight`]!, sizes[i]!), weights[`layer${i}.bias`]!);
		if (i + 2 < sizes.length) x = x.map((v) => Math.max(v, 0));
	}
	return meanLoss(x, labels);
}
