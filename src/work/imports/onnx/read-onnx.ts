// An ONNX file as a graph: nodes with their attributes, tensors that are given, one input and one output. The
// fields of onnx.proto that matter here; sizes and references are checked. Not here: what a node computes
// (network-of.ts).
import { elementCount } from "../../operators/tensor-type.ts";
import { floatsOf, Message, wrongFile } from "./protobuf.ts";

export interface OnnxTensor {
	readonly dims: readonly number[];
	/** Null: of another type. */
	readonly floats: Float32Array | null;
	readonly ints: readonly number[] | null;
}

interface OnnxAttribute {
	readonly float: number | null;
	readonly int: number;
	readonly text: Uint8Array | null;
	readonly ints: readonly number[];
	readonly tensor: OnnxTensor | null;
}

export interface OnnxNode {
	/** What messages call it. */
	readonly label: string;
	readonly type: string;
	readonly inputs: readonly string[];
	readonly outputs: readonly string[];
	readonly attributes: ReadonlyMap<string, OnnxAttribute>;
}

export interface OnnxGraph {
	readonly nodes: readonly OnnxNode[];
	readonly tensors: ReadonlyMap<string, OnnxTensor>;
	/** The one that nothing in the file gives; −1 for a dim that is left open. */
	readonly input: { readonly name: string; readonly dims: readonly number[] };
	readonly output: string;
}

const FLOAT = 1;
const INT64 = 7;
const MOST_NODES = 4096;
const MOST_TENSORS = 8192;
const MOST_DIMS = 8;
/** Operators changed their attributes in the versions before. */
const OLDEST = 7;
const PLAIN = /^[\w./:-]{1,64}$/;

function small(value: bigint): number {
	const number = Number(value);
	if (!Number.isSafeInteger(number)) throw wrongFile("has a number that is too large");
	return number;
}

/** TensorProto. */
function tensorOf(message: Message): OnnxTensor {
	const dims = message.ints(1).map(small);
	if (dims.length > MOST_DIMS || dims.some((dim) => dim < 0 || dim >= 2 ** 31))
		throw wrongFile("has a tensor with dims that no tensor has");
	const count = elementCount(dims);
	if (message.int(14) !== 0n || message.has(13)) throw wrongFile("keeps a tensor in another file");
	const [type, raw] = [message.int(2), message.bytes(9)];
	if (type === BigInt(FLOAT)) {
		const floats = raw === null ? message.floats(4) : floatsOf(raw);
		if (floats.length !== count) throw wrongFile("has a tensor of another size than its dims");
		if (floats.some((value) => !Number.isFinite(value))) throw wrongFile("has a weight that is not a finite number");
		return { dims, floats, ints: null };
	}
	if (type !== BigInt(INT64)) return { dims, floats: null, ints: null };
	const ints = raw === null ? message.ints(7).map(small) : wholeOf(raw);
	if (ints.length !== count) throw wrongFile("has a tensor of another size than its dims");
	return { dims, floats: null, ints };
}

function wholeOf(raw: Uint8Array): number[] {
	if (raw.length % 8 !== 0) throw wrongFile("has numbers that are cut");
	const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
	return Array.from({ length: raw.length / 8 }, (_, i) => small(view.getBigInt64(8 * i, true)));
}

/** NodeProto. */
function nodeOf(message: Message, number: number): OnnxNode {
	const [name, type, domain] = [message.text(3), message.text(4), message.text(7)];
	const plainType = PLAIN.test(type) ? type : "?";
	const attributes = new Map<string, OnnxAttribute>();
	for (const one of message.messages(5)) {
		const key = one.text(1);
		if (!PLAIN.test(key) || attributes.has(key)) throw wrongFile("has an attribute without a name of its own");
		const tensor = one.message(5);
		attributes.set(key, {
			float: one.float(2),
			int: small(one.int(3)),
			text: one.bytes(4),
			ints: one.ints(8).map(small),
			tensor: tensor === null ? null : tensorOf(tensor),
		});
	}
	return {
		label: `node ${PLAIN.test(name) ? name : `number ${number}`} (${plainType})`,
		type: domain === "" || domain === "ai.onnx" ? plainType : "?",
		inputs: message.texts(1),
		outputs: message.texts(2),
		attributes,
	};
}

/** ValueInfoProto: name, and dims where it is a tensor of floats. */
function inputOf(message: Message): OnnxGraph["input"] {
	const tensor = message.message(2)?.message(1) ?? null;
	if (tensor === null || tensor.int(1) !== BigInt(FLOAT)) throw wrongFile("has an input that is no tensor of floats");
	const dims = (tensor.message(2)?.messages(1) ?? []).map((dim) => (dim.has(1) ? small(dim.int(1)) : -1));
	return { name: message.text(1), dims };
}

/** Refuses with `ONNX_FILE`. */
export function readOnnx(bytes: Uint8Array): OnnxGraph {
	const model = new Message(bytes);
	const graph = model.message(7);
	if (graph === null) throw wrongFile("has no graph");
	const versions = model.messages(8).filter((set) => ["", "ai.onnx"].includes(set.text(1)));
	if (versions.length !== 1 || versions[0]!.int(2) < OLDEST)
		throw wrongFile(`must be of operator set ${OLDEST} or later`);
	const nodes = graph.messages(1);
	const given = graph.messages(5);
	if (nodes.length > MOST_NODES || given.length > MOST_TENSORS) throw wrongFile("has too many nodes or tensors");
	if (graph.has(15)) throw wrongFile("has sparse tensors");
	const tensors = new Map<string, OnnxTensor>();
	for (const one of given) {
		const name = one.text(8);
		if (tensors.has(name)) throw wrongFile("gives a tensor twice");
		tensors.set(name, tensorOf(one));
	}
	const inputs = graph.messages(11).filter((one) => !tensors.has(one.text(1)));
	const outputs = graph.messages(12);
	if (inputs.length !== 1 || outputs.length !== 1) throw wrongFile("must have one input and one output");
	return { nodes: nodes.map(nodeOf), tensors, input: inputOf(inputs[0]!), output: outputs[0]!.text(1) };
}
