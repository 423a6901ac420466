// Probes: one hardware proof of one host and what came of it. Confidence and likelihoods are in the evidence,
// for whoever verifies it.
import * as z from "zod";
import { atMs, code, count, paging, probeId, providerId, publicKey, said, sha256, text } from "./primitives.ts";
import { linkKind } from "./provider.ts";
import { attestation, attested, device, figure, figureName, finding, strength, verdictStatus } from "./verdict.ts";

/**
 * abandoned: the process that ran it died before there was evidence; counts for nothing (docs/schedule.md
 * §3).
 */
const probeState = z.enum(["running", "done", "abandoned"]);

export const probeSummary = z.object({
	id: probeId,
	providerId,
	validator: publicKey,
	link: linkKind,
	state: probeState,
	startedAtMs: atMs,
	finishedAtMs: atMs.nullable(),
	verdict: verdictStatus.nullable(),
	code: code.nullable(),
	where: said.nullable(),
	detail: said.nullable(),
	evidenceSha256: sha256.nullable(),
	evidenceBytes: count.nullable(),
	strength: strength.nullable(),
	attestation: attested.nullable().describe("Of a valid one; null: its host was not asked"),
	host: z
		.object({ name: said, model: said.nullable(), gpuCount: count, fp16OpsPerS: count.nullable() })
		.describe("Its provider as it is now, by its last valid probe"),
});

export const probe = probeSummary.extend({
	figures: z.array(figure),
	findings: z.array(finding),
	devices: z.array(device),
	attestation: attestation.nullable().describe("Of a valid one; null: its host was not asked"),
});

export const probesQuery = z.strictObject({
	providerId: providerId.optional(),
	state: probeState.optional(),
	verdict: verdictStatus.optional(),
	code: code.optional(),
	sinceMs: atMs.optional(),
	untilMs: atMs.optional(),
	...paging,
});
export const providerProbesQuery = probesQuery.omit({ providerId: true });

export const figuresQuery = z.strictObject({
	name: figureName,
	device: z.int().min(0).max(63).default(0),
	limit: z.int().min(1).max(500).default(100),
});

export const askProbeBody = z.strictObject({ why: text(200).default("") });
/** Not the probe's id: that is drawn when it starts, so that nobody knows a probe before it is made. */
export const askedProbe = z.object({ providerId, dueAtMs: atMs });
