// The forward pass of an imported model in doubles, written from the families' definitions: what programs and
// files are compared with. Slow and plain. vectors of PyTorch's own logits keep it honest
// (float-forward.test.ts).
import type { Architecture, ImportedModel } from "./architecture.ts";

type Rows = Float64Array[];

export interface FloatForward {
	/** The residual after each block, one row a token. */
	readonly layers: readonly Rows[];
	/** After the last norm: what the head reads; a bert's embeddings. */
	readonly hidden: Rows;
	/** One row a token; empty without a head. */
	readonly logits: Rows;
}

function erf(x: number): number {
	// Its series, until terms vanish; beyond 6 it is ±1 in doubles.
	if (Math.abs(x) > 6) return Math.sign(x);
	let [term, sum] = [x, x];
	for (let n = 1; Math.abs(term) > 1e-18; n++) {
		term *= (-x * x) / n;
		sum += term / (2 * n + 1);
	}
	return (2 / Math.sqrt(Math.PI)) * sum;
}
const ACTIVATIONS = {
	gelu: (x: number) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
	"gelu-tanh": (x: number) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
	"silu-glu": (x: number) => x / (1 + Math.exp(-x)),
};

function softmax(row: Float64Array): Float64Array {
	const most = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
	const exps = row.map((x) => Math.exp(x - most));
	const sum = exps.reduce((a, b) => a + b, 0);
	return exps.map((x) => x / sum);
}

class FloatModel {
	readonly of: Architecture;
	readonly #values = new Map<string, Float32Array>();
	readonly #model: ImportedModel;

	constructor(model: ImportedModel) {
		this.of = model.architecture;
		this.#model = model;
	}

	values(name: string): Float32Array {
		const held = this.#values.get(name) ?? this.#model.tensor(name).values;
		this.#values.set(name, held);
		return held;
	}

	row(name: string, i: number): Float32Array {
		return this.values(name).subarray(i * this.of.width, (i + 1) * this.of.width);
	}

	linear(name: string, x: Rows, hasBias: boolean): Rows {
		const weight = this.values(`${name}.weight`);
		const bias = hasBias ? this.values(`${name}.bias`) : null;
		return x.map((row) => {
			const out = new Float64Array(weight.length / row.length);
			for (let o = 0; o < out.length; o++) {
				let sum = bias?.[o] ?? 0;
				for (let i = 0; i < row.length; i++) sum += row[i]! * weight[o * row.length + i]!;
				out[o] = sum;
			}
			return out;
		});
	}

	norm(name: string, x: Rows): Rows {
		const { norm, normEpsilon } = this.of;
		const weight = this.values(`${name}.weight`);
		const bias = norm === "layer" ? this.values(`${name}.bias`) : null;
		return x.map((row) => {
			const mean = norm === "layer" ? row.reduce((a, b) => a + b, 0) / row.length : 0;
			const variance = row.reduce((sum, v) => sum + (v - mean) ** 2, 0) / row.length;
			return row.map((v, i) => ((v - mean) / Math.sqrt(variance + normEpsilon)) * weight[i]! + (bias?.[i] ?? 0));
		});
	}

	/** Turns every head of every row by its position. */
	turned(x: Rows): Rows {
		const { headWidth, ropeTheta } = this.of;
		const half = headWidth / 2;
		return x.map((row, position) =>
			row.map((value, i) => {
				const at = i % headWidth;
				const angle = position * ropeTheta ** ((-2 * (at % half)) / headWidth);
				const other = at < half ? -row[i + half]! : row[i - half]!;
				return value * Math.cos(angle) + other * Math.sin(angle);
			}),
		);
	}

	attention(at: string, x: Rows): Rows {
		const { heads, kvHeads, headWidth, hasBias, positions, family } = this.of;
		const turn = (rows: Rows) => (positions === "rope" ? this.turned(rows) : rows);
		const q = turn(this.linear(`${at}.q`, x, hasBias.qkv));
		const k = turn(this.linear(`${at}.k`, x, hasBias.qkv));
		const v = this.linear(`${at}.v`, x, hasBias.qkv);
		const mixed = q.map((query, t) => {
			const out = new Float64Array(heads * headWidth);
			for (let h = 0; h < heads; h++) {
				const shared = Math.floor(h / (heads / kvHeads)) * headWidth;
				const seen = family === "bert" ? x.length : t + 1;
				const scores = Float64Array.from({ length: seen }, (_, s) => {
					let sum = 0;
					for (let i = 0; i < headWidth; i++) sum += query[h * headWidth + i]! * k[s]![shared + i]!;
					return sum / Math.sqrt(headWidth);
				});
				softmax(scores).forEach((weight, s) => {
					for (let i = 0; i < headWidth; i++) out[h * headWidth + i]! += weight * v[s]![shared + i]!;
				});
			}
			return out;
		});
		return this.linear(`${at}.out`, mixed, hasBias.out);
	}

	mlp(at: string, x: Rows): Rows {
		const { activation, hasBias } = this.of;
		const up = this.linear(`${at}.up`, x, hasBias.mlp);
		const gate = activation === "silu-glu" ? this.linear(`${at}.gate`, x, hasBias.mlp) : null;
		const act = ACTIVATIONS[activation];
		const mixed = up.map((row, t) => row.map((value, i) => (gate === null ? act(value) : act(gate[t]![i]!) * value)));
		return this.linear(`${at}.down`, mixed, hasBias.mlp);
	}

	embedded(tokens: readonly number[]): Rows {
		const { positions, segments, order } = this.of;
		const rows = tokens.map((token, t) => {
			const [place, kind] = [
				positions === "learned" ? this.row("embed.positions", t) : null,
				segments > 0 ? this.row("embed.segments", 0) : null,
			];
			return Float64Array.from(this.row("embed.tokens", token), (x, i) => x + (place?.[i] ?? 0) + (kind?.[i] ?? 0));
		});
		return order === "post" ? this.norm("embed.norm", rows) : rows;
	}
}

const sum = (a: Rows, b: Rows): Rows => a.map((row, t) => row.map((value, i) => value + b[t]![i]!));

/** Of one sequence; all of segment 0. */
export function floatForward(model: ImportedModel, tokens: readonly number[]): FloatForward {
	const net = new FloatModel(model);
	const { layers: count, order, family } = model.architecture;
	const layers: Rows[] = [];
	let x = net.embedded(tokens);
	for (let i = 0; i < count; i++) {
		const at = `layers.${i}`;
		if (order === "pre") {
			x = sum(x, net.attention(at, net.norm(`${at}.attentionNorm`, x)));
			x = sum(x, net.mlp(at, net.norm(`${at}.mlpNorm`, x)));
		} else {
			x = net.norm(`${at}.attentionNorm`, sum(x, net.attention(at, x)));
			x = net.norm(`${at}.mlpNorm`, sum(x, net.mlp(at, x)));
		}
		layers.push(x);
	}
	const hidden = order === "pre" ? net.norm("norm", x) : x;
	return { layers, hidden, logits: family === "bert" ? [] : net.linear("head", hidden, false) };
}
