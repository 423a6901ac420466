// Providers: how they are listed, shown, registered and changed. What was proven comes from the last valid
// verdict, `claim` from the host.
import * as z from "zod/mini";
import { note } from "./base.ts";
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
	model: note(z.nullable(said), "A profile of docs/profiles.md"),
	gpuCount: count,
	memoryBytes: note(z.nullable(count), "Proven resident, each card"),
	fp16OpsPerS: note(z.nullable(count), "gemm.fp16, each card"),
	memoryBytesPerS: note(z.nullable(count), "memory.bandwidth, each card"),
	attestation: note(z.nullable(attested), "Of the last valid probe; null: its host was not asked"),
};

export const providerSummary = z.object({
	id: providerId,
	name: said,
	link: linkKind,
	state: providerState,
	connected: note(z.boolean(), "Its agent link is up; true for ssh and local, which are dialled"),
	rented: z.boolean(),
	rentable: z.boolean(),
	pricePerHourMicros: micros,
	registeredAtMs: atMs,
	lastSeenAtMs: z.nullable(atMs),
	nextProbeAtMs: z.nullable(atMs),
	failures: note(count, "In a row"),
	lastVerdict: z.nullable(verdictStatus),
	lastCode: z.nullable(code),
	lastProbeAtMs: z.nullable(atMs),
	lastValidAtMs: z.nullable(atMs),
	scorePpm: z.nullable(ppm),
	reliabilityPpm: ppm,
	uptimePpm: note(ppm, "Time connected of the time registered; of hosts that are dialled the same as answeredPpm"),
	answeredPpm: note(ppm, "A record of past probes: how many came to a verdict"),
	...provenSummary,
});

/** Equal cards of one provider, by proven model; figures by name, of the weakest of the group. */
export const holding = z.object({ model: said, count, figures: z.record(z.string(), z.int()) });

export const provider = z.extend(providerSummary, {
	target: note(z.nullable(said), "How it is reached; null for everyone but admins: it names a host and a user"),
	claim: z.nullable(claim),
	suspicion: note(z.nullable(said), "Why it is suspected of sharing devices, when it is"),
	devices: z.array(device),
	attestation: note(z.nullable(attestation), "Of the last valid probe; null: its host was not asked"),
	holdings: z.array(holding),
	figures: z.array(currentFigure),
});

/** One group of equal cards must satisfy all of them. */
export const provenFilters = {
	model: z.optional(modelName),
	minDevices: note(z.optional(count), "Cards in the group"),
	minMemoryBytes: note(z.optional(count), "Proven, each card"),
	minFp16OpsPerS: note(z.optional(count), "Proven, each card"),
	minBandwidthBytesPerS: note(z.optional(count), "Proven, each card"),
	maxPriceMicros: note(z.optional(micros), "Per hour"),
	minUptimePpm: z.optional(ppm),
};

export const SORTS = ["score", "price", "gpuPrice", "memory", "fp16", "bandwidth", "uptime", "name"] as const;
export const searchText = note(text(100).check(z.minLength(1)), "Part of a name, or the beginning of an id");

export const providersQuery = z.strictObject({
	...provenFilters,
	rented: z.optional(z.boolean()),
	connected: z.optional(z.boolean()),
	link: z.optional(linkKind),
	state: z.optional(providerState),
	q: z.optional(searchText),
	sort: z._default(z.enum([...SORTS, "registered", "lastProbe", "nextProbe"]), "score"),
	descending: note(z.optional(z.boolean()), "Default: false for prices, name and nextProbe, true for the others"),
	...paging,
});

const offerFields = {
	name: z.optional(name),
	pricePerHourMicros: z.optional(micros),
	rentable: z.optional(z.boolean()),
};

/**
 * ssh and local targets make this validator open links of its own: admins only. agent: a provider announces
 * its own key.
 */
export const registerProviderBody = z.discriminatedUnion("link", [
	z.strictObject({ link: z.literal("agent"), key: publicKey, ...offerFields }),
	z.strictObject({
		link: z.literal("ssh"),
		target: text(512).check(z.regex(/^ssh:\/\/[^\s/]+$/, "not ssh://user@host[:port]")),
		...offerFields,
	}),
	z.strictObject({ link: z.literal("local"), ...offerFields }),
]);

/** At least one field, or nothing would be asked. */
export const changeProviderBody = z
	.strictObject({ ...offerFields, paused: z.optional(z.boolean()) })
	.check(z.refine((body) => Object.keys(body).length > 0, "nothing to change"));
