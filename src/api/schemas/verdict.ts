// Verdicts, figures and devices as the API shows them; src/protocol/probe/verdict.ts and evidence.ts have
// what they mean. No judgement.
import * as z from "zod/mini";
import { ATTESTED_LEVELS } from "../../protocol/probe/verdict.ts";
import { matching, note } from "./base.ts";
import { atMs, code, count, probeId, providerId, said, sha256 } from "./primitives.ts";

export const verdictStatus = z.enum(["valid", "invalid", "inconclusive"]);

export const strength = note(
	z.enum(["private", "countersigned", "public"]),
	"whose word the evidence is: the validator's alone, the validator's and the host's together, or nobody's",
);

export const figureName = note(
	z.string().check(z.regex(/^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$/), z.maxLength(64)),
	"e.g. gemm.fp16, memory.resident, memory.bandwidth",
);

export const figure = z.object({
	device: z.int(),
	name: said,
	value: z.int(),
	unit: note(said, "op/s, flop/s, B, B/s or ppm"),
	challenge: z.int(),
});

/** Of the last valid probe, with the evidence that proves it. */
export const currentFigure = z.object({
	device: z.int(),
	name: said,
	value: z.int(),
	unit: said,
	probeId,
	evidenceSha256: sha256,
	atMs,
});

export const figurePoint = z.object({ atMs, value: z.int(), unit: said, probeId });

const identityState = z.enum(["confirmed", "consistent", "other", "unknown", "unknown-name", "unjudged"]);

/**
 * `claimedName`, `uuid` and `memoryBytes` are the host's words; `profile` is the card that its figures prove,
 * null when none.
 */
export const device = z.object({
	device: count,
	kind: z.enum(["gpu", "cpu", "disk"]),
	claimedName: said,
	uuid: said,
	memoryBytes: count,
	profile: z.nullable(said),
	identity: identityState,
	alike: note(
		z.optional(z.nullable(z.array(said))),
		"Profiles that the figures leave equal: from them it cannot be told. Null or absent: not kept then",
	),
});

export const finding = z.object({ code, detail: said });

export const attestedLevel = note(
	z.enum(ATTESTED_LEVELS),
	"docs/attestation.md: signed by a vendor's device; and with the vendor's firmware; and named by an allowed guest",
);
const deviceKey = note(matching(/^[0-9a-f]{64}$/), "One per card for life");

/** What devices signed. The level is a small factor of the score. */
export const attested = z.object({
	level: note(attestedLevel, "What counts: none if simulated, or if a device counts for another provider"),
	shown: note(attestedLevel, "What would count otherwise"),
	isSimulated: note(z.boolean(), "Signed under roots that anybody can sign under"),
	elsewhere: note(
		z.array(z.object({ key: deviceKey, providerId })),
		"Devices that count for another provider, which showed them first",
	),
});

/** Keys are of the host: no report names a UUID. */
export const attestation = z.extend(attested, {
	rounds: note(count, "How often they signed"),
	devices: z.array(
		z.object({
			kind: z.enum(["gpu", "switch"]),
			key: deviceKey,
			chip: said,
			driver: z.nullable(said),
			firmware: z.nullable(said),
			level: attestedLevel,
		}),
	),
	guest: note(
		z.nullable(z.object({ tee: said, measurement: said, tcb: z.nullable(said) })),
		"The confidential guest whose CPU named the reports",
	),
	reasons: note(z.array(finding), "Findings, and what is missing for a higher level"),
	says: note(z.array(said), "The host's words on what it has not got"),
	policy: note(
		z.optional(z.nullable(z.object({ hash: sha256, atMs }))),
		"By which rules it was judged (GET /v1/attestation-policy has this validator's), and as of when",
	),
});
