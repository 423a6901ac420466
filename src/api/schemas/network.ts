// The network at a glance, its health, its events and the table of codes.
import { z } from "zod";
import {
	atMs,
	code,
	count,
	epochNumber,
	micros,
	ppm,
	probeId,
	providerId,
	publicKey,
	rentalId,
	said,
} from "./primitives.ts";
import { scoring } from "./score.ts";

export const health = z.object({ ok: z.literal(true), version: said, audience: said, nowMs: atMs });
export const ready = z.object({
	ready: z.literal(true),
	checks: z.array(z.object({ name: said, ok: z.boolean(), detail: said })),
});

export const network = z.object({
	version: said,
	nowMs: atMs,
	startedAtMs: atMs,
	validators: z.array(z.object({ key: publicKey, seenAtMs: atMs })),
	scoring,
	intervalMs: count,
	epoch: epochNumber.nullable(),
	emissionMicros: micros,
	providers: z.object({
		total: count,
		new: count,
		active: count,
		paused: count,
		connected: count,
		rented: count,
		proven: count.describe("With a valid verdict that is not too old"),
	}),
	models: z.array(z.object({ model: z.string().max(64), devices: count })),
	proven: z.object({ devices: count, memoryBytes: count, fp16OpsPerS: count, bandwidthBytesPerS: count }),
	probes: z.object({
		total: count,
		running: count,
		lastHour: count,
		valid: count,
		invalid: count,
		inconclusive: count,
	}),
	rentals: z.object({ active: count, total: count }),
	medianScorePpm: ppm,
});

export const EVENT_KINDS = [
	"provider.added",
	"provider.changed",
	"provider.connected",
	"provider.disconnected",
	"provider.removed",
	"probe.queued",
	"probe.started",
	"probe.progress",
	"probe.verdict",
	"probe.abandoned",
	"score.changed",
	"epoch.opened",
	"epoch.closed",
	"rental.changed",
] as const;
export const eventKind = z.enum(EVENT_KINDS);

/** Public: whoever makes events puts no customer and no ssh access into them. */
export const networkEvent = z.object({
	id: z
		.string()
		.regex(/^[A-Za-z0-9_.:-]{1,64}$/)
		.describe("Give the last one as Last-Event-ID to go on from there"),
	atMs,
	kind: eventKind,
	providerId: providerId.nullable(),
	probeId: probeId.nullable(),
	rentalId: rentalId.nullable(),
	data: z.record(z.string(), z.json()),
});

export const eventsQuery = z.strictObject({
	kind: eventKind.optional(),
	providerId: providerId.optional(),
	after: z
		.string()
		.regex(/^[A-Za-z0-9_.:-]{1,64}$/)
		.optional()
		.describe("Like Last-Event-ID, for callers that cannot set headers"),
});
export const probeEventsQuery = eventsQuery.omit({ kind: true, providerId: true });

export const codeRow = z.object({
	code,
	kind: z.enum(["verdict-invalid", "verdict-inconclusive", "finding", "error"]),
	meaning: z.string(),
	hint: z.string(),
});
export const codeTable = z.object({ items: z.array(codeRow) });

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
export const openapiDocument = z.record(z.string(), z.json());
