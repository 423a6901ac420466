// One block of a decoder whose weights stand still: norm, attention, norm, MLP, with adapters where they are
// asked for. Layers that read the same numbers (q, k, v; gate, up) are one matrix.
import { at, type Expression, type Index, type Value, view } from "../../builder/expression.ts";
import type { Architecture } from "../../imports/architecture.ts";
import { clampI32 } from "../numbers.ts";
import type { Parameters } from "../optimizer.ts";
import type { ExpTables } from "../softmax.ts";
import type { WideActivations } from "./activation.ts";
import { type AdapterPart, type AdapterShape, Adapters } from "./adapter.ts";
import { type Heads, WideAttention } from "./attention.ts";
import { WideLinear } from "./linear.ts";
import { WideNorm } from "./norm.ts";
import { type Rope, turnedBy } from "./rope.ts";
import type { Weights } from "./weights.ts";
import { WIDE, type WideNet, WideRows } from "./wide.ts";

/** A layer that may have an adapter. GPT-2's q, k and v are one. */
export type Target = "q" | "k" | "v" | "qkv" | "out" | "gate" | "up" | "down";

export interface LoraSpec extends AdapterShape {
	readonly targets: readonly Target[];
	/** By block and target, where adapters go on from others' numbers. */
	readonly start: ((block: number, target: Target) => AdapterPart["start"]) | null;
}

/** What all blocks share. */
export interface Shared {
	readonly net: WideNet;
	readonly parameters: Parameters;
	readonly weights: Weights;
	readonly lora: LoraSpec;
	readonly architecture: Architecture;
	readonly batch: number;
	readonly context: number;
	readonly exp: ExpTables;
	readonly activation: WideActivations;
	readonly rope: Rope | null;
}

interface Layer {
	readonly target: Target;
	readonly inputs: number;
	readonly outputs: number;
}

/** The layers of a block that may have adapters: [outputs, inputs] of each. */
export function layersOf({ family, activation, width, heads, kvHeads, headWidth, hidden }: Architecture): Layer[] {
	const layer = (target: Target, outputs: number, inputs: number): Layer => ({ target, outputs, inputs });
	const [all, shared] = [heads * headWidth, kvHeads * headWidth];
	return [
		...(family === "gpt2"
			? [layer("qkv", 3 * all, width)]
			: [layer("q", all, width), layer("k", shared, width), layer("v", shared, width)]),
		layer("out", width, all),
		...(activation === "silu-glu" ? [layer("gate", hidden, width)] : []),
		layer("up", hidden, width),
		layer("down", width, hidden),
	];
}

/** Matrices of a block: our names of the layers that each holds, one below the other. */
const GROUPS = { qkv: ["q", "k", "v"], out: ["out"], up: ["gate", "up"], down: ["down"] } as const;
type Group = keyof typeof GROUPS;

export function normOf(
	{ net, weights, architecture }: Pick<Shared, "net" | "weights" | "architecture">,
	name: string,
): WideNorm {
	const { norm, normEpsilon, width } = architecture;
	const gain = weights.gain(`${name}.weight`);
	const bias = norm === "layer" ? weights.vector(`${name}.bias`, [`${name}.bias`], WIDE) : null;
	return new WideNorm(net, { kind: norm, epsilon: normEpsilon, width, ...gain, bias });
}

export class Block {
	readonly of: Shared;
	readonly number: number;
	readonly first: WideNorm;
	readonly second: WideNorm;
	readonly layers: Readonly<Record<Group, WideLinear>>;
	readonly attention: WideAttention;
	/** What the activation got. */
	inner: Value | null = null;

	constructor(of: Shared, number: number) {
		const { net, architecture, batch, context, exp } = of;
		const { heads, kvHeads, headWidth: size } = architecture;
		this.of = of;
		this.number = number;
		this.first = normOf(of, `layers.${number}.attentionNorm`);
		this.second = normOf(of, `layers.${number}.mlpNorm`);
		this.layers = {
			qkv: this.#linear("qkv"),
			out: this.#linear("out"),
			up: this.#linear("up"),
			down: this.#linear("down"),
		};
		this.attention = new WideAttention(net, { batch, context, heads, kvHeads, size }, exp);
	}

	#linear(group: Group): WideLinear {
		const { net, parameters, weights, lora, architecture } = this.of;
		const { hasBias, activation } = architecture;
		const at = `layers.${this.number}`;
		const names = GROUPS[group].filter((name) => name !== "gate" || activation === "silu-glu");
		const all = (kind: string) => names.map((name) => `${at}.${name}.${kind}`);
		const matrix = weights.matrix(`${at}.${group}.weight`, all("weight"));
		const isBiased = group === "qkv" ? hasBias.qkv : group === "out" ? hasBias.out : hasBias.mlp;
		const bias = isBiased ? weights.vector(`${at}.${group}.bias`, all("bias"), WIDE) : null;
		const parts: AdapterPart[] = [];
		let first = 0;
		for (const { target, outputs } of layersOf(architecture)) {
			if (target !== group && !(names as readonly string[]).includes(target)) continue;
			const start = lora.start?.(this.number, target) ?? null;
			if (lora.targets.includes(target)) parts.push({ name: `${at}.${target}`, first, outputs, start });
			first += outputs;
		}
		const dims = matrix.rows.dims as [number, number];
		const adapters = parts.length === 0 ? null : new Adapters(net, parameters, dims, parts, lora);
		return new WideLinear(net, matrix, bias, adapters);
	}

	/** x plus what a layer gives. */
	#joined(x: Value, layer: WideLinear): Value {
		const { net } = this.of;
		return net.s.map(x.dims, (r, c) => clampI32(at(x, r!, c!).add(layer.output(r!, c!, net.residual))));
	}

	/** From which head on q, k and v are theirs, and how many heads they have. */
	#heads(): readonly { readonly first: number; readonly heads: number }[] {
		const { heads, kvHeads } = this.of.architecture;
		return [
			{ first: 0, heads },
			{ first: heads, heads: kvHeads },
			{ first: heads + kvHeads, heads: kvHeads },
		];
	}

	forward(x: Value): Value {
		const { net, batch, context, rope, architecture, activation } = this.of;
		const { headWidth: size, heads: queries, kvHeads, hidden } = architecture;
		const { s, rows } = net;
		const { qkv, out, up, down } = this.layers;
		const all = view(qkv.forward(this.first.forward(x)).wide(), batch, context, queries + 2 * kvHeads, size);
		const [q, k, v] = this.#heads().map(({ first, heads }, i) =>
			s.map([batch, heads, context, size], (b, h, t, c) => {
				const own = (place: Index): Expression => at(all, b!, t!, h!.plus(first), place);
				return rope === null || i === 2 ? own(c!) : clampI32(turnedBy(rope, "forwards", own, t!, c!));
			}),
		);
		const mixed = new WideRows(net, this.attention.forward({ q: q!, k: k!, v: v! }));
		const between = this.#joined(x, out.forward(mixed));
		const before = up.forward(this.second.forward(between)).wide();
		const inner = view(before, rows, before.dims[1]! / hidden, hidden);
		this.inner = inner;
		const active = new WideRows(
			net,
			s.map([rows, hidden], (r, c) => activation.forward(inner, r!, c!)),
		);
		const after = this.#joined(between, down.forward(active));
		net.watched.others.push(mixed.rows.largest, active.rows.largest);
		return after;
	}

	/**
	 * `d`: gradient of what the block gave, i32 at 2^24; gives that of what it got, where it is wanted. Moves
	 * the adapters.
	 */
	backward(d: Value, wantsInput: boolean): Value | null {
		const { net, activation } = this.of;
		const { qkv, out, up, down } = this.layers;
		const inner = this.inner!;
		const dActive = down.backward(d, true)!;
		const dInner = net.s.map(inner.dims, (r, n, c) => activation.backward(inner, dActive, r!, n!, c!));
		const dBefore = up.backward(view(dInner, net.rows, up.product!.dims[1]!), true)!;
		const between = this.second.backward(dBefore, d);
		const heads = this.attention.backward(out.backward(between, true)!);
		const ofInput = qkv.backward(this.#joinedHeads(heads), wantsInput);
		return ofInput === null ? null : this.first.backward(ofInput, between);
	}

	/** Gradients of q, k and v before they were turned, side by side: i32 [rows, outputs] at 2^24. */
	#joinedHeads({ q, k, v }: Heads): Value {
		const { net, batch, context, rope, architecture } = this.of;
		const { headWidth: size, heads, kvHeads } = architecture;
		const places = this.#heads();
		const joined = net.s.map([batch, context, heads + 2 * kvHeads, size], (b, t, n, c) =>
			clampI32(
				[q, k, v]
					.map((x, i) => {
						// Outside its part each is zero.
						const own = (place: Index): Expression => at(x, b!, n!.plus(-places[i]!.first).zero(), t!, place);
						return rope === null || i === 2 ? own(c!) : turnedBy(rope, "backwards", own, t!, c!);
					})
					.reduce((sum, one) => sum.add(one)),
			),
		);
		return view(joined, net.rows, (heads + 2 * kvHeads) * size);
	}
}
