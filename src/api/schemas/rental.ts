// Offers and rentals: search by proven figures, reserve, extend, release. Money is a record of what is owed;
// none moves here. Page: docs/rentals.md.
import * as z from "zod/mini";
import { integer, matching, note } from "./base.ts";
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
	uptimePpm: note(ppm, "Time connected of the time registered; of hosts that are dialled the same as answeredPpm"),
	answeredPpm: note(ppm, "A record of past probes: how many came to a verdict"),
	reliabilityPpm: ppm,
	scorePpm: z.nullable(ppm),
});

/** Who rents means GPUs, unless told otherwise. */
const rentFilters = {
	...provenFilters,
	minDevices: note(z._default(count, 1), "Cards in the group; 0: hosts without a GPU, too"),
};

export const offersQuery = z.strictObject({
	...rentFilters,
	q: z.optional(searchText),
	sort: z._default(z.enum(SORTS), "price"),
	descending: z.optional(z.boolean()),
	...paging,
});

const rentalState = z.enum(["reserved", "active", "ended", "refused"]);
const rentalEnd = z.enum(["released", "expired", "failed"]);

const rentalAccess = z.object({ host: said, port: integer(1, 65535), user: said, hostKey: said });

export const rental = z.object({
	id: rentalId,
	providerId,
	customer: note(said, "The customer's key"),
	state: rentalState,
	endReason: z.nullable(rentalEnd),
	publicKey: said,
	pricePerHourMicros: micros,
	devices: z.array(count),
	access: z.nullable(rentalAccess),
	reservedAtMs: atMs,
	startedAtMs: z.nullable(atMs),
	untilMs: atMs,
	endedAtMs: z.nullable(atMs),
	chargedMicros: z.nullable(micros),
	refundMicros: z.nullable(micros),
	lastHealthyAtMs: z.nullable(atMs),
	detail: z.nullable(said),
	escrow: z.nullable(chainHex(32, "Its deposit in the RentalEscrow on chain")),
});

/**
 * One line of an authorized_keys file without options: options could widen what the key may do on the host.
 */
const sshPublicKey = note(
	z
		.string()
		.check(
			z.maxLength(1000),
			z.regex(
				/^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]{40,800}={0,2}( [\x21-\x7e]{1,100})?$/,
			),
		),
	"OpenSSH public key, one line",
);

const durationMs = integer(MINUTE_MS, MAX_RENTAL_MS);

/** Either one provider by name, or the cheapest that fits the filters. */
export const rentBody = z
	.strictObject({
		providerId: z.optional(providerId),
		want: z.optional(z.strictObject(rentFilters)),
		publicKey: sshPublicKey,
		durationMs,
		escrow: note(
			z.optional(
				z.strictObject({
					account: chainHex(20, "Who deposited"),
					nonce: note(matching(/^[0-9a-f]{64}$/), "The salt is the tagged hash of the caller's key and this"),
				}),
			),
			"The deposit that pays for it, docs/rentals.md; without one it is neither excused nor rewarded",
		),
		maxPriceMicros: note(z.optional(micros), "Per hour; refused when the price has risen above it"),
	})
	.check(
		z.refine(
			(body) => (body.providerId === undefined) !== (body.want === undefined),
			"give providerId or want, not both",
		),
	);

export const rentalsQuery = z.strictObject({
	state: z.optional(rentalState),
	providerId: z.optional(providerId),
	...paging,
});
export const extendBody = z.strictObject({ durationMs: note(durationMs, "Added to the end") });
