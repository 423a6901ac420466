// An imported decoder with adapters in plain floats, forwards and backwards: a tape of what was done, played
// back for gradients. Independent of the programs: nothing here is shared with them but the names of the
// weights.
import type { Architecture, ImportedModel } from "../../imports/architecture.ts";

type Floats = Float64Array;

/** Numbers with their gradients; [rows, columns]. */
interface Node {
	readonly value: Floats;
	readonly gradient: Floats;
	readonly columns: number;
}

class Tape {
	readonly #back: (() => void)[] = [];

	node(value: Floats, columns: number, back: (out: Node) => void): Node {
		const out = { value, gradient: new Float64Array(value.length), columns };
		this.#back.push(() => back(out));
		return out;
	}

	play(): void {
		for (const one of this.#back.toReversed()) one();
	}

	/** x·wᵀ, w [n, k]; times a factor. */
	product(x: Node, w: Node, factor = 1): Node {
		const [k, n] = [x.columns, w.value.length / x.columns];
		const rows = x.value.length / k;
		const value = new Float64Array(rows * n);
		const each = (act: (r: number, j: number, i: number) => void) => {
			for (let r = 0; r < rows; r++) for (let j = 0; j < n; j++) for (let i = 0; i < k; i++) act(r, j, i);
		};
		each((r, j, i) => {
			value[r * n + j]! += factor * x.value[r * k + i]! * w.value[j * k + i]!;
		});
		return this.node(value, n, ({ gradient }) =>
			each((r, j, i) => {
				const d = factor * gradient[r * n + j]!;
				x.gradient[r * k + i]! += d * w.value[j * k + i]!;
				w.gradient[j * k + i]! += d * x.value[r * k + i]!;
			}),
		);
	}

	add(a: Node, b: Node): Node {
		const size = b.value.length;
		const value = a.value.map((v, i) => v + b.value[i % size]!);
		return this.node(value, a.columns, ({ gradient }) => {
			for (const [i, d] of gradient.entries()) {
				a.gradient[i]! += d;
				b.gradient[i % size]! += d;
			}
		});
	}

	norm(x: Node, { value: gain, gradient: ofGain }: Node, bias: Floats | null, epsilon: number): Node {
		const n = x.columns;
		const value = new Float64Array(x.value.length);
		const normed = new Float64Array(x.value.length);
		const deviations: number[] = [];
		for (let r = 0; r < value.length; r += n) {
			const row = x.value.subarray(r, r + n);
			const mean = bias === null ? 0 : row.reduce((a, v) => a + v, 0) / n;
			const deviation = Math.sqrt(row.reduce((a, v) => a + (v - mean) ** 2, 0) / n + epsilon);
			deviations.push(deviation);
			for (let c = 0; c < n; c++) {
				normed[r + c] = (row[c]! - mean) / deviation;
				value[r + c] = normed[r + c]! * gain[c]! + (bias?.[c] ?? 0);
			}
		}
		return this.node(value, n, ({ gradient }) => {
			for (let r = 0; r < value.length; r += n) {
				const h = Float64Array.from({ length: n }, (_, c) => gradient[r + c]! * gain[c]!);
				for (let c = 0; c < n; c++) ofGain[c]! += gradient[r + c]! * normed[r + c]!;
				const mean = bias === null ? 0 : h.reduce((a, v) => a + v, 0) / n;
				const along = h.reduce((a, v, c) => a + v * normed[r + c]!, 0) / n;
				for (let c = 0; c < n; c++) x.gradient[r + c]! += (h[c]! - mean - normed[r + c]! * along) / deviations[r / n]!;
			}
		});
	}

	/** Each number from one or two others by a function, whose slopes are found by moving. */
	each(inputs: readonly Node[], f: (...values: number[]) => number): Node {
		const step = 1e-6;
		const of = (i: number) => inputs.map(({ value }) => value[i]!);
		const value = inputs[0]!.value.map((_, i) => f(...of(i)));
		return this.node(value, inputs[0]!.columns, ({ gradient }) => {
			for (const [i, d] of gradient.entries())
				for (const [n, input] of inputs.entries()) {
					const at = (by: number) => f(...of(i).with(n, of(i)[n]! + by));
					input.gradient[i]! += (d * (at(step) - at(-step))) / (2 * step);
				}
		});
	}

	/** Pairs (i, i + size/2) of every head turn by the token's place. */
	rope(x: Node, size: number, context: number, theta: number): Node {
		const turn = (from: Floats, to: Floats, sign: number) => {
			for (const at of from.keys()) {
				const c = at % size;
				const angle = (Math.floor(at / x.columns) % context) * theta ** (-(2 * (c % (size / 2))) / size);
				const other = c < size / 2 ? -from[at + size / 2]! : from[at - size / 2]!;
				to[at]! += from[at]! * Math.cos(angle) + sign * other * Math.sin(angle);
			}
		};
		const value = new Float64Array(x.value.length);
		turn(x.value, value, 1);
		return this.node(value, x.columns, ({ gradient }) => turn(gradient, x.gradient, -1));
	}

	attention(q: Node, k: Node, v: Node, size: number, context: number): Node {
		const value = new Float64Array(q.value.length);
		const [heads, shared] = [q.columns / size, k.columns / size];
		const rows = q.value.length / q.columns;
		const weights: number[][] = [];
		const each = (act: (n: number, r: number, place: number, first: number, key: number) => void) => {
			for (let r = 0; r < rows; r++)
				for (let h = 0; h < heads; h++)
					act(r * heads + h, r, r * q.columns + h * size, r - (r % context), Math.floor((h * shared) / heads) * size);
		};
		const dot = (a: Floats, i: number, b: Floats, j: number) => {
			let sum = 0;
			for (let c = 0; c < size; c++) sum += a[i + c]! * b[j + c]!;
			return sum;
		};
		each((n, r, place, first, key) => {
			const scores = Array.from(
				{ length: r - first + 1 },
				(_, j) => dot(q.value, place, k.value, (first + j) * k.columns + key) / Math.sqrt(size),
			);
			const top = Math.max(...scores);
			const sum = scores.reduce((a, s) => a + Math.exp(s - top), 0);
			weights[n] = scores.map((s) => Math.exp(s - top) / sum);
			for (let c = 0; c < size; c++)
				value[place + c] = weights[n].reduce((a, p, j) => a + p * v.value[(first + j) * v.columns + key + c]!, 0);
		});
		return this.node(value, q.columns, ({ gradient }) =>
			each((n, _, place, first, key) => {
				const p = weights[n]!;
				const dP = p.map((_, j) => dot(gradient, place, v.value, (first + j) * v.columns + key));
				const along = dP.reduce((a, d, j) => a + d * p[j]!, 0);
				for (const [j, weight] of p.entries()) {
					const at = (first + j) * k.columns + key;
					const dS = (weight * (dP[j]! - along)) / Math.sqrt(size);
					for (let c = 0; c < size; c++) {
						q.gradient[place + c]! += dS * k.value[at + c]!;
						k.gradient[at + c]! += dS * q.value[place + c]!;
						v.gradient[at + c]! += weight * gradient[place + c]!;
					}
				}
			}),
		);
	}
}

const leaf = (value: Floats, columns: number): Node => ({ value, gradient: new Float64Array(value.length), columns });
const silu = (x: number) => x / (1 + Math.exp(-x));
const geluTanh = (x: number) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

/** Mean loss; sets the gradient of the logits. */
function meanLoss(logits: Node, labels: readonly number[]): number {
	const n = logits.columns;
	let total = 0;
	for (const [r, label] of labels.entries()) {
		const row = logits.value.subarray(r * n, (r + 1) * n);
		const top = row.reduce((a, v) => Math.max(a, v), Number.NEGATIVE_INFINITY);
		const sum = row.reduce((a, v) => a + Math.exp(v - top), 0);
		total += top + Math.log(sum) - row[label]!;
		for (let c = 0; c < n; c++)
			logits.gradient[r * n + c] = (Math.exp(row[c]! - top) / sum - (c === label ? 1 : 0)) / labels.length;
	}
	return total / labels.length;
}

export interface FloatLora {
	readonly model: ImportedModel;
	readonly rank: number;
	readonly alpha: number;
	readonly context: number;
	/** By name: `layers.0.q.lora_A` [rank, inputs], `layers.0.q.lora_B` [outputs, rank]. */
	readonly adapters: Readonly<Record<string, Floats>>;
}

/** Loss of a batch, and the gradient of every adapter and weight by name. */
export function floatLora(of: FloatLora, tokens: readonly number[], labels: readonly number[]) {
	const { model, rank, alpha, context, adapters } = of;
	const a: Architecture = model.architecture;
	const tape = new Tape();
	const own = new Map<string, Node>();
	const floats = (name: string): Floats => Float64Array.from(model.tensor(name).values);
	/** One leaf for each tensor: a tied head is the embedding. */
	const node = (asked: string): Node => {
		const name = asked === "head.weight" && a.isTied ? "embed.tokens" : asked;
		const held = own.get(name) ?? leaf(floats(name), model.tensor(name).dims.at(-1)!);
		own.set(name, held);
		return held;
	};
	const added = (y: Node, x: Node, name: string): Node => {
		if (!Object.hasOwn(adapters, `${name}.lora_A`)) return y;
		const [down, up] = [leaf(adapters[`${name}.lora_A`]!, x.columns), leaf(adapters[`${name}.lora_B`]!, rank)];
		own.set(`${name}.lora_A`, down).set(`${name}.lora_B`, up);
		return tape.add(y, tape.product(tape.product(x, down), up, alpha / rank));
	};
	const linear = (x: Node, name: string, isBiased: boolean): Node => {
		const y = tape.product(x, node(`${name}.weight`));
		return added(isBiased ? tape.add(y, node(`${name}.bias`)) : y, x, name);
	};
	const norm = (x: Node, name: string): Node =>
		tape.norm(x, node(`${name}.weight`), a.norm === "layer" ? floats(`${name}.bias`) : null, a.normEpsilon);
	/** Columns of x from `first` on. */
	const part = (x: Node, first: number, columns: number): Node =>
		tape.node(
			Float64Array.from(
				{ length: (x.value.length / x.columns) * columns },
				(_, i) => x.value[Math.floor(i / columns) * x.columns + first + (i % columns)]!,
			),
			columns,
			({ gradient }) => {
				for (const [i, d] of gradient.entries())
					x.gradient[Math.floor(i / columns) * x.columns + first + (i % columns)]! += d;
			},
		);
	const table = node("embed.tokens");
	const places = a.positions === "learned" ? floats("embed.positions") : null;
	const place = (i: number) => tokens[Math.floor(i / a.width)]! * a.width + (i % a.width);
	let x = tape.node(
		Float64Array.from({ length: tokens.length * a.width }, (_, i) => {
			const [r, c] = [Math.floor(i / a.width), i % a.width];
			return table.value[place(i)]! + (places?.[(r % context) * a.width + c] ?? 0);
		}),
		a.width,
		({ gradient }) => {
			for (const [i, d] of gradient.entries()) table.gradient[place(i)]! += d;
		},
	);
	for (let i = 0; i < a.layers; i++) {
		const at = `layers.${i}`;
		const y = norm(x, `${at}.attentionNorm`);
		const together =
			adapters[`${at}.qkv.lora_A`] === undefined
				? null
				: added(leaf(new Float64Array(tokens.length * 3 * a.width), 3 * a.width), y, `${at}.qkv`);
		const [q, k, v] = (["q", "k", "v"] as const).map((name, n) => {
			const alone = linear(y, `${at}.${name}`, a.hasBias.qkv);
			const whole = together === null ? alone : tape.add(alone, part(together, n * a.width, a.width));
			return a.positions === "rope" && name !== "v" ? tape.rope(whole, a.headWidth, context, a.ropeTheta) : whole;
		}) as [Node, Node, Node];
		const mixed = tape.attention(q, k, v, a.headWidth, context);
		x = tape.add(x, linear(mixed, `${at}.out`, a.hasBias.out));
		const z = norm(x, `${at}.mlpNorm`);
		const up = linear(z, `${at}.up`, a.hasBias.mlp);
		const active =
			a.activation === "silu-glu"
				? tape.each([linear(z, `${at}.gate`, a.hasBias.mlp), up], (g, u) => silu(g) * u)
				: tape.each([up], geluTanh);
		x = tape.add(x, linear(active, `${at}.down`, a.hasBias.mlp));
	}
	const loss = meanLoss(tape.product(norm(x, "norm"), node("head.weight")), labels);
	tape.play();
	return { loss, gradients: Object.fromEntries([...own].map(([name, { gradient }]) => [name, gradient])) };
}
