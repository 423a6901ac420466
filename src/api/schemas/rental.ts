// Offers and rentals: search by proven figures, reserve, extend, release. Money is a record of what is owed; none moves here.
// Page: docs/network.md §6.
import { z } from "zod";
import { atMs, code, count, micros, name, paging, ppm, providerId, rentalId, said } from "./primitives.ts";
import { proven, provenDevice, provenFilters, searchText } from "./provider.ts";

const MINUTE_MS = 60_000;
export const LONGEST_RENTAL_MS = 30 * 24 * 60 * MINUTE_MS;

export const offer = z.object({
	providerId,
	name: said,
	pricePerHourMicros: micros,
	proven,
	devices: z.array(provenDevice),
	uptimePpm: ppm,
	scorePpm: ppm,
});

export const offersQuery = z.strictObject({
	...provenFilters,
	q: searchText.optional(),
	sort: z.enum(["price", "score", "uptime", "fp16", "memory", "bandwidth"]).default("price"),
	...paging,
});

export const rentalState = z.enum(["reserved", "active", "ended", "refused"]);
export const rentalEnd = z.enum(["released", "expired", "failed"]);

export const sshAccess = z.object({
	host: said,
	port: z.int().min(1).max(65535),
	user: said,
	hostKey: said,
});

export const rental = z.object({
	id: rentalId,
	providerId,
	customer: z.string().max(64).describe("The customer's key, or the name of its token"),
	state: rentalState,
	end: rentalEnd.nullable(),
	devices: z.array(count),
	pricePerHourMicros: micros,
	createdAtMs: atMs,
	activeAtMs: atMs.nullable(),
	untilMs: atMs,
	endedAtMs: atMs.nullable(),
	ssh: sshAccess.nullable(),
	chargedMicros: micros,
	refundMicros: micros,
	code: code.nullable().describe("Why it was refused or failed"),
	detail: said,
});

/** One line of an authorized_keys file without options: options could widen what the key may do on the host. */
export const sshPublicKey = z
	.string()
	.max(800)
	.regex(/^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]{40,700}={0,2}( [\x21-\x7e]{1,80})?$/)
	.describe("OpenSSH public key, one line");

const durationMs = z.int().min(MINUTE_MS).max(LONGEST_RENTAL_MS);

/** Either one provider by name, or the cheapest that fits the filters. */
export const rentBody = z
	.strictObject({
		providerId: providerId.optional(),
		want: z.strictObject(provenFilters).optional(),
		publicKey: sshPublicKey,
		durationMs,
		maxPriceMicros: micros.optional().describe("Per hour; refused when the price has risen above it"),
		name: name.optional(),
	})
	.refine((body) => (body.providerId === undefined) !== (body.want === undefined), "give providerId or want, not both");

export const rentalsQuery = z.strictObject({
	state: rentalState.optional(),
	providerId: providerId.optional(),
	...paging,
});
export const extendBody = z.strictObject({ durationMs: durationMs.describe("Added to the end") });
