// ONNX files: what is written is read back; every form of a node gives the layers and weights that it means;
// the rest is refused by node, type and attribute; changed files never end the reader.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, scaled, seed } from "../../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { numbersFrom } from "../../builder/samples.test-kit.ts";
import { floatLogits } from "../../models/cnn/float-cnn.test-kit.ts";
import type { Layer, Network, Stage } from "../../models/cnn/layers.ts";
import { stagesOf, weightDims } from "../../models/cnn/layers.ts";
import { networkOf } from "./network-of.ts";
import { bytesField, intField, textField } from "./protobuf.ts";
import { readOnnx } from "./read-onnx.ts";
import { modelBytes, type NodeToWrite, nodeBytes, tensorBytes, writeOnnx } from "./write-onnx.ts";

const read = (bytes: Uint8Array): Network => networkOf(readOnnx(bytes));
const draw = numbersFrom(7);
const drawn = (count: number) => Float32Array.from({ length: count }, () => (draw(2001) - 1000) / 1000);

function randomNetwork(): Network {
	const window = { size: [3, 2], stride: [2, 1], pads: [1, 0, 1, 1] } as const;
	const layers: readonly Layer[] = [
		{ kind: "conv", outputs: 4, window, isRelu: true },
		{ kind: "pool", pool: "max", window: { size: [2, 2], stride: [2, 1], pads: [0, 1, 1, 0] }, isRelu: false },
		{ kind: "pool", pool: "average", window: { size: [2, 2], stride: [1, 1], pads: [1, 1, 0, 0] }, isRelu: true },
		{ kind: "dense", outputs: 6, isRelu: true },
		{ kind: "dense", outputs: 3, isRelu: false },
	];
	const stages = stagesOf({ channels: 2, height: 9, width: 7 }, layers) as readonly Stage[];
	const weights = stages.map((stage) => {
		const dims = weightDims(stage);
		return dims === null ? null : { weight: drawn(dims.reduce((a, b) => a * b, 1)), bias: drawn(dims[0]!) };
	});
	return { stages, weights };
}

test("a network that was written is read back, bit for bit", () => {
	const network = randomNetwork();
	assert.deepEqual(read(writeOnnx(network)), network);
});

type Tensors = Readonly<Record<string, readonly [dims: readonly number[], values: Float32Array]>>;
const node = (
	type: string,
	inputs: readonly string[],
	attributes: NodeToWrite["attributes"] = {},
	name = `n.${type}`,
) => ({
	type,
	name,
	inputs,
	outputs: [`o.${name}`],
	attributes,
});

/** Nodes in a chain: each reads what the one before gives, then its own tensors. */
function chained(
	input: readonly number[],
	nodes: readonly NodeToWrite[],
	tensors: Tensors,
	more: readonly Uint8Array[] = [],
) {
	const wired = nodes.map((one, i) => ({
		...one,
		inputs: [i === 0 ? "x" : `t${i - 1}`, ...one.inputs],
		outputs: [i === nodes.length - 1 ? "y" : `t${i}`],
	}));
	return modelBytes(
		wired.map(nodeBytes),
		[...Object.entries(tensors).map(([name, [dims, values]]) => tensorBytes(name, dims, values)), ...more],
		["x", input],
		["y", [3]],
	);
}
const TENSORS: Tensors = {
	w: [[2, 1, 2, 2], drawn(8)],
	b: [[2], drawn(2)],
	b4: [[1, 2, 1, 1], drawn(2)],
	scale: [[2], drawn(2)],
	mean: [[2], drawn(2)],
	variance: [[2], Float32Array.of(0.5, 2)],
	m: [[8, 3], drawn(24)],
	mt: [[3, 8], drawn(24)],
	c: [[3], drawn(3)],
	wide: [[2, 1, 2, 2], drawn(8).fill(40_000)],
	"": [[2, 1, 2, 2], drawn(8)],
};
const shapeTensor = (name: string, ...values: number[]) =>
	concatBytes(intField(1, values.length), intField(2, 7), ...values.map((one) => intField(7, one)), textField(8, name));
const INPUT = [1, 3, 3];
const PIXELS = Float64Array.from(drawn(9));
const logits = ({ stages, weights }: Network) => {
	const named = Object.fromEntries(
		weights.flatMap((own, i) =>
			own === null
				? []
				: [
						[`layer${i}.weight`, Float64Array.from(own.weight)],
						[`layer${i}.bias`, Float64Array.from(own.bias)],
					],
		),
	);
	return [...floatLogits(stages, named, PIXELS)];
};
const close = (a: readonly number[], b: readonly number[]) =>
	assert.ok(a.length === b.length && a.every((value, i) => Math.abs(value - b[i]!) < 1e-5), `${a} where ${b}`);
const CONV = node("Conv", ["w", "b"]);
const FLATTEN = node("Flatten", []);
const GEMM = node("Gemm", ["mt", "c"], { transB: 1 });

test("nodes that mean the same give the same network", () => {
	const plain = read(chained(INPUT, [CONV, node("Relu", []), FLATTEN, GEMM], TENSORS));
	assert.deepEqual(
		plain.stages.map(({ layer: { kind, isRelu } }) => [kind, isRelu]),
		[
			["conv", true],
			["dense", false],
		],
	);
	const turned = Float32Array.from({ length: 24 }, (_, i) => TENSORS.mt![1][(i % 3) * 8 + Math.floor(i / 3)]!);
	const same = { ...TENSORS, m: [[8, 3], turned] as const };
	const others: readonly (readonly NodeToWrite[])[] = [
		[CONV, node("Relu", []), FLATTEN, node("Gemm", ["m", "c"])],
		[CONV, node("Relu", []), FLATTEN, node("MatMul", ["m"]), node("Add", ["c"])],
		[node("Conv", ["w"]), node("Add", ["b41"]), node("Relu", []), node("Identity", []), node("Reshape", ["s"]), GEMM],
		[CONV, FLATTEN, node("Relu", []), GEMM, node("Softmax", [], { axis: 1 })],
		[CONV, node("Relu", []), node("Reshape", ["s1"], { allowzero: 0 }), GEMM],
	];
	const b41 = { ...same, b41: [[1, 2, 1, 1], TENSORS.b![1]] as const };
	for (const nodes of others)
		assert.deepEqual(
			read(chained(INPUT, nodes, b41, [shapeTensor("s", 0, -1), shapeTensor("s1", 1, 8)])),
			plain,
			nodes.map(({ type }) => type).join(" "),
		);
	const asConstant = modelBytes(
		[
			nodeBytes({ ...FLATTEN, inputs: ["x"], outputs: ["f"] }),
			concatBytes(
				textField(2, "k"),
				textField(4, "Constant"),
				bytesField(5, concatBytes(textField(1, "value"), bytesField(5, tensorBytes("", [1, 9], drawn(9))))),
			),
			nodeBytes({ ...node("Gemm", ["f", "k"], { transB: 1 }), outputs: ["y"] }),
		],
		[],
		["x", INPUT],
		["y", [1]],
	);
	assert.equal(read(asConstant).stages.length, 1);
});

test("floats one by one, packed or as raw bytes are the same tensor", () => {
	const values = Float32Array.of(0.5, -2, 3);
	const raw = new Uint8Array(values.buffer);
	const head = concatBytes(intField(1, 3), intField(2, 1), textField(8, "c"));
	const single = [0, 4, 8].map((at) => concatBytes(Uint8Array.of(0x25), raw.subarray(at, at + 4)));
	const others = { ...TENSORS };
	delete (others as Record<string, unknown>).c;
	for (const tensor of [
		concatBytes(head, ...single),
		concatBytes(head, bytesField(4, raw)),
		concatBytes(head, bytesField(9, raw)),
	])
		assert.deepEqual(read(chained([8], [GEMM], others, [tensor])).weights[0]!.bias, values);
});

test("BatchNormalization is folded: the same numbers come out", () => {
	const names = ["scale", "b", "mean", "variance"];
	const folded = read(chained(INPUT, [CONV, node("BatchNormalization", names, {}), FLATTEN, GEMM], TENSORS));
	const [{ weight, bias }] = folded.weights as [NonNullable<Network["weights"][number]>];
	const of = (name: string, i: number) => TENSORS[name]![1][i]!;
	for (const i of [0, 1]) {
		const factor = of("scale", i) / Math.sqrt(of("variance", i) + 1e-5);
		close([weight[4 * i]!], [of("w", 4 * i) * factor]);
		close([bias[i]!], [(of("b", i) - of("mean", i)) * factor + of("b", i)]);
	}
	assert.equal(logits(folded).length, 3);
});

test("an MLP of rows, pools and a global average", () => {
	const mlp = read(chained([8], [node("Gemm", ["mt", "c"], { transB: 1 }), node("Relu", [])], TENSORS));
	assert.deepEqual(mlp.stages[0]!.from, { channels: 8, height: 1, width: 1 });
	const pools = read(
		chained(
			[2, 6, 6],
			[
				node("MaxPool", [], { kernel_shape: [2, 2], strides: [2, 2] }),
				node("AveragePool", [], { kernel_shape: [2, 2] }),
				node("GlobalAveragePool", []),
				FLATTEN,
			],
			{},
		),
	);
	assert.deepEqual(
		pools.stages.map(({ to }) => [to.channels, to.height, to.width]),
		[
			[2, 3, 3],
			[2, 2, 2],
			[2, 1, 1],
		],
	);
});

const WINDOW = { kernel_shape: [2, 2] };
const REFUSED: Readonly<Record<string, readonly [nodes: readonly NodeToWrite[], words: string]>> = {
	"an unknown node": [[node("LSTM", [])], "node n.LSTM (LSTM): has no exact form"],
	"a name of another kind": [[node("Tanh", [], {}, "\u001b[31mred")], "node number 0 (Tanh): has no exact form"],
	groups: [[node("Conv", ["w"], { group: 2 })], "node n.Conv (Conv): group is 2; only 1 is known"],
	dilations: [[node("Conv", ["w"], { dilations: [2, 2] })], "node n.Conv (Conv): dilations is [2,2]; only 1 is known"],
	"negative pads": [[node("Conv", ["w"], { pads: [0, -1, 0, 0] })], "pads is [0,-1,0,0]"],
	"three strides": [[node("Conv", ["w"], { strides: [1, 1, 1] })], "strides is [1,1,1]"],
	"an unknown attribute": [[node("Conv", ["w"], { colour: 1 })], "its attribute colour is not known"],
	"another kernel": [[node("Conv", ["w"], { kernel_shape: [3, 3] })], "kernel_shape is not that of its weights"],
	"weights from nowhere": [[node("Conv", ["nowhere"])], "its input 1 must be given in the file"],
	"weights without a name": [[node("Conv", [""])], "its input 1 must be given in the file"],
	"a huge weight": [[node("Conv", ["wide"])], "its input 1 has a weight above 32768"],
	"a stride of 0": [[node("Conv", ["w"], { strides: [0, 1] })], "has a window that is not of two dimensions"],
	"a window that does not fit": [[node("MaxPool", [], { kernel_shape: [4, 4] })], "its window does not fit"],
	"a convolution of rows": [[FLATTEN, node("Conv", ["w"])], "must get a picture"],
	"rounding up": [[node("MaxPool", [], { ...WINDOW, ceil_mode: 1 })], "ceil_mode is 1; only 0 is known"],
	"averages without pads": [
		[node("AveragePool", [], { ...WINDOW, pads: [1, 1, 1, 1] })],
		"count_include_pad is 0; only 1 is known",
	],
	"a product of pictures": [[node("MatMul", ["m"])], "must get rows, as after a Flatten"],
	"a matrix of another size": [[FLATTEN, node("Gemm", ["m"])], "its weights are for 8 inputs; it gets 9"],
	"a turned input": [[FLATTEN, node("Gemm", ["m"], { transA: 1 })], "transA is 1; only 0 is known"],
	"an Add of other dims": [[CONV, node("Add", ["c"])], "adds dims [3]"],
	"an Add after a relu": [[CONV, node("Relu", []), node("Add", ["b4"])], "must follow a Conv, Gemm or MatMul"],
	"an Add after a Flatten": [[CONV, FLATTEN, node("Add", ["b"])], "must stand before the Flatten"],
	"a norm of its own": [
		[node("BatchNormalization", ["scale", "b", "mean", "variance"])],
		"must follow a Conv, Gemm or MatMul",
	],
	"a norm that learns": [
		[CONV, node("BatchNormalization", ["scale", "b", "mean", "variance"], { training_mode: 1 })],
		"training_mode is 1; only 0 is known",
	],
	"a flattening of other axes": [[node("Flatten", [], { axis: 2 })], "axis is 2; only 1 is known"],
	"a shape of three": [[node("Reshape", ["s3"])], "shape must be one row a sample"],
	"a Softmax in the middle": [[FLATTEN, node("Softmax", []), node("Relu", [])], "must not follow a Softmax"],
	"a Relu before all": [[node("Relu", [])], "must follow a layer"],
	"no classes": [[CONV], "must give one row of classes a sample"],
};

const isRefused = (words: string, code: string) => (error: unknown) => {
	assert.ok(error instanceof AssayError, String(error));
	assert.equal(error.code, code);
	assert.ok(error.hint !== "" && error.message.includes(words), error.message);
	return true;
};

for (const [what, [nodes, words]] of Object.entries(REFUSED))
	test(`refused: ${what}`, () => {
		const bytes = chained(INPUT, nodes, TENSORS, [shapeTensor("s3", 0, 3, 3)]);
		const code = what === "no classes" ? "ONNX_FILE" : "ONNX_NODE";
		assert.throws(() => read(bytes), isRefused(words, code));
	});

test("refused: branches, second outputs, nodes that lead nowhere", () => {
	const model = (...nodes: readonly NodeToWrite[]) => {
		const tensors = Object.entries(TENSORS).map(([name, [dims, values]]) => tensorBytes(name, dims, values));
		return modelBytes(nodes.map(nodeBytes), tensors, ["x", INPUT], ["y", [3]]);
	};
	const conv = { ...node("Conv", ["x", "w"]), outputs: ["a"] };
	const branch = model(
		conv,
		{ ...node("Relu", ["a"]), outputs: ["b"] },
		{ ...node("Add", ["a", "b"]), outputs: ["y"] },
	);
	assert.throws(() => read(branch), isRefused("only chains are known", "ONNX_NODE"));
	const twice = model(conv, { ...node("Add", ["a", "a"]), outputs: ["y"] });
	assert.throws(() => read(twice), isRefused("node n.Add (Add): must read", "ONNX_NODE"));
	const two = model({ ...node("MaxPool", ["x"], WINDOW), outputs: ["y", "places"] });
	assert.throws(() => read(two), isRefused("must have one output", "ONNX_NODE"));
	const lost = model({ ...FLATTEN, inputs: ["x"], outputs: ["f"] }, { ...node("Gemm", ["f", "k"]), outputs: ["y"] });
	assert.throws(() => read(lost), isRefused("its input 1 must be given", "ONNX_NODE"));
	const dangling = model(conv, { ...node("Relu", ["elsewhere"]), outputs: ["y"] });
	assert.throws(() => read(dangling), isRefused("an output that nothing leads to", "ONNX_FILE"));
	const chain = [conv, { ...FLATTEN, inputs: ["a"], outputs: ["f"] }, { ...node("Gemm", ["f", "m"]), outputs: ["y"] }];
	assert.equal(read(model(...chain)).stages.length, 2);
	const beside = model(...chain, { ...node("Relu", ["elsewhere"]), outputs: ["z"] });
	assert.throws(() => read(beside), isRefused("node n.Relu (Relu): does not lead to the output", "ONNX_NODE"));
	const ring = model({ ...node("Identity", ["x"]), outputs: ["x"] });
	assert.throws(() => read(ring), isRefused("an output that nothing leads to", "ONNX_FILE"));
});

test("refused: files that are not whole", () => {
	const whole = chained(INPUT, [CONV, FLATTEN, GEMM], TENSORS);
	const file = (bytes: Uint8Array, words: string) => assert.throws(() => read(bytes), isRefused(words, "ONNX_FILE"));
	file(new Uint8Array(), "has no graph");
	file(whole.slice(0, -20), "longer than what it lies in");
	file(Uint8Array.of(0x3b), "of a kind that is not read");
	file(Uint8Array.of(0x08, ...new Uint8Array(11).fill(255)), "more than 64 bits");
	file(Uint8Array.of(0x3a, 0xff, 0xff, 0xff, 0xff, 0x7f), "longer than what it lies in");
	file(concatBytes(whole, bytesField(7, new Uint8Array())), "a field twice");
	file(concatBytes(whole, bytesField(8, intField(2, 13))), "operator set 7 or later");
	const withTensor = (tensor: Uint8Array) => chained(INPUT, [CONV, FLATTEN, GEMM], TENSORS, [tensor]);
	file(withTensor(tensorBytes("big", [2 ** 30, 2 ** 30], new Float32Array(1))), "of another size than its dims");
	file(withTensor(tensorBytes("nan", [1], Float32Array.of(Number.NaN))), "not a finite number");
	file(withTensor(concatBytes(tensorBytes("far", [1], new Float32Array(1)), intField(14, 1))), "in another file");
	file(withTensor(tensorBytes("w", [1], new Float32Array(1))), "gives a tensor twice");
	file(chained([1, 1], [FLATTEN, GEMM], TENSORS), "must have an input of");
	file(chained([1, 2 ** 13, 1], [FLATTEN, GEMM], TENSORS), "at most 4096");
});

test("changed files are networks or refused", () => {
	const files = [writeOnnx(randomNetwork()), chained(INPUT, [CONV, FLATTEN, GEMM, node("Softmax", [])], TENSORS)];
	const pick = numbersFrom(seed);
	let networks = 0;
	for (let n = 0; n < (isDeep ? 100_000 : scaled(2000)); n++) {
		const file = Uint8Array.from(files[pick(files.length)]!);
		for (let i = pick(3); i >= 0; i--) file[pick(file.length)] = pick(256);
		try {
			networks += read(pick(8) === 0 ? file.slice(0, pick(file.length)) : file).stages.length > 0 ? 1 : 0;
		} catch (error) {
			assert.ok(error instanceof AssayError && /^ONNX_(FILE|NODE)$/.test(error.code), String((error as Error).stack));
		}
	}
	assert.ok(networks > 0);
});
