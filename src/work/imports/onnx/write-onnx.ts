// A network as an ONNX file: what others load a trained model with. Operator set 13, float32, one input
// `image` with an open batch, one output `logits`. read-onnx.ts and network-of.ts read it back.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { type Network, type Picture, type Stage, sizeOf, type Window, weightDims } from "../../models/cnn/layers.ts";
import { bytesField, intField, textField } from "./protobuf.ts";

const FLOAT = 1;
/** Of AttributeProto. */
const TYPE = { int: 2, ints: 7 } as const;
const IR_VERSION = 7;
const OPERATOR_SET = 13;

type Attribute = number | readonly number[];

/** AttributeProto. */
function attributeBytes(name: string, value: Attribute): Uint8Array {
	if (typeof value === "number") return concatBytes(textField(1, name), intField(3, value), intField(20, TYPE.int));
	return concatBytes(textField(1, name), ...value.map((one) => intField(8, one)), intField(20, TYPE.ints));
}

export interface NodeToWrite {
	readonly type: string;
	readonly name: string;
	readonly inputs: readonly string[];
	readonly outputs: readonly string[];
	readonly attributes?: Readonly<Record<string, Attribute>>;
}

/** NodeProto. */
export function nodeBytes({ type, name, inputs, outputs, attributes = {} }: NodeToWrite): Uint8Array {
	return concatBytes(
		...inputs.map((one) => textField(1, one)),
		...outputs.map((one) => textField(2, one)),
		textField(3, name),
		textField(4, type),
		...Object.entries(attributes).map(([key, value]) => bytesField(5, attributeBytes(key, value))),
	);
}

/** TensorProto. */
export function tensorBytes(name: string, dims: readonly number[], values: Float32Array): Uint8Array {
	const raw = new Uint8Array(4 * values.length);
	const view = new DataView(raw.buffer);
	for (const [i, value] of values.entries()) view.setFloat32(4 * i, value, true);
	return concatBytes(
		...dims.map((dim) => intField(1, dim)),
		intField(2, FLOAT),
		textField(8, name),
		bytesField(9, raw),
	);
}

/** ValueInfoProto of a batch of such rows. */
function valueBytes(name: string, dims: readonly number[]): Uint8Array {
	const open = bytesField(1, textField(2, "batch"));
	const shape = concatBytes(open, ...dims.map((dim) => bytesField(1, intField(1, dim))));
	const tensor = concatBytes(intField(1, FLOAT), bytesField(2, shape));
	return concatBytes(textField(1, name), bytesField(2, bytesField(1, tensor)));
}

/** ModelProto. */
export function modelBytes(
	nodes: readonly Uint8Array[],
	tensors: readonly Uint8Array[],
	input: readonly [name: string, dims: readonly number[]],
	output: readonly [name: string, dims: readonly number[]],
): Uint8Array {
	const graph = concatBytes(
		...nodes.map((node) => bytesField(1, node)),
		textField(2, "network"),
		...tensors.map((tensor) => bytesField(5, tensor)),
		bytesField(11, valueBytes(...input)),
		bytesField(12, valueBytes(...output)),
	);
	return concatBytes(
		intField(1, IR_VERSION),
		textField(2, "assay"),
		bytesField(7, graph),
		bytesField(8, concatBytes(textField(1, ""), intField(2, OPERATOR_SET))),
	);
}

const windowOf = ({ size, stride, pads }: Window) => ({ kernel_shape: size, strides: stride, pads });

/** The nodes of one stage, from the tensor `from` on. */
function nodesOf({ layer, from: picture }: Stage, name: string, from: string, isFlat: boolean): NodeToWrite[] {
	const weights = [`${name}.weight`, `${name}.bias`];
	const nodes: NodeToWrite[] = [];
	let at = from;
	const push = (type: string, more: readonly string[] = [], attributes: NodeToWrite["attributes"] = {}) => {
		const label = `${name}.${type}`;
		nodes.push({ type, name: label, inputs: [at, ...more], outputs: [label], attributes });
		at = label;
	};
	if (layer.kind === "conv") push("Conv", weights, windowOf(layer.window));
	else if (layer.kind === "dense") {
		if (!isFlat || sizeOf(picture) !== picture.channels) push("Flatten", [], { axis: 1 });
		push("Gemm", weights, { transB: 1 });
	} else if (layer.pool === "max") push("MaxPool", [], windowOf(layer.window));
	else push("AveragePool", [], { ...windowOf(layer.window), count_include_pad: 1 });
	if (layer.isRelu) push("Relu");
	return nodes;
}

/** The last stage is dense. */
export function writeOnnx({ stages, weights }: Network): Uint8Array {
	const input: Picture = stages[0]!.from;
	const nodes: NodeToWrite[] = [];
	const tensors: Uint8Array[] = [];
	let isFlat = false;
	for (const [i, stage] of stages.entries()) {
		nodes.push(...nodesOf(stage, `layer${i}`, nodes.at(-1)?.outputs[0] ?? "image", isFlat));
		isFlat = stage.layer.kind === "dense";
		const own = weights[i];
		if (own === null || own === undefined) continue;
		tensors.push(tensorBytes(`layer${i}.weight`, weightDims(stage)!, own.weight));
		tensors.push(tensorBytes(`layer${i}.bias`, [own.bias.length], own.bias));
	}
	const last = nodes.pop()!;
	const whole = [...nodes, { ...last, outputs: ["logits"] }];
	const { channels, height, width } = input;
	return modelBytes(
		whole.map(nodeBytes),
		tensors,
		["image", [channels, height, width]],
		["logits", [sizeOf(stages.at(-1)!.to)]],
	);
}
