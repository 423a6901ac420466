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
	sha256,
	signature,
} from "./primitives.ts";

export const scoring = z.enum(["holistic", "sn27"]);

/** `terms` is the tree `{name, value, unit, from: [evidence hash | term]}` of docs/network.md §5, as market/ made it. */
export const score = z.object({
	providerId,
	atMs,
	scorePpm: ppm,
	mode: scoring,
	terms: z.json(),
});

export const epoch = z.object({
	number: epochNumber,
	state: z.enum(["open", "closed"]),
	startsAtMs: atMs,
	endsAtMs: atMs,
	closedAtMs: atMs.nullable(),
	emissionMicros: micros,
	params: z.json().describe("Every parameter that the scores and weights of this epoch follow"),
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
export const LARGEST_REPORT = 20_000;

/** Signed by itself (report-hash.ts), not only as a request: a third party can hold a validator to what it said. */
export const reportBody = z.strictObject({
	validator: publicKey,
	epoch: epochNumber,
	scores: z
		.record(providerId, ppm)
		.refine((scores) => Object.keys(scores).length <= LARGEST_REPORT, `more than ${LARGEST_REPORT} providers`)
		.describe("scorePpm by provider"),
	signature,
});
export const reportReceipt = z.object({
	validator: publicKey,
	epoch: epochNumber,
	scores: count,
	sha256,
	receivedAtMs: atMs,
});
