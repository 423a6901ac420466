// Weights of a decoder that learn from the first step on: parameters at 2^24, in products i16 under the
// largest of their matrix.
import { at, constant, type Expression, type Index } from "../../builder/expression.ts";
import { type Architecture, modelTensors } from "../../imports/architecture.ts";
import { clampI32, columnSums, rescale, SCALE, turned } from "../numbers.ts";
import type { Parameter, Parameters } from "../optimizer.ts";
import { copyOf } from "./adapter.ts";
import type { Matrix } from "./linear.ts";
import { GAIN, NORMED, type NormSpec } from "./norm.ts";
import type { StepEnd, Weights } from "./weights.ts";
import { WIDE, type WideNet, type WideRows } from "./wide.ts";

/** Standard deviation of new weights. */
const DEVIATION = 0.02;

/** Where a tensor of the model lies. */
export interface TrainedPlace {
	readonly name: string;
	/** The state tensor that holds it, and its first element there. */
	readonly tensor: string;
	readonly first: number;
	readonly dims: readonly number[];
}

export class Trained implements Weights {
	readonly net: WideNet;
	readonly parameters: Parameters;
	readonly architecture: Architecture;
	readonly places: TrainedPlace[] = [];
	readonly #dims: ReadonlyMap<string, readonly number[]>;
	readonly #tables = new Map<string, Parameter>();

	constructor(net: WideNet, parameters: Parameters, architecture: Architecture) {
		this.net = net;
		this.parameters = parameters;
		this.architecture = architecture;
		this.#dims = new Map(modelTensors(architecture).map(({ name, dims }) => [name, dims]));
	}

	matrix(name: string, parts: readonly string[], rows = 0): Matrix {
		const { net, parameters, architecture } = this;
		let own = 0;
		const columns = this.#dims.get(parts[0]!)![1]!;
		for (const part of parts) {
			const dims = this.#dims.get(part)!;
			this.places.push({ name: part, tensor: name, first: own * columns, dims });
			own += dims[0]!;
		}
		// What writes to the residual stream begins smaller, as in GPT-2.
		const isWriter = /\.(out|down)\.weight$/.test(name);
		const deviation = isWriter ? DEVIATION / Math.sqrt(2 * architecture.layers) : DEVIATION;
		const parameter = parameters.add(name, [own, columns], parameters.random(deviation));
		const { w } = parameter;
		const copy = copyOf(net, w, Math.max(rows, own));
		const isTable = name === "embed.tokens" || name === "head.weight";
		if (isTable) this.#tables.set(name, parameter);
		return {
			rows: copy.q,
			turned: () => copy.turned,
			times: null,
			shift: constant(SCALE.weight).sub(at(copy.shift, 0)),
			element: (row, column, to) => rescale(at(w, row, column), SCALE.weight, to),
			learn: isTable ? null : (d, x) => this.#move(parameter, d, x),
		};
	}

	#move(parameter: Parameter, d: WideRows, x: WideRows): void {
		const { net, parameters } = this;
		const sums = net.s.matmul(d.turned.q, x.turned.q);
		const from = constant(SCALE.gradient + WIDE);
		const g = net.s.map(parameter.w.dims, (i, j) =>
			parameters.gradient(at(sums, i!, j!), from.sub(at(d.turned.shifts, i!)).sub(at(x.turned.shifts, j!))),
		);
		parameters.apply(parameter, g);
	}

	/** No model that is trained from the start has these. */
	table(name: string): never {
		throw new RangeError(`${name} is not trained`);
	}
	vector(name: string): never {
		throw new RangeError(`${name} is not trained`);
	}

	gain(name: string): Pick<NormSpec, "gain" | "learn"> {
		const { net, parameters, architecture } = this;
		// So many digits of x/σ that the sum over all rows of its products with a gradient fits 61.
		const half = Math.ceil(Math.ceil(Math.log2(architecture.width)) / 2);
		const kept = Math.min(NORMED, 30 - half - Math.ceil(Math.log2(net.rows)));
		const parameter = parameters.add(name, [architecture.width], () => constant(2 ** SCALE.weight), false);
		this.places.push({ name, tensor: name, first: 0, dims: [architecture.width] });
		return {
			gain: (column) => rescale(at(parameter.w, column), SCALE.weight, GAIN),
			learn: (d, normed) =>
				parameters.apply(
					parameter,
					columnSums(
						net,
						architecture.width,
						2n ** BigInt(31 + half + kept),
						(r, c) => at(d, r, c).mul(at(normed, r, c).rsh(NORMED - kept)),
						(total) => parameters.gradient(total, SCALE.gradient + kept),
					),
				),
		};
	}

	/** The head by the gradient of the logits, the embedding by that of its tokens; a tied one by both. */
	end = ({ tokens, d, loss, y }: StepEnd): void => {
		const { net, parameters, architecture } = this;
		const { vocabulary, width, isTied } = architecture;
		const { s } = net;
		const ofHead = s.matmul(turned(net, loss.gradient), y.turned.q);
		const scattered = s.scatterAdd(turned(net, d), tokens, vocabulary);
		const head = (v: Index, c: Index): Expression =>
			parameters.gradient(at(ofHead, v, c), constant(loss.scale + WIDE).sub(at(y.turned.shifts, c)));
		const embedding = this.#tables.get("embed.tokens")!;
		parameters.apply(
			embedding,
			s.map([vocabulary, width], (v, c) => {
				const own = parameters.gradient(at(scattered, v!, c!), SCALE.gradient);
				return clampI32(isTied ? own.add(head(v!, c!)) : own);
			}),
		);
		if (!isTied)
			parameters.apply(
				this.#tables.get("head.weight")!,
				s.map([vocabulary, width], (v, c) => head(v!, c!)),
			);
	};
}
