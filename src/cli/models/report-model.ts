// `assay model report DIR --text FILE`: runs a text through the i16, the i8 and the wide build of the model's
// own program on this machine's engine, and says what small weights cost: signal to noise at every block,
// perplexity, top-1 agreement, divergence. docs/models.md §5.

import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { Architecture } from "../../work/imports/architecture.ts";
import { compareLogits, type LogitsReport, signalToNoiseDb } from "../../work/inference/compare-builds.ts";
import { type ForwardProgram, forwardProgram, type Reading } from "../../work/inference/forward-program.ts";
import { bytesOf, bytesToElements, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import type { CliIo } from "../command.ts";
import { type engineOptions, type JobEngine, startJobEngine } from "../job-engine.ts";
import { usageError, type Values } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { left, right, table } from "../print/table.ts";
import { architectureText, printRefusal } from "./import-model.ts";
import { type LocalModel, openModelFolder } from "./model-folder.ts";
import { readText } from "./token-files.ts";

interface ReportValues extends Values<typeof engineOptions> {
	readonly text: string | undefined;
	readonly tokens: number;
	readonly json: boolean;
}

/** Tokens of one sequence: attention costs their square, and a model's own context may be very long. */
const MOST_CONTEXT = 128;
/** Nothing is drawn. */
const SEED = new Uint8Array(32);
const BUILDS = ["i16", "i8"] as const;

interface BuildReport {
	readonly weights: (typeof BUILDS)[number];
	/** Of each block, then of the last norm. */
	readonly snrDb: readonly number[];
	/** Null for a model without a head. */
	readonly logits: LogitsReport | null;
}

/** The text's tokens: by the tokenizer, or its bytes where a model has 256 tokens and none. */
function tokensOf({ tokenizer, model }: LocalModel, text: string, most: number): number[] {
	const { vocabulary } = model.architecture;
	if (tokenizer === null && vocabulary !== 256)
		throw codedError("TOKENIZER_FILE", "there is no tokenizer.json in the folder");
	// A token is seldom longer than this many letters on average: the rest of a long text need not be split.
	const part = text.slice(0, 16 * most);
	const tokens = tokenizer === null ? [...new TextEncoder().encode(part)] : tokenizer.encode(part);
	if (tokens.length < 2)
		throw new AssayError("DATA_SHORT", "the text has fewer than two tokens", {
			hint: "Give a longer text with --text.",
		});
	return tokens.slice(0, most);
}

/** Sequences of at most `context` tokens, and what follows each place of theirs, filled up. */
function sequencesOf(tokens: readonly number[], context: number) {
	const batch = Math.ceil(tokens.length / context);
	const sequences = Array.from({ length: batch }, (_, i) => tokens.slice(i * context, (i + 1) * context));
	const next = new Int32Array(batch * context).fill(-1);
	for (const [i, sequence] of sequences.entries())
		for (let t = 0; t + 1 < sequence.length; t++) next[i * context + t] = sequence[t + 1]!;
	return { batch, sequences, next };
}

/** Results of one build as numbers, of the places that hold tokens. */
async function resultsOf(
	engine: JobEngine,
	forward: ForwardProgram,
	given: ReturnType<ForwardProgram["given"]>,
	signal: AbortSignal,
): Promise<(reading: Reading) => Promise<Float64Array>> {
	const { tensors } = forward.program;
	const session = await engine.open({ device: engine.device, program: encodeProgram(forward.program), seed: SEED });
	for (const [i, { kind, name }] of tensors.entries())
		if (kind === "constant" || kind === "input") await session.write(i, elementsToBytes(given[name]!));
	await session.run({ first: 0, count: 2, signal, onSegment: () => {} });
	return async ({ tensor, scale }) => {
		const at = tensors.findIndex(({ name }) => name === tensor);
		const { type, dims } = tensors[at]!;
		const count = elementCount(dims);
		const elements = bytesToElements(await session.fetch(at, 0, count * bytesOf(type)), type, count)!;
		const values = new Float64Array(count);
		for (let i = 0; i < count; i++) values[i] = Number(elements[i]!) / scale;
		return values;
	};
}

async function runBuild(
	weights: "wide" | (typeof BUILDS)[number],
	{ model }: LocalModel,
	shape: { batch: number; context: number; sequences: readonly (readonly number[])[] },
	engine: JobEngine,
	signal: AbortSignal,
) {
	const forward = forwardProgram(model.architecture, weights, shape);
	const read = await resultsOf(engine, forward, forward.given(model, shape.sequences), signal);
	const layers: Float64Array[] = [];
	for (const reading of [...forward.layers, forward.hidden]) layers.push(await read(reading));
	return { layers, logits: forward.logits === null ? null : await read(forward.logits) };
}

/** Rows of places that hold tokens: what fills up the last sequence is no part of the report. */
function keptRows(values: Float64Array, places: number, kept: number): Float64Array {
	return values.subarray(0, (values.length / places) * kept);
}

function reportText(
	of: Architecture,
	tokens: number,
	wide: LogitsReport | null,
	builds: readonly BuildReport[],
	paint: Paint,
): string {
	const db = (value: number) => (value === Number.POSITIVE_INFINITY ? "exact" : value.toFixed(1));
	const rows = Array.from({ length: of.layers + 1 }, (_, i) => i);
	const layers = table(
		[
			left<number>("after", (i) => (i === of.layers ? "last norm" : `block ${i}`)),
			...builds.map(({ weights, snrDb }) => right<number>(`${weights} dB`, (i) => db(snrDb[i]!))),
		],
		rows,
		paint,
	);
	const answers =
		wide === null
			? []
			: [
					`  wide  perplexity ${wide.perplexity!.toFixed(4)}`,
					...builds.map(({ weights, logits }) => {
						const more = 100 * (logits!.perplexity! / wide.perplexity! - 1);
						const change = `${more < 0 ? "−" : "+"}${Math.abs(more).toFixed(3)} %`;
						return `  ${weights.padEnd(4)}  perplexity ${logits!.perplexity!.toFixed(4)} (${change}), top-1 agrees ${(100 * logits!.top1).toFixed(2)} %, KL ${logits!.kl.toExponential(2)} nats`;
					}),
					"",
				];
	return [
		`${paint.strong(architectureText(of))}`,
		`  on ${tokens} tokens, against the wide build of the same program (24-bit operands)`,
		...answers,
		layers,
		"",
	].join("\n");
}

export async function reportModel(values: ReportValues, io: CliIo, folder: string): Promise<number> {
	if (values.text === undefined) throw usageError("report needs --text FILE");
	let local: LocalModel | undefined;
	let engine: JobEngine | undefined;
	try {
		local = await openModelFolder(folder);
		const { architecture } = local.model;
		const tokens = tokensOf(local, readText(values.text), values.tokens);
		const context = Math.min(architecture.context, MOST_CONTEXT, tokens.length);
		const { batch, sequences, next } = sequencesOf(tokens, context);
		engine = await startJobEngine(values, io, null);
		const shape = { batch, context, sequences };
		const wide = await runBuild("wide", local, shape, engine, io.interrupted);
		const places = batch * context;
		const { vocabulary } = architecture;
		const judged = (logits: Float64Array | null): LogitsReport | null =>
			logits === null || wide.logits === null ? null : compareLogits(wide.logits, logits, vocabulary, next);
		const builds: BuildReport[] = [];
		for (const weights of BUILDS) {
			const { layers, logits } = await runBuild(weights, local, shape, engine, io.interrupted);
			const snrDb = layers.map((layer, i) =>
				signalToNoiseDb(keptRows(wide.layers[i]!, places, tokens.length), keptRows(layer, places, tokens.length)),
			);
			builds.push({ weights, snrDb, logits: judged(logits) });
		}
		const own = judged(wide.logits);
		const json = { architecture, tokens: tokens.length, perplexity: own?.perplexity ?? null, builds };
		return printResult(values, io, json, (paint) => reportText(architecture, tokens.length, own, builds, paint));
	} catch (error) {
		return printRefusal(error, values, io);
	} finally {
		await engine?.close();
		local?.close();
	}
}
