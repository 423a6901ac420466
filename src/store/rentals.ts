// Rentals: one open one per provider, every change guarded by the state it was decided from. While one is open the provider is out of the
// schedule; when it ends it is due at once. No money moves here; what is owed is written down. Page: docs/network.md §6.
import { AssayError } from "../protocol/assay-error.ts";
import { hex, hostileJson, hostileText, integer, json, list, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendAudit } from "./journal.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { Row } from "./postgres/database.ts";
import { providerLease } from "./queue/leases.ts";
import { toObject } from "./rows.ts";
import type { Rental, RentalChange, RentalStore } from "./store.ts";

const COLUMNS = `id, provider_id, customer, state, end_reason, public_key, price_per_hour_micros, devices, access, reserved_at_ms, started_at_ms,
	until_ms, ended_at_ms, charged_micros, refund_micros, misses, last_healthy_at_ms, detail`;
const STATES = ["reserved", "active", "ended", "refused"] as const;
const toRental = (row: Row): Rental => toObject<Rental>(row);
const conflict = (why: string, hint: string) =>
	new AssayError("RENTAL_CONFLICT", `the provider cannot be rented: ${why}`, { hint });
const optional = (what: string, value: number | undefined) => (value === undefined ? null : integer(what, value));

export function createRentalStore({ database, schema }: StoreContext): RentalStore {
	return {
		async reserve(rental, { actor, evenWhileProbed = false }) {
			const values = [
				hex("a rental's id", rental.id, 32),
				hex("a provider's id", rental.providerId, 64),
				text("a customer", rental.customer, 200),
				text("a public key", rental.publicKey, 2000),
				integer("a price", rental.pricePerHourMicros),
				json("devices", list("devices", rental.devices, 256)),
				integer("reservedAtMs", rental.reservedAtMs),
				integer("untilMs", rental.untilMs),
			];
			return await database.transaction(async (sql) => {
				const [provider] = await sql.query(
					"SELECT state, rentable, rental_id FROM providers WHERE id = $1 FOR UPDATE",
					[rental.providerId],
				);
				if (!provider) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${rental.providerId}`);
				if (provider.state !== "active" || !provider.rentable)
					throw conflict("it is not for rent", "Choose another provider.");
				if (provider.rental_id !== null)
					throw conflict("it is rented already", "Choose another provider, or wait for the end.");
				const probing = await sql.query("SELECT 1 FROM leases WHERE name = $1 AND expires_at > clock_timestamp()", [
					providerLease(rental.providerId),
				]);
				if (probing.length > 0 && !evenWhileProbed)
					throw conflict("it is being probed at this moment (busy)", "Try again in half a minute.");
				const [row] = await sql.query(
					`INSERT INTO rentals (id, provider_id, customer, state, public_key, price_per_hour_micros, devices, reserved_at_ms, until_ms)
					VALUES ($1, $2, $3, 'reserved', $4, $5, $6, $7, $8) RETURNING ${COLUMNS}`,
					values,
				);
				await sql.query("UPDATE providers SET rental_id = $2 WHERE id = $1", [rental.providerId, rental.id]);
				const detail = { rental: rental.id, customer: rental.customer, untilMs: rental.untilMs };
				await appendAudit(
					sql,
					schema,
					{ actor, kind: "rental.reserved", subject: rental.providerId, detail },
					rental.reservedAtMs,
				);
				return toRental(row);
			});
		},

		async change(change: RentalChange) {
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
				const [row] = await sql.query(
					`UPDATE rentals SET state = $3, access = coalesce($5::jsonb, access), until_ms = coalesce($6, until_ms), end_reason = $7,
						charged_micros = coalesce($8, charged_micros), refund_micros = coalesce($9, refund_micros), misses = coalesce($10, misses),
						last_healthy_at_ms = coalesce($11, last_healthy_at_ms), detail = coalesce($12, detail),
						started_at_ms = CASE WHEN $3 = 'active' AND $2 = 'reserved' THEN $4 ELSE started_at_ms END,
						ended_at_ms = CASE WHEN $14 THEN $4 ELSE ended_at_ms END
					WHERE id = $1 AND state = $2 AND state IN ('reserved', 'active') AND ($13::bigint IS NULL OR until_ms = $13) RETURNING ${COLUMNS}`,
					values,
				);
				if (!row) return null;
				if (ends) {
					await sql.query(
						"UPDATE providers SET rental_id = NULL, next_probe_at_ms = least(next_probe_at_ms, $3) WHERE id = $1 AND rental_id = $2",
						[row.provider_id, change.id, change.atMs],
					);
				}
				// Health that stays well is not worth a line every half minute.
				if (from !== to || change.untilMs !== undefined) {
					const kind = from !== to ? `rental.${to}` : "rental.extended";
					const detail = {
						rental: change.id,
						untilMs: row.until_ms,
						endReason: row.end_reason,
						refundMicros: row.refund_micros,
					};
					await appendAudit(sql, schema, { actor: change.actor, kind, subject: row.provider_id, detail }, change.atMs);
				}
				return toRental(row);
			});
		},

		async get(id) {
			const rows = await database.read(`SELECT ${COLUMNS} FROM rentals WHERE id = $1`, [hex("a rental's id", id, 32)]);
			return rows[0] ? toRental(rows[0]) : null;
		},

		async list(options = {}) {
			const limit = pageLimit(options);
			const { customer = null, providerId = null, state = null } = options.filter ?? {};
			const key = decodeCursor("rentals", "number", options.cursor);
			const rows = await database.read(
				`SELECT ${COLUMNS} FROM rentals
				WHERE ($1::text IS NULL OR customer = $1) AND ($2::text IS NULL OR provider_id = $2) AND ($3::text IS NULL OR state = $3)
					AND ($4::bigint IS NULL OR (reserved_at_ms, id) < ($4, $5)) ORDER BY reserved_at_ms DESC, id DESC LIMIT $6`,
				[customer, providerId, state, key?.value ?? null, key?.id ?? null, limit + 1],
			);
			return toPage(rows, limit, toRental, (row) => encodeCursor("rentals", { value: row.reserved_at_ms, id: row.id }));
		},

		async open() {
			const rows = await database.read(
				`SELECT ${COLUMNS} FROM rentals WHERE state IN ('reserved', 'active') ORDER BY until_ms, id`,
			);
			return rows.map(toRental);
		},
	};
}
