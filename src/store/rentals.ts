// Rentals: one open one per provider, every change guarded by the state it was decided from. While one is
// open the provider is out of the schedule; when it ends it is due at once. No money moves here; what is owed
// is written down. Page: docs/rentals.md.
import { AssayError } from "../protocol/assay-error.ts";
import type { Rental, RentalAccess, RentalEnd, RentalState } from "../protocol/network/rental.ts";
import { hex, hostileJson, hostileText, integer, json, list, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendJournal } from "./journal.ts";
import { type Query, readPage } from "./page.ts";
import type { Sql } from "./postgres/sql.ts";
import { providerLease, unleased } from "./queue/leases.ts";

type NewRental = Pick<
	Rental,
	| "id"
	| "providerId"
	| "customer"
	| "publicKey"
	| "pricePerHourMicros"
	| "devices"
	| "reservedAtMs"
	| "untilMs"
	| "escrow"
>;

export interface RentalChange {
	readonly id: string;
	/** Guard: the state that it must be in. */
	readonly from: RentalState;
	readonly to: RentalState;
	readonly atMs: number;
	readonly actor: string;
	readonly access?: RentalAccess;
	readonly untilMs?: number;
	readonly endReason?: RentalEnd;
	readonly chargedMicros?: number;
	readonly refundMicros?: number;
	readonly misses?: number;
	readonly lastHealthyAtMs?: number;
	readonly detail?: string;
	/** Guards a change that was decided from an old row: refused when the row has another value by now. */
	readonly ifUntilMs?: number;
}

const COLUMNS = `id, provider_id, customer, state, end_reason, public_key, price_per_hour_micros, devices, access, reserved_at_ms, started_at_ms,
	until_ms, ended_at_ms, charged_micros, refund_micros, misses, last_healthy_at_ms, detail, escrow`;
const STATES = ["reserved", "active", "ended", "refused"] as const;
const conflict = (why: string, hint: string) =>
	new AssayError("RENTAL_CONFLICT", `the provider cannot be rented: ${why}`, { hint });
const optional = (what: string, value: number | undefined) => (value === undefined ? null : integer(what, value));

/** What a customer holds, and what it used without a deposit since a time. */
interface Held {
	readonly open: number;
	readonly openUnpaid: number;
	readonly unpaidMs: number;
}

interface ReserveOptions {
	readonly actor: string;
	/**
	 * Throws where the customer may not have one more. Two requests of one customer come here one after the
	 * other.
	 */
	readonly allow?: { readonly sinceMs: number; readonly check: (held: Held) => void };
}

async function heldBy(sql: Pick<Sql, "query">, customer: string, sinceMs: number): Promise<Held> {
	const isOpen = "state IN ('reserved', 'active')";
	const [held] = await sql.query<Held>(
		`SELECT count(*) FILTER (WHERE ${isOpen})::int AS open, count(*) FILTER (WHERE ${isOpen} AND escrow IS NULL)::int AS open_unpaid,
			coalesce(sum(greatest(0, coalesce(ended_at_ms, until_ms) - greatest(reserved_at_ms, $2))) FILTER (WHERE escrow IS NULL), 0)::bigint AS unpaid_ms
		FROM rentals WHERE customer = $1 AND (${isOpen} OR ended_at_ms > $2)`,
		[text("a customer", customer, 200), integer("sinceMs", sinceMs)],
	);
	return held!;
}

async function reserve(
	{ database, schema }: StoreContext,
	rental: NewRental,
	{ actor, allow }: ReserveOptions,
): Promise<Rental> {
	const { id, providerId, customer, reservedAtMs, untilMs } = rental;
	const values = [
		hex("a rental's id", id, 32),
		hex("a provider's id", providerId, 64),
		text("a customer", customer, 200),
		text("a public key", rental.publicKey, 2000),
		integer("a price", rental.pricePerHourMicros),
		json("devices", list("devices", rental.devices, 256)),
		integer("reservedAtMs", reservedAtMs),
		integer("untilMs", untilMs),
		rental.escrow === null ? null : `0x${hex("a deposit's id", rental.escrow.slice(2), 64)}`,
	];
	return await database.transaction(async (sql) => {
		if (allow !== undefined) {
			await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
				`assay/customer/${schema}/${customer}`,
			]);
			allow.check(await heldBy(sql, customer, allow.sinceMs));
		}
		const [provider] = await sql.query<{
			readonly state: string;
			readonly rentable: boolean;
			readonly rentalId: string | null;
		}>("SELECT state, rentable, rental_id FROM providers WHERE id = $1 FOR UPDATE", [providerId]);
		if (!provider) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${providerId}`);
		if (provider.state !== "active" || !provider.rentable)
			throw conflict("it is not for rent", "Choose another provider.");
		if (provider.rentalId !== null)
			throw conflict("it is rented already", "Choose another provider, or wait for the end.");
		// Asked now that the provider's row is locked: a statement sees what was there when it began.
		const [lease] = await sql.query<{ readonly isFree: boolean }>(`SELECT ${unleased("$1")} AS is_free`, [
			providerLease(providerId),
		]);
		if (!lease?.isFree) throw conflict("it is being probed at this moment (busy)", "Try again in half a minute.");
		const [row] = await sql.query<Rental>(
			`INSERT INTO rentals (id, provider_id, customer, state, public_key, price_per_hour_micros, devices, reserved_at_ms, until_ms, escrow)
			VALUES ($1, $2, $3, 'reserved', $4, $5, $6, $7, $8, $9) RETURNING ${COLUMNS}`,
			values,
		);
		await sql.write("UPDATE providers SET rental_id = $2 WHERE id = $1", [providerId, id]);
		const detail = { rental: id, customer, untilMs };
		await appendJournal(sql, schema, { actor, kind: "rental.reserved", subject: providerId, detail }, reservedAtMs);
		return row!;
	});
}

async function changeRental({ database, schema }: StoreContext, change: RentalChange): Promise<Rental | null> {
	const from = oneOf("the former state", change.from, STATES);
	const to = oneOf("the new state", change.to, STATES);
	const ends = to === "ended" || to === "refused";
	const values = [
		hex("a rental's id", change.id, 32),
		from,
		to,
		integer("atMs", change.atMs),
		change.access === undefined ? null : hostileJson("access", change.access),
		optional("untilMs", change.untilMs),
		to === "ended" ? oneOf("endReason", change.endReason ?? "failed", ["released", "expired", "failed"]) : null,
		optional("chargedMicros", change.chargedMicros),
		optional("refundMicros", change.refundMicros),
		optional("misses", change.misses),
		optional("lastHealthyAtMs", change.lastHealthyAtMs),
		change.detail === undefined ? null : hostileText(change.detail, 1000),
		optional("ifUntilMs", change.ifUntilMs),
		ends,
	];
	return await database.transaction(async (sql) => {
		const [row] = await sql.query<Rental>(
			`UPDATE rentals SET state = $3, access = coalesce($5::jsonb, access), until_ms = coalesce($6, until_ms), end_reason = $7,
				charged_micros = coalesce($8, charged_micros), refund_micros = coalesce($9, refund_micros), misses = coalesce($10, misses),
				last_healthy_at_ms = coalesce($11, last_healthy_at_ms), detail = coalesce($12, detail),
				started_at_ms = CASE WHEN $3 = 'active' AND $2 = 'reserved' THEN $4 ELSE started_at_ms END,
				ended_at_ms = CASE WHEN $14 THEN $4 ELSE ended_at_ms END
			WHERE id = $1 AND state = $2 AND state IN ('reserved', 'active') AND ($13::bigint IS NULL OR until_ms = $13) RETURNING ${COLUMNS}`,
			values,
		);
		if (!row) return null;
		const { providerId, untilMs, endReason, refundMicros } = row;
		if (ends) {
			await sql.write(
				"UPDATE providers SET rental_id = NULL, next_probe_at_ms = least(next_probe_at_ms, $3) WHERE id = $1 AND rental_id = $2",
				[providerId, change.id, change.atMs],
			);
		}
		// Health that stays well is not worth a line every half minute.
		if (from !== to || change.untilMs !== undefined) {
			const kind = from !== to ? `rental.${to}` : "rental.extended";
			const detail = { rental: change.id, untilMs, endReason, refundMicros };
			await appendJournal(sql, schema, { actor: change.actor, kind, subject: providerId, detail }, change.atMs);
		}
		return row;
	});
}

export function createRentalStore(context: StoreContext) {
	const { database } = context;
	return {
		/**
		 * `reserved`, and the provider out of the schedule, in one transaction. RENTAL_CONFLICT when the provider
		 * has another rental, is not active, not rentable, or is being probed at this moment (try again).
		 */
		reserve: (rental: NewRental, options: ReserveOptions) => reserve(context, rental, options),
		held: (customer: string, { sinceMs }: { readonly sinceMs: number }) =>
			database.transaction((sql) => heldBy(sql, customer, sinceMs)),
		/**
		 * Null: it is not in the state `from`, nothing was changed. Ended or refused: the provider is due at
		 * once.
		 */
		change: (change: RentalChange) => changeRental(context, change),

		get: async (id: string) =>
			await database.readOne<Rental>(`SELECT ${COLUMNS} FROM rentals WHERE id = $1`, [hex("a rental's id", id, 32)]),

		/** Newest first. */
		list: (query: Query<Pick<Rental, "customer" | "providerId" | "state">> = {}) =>
			readPage<Rental>(
				database,
				{ name: "rentals", columns: COLUMNS, from: "rentals", by: "reserved_at_ms", id: "id" },
				[
					["customer = ?", query.customer],
					["provider_id = ?", query.providerId],
					["state = ?", query.state],
				],
				query,
			),

		/** All that are reserved or active: for the health watch and the expiry. */
		async open() {
			return await database.read<Rental>(
				`SELECT ${COLUMNS} FROM rentals WHERE state IN ('reserved', 'active') ORDER BY until_ms, id`,
			);
		},
	};
}
