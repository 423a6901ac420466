// The network at a glance, its health, its events, the table of codes, and the problem document that every
// error is.
import * as z from "zod";
import { atMs, code, count, json, providerId, publicKey, said, sha256 } from "./primitives.ts";
import { scoring } from "./score.ts";

/** `audience` is whom signed requests must name. */
export const health = z.object({ ok: z.literal(true), version: said, audience: said, nowMs: atMs });
export const ready = z.object({
	ready: z.literal(true),
	checks: z.array(z.object({ name: said, ok: z.boolean(), detail: said })),
});

const byVerdict = z.object({ valid: count, invalid: count, inconclusive: count });

export const network = z.object({
	version: said,
	nowMs: atMs,
	scoring,
	intervalMs: count,
	validator: z.object({ key: publicKey, name: said }).describe("Who answers"),
	providers: z.object({
		...{ active: count, paused: count, connected: count, rented: count, proven: count },
		offered: count.describe("Active, and their owners let them, free or not"),
	}),
	gpus: count.describe("Of hosts that are proven"),
	models: z.array(z.object({ model: said, gpus: count, providers: count })),
	proven: z
		.object({ fp16MopPerS: count, memoryMiB: count, memoryMBPerS: count })
		.describe(
			"Sums over all proven GPUs, each counted as the weakest of its group, in millions: ten thousand hosts pass 2^53",
		),
	probes: z.object({
		running: count,
		due: count,
		lastHour: count.describe("Ended within the last 60 minutes"),
		day: byVerdict.describe("Of the hours below"),
		total: byVerdict,
		cheats: z
			.object({ day: count, total: count })
			.describe("Invalid with a code that no honest host can cause: an answer that contradicts its commitment or seed"),
		hours: z
			.array(byVerdict.extend({ atMs, cheats: count, files: count }))
			.describe("The last 24, oldest first; the last one is not over yet"),
	}),
	evidence: z.object({ files: count, bytes: count }),
});

export const params = z
	.object({ params: z.record(z.string(), z.union([z.int(), said])) })
	.describe("By the names of docs/scores.md: times in ms, shares in millionths");

const eventId = z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/);
const eventKind = z
	.string()
	.regex(/^[a-z]+([.-][a-z]+)*$/)
	.max(64)
	.describe(
		"e.g. probe.started, probe.progress, probe.verdict, provider.changed, rental.changed, roll-call.done, chain.accused, missed",
	);

/** Public: whoever makes events puts no customer and no access into them. */
export const networkEvent = z.object({
	id: eventId.describe("Give the last one as Last-Event-ID to go on after it"),
	atMs,
	kind: eventKind,
	subject: said.describe("What it is about: the id of a probe, provider or rental"),
	providerId: providerId.nullable(),
	detail: json,
});

const after = eventId.optional().describe("Like Last-Event-ID, for callers that cannot set headers");
export const eventsQuery = z.strictObject({
	kind: eventKind.optional().describe("This kind, or all that begin with it and a dot"),
	subject: z
		.string()
		.regex(/^[0-9a-f]{1,64}$/)
		.optional(),
	providerId: providerId.optional(),
	after,
});
export const probeEventsQuery = z.strictObject({ after });

const policy = z.object({ hash: sha256, rules: json });
export const attestationPolicy = z.object({
	vendors: policy.describe("What verdicts name as their policy: the tagged hash assay/attest-policy/1 of the rules"),
	simulated: policy.describe("The same with the roots of our own mint, under which anybody can sign"),
	countsSimulated: z.boolean().describe("Whether attested jobs take the latter: a trial network"),
});

export const codeTable = z.object({
	rows: z.array(
		z.object({
			code,
			kind: z.enum(["verdict-invalid", "verdict-inconclusive", "finding", "error"]),
			meaning: said,
			hint: said,
		}),
	),
});

/** RFC 9457. */
export const problem = z.object({
	type: z.string(),
	title: z.string(),
	status: z.int(),
	code,
	detail: z.string(),
	hint: z.string(),
	requestId: z.string(),
});
export const openapiDocument = z.record(z.string(), json);
