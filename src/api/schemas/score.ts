// Scores: what market/ computed. A score comes with the tree of terms it multiplies out from.
import * as z from "zod/mini";
import { note } from "./base.ts";
import { atMs, ppm, providerId, said, sha256 } from "./primitives.ts";

export const scoring = note(said, "holistic, or sn27 for the compatible mode");

/**
 * One term of a score: `rule` says how its value follows from the terms in `from`; for a given one `from`
 * names where it was read.
 */
export interface ScoreTerm {
	readonly name: string;
	readonly value: number;
	readonly unit: string;
	readonly rule: string;
	readonly weights?: readonly number[] | undefined;
	readonly from: readonly (string | ScoreTerm)[];
}

const scoreTerm: z.ZodMiniType<ScoreTerm, ScoreTerm> = z
	.lazy(() =>
		z.object({
			name: said,
			value: z.int(),
			unit: said,
			rule: said,
			weights: z.optional(z.readonly(z.array(z.int()))),
			from: z.readonly(z.array(z.union([said, scoreTerm]))),
		}),
	)
	.register(z.globalRegistry, { id: "ScoreTerm" });

/** `terms` multiplies out to `scorePpm` again, docs/network.md §2. */
export const score = z.object({
	providerId,
	atMs,
	scorePpm: ppm,
	mode: scoring,
	terms: z.object({
		version: z.int(),
		providerId,
		mode: scoring,
		evidence: z.nullable(sha256),
		scorePpm: ppm,
		why: note(said, "Why a score is 0; empty otherwise"),
		root: scoreTerm,
	}),
});
