// The network at a glance, its health, its events, the table of codes, and the problem document that every
// error is.
import * as z from "zod/mini";
import { matching, note } from "./base.ts";
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
	validator: note(z.object({ key: publicKey, name: said }), "Who answers"),
	providers: z.object({
		active: count,
		paused: count,
		connected: count,
		rented: count,
		proven: count,
		offered: note(count, "Active, and their owners let them, free or not"),
	}),
	gpus: note(count, "Of hosts that are proven"),
	models: z.array(z.object({ model: said, gpus: count, providers: count })),
	proven: note(
		z.object({ fp16MopPerS: count, memoryMiB: count, memoryMBPerS: count }),
		"Sums over all proven GPUs, each counted as the weakest of its group, in millions: ten thousand hosts pass 2^53",
	),
	probes: z.object({
		running: count,
		due: count,
		lastHour: note(count, "Ended within the last 60 minutes"),
		day: note(byVerdict, "Of the hours below"),
		total: byVerdict,
		cheats: note(
			z.object({ day: count, total: count }),
			"Invalid with a code that no honest host can cause: an answer that contradicts its commitment or seed",
		),
		hours: note(
			z.array(z.extend(byVerdict, { atMs, cheats: count, files: count })),
			"The last 24, oldest first; the last one is not over yet",
		),
	}),
	evidence: z.object({ files: count, bytes: count }),
});

export const params = note(
	z.object({ params: z.record(z.string(), z.union([z.int(), said])) }),
	"By the names of docs/scores.md: times in ms, shares in millionths",
);

const eventId = matching(/^[A-Za-z0-9_.:-]{1,64}$/);
const eventKind = note(
	z.string().check(z.regex(/^[a-z]+([.-][a-z]+)*$/), z.maxLength(64)),
	"e.g. probe.started, probe.progress, probe.verdict, provider.changed, rental.changed, roll-call.done, chain.accused, missed",
);

/** Public: whoever makes events puts no customer and no access into them. */
export const networkEvent = z.object({
	id: note(eventId, "Give the last one as Last-Event-ID to go on after it"),
	atMs,
	kind: eventKind,
	subject: note(said, "What it is about: the id of a probe, provider or rental"),
	providerId: z.nullable(providerId),
	detail: json,
});

const after = note(z.optional(eventId), "Like Last-Event-ID, for callers that cannot set headers");
export const eventsQuery = z.strictObject({
	kind: note(z.optional(eventKind), "This kind, or all that begin with it and a dot"),
	subject: z.optional(matching(/^[0-9a-f]{1,64}$/)),
	providerId: z.optional(providerId),
	after,
});
export const probeEventsQuery = z.strictObject({ after });

const policy = z.object({ hash: sha256, rules: json });
export const attestationPolicy = z.object({
	vendors: note(policy, "What verdicts name as their policy: the tagged hash assay/attest-policy/1 of the rules"),
	simulated: note(policy, "The same with the roots of our own mint, under which anybody can sign"),
	countsSimulated: note(z.boolean(), "Whether attested jobs take the latter: a trial network"),
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
