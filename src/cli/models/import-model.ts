// `assay model import DIR`: is this a model that runs here? Reads all of it, says what it is and what
// whole-number weights cost it; with --out writes it again as one file. A model that is refused is a verdict,
// not an error.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { type Architecture, type ImportedModel, parameterCount } from "../../work/imports/architecture.ts";
import { roundedModel, type TensorReport, weightBytes, weightsReport } from "../../work/imports/weights-report.ts";
import { configText, modelParts } from "../../work/imports/write-model.ts";
import type { CliIo } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { plural } from "../print/table.ts";
import { type LocalModel, openModelFolder } from "./model-folder.ts";

export interface ImportValues {
	readonly out: string | undefined;
	readonly weights: "f32" | "i16" | "i8";
	readonly json: boolean;
}

/** Refusals of a model's files, as a verdict. */
function refusal(error: unknown): { verdict: "refused"; code: string; detail: string; hint: string } | null {
	if (!(error instanceof AssayError && /^(MODEL|WEIGHTS|TOKENIZER)_/.test(error.code))) return null;
	return { verdict: "refused", code: error.code, detail: error.message, hint: error.hint };
}

export function printRefusal(error: unknown, values: { readonly json: boolean }, io: CliIo): number {
	const refused = refusal(error);
	if (refused === null) throw error;
	const { code, detail, hint } = refused;
	printResult(values, io, refused, (paint) =>
		[`${paint.bad(paint.strong("REFUSED"))}  ${code}`, `  ${detail}`, paint.dim(`  ${hint}`), ""].join("\n"),
	);
	return exitCodes.invalid.code;
}

/** "llama: 2 layers of width 64, …" */
export function architectureText(of: Architecture): string {
	const { family, layers, width, heads, kvHeads, vocabulary, context } = of;
	const shared = kvHeads === heads ? "" : ` (${kvHeads} of keys and values)`;
	return `${family}: ${plural(layers, "layer")} of width ${width}, ${plural(heads, "head")}${shared}, ${vocabulary} tokens, context ${context}`;
}

/** The tensor that rounding costs most. */
function worst(reports: readonly TensorReport[], key: "i8Db" | "i16Db"): TensorReport | undefined {
	const judged = reports.filter((one) => one[key] !== null);
	return judged.sort((a, b) => a[key]! - b[key]!)[0];
}

function importText({ model, bytes, tokenizer }: LocalModel, reports: readonly TensorReport[], paint: Paint): string {
	const { architecture, types, unused } = model;
	const rounding = (["i16", "i8"] as const).map((kind) => {
		const size = formatBytes(weightBytes(architecture, kind === "i8" ? 8 : 16));
		const low = worst(reports, `${kind}Db`);
		const db = low?.[`${kind}Db`] ?? Number.POSITIVE_INFINITY;
		const noise =
			db === Number.POSITIVE_INFINITY
				? "; nothing is rounded"
				: `; rounding: ${db.toFixed(1)} dB at worst, ${low!.name}`;
		return `  as ${kind.padEnd(8)}${size}${noise}`;
	});
	const kinds = Object.entries(types).map(([type, count]) => `${count} ${type}`);
	return [
		`${paint.good(paint.strong("MAY RUN"))}  ${architectureText(architecture)}`,
		`  weights    ${parameterCount(architecture).toLocaleString("en")} numbers in ${plural(reports.length, "tensor")} (in the files: ${kinds.join(", ")}; ${formatBytes(bytes)})`,
		...rounding,
		`  tokenizer  ${tokenizer === null ? "none here: jobs take token ids" : `${tokenizer.size} tokens`}`,
		...(unused.length === 0 ? [] : [`  not used   ${unused.slice(0, 4).join(", ")}${unused.length > 4 ? ", …" : ""}`]),
		paint.dim("  every tensor is there with its shape, every number is finite"),
		"",
	].join("\n");
}

function unwritable(path: string, cause: unknown): AssayError {
	const message = `cannot write ${path}: ${cause instanceof Error ? cause.message : cause}`;
	return new AssayError("FILE_UNWRITABLE", message, { hint: "Choose another folder with --out.", cause });
}

/** config.json and one model.safetensors, tensor by tensor. */
function writeModel(model: ImportedModel, folder: string): void {
	try {
		mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, "config.json"), configText(model), { flag: "wx" });
		const file = openSync(join(folder, "model.safetensors"), "wx");
		try {
			for (const part of modelParts(model, "F32")) {
				let at = 0;
				while (at < part.length) at += writeSync(file, part, at, Math.min(part.length - at, 2 ** 30));
			}
		} finally {
			closeSync(file);
		}
	} catch (cause) {
		if (cause instanceof AssayError) throw cause;
		throw unwritable(folder, cause);
	}
}

export async function importModel(values: ImportValues, io: CliIo, folder: string): Promise<number> {
	let local: LocalModel | undefined;
	try {
		local = await openModelFolder(folder);
		const opened = local;
		const { model, tokenizer, bytes } = local;
		const reports = [...weightsReport(model)];
		if (values.out !== undefined)
			writeModel(values.weights === "f32" ? model : roundedModel(model, values.weights === "i8" ? 8 : 16), values.out);
		const json = {
			verdict: "may run",
			architecture: model.architecture,
			parameters: parameterCount(model.architecture),
			...{ types: model.types, unused: model.unused, fileBytes: bytes, tokenizer: tokenizer?.size ?? null },
			...{ i16Bytes: weightBytes(model.architecture, 16), i8Bytes: weightBytes(model.architecture, 8) },
			tensors: reports,
		};
		return printResult(values, io, json, (paint) => importText(opened, reports, paint));
	} catch (error) {
		return printRefusal(error, values, io);
	} finally {
		local?.close();
	}
}
