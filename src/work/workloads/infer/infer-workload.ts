// `"workload": "infer"`, docs/inference.md §1: texts that go on, logits, or embeddings, by an imported model.
import { int, object, oneOf, type Typed, variants } from "../../../protocol/bytes/shape.ts";
import { jobModel } from "../../imports/open-model.ts";
import { type Generation, generateProgram } from "../../inference/generate-program.ts";
import type { Sampling } from "../../inference/sampling.ts";
import { type Scoring, scoreProgram } from "../../inference/score-program.ts";
import { promptElements, wholeBatches } from "../../inference/sequences.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { LIMITS } from "../../program/shapes.ts";
import { file, partial, real, seed, wrongField } from "../job-fields.ts";
import type { Files, Workload, WorkloadKind } from "../workload.ts";
import { scoreFiles, textFiles } from "./infer-files.ts";
import { type PromptFiles, readPrompts } from "./read-prompts.ts";

export interface InferSpec {
	readonly workload: "infer";
	/** A folder with config.json and safetensors. */
	readonly model: string;
	readonly weights: "i8" | "i16";
	readonly prompts: PromptFiles;
	readonly output: "text" | "logits" | "embeddings";
	/** Tokens that follow each prompt. */
	readonly fresh: number;
	readonly sampling: Sampling;
	readonly pooling: "mean" | "first" | "last";
	readonly batch: number;
	readonly seed: Uint8Array;
}

const shape = partial({
	workload: oneOf("infer"),
	model: file,
	weights: oneOf("i8", "i16"),
	prompts: partial({ tokens: file, text: file }),
	output: oneOf("text", "logits", "embeddings"),
	new: int(1, LIMITS.steps),
	sampling: variants("kind", {
		greedy: object({ kind: oneOf("greedy") }),
		seeded: partial({ kind: oneOf("seeded"), temperature: real(0.05, 20) }),
	}),
	pooling: oneOf("mean", "first", "last"),
	batch: int(1, LIMITS.turns),
	seed,
});

function read(json: unknown, key: Uint8Array): InferSpec {
	const held = json as Typed<typeof shape>;
	const prompts = held.prompts as PromptFiles;
	if ((prompts.tokens === undefined) === (prompts.text === undefined))
		throw wrongField("prompts", "must have one of tokens, text");
	const output = held.output ?? "text";
	for (const name of ["new", "sampling"] as const)
		if (held[name] !== undefined && output !== "text") throw wrongField(name, `goes with text, not with ${output}`);
	if (held.pooling !== undefined && output !== "embeddings") throw wrongField("pooling", "goes with embeddings");
	const sampling = held.sampling as Sampling | undefined;
	return {
		...{ workload: "infer", model: held.model!, weights: held.weights ?? "i16", prompts, output, seed: key },
		...{ fresh: held.new ?? 32, pooling: held.pooling ?? "mean", batch: held.batch ?? 8 },
		sampling:
			sampling?.kind === "seeded" ? { ...sampling, temperature: sampling.temperature ?? 1 } : { kind: "greedy" },
	};
}

async function build(spec: InferSpec, files: Files): Promise<Workload> {
	const { output, fresh, sampling, weights, pooling } = spec;
	const model = await jobModel(spec.model, files);
	const { architecture } = model;
	const isEncoder = architecture.family === "bert";
	if (isEncoder && output !== "embeddings")
		throw wrongField("output", "must be embeddings: this model has no head", "A bert gives embeddings.");
	const all = await readPrompts(spec.prompts, architecture.vocabulary, files);
	const batch = Math.min(spec.batch, all.length);
	const prompt = all.reduce((most, { length }) => Math.max(most, length), 1);
	const places = output === "text" ? prompt + fresh - 1 : prompt;
	if (places > architecture.context)
		throw wrongField(
			output === "text" ? "new" : "prompts",
			`makes sequences of ${places} tokens; the model's context is ${architecture.context}`,
			"Cut the prompts, or ask for fewer new tokens.",
		);
	const sequences = wholeBatches(all.length, batch);
	const shared = { architecture, weights, sequences, batch, prompt };
	const common = { seed: spec.seed, segments: sequences / batch };
	if (output === "text") {
		const of: Generation = { ...shared, sampling, fresh };
		const made = generateProgram(of);
		const given = { ...made.constants, ...made.weights(model), ...promptElements(of, all) };
		const read = (elements: Elements) => Number(elements[0]!);
		const hasMetric = made.program.tensors.some(({ name }) => name === "next");
		const metrics = hasMetric ? [{ name: "next", label: "token", unit: "", read }] : [];
		return { ...common, program: made.program, given, metrics, files: textFiles(of, all) };
	}
	const scoring: Scoring = { ...shared, output: output === "logits" ? "logits" : pooling };
	const made = scoreProgram(scoring);
	const given = { ...made.constants, ...made.weights(model), ...promptElements(scoring, all) };
	return { ...common, program: made.program, given, metrics: [], files: scoreFiles(made, all.length) };
}

export const inferKind: WorkloadKind<InferSpec> = {
	shape,
	required: ["model", "prompts"],
	length: "new",
	read,
	build,
};
