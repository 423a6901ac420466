// Scores, epochs, reports: what market/ computed and validators said. A score comes with the tree of terms it multiplies out from.
import { z } from "zod";
import {
	atMs,
	count,
	epochNumber,
	json,
	micros,
	paging,
	ppm,
	providerId,
	publicKey,
	said,
	sha256,
	signature,
} from "./primitives.ts";

export const scoring = said.describe("holistic, or sn27 for the compatible mode");

/** One term of a score: `rule` says how its value follows from the terms in `from`; for a given one `from` names where it was read. */
export interface ScoreTerm {
	readonly name: string;
	readonly value: number;
	readonly unit: string;
	readonly rule: string;
	readonly weights?: readonly number[] | undefined;
	readonly from: readonly (string | ScoreTerm)[];
}

export const scoreTerm: z.ZodType<ScoreTerm, ScoreTerm> = z
	.lazy(() =>
		z.object({
			name: said,
			value: z.int(),
			unit: said,
			rule: said,
			weights: z.array(z.int()).readonly().optional(),
			from: z.array(z.union([said, scoreTerm])).readonly(),
		}),
	)
	.meta({ id: "ScoreTerm" });

/** `terms` multiplies out to `scorePpm` again, docs/network.md §5. */
export const score = z.object({
	providerId,
	atMs,
	scorePpm: ppm,
	mode: scoring,
	terms: z.object({
		version: z.int(),
		providerId,
		mode: scoring,
		evidence: sha256.nullable(),
		scorePpm: ppm,
		why: said.describe("Why a score is 0; empty otherwise"),
		root: scoreTerm,
	}),
});

export const epoch = z.object({
	number: epochNumber,
	state: z.enum(["open", "closed"]),
	startsAtMs: atMs,
	endsAtMs: atMs,
	closedAtMs: atMs.nullable(),
	emissionMicros: micros,
	/** Every parameter that the scores and weights of this epoch follow. */
	params: json,
	reports: z.array(z.object({ validator: publicKey, receivedAtMs: atMs, scores: count, signature })),
});
export const epochSummary = epoch.omit({ params: true, reports: true });

export const epochScore = z.object({
	epoch: epochNumber,
	providerId,
	weightPpm: ppm.describe("Stake-weighted clipped median over the validators' reports"),
	shareMicros: micros.describe("Of the emission"),
});

export const epochsQuery = z.strictObject({ ...paging });

/** The route's body limit follows from it: some 80 bytes each. */
export const MAX_REPORT = 20_000;

/** Signed by itself (report-hash.ts), not only as a request: a third party can hold a validator to what it said. */
export const reportBody = z.strictObject({
	validator: publicKey,
	epoch: epochNumber,
	scores: z
		.record(providerId, ppm)
		.refine((scores) => Object.keys(scores).length <= MAX_REPORT, `more than ${MAX_REPORT} providers`)
		.describe("scorePpm by provider"),
	signature,
});
export const report = z.object({
	validator: publicKey,
	epoch: epochNumber,
	scores: z.record(providerId, ppm),
	signature,
	receivedAtMs: atMs,
});
export const reportReceipt = z.object({
	validator: publicKey,
	epoch: epochNumber,
	scores: count,
	sha256,
	receivedAtMs: atMs,
});
