// Verdicts, figures and devices as the API shows them; src/protocol/probe/verdict.ts and evidence.ts have
// what they mean. No judgement.
import * as z from "zod";
import { ATTESTED_LEVELS } from "../../protocol/probe/verdict.ts";
import { atMs, code, count, probeId, providerId, said, sha256 } from "./primitives.ts";

export const verdictStatus = z.enum(["valid", "invalid", "inconclusive"]);

export const strength = z
	.enum(["private", "countersigned", "public"])
	.describe("whose word the evidence is: the validator's alone, the validator's and the host's together, or nobody's");

export const figureName = z
	.string()
	.regex(/^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$/)
	.max(64)
	.describe("e.g. gemm.fp16, memory.resident, memory.bandwidth");

export const figure = z.object({
	device: z.int(),
	name: said,
	value: z.int(),
	unit: said.describe("op/s, flop/s, B, B/s or ppm"),
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
	profile: said.nullable(),
	identity: identityState,
	alike: z
		.array(said)
		.nullable()
		.optional()
		.describe("Profiles that the figures leave equal: from them it cannot be told. Null or absent: not kept then"),
});

export const finding = z.object({ code, detail: said });

export const attestedLevel = z
	.enum(ATTESTED_LEVELS)
	.describe(
		"docs/attestation.md: signed by a vendor's device; and with the vendor's firmware; and named by an allowed guest",
	);
const deviceKey = z
	.string()
	.regex(/^[0-9a-f]{64}$/)
	.describe("One per card for life");

/** What devices signed. The level is a small factor of the score. */
export const attested = z.object({
	level: attestedLevel.describe("What counts: none if simulated, or if a device counts for another provider"),
	shown: attestedLevel.describe("What would count otherwise"),
	isSimulated: z.boolean().describe("Signed under roots that anybody can sign under"),
	elsewhere: z
		.array(z.object({ key: deviceKey, providerId }))
		.describe("Devices that count for another provider, which showed them first"),
});

/** Keys are of the host: no report names a UUID. */
export const attestation = attested.extend({
	rounds: count.describe("How often they signed"),
	devices: z.array(
		z.object({
			kind: z.enum(["gpu", "switch"]),
			key: deviceKey,
			chip: said,
			driver: said.nullable(),
			firmware: said.nullable(),
			level: attestedLevel,
		}),
	),
	guest: z
		.object({ tee: said, measurement: said, tcb: said.nullable() })
		.nullable()
		.describe("The confidential guest whose CPU named the reports"),
	reasons: z.array(finding).describe("Findings, and what is missing for a higher level"),
	says: z.array(said).describe("The host's words on what it has not got"),
	policy: z
		.object({ hash: sha256, atMs })
		.nullable()
		.optional()
		.describe("By which rules it was judged (GET /v1/attestation-policy has this validator's), and as of when"),
});
