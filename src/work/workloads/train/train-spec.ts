// A training job: which fields it has besides its model, and what a kind of model adds (models.ts has them
// all). docs/training.md.

import type { Shape } from "../../../protocol/bytes/shape.ts";
import { int, oneOf, type Typed, variants } from "../../../protocol/bytes/shape.ts";
import type { WeightBits } from "../../models/exact-mlp.ts";
import { SCALE } from "../../models/numbers.ts";
import type { Optimizer } from "../../models/optimizer.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { file, partial, real, wrongField } from "../job-fields.ts";
import { IMAGE_FIELDS } from "../read-images.ts";
import type { Files, Workload, WorkloadMetric } from "../workload.ts";

/**
 * One of these: text (bytes), tokens (u16 or u32), rows or images with labels, records; or numbers made from
 * a seed.
 */
export const data = partial({
	text: file,
	tokens: file,
	bytesPerToken: oneOf(2, 4),
	features: file,
	...IMAGE_FIELDS,
	generated: int(1, 2 ** 31 - 1),
});
export type DataSpec = Typed<typeof data>;

const rates = {
	rate: real(1e-9, 1e3),
	/** Steps with a rising rate, at the start. */
	warmup: int(0, 2 ** 31 - 1),
	/** What the rate has fallen to at the last step, by a cosine; 1: it stays. */
	floor: real(0, 1),
};
export const optimizer = variants("kind", {
	"exact-sgd": partial({
		...{ kind: oneOf("exact-sgd"), shift: int(0, 30), weightBits: oneOf(32, 64) },
		loss: oneOf("square", "softmax"),
	}),
	sgd: partial({ kind: oneOf("sgd"), ...rates }),
	momentum: partial({ kind: oneOf("momentum"), ...rates, momentum: real(0, 0.9999) }),
	adamw: partial({
		kind: oneOf("adamw"),
		...rates,
		beta1: real(0, 0.9999),
		beta2: real(0, 0.99999),
		decay: real(0, 10),
	}),
});

interface ExactSgd {
	readonly kind: "exact-sgd";
	/** The rate is 2^-shift. */
	readonly shift: number;
	readonly weightBits: WeightBits;
	/** Half the squared error, or cross-entropy. */
	readonly loss: "square" | "softmax";
}

export interface TrainSpec<Model = { readonly kind: string }> {
	readonly workload: "train";
	readonly model: Model;
	readonly data: DataSpec;
	readonly optimizer: ExactSgd | Optimizer;
	readonly batch: number;
	readonly steps: number;
	readonly seed: Uint8Array;
	readonly order: "affine" | "cube";
	/** Null: by the rule of docs/training.md. */
	readonly stepsPerSegment: number | null;
}

/** What the rule of segment length asks: trained parameters, rows that go through them a step, ops a step. */
export interface TrainSize {
	readonly parameters: number;
	readonly rows: number;
	readonly ops: number;
}

/** A kind of model that can be trained. */
export interface TrainModel<Model> {
	readonly shape: Shape<Model>;
	/** What no field shows by itself; throws. */
	check(spec: TrainSpec<Model>): void;
	size(spec: TrainSpec<Model>, files: Files): TrainSize | Promise<TrainSize>;
	/** `k`: steps a segment. `later`: what fills tables with a row for each step or epoch. */
	build(
		spec: TrainSpec<Model>,
		k: number,
		files: Files,
		later: Generator<void>[],
	): Promise<Omit<Workload, "seed" | "segments">>;
}

const DATA = ["text", "tokens", "features", "images", "records", "generated"] as const;

/** Which data a model takes; exactly one is there. */
export function checkData({ data: held }: TrainSpec, kinds: readonly (keyof DataSpec)[], words: string): void {
	const named = DATA.filter((name) => held[name] !== undefined);
	if (named.length !== 1)
		throw wrongField("data", "must have one of text, tokens, features with labels, images, records, generated");
	if (held.images === undefined && (held.features === undefined) !== (held.labels === undefined))
		throw wrongField("data", "must have labels with features, and none without");
	if (held.bytesPerToken !== undefined && held.tokens === undefined)
		throw wrongField("data.bytesPerToken", "goes with tokens");
	if (held.labelBytes !== undefined && held.records === undefined)
		throw wrongField("data.labelBytes", "goes with records");
	if (held.normalise !== undefined && (held.images ?? held.records) === undefined)
		throw wrongField("data.normalise", "goes with images and records");
	if (!kinds.includes(named[0]!)) throw wrongField(`data.${named[0]}`, `is nothing for this model: it takes ${words}`);
}

/** Of exact SGD: half of Σ d² at 2^24, or nats at 2^16. */
export const exactLossMetric = (loss: ExactSgd["loss"], batch: number, row: string): WorkloadMetric =>
	loss === "softmax"
		? lossMetric(2 ** SCALE.loss, batch, `nats a ${row}`)
		: lossMetric(2 ** 25, batch, `sq. error a ${row}`);

export const lossMetric = (scale: number, count: number, unit: string): WorkloadMetric => ({
	name: "loss",
	label: "loss",
	unit,
	read: (elements: Elements) => Number(elements[0]!) / scale / count,
});
