// Providers: who they are, what they offer, where their connection is held, when they are due. Decides nothing: schedules and scores come in
// decided. Figures and cards of theirs are written with a probe (probe-finish.ts) and read here. Page: docs/network.md §1, §3.
import { AssayError } from "../protocol/assay-error.ts";
import { hex, hostileJson, hostileText, integer, json, list, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendAudit } from "./journal.ts";
import { encodeCursor, toPage } from "./page.ts";
import type { Row, Sql } from "./postgres/database.ts";
import { providerCountStatement, providerListStatement } from "./provider-query.ts";
import { toObject } from "./rows.ts";
import type { CurrentFigure, Holding, Offer, Provider, ProviderStore } from "./store.ts";

export const PROVIDER_COLUMNS = `p.id, p.name, p.link, p.target, p.state, p.price_per_hour_micros, p.rentable, p.ssh, p.registered_at_ms,
	p.connected_to, p.connected_at_ms, p.last_seen_at_ms, p.next_probe_at_ms, p.failures, p.retries, p.last_verdict, p.last_code,
	p.last_probe_at_ms, p.last_valid_at_ms, p.reliability_ppm, p.uptime_ppm, p.schedule, p.job_id, p.rental_id, p.score_ppm, p.model,
	p.gpu_count, p.memory_bytes, p.fp16_ops_per_s, p.memory_bytes_per_s`;

const LINKS = ["agent", "ssh", "local"] as const;
const STATES = ["active", "paused", "removed"] as const;

const toProvider = (row: Row): Provider => toObject<Provider>(row);
const providerId = (id: string): string => hex("a provider's id", id, 64);

/** The offer comes from the provider itself: its name is cut and made harmless. */
function offerValues(offer: Offer): readonly [string, number, boolean, boolean] {
	const price = integer("a price", offer.pricePerHourMicros);
	return [hostileText(offer.name, 100), price, offer.rentable === true, offer.ssh === true];
}

async function storeClaim(sql: Sql, id: string, claim: unknown, nowMs: number): Promise<void> {
	await sql.query(
		`INSERT INTO claims (provider_id, claim, at_ms) VALUES ($1, $2, $3)
		ON CONFLICT (provider_id) DO UPDATE SET claim = excluded.claim, at_ms = excluded.at_ms`,
		[id, hostileJson("a claim", claim), nowMs],
	);
}

export interface Providers {
	readonly store: ProviderStore;
	/** After this process was held for dead: the connections that it still has are its own again, unless another has them by now. */
	reconnect(): Promise<void>;
	disconnectAll(): Promise<void>;
}

export function createProviderStore({ database, schema, process: me }: StoreContext): Providers {
	/** Connections that this process holds. */
	const connected = new Map<string, number>();
	const must = (changed: number, id: string): void => {
		if (changed === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${id}`);
	};

	const store: ProviderStore = {
		async register(provider, { nowMs, actor }) {
			const id = providerId(provider.id);
			const link = oneOf("a provider's link", provider.link, LINKS);
			const values = [
				id,
				link,
				text("a target", provider.target, 500),
				integer("nowMs", nowMs),
				...offerValues(provider),
			];
			return await database.transaction(async (sql) => {
				const [created] = await sql.query(
					`INSERT INTO providers AS p (id, link, target, registered_at_ms, next_probe_at_ms, name, price_per_hour_micros, rentable, ssh, state)
					VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8, 'active') ON CONFLICT (id) DO NOTHING RETURNING ${PROVIDER_COLUMNS}`,
					values,
				);
				let row = created;
				let changed = true;
				if (!row) {
					const [old] = await sql.query(
						"SELECT link, target, name, price_per_hour_micros, rentable, ssh, state FROM providers WHERE id = $1 FOR UPDATE",
						[id],
					);
					[row] = await sql.query(
						`UPDATE providers p SET link = $2, target = $3, name = $5, price_per_hour_micros = $6, rentable = $7, ssh = $8,
							state = CASE WHEN state = 'removed' THEN 'active' ELSE state END,
							next_probe_at_ms = CASE WHEN state = 'removed' THEN $4 ELSE next_probe_at_ms END
						WHERE id = $1 RETURNING ${PROVIDER_COLUMNS}`,
						values,
					);
					changed = Object.keys(old).some((column) => old[column] !== row[column]);
				}
				if (provider.claim) await storeClaim(sql, id, provider.claim, nowMs);
				// A provider that dials in again every few minutes with the same words is not news.
				if (changed) {
					const detail = {
						link,
						name: row.name,
						pricePerHourMicros: row.price_per_hour_micros,
						rentable: row.rentable,
					};
					const kind = created ? "provider.registered" : "provider.changed";
					await appendAudit(sql, schema, { actor, kind, subject: id, detail }, nowMs);
				}
				return { provider: toProvider(row), created: created !== undefined };
			});
		},

		async get(id) {
			const rows = await database.read(`SELECT ${PROVIDER_COLUMNS} FROM providers p WHERE id = $1`, [providerId(id)]);
			return rows[0] ? toProvider(rows[0]) : null;
		},

		async getMany(ids) {
			list("ids", ids, 10_000).forEach(providerId);
			const rows = await database.read(`SELECT ${PROVIDER_COLUMNS} FROM providers p WHERE id = ANY ($1) ORDER BY id`, [
				ids,
			]);
			return rows.map(toProvider);
		},

		async list(query = {}) {
			const statement = providerListStatement(PROVIDER_COLUMNS, query);
			const rows = await database.read(statement.text, statement.values);
			const toRow = ({ sort_value: _, ...row }: Row) => toProvider(row);
			return toPage(rows, statement.limit, toRow, (row) =>
				encodeCursor(statement.list, { value: row.sort_value, id: row.id }),
			);
		},

		async count(filter = {}) {
			const statement = providerCountStatement(filter);
			return (await database.read(statement.text, statement.values))[0].count;
		},

		async claim(id) {
			return (
				(await database.read("SELECT claim FROM claims WHERE provider_id = $1", [providerId(id)]))[0]?.claim ?? null
			);
		},

		async holdings(id) {
			const rows = await database.read(
				"SELECT model, count, figures FROM holdings WHERE provider_id = $1 ORDER BY count DESC, model",
				[providerId(id)],
			);
			return rows as readonly Holding[];
		},

		async figures(id) {
			const rows = await database.read(
				`SELECT device, name, value, unit, probe_id, evidence_sha256, at_ms FROM figures
				WHERE provider_id = $1 ORDER BY device, name COLLATE "C"`,
				[providerId(id)],
			);
			return rows.map((row) => toObject<CurrentFigure>(row));
		},

		async setState(id, state, { nowMs, actor }) {
			oneOf("a provider's state", state, STATES);
			await database.transaction(async (sql) => {
				// Back from a pause: due at once if its time has passed, as it is.
				must(await sql.write("UPDATE providers SET state = $2 WHERE id = $1", [providerId(id), state]), id);
				await appendAudit(sql, schema, { actor, kind: `provider.${state}`, subject: id, detail: {} }, nowMs);
			});
		},

		async setOffer(id, offer, { nowMs, actor }) {
			await database.transaction(async (sql) => {
				const [old] = await sql.query(
					`SELECT name, price_per_hour_micros AS "pricePerHourMicros", rentable, ssh FROM providers WHERE id = $1 FOR UPDATE`,
					[providerId(id)],
				);
				if (!old) must(0, id);
				const [name, price, rentable, ssh] = offerValues({ ...(old as Offer), ...offer });
				await sql.query(
					"UPDATE providers SET name = $2, price_per_hour_micros = $3, rentable = $4, ssh = $5 WHERE id = $1",
					[id, name, price, rentable, ssh],
				);
				const detail = { name, pricePerHourMicros: price, rentable, ssh };
				await appendAudit(sql, schema, { actor, kind: "provider.changed", subject: id, detail }, nowMs);
			});
		},

		async setClaim(id, claim, { nowMs }) {
			await storeClaim(database, providerId(id), claim, integer("nowMs", nowMs));
		},

		async requestProbe(id, { atMs }) {
			const changed = await database.write(
				`UPDATE providers SET next_probe_at_ms = least(next_probe_at_ms, $2),
					requested_at_ms = CASE WHEN job_id IS NULL THEN requested_at_ms ELSE least(coalesce(requested_at_ms, $2), $2) END
				WHERE id = $1`,
				[providerId(id), integer("atMs", atMs)],
			);
			must(changed, id);
		},

		async setSchedule(id, schedule) {
			must(
				await database.write("UPDATE providers SET schedule = $2 WHERE id = $1", [
					providerId(id),
					json("a schedule", schedule),
				]),
				id,
			);
		},

		async connect(id, { nowMs }) {
			const changed = await database.write(
				"UPDATE providers SET connected_to = $2, connected_at_ms = $3, last_seen_at_ms = $3 WHERE id = $1",
				[providerId(id), me, integer("nowMs", nowMs)],
			);
			must(changed, id);
			connected.set(id, nowMs);
		},

		async disconnect(id, { nowMs }) {
			connected.delete(id);
			await database.write(
				"UPDATE providers SET connected_to = NULL, connected_at_ms = NULL, last_seen_at_ms = $3 WHERE id = $1 AND connected_to = $2",
				[providerId(id), me, integer("nowMs", nowMs)],
			);
		},
	};

	return {
		store,
		async reconnect() {
			await database.write(
				`UPDATE providers p SET connected_to = $1, connected_at_ms = n.at_ms FROM unnest($2::text[], $3::bigint[]) AS n (id, at_ms)
				WHERE p.id = n.id AND p.connected_to IS NULL`,
				[me, [...connected.keys()], [...connected.values()]],
			);
		},
		async disconnectAll() {
			connected.clear();
			await database
				.write("UPDATE providers SET connected_to = NULL, connected_at_ms = NULL WHERE connected_to = $1", [me])
				.catch(() => {});
		},
	};
}
