// What models of text share: the tokens of a job, and what a decoder in wide numbers reports.
import { codedError } from "../../../protocol/coded-error.ts";
import { readTokens, type Tokens } from "../../formats/tokens.ts";
import { windowsOf } from "../../models/gpt.ts";
import { SCALE } from "../../models/numbers.ts";
import type { Elements } from "../../operators/tensor-type.ts";

import type { Files, WorkloadMetric } from "../workload.ts";
import { generatedTokens } from "./generated-data.ts";
import { lossMetric, type TrainSpec } from "./train-spec.ts";

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
