// Offers and rentals: search by proven figures, reserve, extend, release. Money is a record of what is owed;
// none moves here. Page: docs/rentals.md.
import * as z from "zod";
import { atMs, chainHex, count, micros, paging, ppm, providerId, rentalId, said } from "./primitives.ts";
import { holding, provenFilters, provenSummary, SORTS, searchText } from "./provider.ts";

const MINUTE_MS = 60_000;
const MAX_RENTAL_MS = 30 * 24 * 60 * MINUTE_MS;

export const offer = z.object({
	providerId,
	name: said,
	pricePerHourMicros: micros,
	...provenSummary,
	holdings: z.array(holding),
	lastValidAtMs: atMs,
	uptimePpm: ppm.describe("Time connected of the time registered; of hosts that are dialled the same as answeredPpm"),
	answeredPpm: ppm.describe("A record of past probes: how many came to a verdict"),
	reliabilityPpm: ppm,
	scorePpm: ppm.nullable(),
});

/** Who rents means GPUs, unless told otherwise. */
const rentFilters = {
	...provenFilters,
	minDevices: count.default(1).describe("Cards in the group; 0: hosts without a GPU, too"),
};

export const offersQuery = z.strictObject({
	...rentFilters,
	q: searchText.optional(),
	sort: z.enum(SORTS).default("price"),
	descending: z.boolean().optional(),
	...paging,
});

const rentalState = z.enum(["reserved", "active", "ended", "refused"]);
const rentalEnd = z.enum(["released", "expired", "failed"]);

const rentalAccess = z.object({ host: said, port: z.int().min(1).max(65535), user: said, hostKey: said });

export const rental = z.object({
	id: rentalId,
	providerId,
	customer: said.describe("The customer's key"),
	state: rentalState,
	endReason: rentalEnd.nullable(),
	publicKey: said,
	pricePerHourMicros: micros,
	devices: z.array(count),
	access: rentalAccess.nullable(),
	reservedAtMs: atMs,
	startedAtMs: atMs.nullable(),
	untilMs: atMs,
	endedAtMs: atMs.nullable(),
	chargedMicros: micros.nullable(),
	refundMicros: micros.nullable(),
	lastHealthyAtMs: atMs.nullable(),
	detail: said.nullable(),
	escrow: chainHex(32, "Its deposit in the RentalEscrow on chain").nullable(),
});

/**
 * One line of an authorized_keys file without options: options could widen what the key may do on the host.
 */
const sshPublicKey = z
	.string()
	.max(1000)
	.regex(/^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]{40,800}={0,2}( [\x21-\x7e]{1,100})?$/)
	.describe("OpenSSH public key, one line");

const durationMs = z.int().min(MINUTE_MS).max(MAX_RENTAL_MS);

/** Either one provider by name, or the cheapest that fits the filters. */
export const rentBody = z
	.strictObject({
		providerId: providerId.optional(),
		want: z.strictObject(rentFilters).optional(),
		publicKey: sshPublicKey,
		durationMs,
		escrow: z
			.strictObject({
				account: chainHex(20, "Who deposited"),
				nonce: z
					.string()
					.regex(/^[0-9a-f]{64}$/)
					.describe("The salt is the tagged hash of the caller's key and this"),
			})
			.optional()
			.describe("The deposit that pays for it, docs/rentals.md; without one it is neither excused nor rewarded"),
		maxPriceMicros: micros.optional().describe("Per hour; refused when the price has risen above it"),
	})
	.refine((body) => (body.providerId === undefined) !== (body.want === undefined), "give providerId or want, not both");

export const rentalsQuery = z.strictObject({
	state: rentalState.optional(),
	providerId: providerId.optional(),
	...paging,
});
export const extendBody = z.strictObject({ durationMs: durationMs.describe("Added to the end") });
