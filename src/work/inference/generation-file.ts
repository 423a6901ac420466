// `generation.json` of a run, docs/inference.md §10: what was generated, as a checker needs it to build the
// program again. It is the runner's word: whoever reads it builds the program from it and compares the root
// with the claim's.

import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { int, object, oneOf, variants } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { real } from "../workloads/job-fields.ts";
import type { Generation } from "./generate-program.ts";

export const GENERATION_FILE = "generation.json";
export const MOST_BYTES = 65_536;

const isTrue = oneOf(true, false);
const architecture = object({
	family: oneOf("gpt2", "llama", "qwen2"),
	layers: int(1, 256),
	width: int(1, 16_384),
	heads: int(1, 256),
	kvHeads: int(1, 256),
	headWidth: int(1, 512),
	hidden: int(1, 65_536),
	vocabulary: int(2, 262_144),
	context: int(1, 2 ** 20),
	norm: oneOf("layer", "rms"),
	normEpsilon: real(1e-30, 1),
	order: oneOf("pre", "post"),
	positions: oneOf("learned", "rope"),
	ropeTheta: real(0, 1e12),
	segments: int(0, 16),
	activation: oneOf("gelu", "gelu-tanh", "silu-glu"),
	hasBias: object({ qkv: isTrue, out: isTrue, mlp: isTrue }),
	isTied: isTrue,
});

const shape = object({
	format: oneOf("assay-generation"),
	version: oneOf(1),
	architecture,
	weights: oneOf("i8", "i16"),
	sampling: variants("kind", {
		greedy: object({ kind: oneOf("greedy") }),
		seeded: object({ kind: oneOf("seeded"), temperature: real(0.05, 20) }),
	}),
	sequences: int(1, 2 ** 24),
	batch: int(1, 65_536),
	prompt: int(1, 65_536),
	fresh: int(1, 65_536),
});

export const generationText = (of: Generation): string =>
	`${JSON.stringify({ format: "assay-generation", version: 1, ...of }, null, "\t")}\n`;

/** Throws CLAIM_MALFORMED. */
export function readGeneration(bytes: Uint8Array): Generation {
	const refuse = (why: string) => codedError("CLAIM_MALFORMED", `generation.json ${why}`);
	if (bytes.length > MOST_BYTES) throw refuse("is too long");
	let json: unknown;
	try {
		json = JSON.parse(bytesToUtf8(bytes) ?? "");
	} catch {
		throw refuse("is no JSON");
	}
	const found = shape(json, "");
	if (found !== null) throw refuse(`${found.where} ${found.detail}`);
	const { format: _, version: __, ...of } = json as Generation & { readonly format: string; readonly version: number };
	const { heads, kvHeads, context, headWidth, positions } = of.architecture;
	if (heads % kvHeads !== 0 || (positions === "rope" && headWidth % 2 !== 0))
		throw refuse("has heads that do not divide");
	if (of.sequences % of.batch !== 0 || of.prompt + of.fresh - 1 > context)
		throw refuse("has sequences that do not fit");
	return of;
}
