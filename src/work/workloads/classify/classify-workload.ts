// `"workload": "classify"`: pictures or rows through an ONNX model whose weights stand still; logits and
// classes come out. docs/workloads.md.
import { int, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { writeNpy } from "../../formats/write-npy.ts";
import { networkOf } from "../../imports/onnx/network-of.ts";
import { readOnnx } from "../../imports/onnx/read-onnx.ts";
import { classifierProgram, MOST_INPUTS, WIDE } from "../../models/cnn/classifier.ts";
import { fanIn, type Network, sizeOf } from "../../models/cnn/layers.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { LIMITS } from "../../program/shapes.ts";
import { file, partial, seed, wrongField } from "../job-fields.ts";
import { IMAGE_FIELDS, readImages } from "../read-images.ts";
import type { Workload, WorkloadFile, WorkloadKind } from "../workload.ts";

const data = partial(IMAGE_FIELDS);
const shape = partial({
	workload: oneOf("classify"),
	model: file,
	data,
	batch: int(1, 65_536),
	count: int(1, 2 ** 31 - 1),
	seed,
});

export interface ClassifySpec {
	readonly workload: "classify";
	/** An ONNX file. */
	readonly model: string;
	readonly data: Typed<typeof data>;
	readonly batch: number;
	/** So many of the pictures, from the first; null: all. */
	readonly count: number | null;
	readonly seed: Uint8Array;
}

function checkLimits({ stages }: Network): void {
	for (const [i, stage] of stages.entries()) {
		const { layer, from, to } = stage;
		const where = `has layer ${i} (${layer.kind})`;
		if (fanIn(stage) > MOST_INPUTS) throw wrongField("model", `${where} with sums of more than ${MOST_INPUTS} terms`);
		if (Math.max(sizeOf(from), sizeOf(to)) > LIMITS.summed)
			throw wrongField("model", `${where} with more than ${LIMITS.summed} numbers a picture`);
		if (layer.kind === "pool" && layer.window.size[0] * layer.window.size[1] > LIMITS.turns)
			throw wrongField("model", `${where} with a window of more than ${LIMITS.turns} places`);
	}
}

/** logits.npy: doubles [pictures, classes]. labels.npy: the class of each, the first of equal ones. */
function filesOf(count: number, classes: number): WorkloadFile[] {
	const made = (name: string, make: (logits: Elements) => Uint8Array): WorkloadFile => ({
		name,
		tensors: ["logits"],
		isPreview: false,
		make: (elements) => make(elements("logits")),
	});
	return [
		made("logits.npy", (logits) => {
			const view = new DataView(new ArrayBuffer(8 * logits.length));
			for (const [i, value] of logits.entries()) view.setFloat64(8 * i, Number(value) / 2 ** WIDE, true);
			return writeNpy("f64", [count, classes], new Uint8Array(view.buffer));
		}),
		made("labels.npy", (logits) => {
			const view = new DataView(new ArrayBuffer(4 * count));
			for (let n = 0; n < count; n++) {
				const row = logits.subarray(n * classes, (n + 1) * classes) as BigInt64Array;
				const best = row.reduce((found, value, i) => (value > row[found]! ? i : found), 0);
				view.setInt32(4 * n, best, true);
			}
			return writeNpy("i32", [count], new Uint8Array(view.buffer));
		}),
	];
}

export const classifyKind: WorkloadKind<ClassifySpec> = {
	shape,
	required: ["model", "data"],
	length: "count",
	read(json, key) {
		const held = json as Typed<typeof shape>;
		const from = held.data!;
		if ((from.images === undefined) === (from.records === undefined))
			throw wrongField("data", "must have images or records");
		if (from.labels !== undefined && !from.images?.endsWith(".npy"))
			throw wrongField("data.labels", "goes with images that are an array");
		if (from.labelBytes !== undefined && from.records === undefined)
			throw wrongField("data.labelBytes", "goes with records");
		const { batch = 32, count = null } = held;
		return { workload: "classify", model: held.model!, data: from, batch, count, seed: key };
	},
	async build({ model, data: from, batch, count, seed: key }, files): Promise<Workload> {
		const network = networkOf(readOnnx(await files(model)));
		checkLimits(network);
		const input = network.stages[0]!.from;
		const classes = sizeOf(network.stages.at(-1)!.to);
		const all = await readImages(from, input, classes, files);
		const held = all.pixels.length / sizeOf(input);
		if (count !== null && count > held) throw wrongField("count", `is ${count}; there are ${held} pictures`);
		const used = count ?? held;
		const pixels = all.pixels.subarray(0, used * sizeOf(input));
		const labels = all.labels?.subarray(0, used) ?? null;
		const { program, given, segments } = classifierProgram(network, Math.min(batch, used), { pixels, labels });
		const metrics =
			labels === null
				? []
				: [{ name: "right", label: "right", unit: "of the batch", read: (right: Elements) => Number(right[0]!) }];
		return { program, given, seed: key, segments, metrics, files: filesOf(used, classes) };
	},
};
