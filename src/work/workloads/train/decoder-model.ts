// What models of text share: their sizes, the tokens of a job, and what a decoder in wide numbers reports.
import { int } from "../../../protocol/bytes/shape.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readTokens, type Tokens } from "../../formats/tokens.ts";
import { windowsOf } from "../../models/gpt.ts";
import { SCALE } from "../../models/numbers.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { LIMITS } from "../../program/shapes.ts";
import { wrongField } from "../job-fields.ts";
import type { Files, WorkloadMetric } from "../workload.ts";
import { generatedTokens } from "./generated-data.ts";
import { checkData, lossMetric, type TrainSpec } from "./train-spec.ts";

export const textModelFields = {
	layers: int(1, 96),
	width: int(8, 8192),
	heads: int(1, 128),
	context: int(2, 8192),
	vocabulary: int(2, 262_144),
};

/** What every model of text asks of its job. Throws JOB_FIELD. */
export function checkText(spec: TrainSpec<{ kind: string; context: number; vocabulary: number }>): void {
	const { model, data, batch, optimizer } = spec;
	if (batch > LIMITS.turns || batch * model.context > LIMITS.summed)
		throw wrongField("batch", `must be at most ${LIMITS.turns}, and ${LIMITS.summed} tokens`);
	if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp or a cnn");
	checkData(spec, ["text", "tokens", "generated"], "text, tokens or generated");
	if (data.text !== undefined && model.vocabulary < 256)
		throw wrongField("model.vocabulary", "must be at least 256 for text, whose tokens are bytes");
}

/** Tokens of a job, at least one window of them: text is bytes. */
export async function tokensOf(
	{ data, seed }: TrainSpec,
	{ vocabulary, context }: { readonly vocabulary: number; readonly context: number },
	files: Files,
): Promise<Tokens> {
	const [file, size] = data.text !== undefined ? [data.text, 1 as const] : [data.tokens!, data.bytesPerToken ?? 2];
	const tokens =
		data.generated !== undefined
			? generatedTokens(seed, data.generated, vocabulary)
			: readTokens(await files(file), size as 1 | 2 | 4, vocabulary, file);
	if (windowsOf(tokens.length, context) < 1)
		throw codedError("DATA_SHORT", `${tokens.length} tokens are less than one context of ${context} and its answer`);
	return tokens;
}

/**
 * Loss; tokens at which a value was clamped; the largest value of the residual stream, whose scale is
 * `residual`.
 */
export function decoderMetrics(tokens: number, residual: number): WorkloadMetric[] {
	const over = (scale: number) => (elements: Elements) => Number(elements[0]!) / scale;
	return [
		lossMetric(2 ** SCALE.loss, tokens, "nats a token"),
		{ name: "clamped", label: "clamped", unit: "rows", read: over(1) },
		{ name: "peak", label: "peak", unit: "", read: over(2 ** residual) },
	];
}
