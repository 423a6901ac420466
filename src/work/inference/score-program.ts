// What a model makes of given sequences, a batch a segment: logits of every place, or one row for each
// sequence (an embedding). The state gathers them for all sequences. docs/inference.md §9. Not here: what
// comes next (generate-program.ts).
import { buildProgram } from "../builder/build-program.ts";
import { at, type Value, view } from "../builder/expression.ts";
import type { Architecture, ImportedModel } from "../imports/architecture.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { checkBatchInvariant } from "./batch-invariance.ts";
import { type Forward, forward } from "./forward.ts";
import { type Net, numbersOf, type WeightKind } from "./numbers.ts";
import { ModelInputs } from "./parameters.ts";
import { declarePrompts, ofBatch, type PromptShape, presence, sequenceAt } from "./sequences.ts";

export interface Scoring extends PromptShape {
	readonly architecture: Architecture;
	readonly weights: WeightKind;
	/**
	 * mean: of the sequence's last hidden rows; first: the row of its first token, as of [CLS]; last: of its
	 * last.
	 */
	readonly output: "logits" | "mean" | "first" | "last";
}

export interface ScoreProgram {
	readonly program: Program;
	readonly constants: Readonly<Record<string, Elements>>;
	weights(model: ImportedModel): Record<string, Elements>;
	/**
	 * The state that gathers: `logits`, [sequences, prompt, vocabulary], or `embeddings`, [sequences, width];
	 * value = element / scale.
	 */
	readonly tensor: string;
	readonly dims: readonly number[];
	readonly scale: number;
}

/** [batch, width]. */
function pooled(net: Net, { output }: Scoring, { hidden }: Forward, lengths: Value): Value {
	const { s, of, batch, places } = net;
	const rows = view(hidden, batch, places, of.width);
	if (output !== "mean")
		return s.map([batch, of.width], (i, c) =>
			output === "first" ? at(rows, i!, 0, c!) : at(rows, i!, at(lengths, i!).sub(1), c!),
		);
	const held = s.map([batch, of.width, places], (i, c, t) =>
		t!
			.value()
			.lt(at(lengths, i!))
			.select(at(rows, i!, t!, c!), 0),
	);
	const sums = s.reduce("sum", held);
	return s.map([batch, of.width], (i, c) => at(sums, i!, c!).rdiv(at(lengths, i!)));
}

export function scoreProgram(scoring: Scoring): ScoreProgram {
	const { architecture: of, weights, sequences, batch, prompt, output } = scoring;
	const b = buildProgram();
	const { step: s } = b;
	const numbers = numbersOf(weights);
	const net: Net = { b, s, given: {}, of, numbers, batch, places: prompt };
	const inputs = new ModelInputs(b, numbers);
	const all = declarePrompts(net, scoring);
	const tokens = s.map([batch, prompt], (i, t) => at(all.prompts, sequenceAt(batch, i!), t!));
	const lengths = s.map([batch], (i) => at(all.lengths, sequenceAt(batch, i!)));
	const isEncoder = of.family === "bert";
	const made = forward(net, inputs, tokens, { context: prompt, lengths: isEncoder ? lengths : null, hasCache: false });
	const isHere = presence(net, all.lengths);
	const tensor = output === "logits" ? "logits" : "embeddings";
	const found = output === "logits" ? made.logits(made.hidden) : pooled(net, scoring, made, lengths);
	const own = output === "logits" ? [prompt, of.vocabulary] : [of.width];
	const rows = view(found, batch, ...own);
	const kept = b.tensor("state", tensor, found.type, [sequences, ...own], found.lo, found.hi);
	s.map(
		kept.dims,
		(n, ...places) => ofBatch(batch, isHere, n!).select(ofBatch(batch, rows, n!, ...places), at(kept, n!, ...places)),
		{ to: kept },
	);
	const program = b.program();
	checkBatchInvariant(program, { batch, inputs: { prompts: "sequence", lengths: "sequence" } });
	const scale = 2 ** (output === "logits" ? numbers.logit : numbers.fixed);
	const give = (model: ImportedModel) => inputs.elements(model);
	return { program, constants: net.given, weights: give, tensor, dims: kept.dims, scale };
}
