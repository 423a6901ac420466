// An ONNX graph as a network of layers, docs/workloads.md: nodes in a chain, each with an exact form.
// Whatever else a node says is refused with its name, its type and the attribute. BatchNormalization is
// folded into the layer before it; a Softmax at the end is left out, as it does not change which class is the
// largest.
import {
	type Layer,
	type LayerWeights,
	type Network,
	type Picture,
	type Stage,
	sizeOf,
	stagesOf,
} from "../../models/cnn/layers.ts";
import { MOST_WEIGHT } from "../quantise-rows.ts";
import { Attributes, MOST_SIDE, refused } from "./node-attributes.ts";
import { wrongFile } from "./protobuf.ts";
import type { OnnxGraph, OnnxNode, OnnxTensor } from "./read-onnx.ts";

const MOST_LAYERS = 256;

/** A layer while nodes may still change it. */
interface Draft {
	layer: Layer;
	readonly from: Picture;
	readonly to: Picture;
	weights: LayerWeights | null;
}

class Chain {
	readonly graph: OnnxGraph;
	readonly drafts: Draft[] = [];
	/** What comes out of the last layer. */
	picture: Picture;
	/** One row, channels first: after a Flatten, or from the start. */
	isFlat: boolean;
	hasEnded = false;

	constructor(graph: OnnxGraph) {
		this.graph = graph;
		const dims = graph.input.dims.slice(1);
		if ((dims.length !== 1 && dims.length !== 3) || dims.some((dim) => dim < 1 || dim > 2 ** 20))
			throw wrongFile("must have an input of [batch, features] or [batch, channels, height, width]");
		const [channels = 1, height = 1, width = 1] = dims;
		if (dims.length === 3 && (height > MOST_SIDE || width > MOST_SIDE || channels > MOST_SIDE))
			throw wrongFile(`must have an input of at most ${MOST_SIDE} channels, rows and columns`);
		this.picture = { channels, height, width };
		this.isFlat = dims.length === 1;
	}

	/** A tensor that is given, of floats. */
	floats(node: OnnxNode, input: number): { readonly dims: readonly number[]; readonly values: Float32Array } {
		const tensor = this.given(node, input);
		if (tensor.floats === null) throw refused(node, `its input ${input} is not of floats`);
		if (tensor.floats.some((value) => Math.abs(value) > MOST_WEIGHT))
			throw refused(node, `its input ${input} has a weight above ${MOST_WEIGHT}`);
		return { dims: tensor.dims, values: tensor.floats };
	}

	given(node: OnnxNode, input: number): OnnxTensor {
		// Without a name an input is left out, whatever the file gives under no name.
		const name = node.inputs[input] || null;
		const tensor = name === null ? undefined : this.graph.tensors.get(name);
		if (tensor === undefined) throw refused(node, `its input ${input} must be given in the file`);
		return tensor;
	}

	push(node: OnnxNode, layer: Layer, weights: LayerWeights | null): void {
		const made = stagesOf(this.picture, [layer]);
		if (typeof made === "number") throw refused(node, "its window does not fit the picture");
		if (this.drafts.length >= MOST_LAYERS) throw wrongFile(`has more than ${MOST_LAYERS} layers`);
		this.drafts.push({ ...made[0]!, weights });
		this.picture = made[0]!.to;
	}

	/** The last layer, when something can still be added to what it computes. */
	linear(node: OnnxNode): Draft & { weights: LayerWeights } {
		const last = this.drafts.at(-1);
		if (last === undefined || last.weights === null || last.layer.isRelu)
			throw refused(node, "must follow a Conv, Gemm or MatMul");
		if (this.isFlat && sizeOf(last.to) !== last.to.channels) throw refused(node, "must stand before the Flatten");
		return last as Draft & { weights: LayerWeights };
	}
}

/** Biases of so many outputs; zeros where the node has none. */
function biasOf(chain: Chain, node: OnnxNode, input: number, outputs: number): Float32Array {
	if ((node.inputs[input] ?? "") === "") return new Float32Array(outputs);
	const { dims, values } = chain.floats(node, input);
	const isRow = dims.at(-1) === outputs && values.length === outputs;
	if (!isRow) throw refused(node, `its bias has dims [${dims.join(",")}], not [${outputs}]`);
	return values.slice();
}

function conv(chain: Chain, node: OnnxNode, attributes: Attributes): void {
	if (chain.isFlat) throw refused(node, "must get a picture");
	const { dims, values } = chain.floats(node, 1);
	const [outputs, channels, height, width] = dims;
	if (dims.length !== 4 || values.length === 0 || outputs === undefined)
		throw refused(node, `its weights have dims [${dims.join(",")}], not four`);
	attributes.must("group", 1);
	const size = attributes.ints("kernel_shape", [height!, width!]);
	if (size[0] !== height || size[1] !== width) throw refused(node, `kernel_shape is not that of its weights`);
	if (channels !== chain.picture.channels)
		throw refused(node, `its weights are for ${channels} channels; it gets ${chain.picture.channels}`);
	const bias = biasOf(chain, node, 2, outputs);
	chain.push(node, { kind: "conv", outputs, window: attributes.window(size), isRelu: false }, { weight: values, bias });
}

/** [outputs, inputs] of a matrix that lies as [inputs, outputs]. */
function turned(values: Float32Array, inputs: number, outputs: number): Float32Array {
	const out = new Float32Array(values.length);
	for (let i = 0; i < inputs; i++) for (let j = 0; j < outputs; j++) out[j * inputs + i] = values[i * outputs + j]!;
	return out;
}

function dense(chain: Chain, node: OnnxNode, isTurned: boolean, bias: number | null): void {
	if (!chain.isFlat) throw refused(node, "must get rows, as after a Flatten");
	const { dims, values } = chain.floats(node, 1);
	if (dims.length !== 2 || values.length === 0)
		throw refused(node, `its weights have dims [${dims.join(",")}], not two`);
	const [outputs, inputs] = (isTurned ? dims : dims.toReversed()) as [number, number];
	if (inputs !== sizeOf(chain.picture))
		throw refused(node, `its weights are for ${inputs} inputs; it gets ${sizeOf(chain.picture)}`);
	const weight = isTurned ? values : turned(values, inputs, outputs);
	const own = bias === null ? new Float32Array(outputs) : biasOf(chain, node, bias, outputs);
	chain.push(node, { kind: "dense", outputs, isRelu: false }, { weight, bias: own });
}

function gemm(chain: Chain, node: OnnxNode, attributes: Attributes): void {
	for (const name of ["alpha", "beta"]) if (attributes.float(name, 1) !== 1) throw refused(node, `${name} must be 1`);
	attributes.must("transA", 0);
	dense(chain, node, attributes.int("transB", 0) === 1, 2);
}

function pool(chain: Chain, node: OnnxNode, attributes: Attributes, of: "max" | "average"): void {
	if (chain.isFlat) throw refused(node, "must get a picture");
	const size = attributes.ints("kernel_shape", [0, 0]);
	const window = attributes.window(size);
	attributes.must("ceil_mode", 0);
	if (of === "max") attributes.must("storage_order", 0);
	else if (window.pads.some((pad) => pad > 0)) attributes.must("count_include_pad", 1, 0);
	else attributes.int("count_include_pad", 0);
	chain.push(node, { kind: "pool", pool: of, window, isRelu: false }, null);
}

function globalAverage(chain: Chain, node: OnnxNode): void {
	if (chain.isFlat) throw refused(node, "must get a picture");
	const size = [chain.picture.height, chain.picture.width] as const;
	const window = { size, stride: size, pads: [0, 0, 0, 0] as const };
	chain.push(node, { kind: "pool", pool: "average", window, isRelu: false }, null);
}

function add(chain: Chain, node: OnnxNode): void {
	const last = chain.linear(node);
	const outputs = last.to.channels;
	const { dims, values } = chain.floats(node, 1);
	// Channels stand last in rows; in pictures two axes follow them.
	const row = chain.isFlat ? dims : dims.slice(0, -2);
	const isRow =
		values.length === outputs && row.at(-1) === outputs && (chain.isFlat || dims.slice(-2).every((dim) => dim === 1));
	if (!isRow)
		throw refused(node, `adds dims [${dims.join(",")}]; only one number for each of ${outputs} outputs is known`);
	last.weights = { ...last.weights, bias: last.weights.bias.map((bias, i) => bias + values[i]!) };
}

function batchNormalization(chain: Chain, node: OnnxNode, attributes: Attributes): void {
	attributes.must("training_mode", 0);
	attributes.must("spatial", 1);
	attributes.float("momentum", 0.9);
	const epsilon = attributes.float("epsilon", 1e-5);
	const last = chain.linear(node);
	const outputs = last.to.channels;
	const [scale, shift, mean, variance] = [1, 2, 3, 4].map((input) => biasOf(chain, node, input, outputs));
	const inputs = last.weights.weight.length / outputs;
	const factor = scale!.map((value, i) => value / Math.sqrt(variance![i]! + epsilon));
	const weight = last.weights.weight.map((value, i) => value * factor[Math.floor(i / inputs)]!);
	const bias = last.weights.bias.map((value, i) => (value - mean![i]!) * factor[i]! + shift![i]!);
	if (![...weight, ...bias].every((value) => Math.abs(value) <= MOST_WEIGHT))
		throw refused(node, `makes a weight above ${MOST_WEIGHT} of the layer before it`);
	last.weights = { weight, bias };
}

function relu(chain: Chain, node: OnnxNode): void {
	const last = chain.drafts.at(-1);
	if (last === undefined) throw refused(node, "must follow a layer");
	last.layer = { ...last.layer, isRelu: true };
}

/** To [batch, everything else]: channels first, as pictures lie in files. */
function reshape(chain: Chain, node: OnnxNode, attributes: Attributes): void {
	attributes.must("allowzero", 0);
	const [rows, columns, ...others] = chain.given(node, 1).ints ?? [];
	const size = sizeOf(chain.picture);
	// One of the two may be left open; a fixed batch is that of the file, not of the job.
	const isFlat = others.length === 0 && (columns === size || (columns === -1 && rows !== undefined && rows >= 0));
	if (!isFlat) throw refused(node, "shape must be one row a sample");
	chain.isFlat = true;
}

const FORMS: Readonly<Record<string, (chain: Chain, node: OnnxNode, attributes: Attributes) => void>> = {
	Conv: conv,
	Gemm: gemm,
	MatMul: (chain, node) => dense(chain, node, false, null),
	Add: add,
	Relu: relu,
	MaxPool: (chain, node, attributes) => pool(chain, node, attributes, "max"),
	AveragePool: (chain, node, attributes) => pool(chain, node, attributes, "average"),
	GlobalAveragePool: globalAverage,
	BatchNormalization: batchNormalization,
	Flatten(chain, _, attributes) {
		attributes.must("axis", 1);
		chain.isFlat = true;
	},
	Reshape: reshape,
	Identity: () => {},
	Softmax(chain, node, attributes) {
		const axis = attributes.int("axis", chain.isFlat ? 1 : -1);
		if (!chain.isFlat || (axis !== 1 && axis !== -1)) throw refused(node, "axis must be that of the classes");
		chain.hasEnded = true;
	},
};

/** Constants are tensors that are given. */
function withConstants({ nodes, tensors, ...rest }: OnnxGraph): OnnxGraph {
	const all = new Map(tensors);
	const others: OnnxNode[] = [];
	for (const node of nodes) {
		const value = node.type === "Constant" ? (node.attributes.get("value")?.tensor ?? null) : null;
		const [name] = node.outputs;
		if (value === null || name === undefined) others.push(node);
		else if (all.has(name)) throw wrongFile("gives a tensor twice");
		else all.set(name, value);
	}
	return { ...rest, nodes: others, tensors: all };
}

/** Refuses with `ONNX_FILE` or `ONNX_NODE`. */
export function networkOf(whole: OnnxGraph): Network {
	const graph = withConstants(whole);
	const chain = new Chain(graph);
	const waiting = new Set(graph.nodes);
	let name = graph.input.name;
	while (name !== graph.output) {
		const readers = [...waiting].filter(({ inputs }) => inputs.includes(name));
		const node = readers[0];
		if (node === undefined) throw wrongFile("has an output that nothing leads to");
		const form = Object.hasOwn(FORMS, node.type) ? FORMS[node.type]! : null;
		if (form === null) throw refused(node, "has no exact form");
		// Add takes its two inputs in either order.
		const isTurned = node.type === "Add" && node.inputs[1] === name;
		const asRead = isTurned ? { ...node, inputs: node.inputs.toReversed() } : node;
		if (readers.length > 1) throw refused(readers[1]!, "reads what another node reads, too: only chains are known");
		if (asRead.inputs[0] !== name || asRead.inputs.indexOf(name, 1) > 0)
			throw refused(node, "must read what the node before it gives as its first input alone");
		if (chain.hasEnded) throw refused(node, "must not follow a Softmax");
		const next = node.outputs[0];
		if (next === undefined || node.outputs.slice(1).some((other) => other !== ""))
			throw refused(node, "must have one output");
		const attributes = new Attributes(node);
		form(chain, asRead, attributes);
		attributes.end();
		waiting.delete(node);
		name = next;
	}
	const [left] = waiting;
	if (left !== undefined) throw refused(left, "does not lead to the output");
	if (chain.drafts.length === 0) throw wrongFile("has no layers");
	if (!chain.isFlat && sizeOf(chain.picture) !== chain.picture.channels)
		throw wrongFile("must give one row of classes a sample");
	const stages: Stage[] = chain.drafts.map(({ layer, from, to }) => ({ layer, from, to }));
	return { stages, weights: chain.drafts.map(({ weights }) => weights) };
}
