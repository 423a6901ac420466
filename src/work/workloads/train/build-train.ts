// `"workload": "train"`: reads a training job and makes its workload. docs/training.md.
import { int, oneOf, type Typed, variants } from "../../../protocol/bytes/shape.ts";
import { isWholeBeta } from "../../models/optimizer.ts";
import { LIMITS } from "../../program/shapes.ts";
import { partial, seed, wrongField } from "../job-fields.ts";
import type { WorkloadKind } from "../workload.ts";
import { MODELS } from "./models.ts";
import { stepsPerSegment } from "./segment-length.ts";
import { data, optimizer, type TrainModel, type TrainSpec } from "./train-spec.ts";

const shape = partial({
	workload: oneOf("train"),
	model: variants("kind", Object.fromEntries(Object.entries(MODELS).map(([name, { shape: of }]) => [name, of]))),
	data,
	optimizer,
	batch: int(1, 2 ** 20),
	steps: int(1, 2 ** 31 - 1),
	seed,
	order: oneOf("affine", "cube"),
	stepsPerSegment: int(1, LIMITS.steps),
});

const RATES = { rate: 0.001, warmup: 0, floor: 1 };
const DEFAULTS = {
	"exact-sgd": { shift: 8, weightBits: 32, loss: "square" },
	sgd: { ...RATES, rate: 0.05 },
	momentum: { ...RATES, rate: 0.01, momentum: 0.9 },
	adamw: { ...RATES, beta1: 0.9, beta2: 0.999, decay: 0.01 },
} as const;

const modelOf = ({ model }: TrainSpec): TrainModel<TrainSpec["model"]> =>
	MODELS[model.kind as keyof typeof MODELS] as unknown as TrainModel<TrainSpec["model"]>;

/** Of AdamW a row is 12 bytes: 1.2 GB. */
const MAX_RATED_STEPS = 100_000_000;

/** What no field shows by itself. */
function check(spec: TrainSpec): void {
	const { model, optimizer: by, order, steps, stepsPerSegment: k } = spec;
	modelOf(spec).check(spec);
	if (by.kind === "adamw")
		for (const name of ["beta1", "beta2"] as const)
			if (!isWholeBeta(by[name]))
				throw wrongField(`optimizer.${name}`, "must be 1 − 1/n for a whole number n, as 0.9 or 0.999 are");
	if (order === "cube" && model.kind !== "mlp" && by.kind !== "exact-sgd")
		throw wrongField("order", "cube is for an mlp, and for a cnn by exact-sgd");
	if (by.kind !== "exact-sgd" && steps > MAX_RATED_STEPS)
		throw wrongField(
			"steps",
			`must be at most ${MAX_RATED_STEPS}: the rates of all steps are a table that is uploaded`,
		);
	if (k !== null && steps % k !== 0) throw wrongField("stepsPerSegment", "must divide steps");
}

export const trainKind: WorkloadKind<TrainSpec> = {
	shape,
	required: ["model", "data", "optimizer", "batch", "steps"],
	length: "steps",
	read(json, key) {
		const {
			optimizer: by,
			order = "affine",
			stepsPerSegment: k = null,
			seed: _,
			...rest
		} = json as Typed<typeof shape>;
		const spec = {
			...(rest as Omit<TrainSpec, "optimizer" | "order" | "stepsPerSegment" | "seed">),
			optimizer: { ...DEFAULTS[by!.kind!], ...by } as TrainSpec["optimizer"],
			order,
			stepsPerSegment: k,
			seed: key,
		};
		check(spec);
		return spec;
	},
	async build(spec, files, pause) {
		const { steps, seed: key } = spec;
		const model = modelOf(spec);
		const k = spec.stepsPerSegment ?? stepsPerSegment(await model.size(spec, files), spec.optimizer.kind);
		if (steps % k !== 0)
			throw wrongField("steps", `must be a multiple of ${k}, the steps a segment`, "Or set stepsPerSegment.");
		const later: Generator<void>[] = [];
		const made = await model.build(spec, k, files, later);
		for (const rows of later) while (!rows.next().done) await pause();
		return { ...made, seed: key, segments: steps / k };
	},
};
