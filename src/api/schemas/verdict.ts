// Verdicts, figures, identities as the API shows them: the shapes of src/protocol/verdict.ts and evidence.ts. No judgement.
import { z } from "zod";
import { atMs, code, count, probeId, said, sha256 } from "./primitives.ts";

export const verdictStatus = z.enum(["valid", "invalid", "inconclusive"]);

/** Of a valid verdict `code` is null and `where`, `detail` are empty. */
export const verdictSummary = z.object({
	status: verdictStatus,
	code: code.nullable(),
	where: said,
	detail: said,
});

export const figureName = z
	.string()
	.regex(/^[a-z0-9]+([.-][a-z0-9]+)*$/)
	.max(64)
	.describe("e.g. gemm.fp16, memory.resident, memory.bandwidth");
export const figureUnit = z.string().max(16).describe("op/s, flop/s, B, B/s or ppm");

export const figure = z.object({
	device: z.int(),
	name: figureName,
	value: z.int(),
	unit: figureUnit,
	challenge: z.int(),
});

/** One figure of one device over time, newest first. */
export const figurePoint = z.object({
	probeId,
	atMs,
	device: z.int(),
	name: figureName,
	value: z.int(),
	unit: figureUnit,
	evidenceSha256: sha256,
});

export const identityState = z.enum(["confirmed", "consistent", "other", "unknown", "unknown-name", "unjudged"]);

export const identity = z.object({
	device: z.int(),
	claimed: said,
	state: identityState,
	profile: z.string().max(64).nullable(),
	ranked: z.array(z.object({ id: z.string().max(64), likelihood: z.number() })),
	alike: z.array(z.string().max(64)),
});

export const confidence = z.object({ challenge: count, samples: count, skippedShareAt99: z.number() });
export const finding = z.object({ code, detail: said });
