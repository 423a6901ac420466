// Providers: how they are listed, shown, registered and changed. `proven` comes from the last valid verdict, `claim` from the host.
import { z } from "zod";
import { claim } from "./claim.ts";
import {
	atMs,
	count,
	micros,
	name,
	paging,
	ppm,
	probeId,
	providerId,
	publicKey,
	said,
	sha256,
	text,
} from "./primitives.ts";
import { figure, identityState, verdictSummary } from "./verdict.ts";

export const linkKind = z.enum(["agent", "ssh", "local"]);
/** new: never proven. active: on its schedule. paused: asked to be left alone. removed: kept for its history only. */
export const providerState = z.enum(["new", "active", "paused", "removed"]);

/** One proven device of the last valid verdict; `model` is a profile of docs/profiles.md, null when nothing fits. */
export const provenDevice = z.object({
	device: count,
	kind: z.enum(["gpu", "cpu", "disk"]),
	claimed: said,
	model: z.string().max(64).nullable(),
	identity: identityState,
	figures: z.array(figure),
});

/** What a customer filters by: sums over the host's proven GPUs. */
export const proven = z.object({
	probeId,
	evidenceSha256: sha256,
	atMs,
	models: z.array(z.object({ model: z.string().max(64), devices: count })),
	devices: count.describe("Proven GPUs"),
	memoryBytes: count.describe("Proven resident bytes, all GPUs together"),
	fp16OpsPerS: count.describe("gemm.fp16, all GPUs together"),
	bandwidthBytesPerS: count.describe("memory.bandwidth, all GPUs together"),
});

export const providerSummary = z.object({
	id: providerId,
	name: said,
	link: linkKind,
	state: providerState,
	connected: z.boolean().describe("Agent link up; always true for ssh and local"),
	rented: z.boolean(),
	rentable: z.boolean(),
	pricePerHourMicros: micros,
	proven: proven.nullable(),
	lastVerdict: verdictSummary.nullable(),
	lastProbeAtMs: atMs.nullable(),
	nextProbeAtMs: atMs.nullable(),
	failures: count.describe("In a row"),
	suspicion: said.nullable(),
	scorePpm: ppm,
	reliabilityPpm: ppm,
	uptimePpm: ppm,
	createdAtMs: atMs,
});

export const provider = providerSummary.extend({
	/** How it is reached; null for everyone but admins, since it names a host and a user. */
	target: said.nullable(),
	claim: claim.nullable(),
	devices: z.array(provenDevice),
});

export const provenFilters = {
	model: z
		.string()
		.max(64)
		.regex(/^[a-z0-9]+([.-][a-z0-9]+)*$/)
		.optional()
		.describe("A profile of docs/profiles.md"),
	minDevices: count.optional(),
	minMemoryBytes: count.optional(),
	minFp16OpsPerS: count.optional(),
	minBandwidthBytesPerS: count.optional(),
	maxPriceMicros: micros.optional().describe("Per hour"),
	minUptimePpm: ppm.optional(),
};

export const providerSort = z.enum(["score", "price", "uptime", "fp16", "memory", "bandwidth", "name", "newest"]);
export const searchText = text(100).min(1).describe("Part of a name, or the beginning of an id");

export const providersQuery = z.strictObject({
	...provenFilters,
	rented: z.boolean().optional(),
	state: providerState.optional(),
	q: searchText.optional(),
	sort: providerSort.default("score"),
	...paging,
});

const offerFields = { name: name.optional(), pricePerHourMicros: micros.optional(), rentable: z.boolean().optional() };

/** ssh and local targets make this validator open links of its own: admins only. agent: a provider announces its own key. */
export const registerProviderBody = z.discriminatedUnion("link", [
	z.strictObject({ link: z.literal("agent"), key: publicKey, ...offerFields }),
	z.strictObject({
		link: z.literal("ssh"),
		target: text(512).regex(/^ssh:\/\/[^\s/]+$/, "not ssh://user@host[:port]"),
		...offerFields,
	}),
	z.strictObject({ link: z.literal("local"), ...offerFields }),
]);

/** At least one field, or nothing would be asked. */
export const changeProviderBody = z
	.strictObject({ ...offerFields, paused: z.boolean().optional() })
	.refine((body) => Object.keys(body).length > 0, "nothing to change");
