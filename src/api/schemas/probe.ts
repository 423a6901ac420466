// Probes: one hardware proof of one host and what came of it. Confidence and likelihoods are in the evidence,
// for whoever verifies it.
import * as z from "zod/mini";
import { integer, note } from "./base.ts";
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
	finishedAtMs: z.nullable(atMs),
	verdict: z.nullable(verdictStatus),
	code: z.nullable(code),
	where: z.nullable(said),
	detail: z.nullable(said),
	evidenceSha256: z.nullable(sha256),
	evidenceBytes: z.nullable(count),
	strength: z.nullable(strength),
	attestation: note(z.nullable(attested), "Of a valid one; null: its host was not asked"),
	host: note(
		z.object({ name: said, model: z.nullable(said), gpuCount: count, fp16OpsPerS: z.nullable(count) }),
		"Its provider as it is now, by its last valid probe",
	),
});

export const probe = z.extend(probeSummary, {
	figures: z.array(figure),
	findings: z.array(finding),
	devices: z.array(device),
	attestation: note(z.nullable(attestation), "Of a valid one; null: its host was not asked"),
});

export const probesQuery = z.strictObject({
	providerId: z.optional(providerId),
	state: z.optional(probeState),
	verdict: z.optional(verdictStatus),
	code: z.optional(code),
	sinceMs: z.optional(atMs),
	untilMs: z.optional(atMs),
	...paging,
});
export const providerProbesQuery = z.omit(probesQuery, { providerId: true });

export const figuresQuery = z.strictObject({
	name: figureName,
	device: z._default(integer(0, 63), 0),
	limit: z._default(integer(1, 500), 100),
});

export const askProbeBody = z.strictObject({ why: z._default(text(200), "") });
/** Not the probe's id: that is drawn when it starts, so that nobody knows a probe before it is made. */
export const askedProbe = z.object({ providerId, dueAtMs: atMs });
