// Scores, epochs, reports: what market/ computed and validators said. A score comes with the tree of terms it multiplies out from.
import { z } from "zod";
import {
	atMs,
	count,
	epochNumber,
	micros,
	paging,
	ppm,
	providerId,
	publicKey,
	said,
	sha256,
	signature,
} from "./primitives.ts";

/** `from`: evidence hashes or further terms. `op` says how the value comes from the terms in `from`. */
export interface ScoreTerm {
	name: string;
	value: number;
	unit: string;
	op?: string | undefined;
	from: (string | ScoreTerm)[];
}

export const scoreTerm: z.ZodType<ScoreTerm, ScoreTerm> = z
	.lazy(() =>
		z.object({
			name: said,
			value: z.number(),
			unit: z.string().max(16),
			op: z.string().max(32).optional(),
			from: z.array(z.union([z.string().max(128), scoreTerm])),
		}),
	)
	.meta({ id: "ScoreTerm" });

export const scoring = z.enum(["holistic", "sn27"]);

export const score = z.object({
	providerId,
	scoring,
	scorePpm: ppm,
	atMs,
	epoch: epochNumber.nullable(),
	evidenceSha256: sha256.nullable(),
	term: scoreTerm,
});

export const epoch = z.object({
	n: epochNumber,
	state: z.enum(["open", "closed"]),
	startedAtMs: atMs,
	endedAtMs: atMs.nullable(),
	scoring,
	emissionMicros: micros,
	reports: count,
	providers: count,
});

export const epochScore = z.object({
	providerId,
	scorePpm: ppm.describe("Of this validator"),
	weightPpm: ppm.describe("Of the network: stake-weighted clipped median, as a share of all"),
	rewardMicros: micros,
	evidenceSha256: sha256.nullable(),
});

export const epochsQuery = z.strictObject({ ...paging });
export const epochScoresQuery = z.strictObject({ providerId: providerId.optional(), ...paging });

/** Enough for 20,000 providers; the route's body limit follows from it. */
export const LARGEST_REPORT = 20_000;
export const reportedScore = z.strictObject({ providerId, scorePpm: ppm, evidenceSha256: sha256.nullable() });

/** Signed by itself (report-hash.ts), not only as a request: a third party can hold a validator to what it said. */
export const reportBody = z.strictObject({
	validator: publicKey,
	epoch: epochNumber,
	scores: z.array(reportedScore).max(LARGEST_REPORT),
	signature,
});
export const reportReceipt = z.object({ validator: publicKey, epoch: epochNumber, scores: count, sha256 });
