// Providers: how they are listed, shown, registered and changed. What was proven comes from the last valid
// verdict, `claim` from the host.
import * as z from "zod";
import { claim } from "./claim.ts";
import {
	atMs,
	code,
	count,
	micros,
	modelName,
	name,
	paging,
	ppm,
	providerId,
	publicKey,
	said,
	text,
} from "./primitives.ts";
import { attestation, attested, currentFigure, device, verdictStatus } from "./verdict.ts";

export const linkKind = z.enum(["agent", "ssh", "local"]);
/** active: on its schedule. paused: left alone. removed: kept for its history only. */
const providerState = z.enum(["active", "paused", "removed"]);

/** Proven, of the largest group of equal cards; figures are those of the weakest card of the group. */
export const provenSummary = {
	model: said.nullable().describe("A profile of docs/profiles.md"),
	gpuCount: count,
	memoryBytes: count.nullable().describe("Proven resident, each card"),
	fp16OpsPerS: count.nullable().describe("gemm.fp16, each card"),
	memoryBytesPerS: count.nullable().describe("memory.bandwidth, each card"),
	attestation: attested.nullable().describe("Of the last valid probe; null: its host was not asked"),
};

export const providerSummary = z.object({
	id: providerId,
	name: said,
	link: linkKind,
	state: providerState,
	connected: z.boolean().describe("Its agent link is up; true for ssh and local, which are dialled"),
	rented: z.boolean(),
	rentable: z.boolean(),
	pricePerHourMicros: micros,
	registeredAtMs: atMs,
	lastSeenAtMs: atMs.nullable(),
	nextProbeAtMs: atMs.nullable(),
	failures: count.describe("In a row"),
	lastVerdict: verdictStatus.nullable(),
	lastCode: code.nullable(),
	lastProbeAtMs: atMs.nullable(),
	lastValidAtMs: atMs.nullable(),
	scorePpm: ppm.nullable(),
	reliabilityPpm: ppm,
	uptimePpm: ppm.describe("Time connected of the time registered; of hosts that are dialled the same as answeredPpm"),
	answeredPpm: ppm.describe("A record of past probes: how many came to a verdict"),
	...provenSummary,
});

/** Equal cards of one provider, by proven model; figures by name, of the weakest of the group. */
export const holding = z.object({ model: said, count, figures: z.record(z.string(), z.int()) });

export const provider = providerSummary.extend({
	target: said.nullable().describe("How it is reached; null for everyone but admins: it names a host and a user"),
	claim: claim.nullable(),
	suspicion: said.nullable().describe("Why it is suspected of sharing devices, when it is"),
	devices: z.array(device),
	attestation: attestation.nullable().describe("Of the last valid probe; null: its host was not asked"),
	holdings: z.array(holding),
	figures: z.array(currentFigure),
});

/** One group of equal cards must satisfy all of them. */
export const provenFilters = {
	model: modelName.optional(),
	minDevices: count.optional().describe("Cards in the group"),
	minMemoryBytes: count.optional().describe("Proven, each card"),
	minFp16OpsPerS: count.optional().describe("Proven, each card"),
	minBandwidthBytesPerS: count.optional().describe("Proven, each card"),
	maxPriceMicros: micros.optional().describe("Per hour"),
	minUptimePpm: ppm.optional(),
};

export const SORTS = ["score", "price", "gpuPrice", "memory", "fp16", "bandwidth", "uptime", "name"] as const;
export const searchText = text(100).min(1).describe("Part of a name, or the beginning of an id");

export const providersQuery = z.strictObject({
	...provenFilters,
	rented: z.boolean().optional(),
	connected: z.boolean().optional(),
	link: linkKind.optional(),
	state: providerState.optional(),
	q: searchText.optional(),
	sort: z.enum([...SORTS, "registered", "lastProbe", "nextProbe"]).default("score"),
	descending: z.boolean().optional().describe("Default: false for prices, name and nextProbe, true for the others"),
	...paging,
});

const offerFields = { name: name.optional(), pricePerHourMicros: micros.optional(), rentable: z.boolean().optional() };

/**
 * ssh and local targets make this validator open links of its own: admins only. agent: a provider announces
 * its own key.
 */
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
