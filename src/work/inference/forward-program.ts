// A whole batch of sequences at once, teacher-forced, with every block's output and the logits of every place
// as results: what reports compare builds by. docs/inference.md §1. Not here: generation
// (generate-program.ts), jobs (src/work/workloads/infer/).
import { buildProgram } from "../builder/build-program.ts";
import { at, type Value } from "../builder/expression.ts";
import type { Architecture, ImportedModel } from "../imports/architecture.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { checkBatchInvariant } from "./batch-invariance.ts";
import { forward } from "./forward.ts";
import { type Net, numbersOf, type WeightKind } from "./numbers.ts";
import { ModelInputs } from "./parameters.ts";
import { paddedRows } from "./sequences.ts";

interface ForwardShape {
	readonly batch: number;
	/** Tokens a sequence; at most the model's. */
	readonly context: number;
}

/** A result tensor: value = element / scale. */
export interface Reading {
	readonly tensor: string;
	readonly scale: number;
}

export interface ForwardProgram {
	/** Segment 1 does all: one step. */
	readonly program: Program;
	/**
	 * Constants and inputs. `tokens`: of each sequence, at most `context`; a shorter one is filled up with 0,
	 * which no earlier place sees.
	 */
	given(model: ImportedModel, tokens: readonly (readonly number[])[]): Record<string, Elements>;
	/** [batch, context, vocabulary]; null: a model without a head (bert). */
	readonly logits: Reading | null;
	/** [batch, context, width] after each block. */
	readonly layers: readonly Reading[];
	/** [batch, context, width] after the last norm. */
	readonly hidden: Reading;
}

export function forwardProgram(
	of: Architecture,
	weights: WeightKind,
	{ batch, context }: ForwardShape,
): ForwardProgram {
	const b = buildProgram();
	const numbers = numbersOf(weights);
	const net: Net = { b, s: b.step, given: {}, of, numbers, batch, places: context };
	const inputs = new ModelInputs(b, numbers);
	const tokens = b.tensor("input", "tokens", "i32", [batch, context], 0, of.vocabulary - 1);
	const lengths = b.tensor("input", "lengths", "i32", [batch], 1, context);
	const isEncoder = of.family === "bert";
	const made = forward(net, inputs, tokens, { context, lengths: isEncoder ? lengths : null, hasCache: false });
	const scale = 2 ** numbers.fixed;
	const keep = (name: string, x: Value): Reading => {
		const to = b.tensor("result", name, x.type, x.dims, x.lo, x.hi);
		b.step.map(x.dims, (r, c) => at(x, r!, c!), { to });
		return { tensor: name, scale };
	};
	const layers = made.layers.map((x, i) => keep(`layer.${i}`, x));
	const hidden = keep("hidden", made.hidden);
	const logits = isEncoder ? null : { ...keep("logits", made.logits(made.hidden)), scale: 2 ** numbers.logit };
	const given = (model: ImportedModel, all: readonly (readonly number[])[]): Record<string, Elements> => ({
		...net.given,
		...inputs.elements(model),
		tokens: paddedRows(all, batch, context),
		lengths: Int32Array.from({ length: batch }, (_, i) => Math.max(1, all[i]?.length ?? 1)),
	});
	const program = b.program();
	checkBatchInvariant(program, { batch, inputs: { tokens: "lane", lengths: "lane" } });
	return { program, given, logits, layers, hidden };
}
