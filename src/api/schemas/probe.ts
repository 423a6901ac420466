// Probes: one hardware proof of one host, from the queue to its evidence.
import { z } from "zod";
import { claim } from "./claim.ts";
import { atMs, code, count, paging, probeId, providerId, publicKey, sha256, text } from "./primitives.ts";
import { confidence, figure, figureName, finding, identity, verdictStatus, verdictSummary } from "./verdict.ts";

/** abandoned: the process that ran it died before there was evidence; counts for nothing (docs/network.md §4). */
export const probeState = z.enum(["queued", "running", "done", "abandoned"]);
export const probeReason = z.enum(["new", "interval", "retry", "changed", "suspicion", "unrented", "asked"]);

export const probeSummary = z.object({
	id: probeId,
	providerId,
	validator: publicKey,
	state: probeState,
	reason: probeReason,
	startedAtMs: atMs.nullable(),
	finishedAtMs: atMs.nullable(),
	verdict: verdictSummary.nullable(),
	evidenceSha256: sha256.nullable(),
	evidenceBytes: count.nullable(),
});

export const probe = probeSummary.extend({
	claim: claim.nullable(),
	figures: z.array(figure),
	identity: z.array(identity),
	confidence: z.array(confidence),
	findings: z.array(finding),
});

export const probesQuery = z.strictObject({
	providerId: providerId.optional(),
	state: probeState.optional(),
	status: verdictStatus.optional(),
	code: code.optional(),
	sinceMs: atMs.optional(),
	untilMs: atMs.optional(),
	...paging,
});
export const providerProbesQuery = probesQuery.omit({ providerId: true });

export const figuresQuery = z.strictObject({
	name: figureName,
	device: z.int().min(0).max(63).optional(),
	sinceMs: atMs.optional(),
	untilMs: atMs.optional(),
	...paging,
});

export const askProbeBody = z.strictObject({
	quick: z.boolean().default(false).describe("Fewer samples and stages"),
	why: text(200).default(""),
});
/** Not the probe's id: that is drawn when it starts, so that nobody knows a probe before it is made. */
export const askedProbe = z.object({ providerId, dueAtMs: atMs });
