// Epochs: validators' reports while one is open, the weights that came of them when it closes. Closing happens once. Page: docs/network.md §5.

import { hex, integer, json, list, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendAudit } from "./journal.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { Row } from "./postgres/database.ts";
import { toObject } from "./rows.ts";
import type { Epoch, EpochStore, Report, Weight } from "./store.ts";

const COLUMNS = "number, state, starts_at_ms, ends_at_ms, emission_micros, params, closed_at_ms";
const toEpoch = (row: Row): Epoch => toObject<Epoch>(row);
const toWeight = (row: Row): Weight => toObject<Weight>(row);

/** One of 10,000 providers has some 75 characters in a report. */
const REPORT_PROVIDERS = 100_000;

export function createEpochStore({ database, schema }: StoreContext): EpochStore {
	return {
		async open(epoch) {
			const opened = await database.write(
				`INSERT INTO epochs (number, state, starts_at_ms, ends_at_ms, emission_micros, params) VALUES ($1, 'open', $2, $3, $4, $5)
				ON CONFLICT DO NOTHING`,
				[
					integer("an epoch's number", epoch.number),
					integer("startsAtMs", epoch.startsAtMs),
					integer("endsAtMs", epoch.endsAtMs),
					integer("emissionMicros", epoch.emissionMicros),
					json("an epoch's parameters", epoch.params),
				],
			);
			return opened === 1;
		},

		async move({ number, startsAtMs, endsAtMs }) {
			const moved = await database.write(
				"UPDATE epochs SET starts_at_ms = $2, ends_at_ms = $3 WHERE number = $1 AND state = 'open'",
				[integer("an epoch's number", number), integer("startsAtMs", startsAtMs), integer("endsAtMs", endsAtMs)],
			);
			return moved === 1;
		},

		async current() {
			const rows = await database.read(`SELECT ${COLUMNS} FROM epochs WHERE state = 'open'`);
			return rows[0] ? toEpoch(rows[0]) : null;
		},

		async get(number) {
			const rows = await database.read(`SELECT ${COLUMNS} FROM epochs WHERE number = $1`, [
				integer("an epoch's number", number),
			]);
			return rows[0] ? toEpoch(rows[0]) : null;
		},

		async list(options = {}) {
			const limit = pageLimit(options);
			const key = decodeCursor("epochs", "number", options.cursor);
			const rows = await database.read(
				`SELECT ${COLUMNS} FROM epochs WHERE ($1::bigint IS NULL OR number < $1) ORDER BY number DESC LIMIT $2`,
				[key?.value ?? null, limit + 1],
			);
			return toPage(rows, limit, toEpoch, (row) => encodeCursor("epochs", { value: row.number, id: "" }));
		},

		async putReport(report) {
			for (const [id, score] of list("a report's scores", Object.entries(report.scores), REPORT_PROVIDERS)) {
				hex("a provider's id", id, 64);
				integer("a score", score);
			}
			const put = await database.write(
				`INSERT INTO reports AS r (epoch, validator, scores, signature, received_at_ms)
				SELECT number, $2, $3, $4, $5 FROM epochs WHERE number = $1 AND state = 'open' FOR SHARE
				ON CONFLICT (epoch, validator) DO UPDATE SET scores = excluded.scores, signature = excluded.signature, received_at_ms = excluded.received_at_ms`,
				[
					integer("an epoch's number", report.epoch),
					text("a validator's key", report.validator, 200),
					JSON.stringify(report.scores),
					text("a signature", report.signature, 500),
					integer("receivedAtMs", report.receivedAtMs),
				],
			);
			return put === 1;
		},

		async reports(number) {
			const rows = await database.read(
				`SELECT epoch, validator, scores, signature, received_at_ms FROM reports WHERE epoch = $1 ORDER BY validator COLLATE "C"`,
				[integer("an epoch's number", number)],
			);
			return rows.map((row) => toObject<Report>(row));
		},

		async close({ number, weights, closedAtMs, actor }) {
			const ids = list("weights", weights, REPORT_PROVIDERS).map((weight) =>
				hex("a provider's id", weight.providerId, 64),
			);
			const weightsPpm = weights.map((weight) => integer("a weight", weight.weightPpm));
			const sharesMicros = weights.map((weight) => integer("a share", weight.shareMicros));
			return await database.transaction(async (sql) => {
				// Waits for reports that are being written (FOR SHARE above): none is acknowledged and then left out.
				const closed = await sql.write(
					"UPDATE epochs SET state = 'closed', closed_at_ms = $2 WHERE number = $1 AND state = 'open'",
					[integer("an epoch's number", number), integer("closedAtMs", closedAtMs)],
				);
				if (closed === 0) return false;
				await sql.query(
					`INSERT INTO weights (epoch, provider_id, weight_ppm, share_micros)
					SELECT $1, n.provider_id, n.weight_ppm, n.share_micros FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS n (provider_id, weight_ppm, share_micros)`,
					[number, ids, weightsPpm, sharesMicros],
				);
				const detail = { providers: ids.length, sharesMicros: sharesMicros.reduce((sum, share) => sum + share, 0) };
				await appendAudit(sql, schema, { actor, kind: "epoch.closed", subject: String(number), detail }, closedAtMs);
				return true;
			});
		},

		async weights(number, options = {}) {
			const limit = pageLimit(options);
			const key = decodeCursor(`weights/${number}`, "number", options.cursor);
			const rows = await database.read(
				`SELECT epoch, provider_id, weight_ppm, share_micros FROM weights
				WHERE epoch = $1 AND ($2::bigint IS NULL OR (weight_ppm, provider_id) < ($2, $3)) ORDER BY weight_ppm DESC, provider_id DESC LIMIT $4`,
				[integer("an epoch's number", number), key?.value ?? null, key?.id ?? null, limit + 1],
			);
			return toPage(rows, limit, toWeight, (row) =>
				encodeCursor(`weights/${number}`, { value: row.weight_ppm, id: row.provider_id }),
			);
		},

		async weightsOf(providerId, options = {}) {
			const limit = pageLimit(options);
			const key = decodeCursor("weights-of", "number", options.cursor);
			const rows = await database.read(
				`SELECT epoch, provider_id, weight_ppm, share_micros FROM weights
				WHERE provider_id = $1 AND ($2::bigint IS NULL OR epoch < $2) ORDER BY epoch DESC LIMIT $3`,
				[hex("a provider's id", providerId, 64), key?.value ?? null, limit + 1],
			);
			return toPage(rows, limit, toWeight, (row) => encodeCursor("weights-of", { value: row.epoch, id: "" }));
		},
	};
}
