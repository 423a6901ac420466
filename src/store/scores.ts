// Scores: the current one of each provider with its terms, and a narrow history. Computed in market/, kept here. Page: docs/network.md §5.
import { hex, integer, json, list, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import { toObject } from "./rows.ts";
import type { Score, ScoreStore } from "./store.ts";

const COLUMNS = "s.provider_id, s.at_ms, s.score_ppm, s.mode, s.terms";

export function createScoreStore({ database }: StoreContext): ScoreStore {
	return {
		async put(scores) {
			const rows = list("scores", scores, 100_000).map((score) => [
				hex("a provider's id", score.providerId, 64),
				integer("a score's time", score.atMs),
				integer("a score", score.scorePpm),
				text("a score's mode", score.mode, 40),
				json("a score's terms", score.terms),
			]);
			if (rows.length === 0) return;
			const columns = [0, 1, 2, 3, 4].map((column) => rows.map((row) => row[column]));
			await database.transaction(async (sql) => {
				// In the order of ids, so that two processes that score the same providers wait for each other instead of deadlocking.
				const source = `unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::jsonb[]) AS n (provider_id, at_ms, score_ppm, mode, terms)`;
				await sql.query(
					`INSERT INTO scores AS s (provider_id, at_ms, score_ppm, mode, terms) SELECT * FROM ${source} ORDER BY n.provider_id
					ON CONFLICT (provider_id) DO UPDATE SET at_ms = excluded.at_ms, score_ppm = excluded.score_ppm, mode = excluded.mode,
						terms = excluded.terms WHERE s.at_ms <= excluded.at_ms`,
					columns,
				);
				await sql.query(
					`INSERT INTO score_history (provider_id, at_ms, score_ppm) SELECT provider_id, at_ms, score_ppm FROM ${source}
					ON CONFLICT (provider_id, at_ms) DO UPDATE SET score_ppm = excluded.score_ppm`,
					columns,
				);
				await sql.query(
					`UPDATE providers p SET score_ppm = s.score_ppm FROM scores s WHERE s.provider_id = p.id AND p.id = ANY ($1)
						AND p.score_ppm IS DISTINCT FROM s.score_ppm`,
					[columns[0]],
				);
			});
		},

		async get(providerId) {
			const rows = await database.read(`SELECT ${COLUMNS} FROM scores s WHERE provider_id = $1`, [
				hex("a provider's id", providerId, 64),
			]);
			return rows[0] ? toObject<Score>(rows[0]) : null;
		},

		async history(providerId, options = {}) {
			const limit = pageLimit(options);
			const key = decodeCursor("score-history", "number", options.cursor);
			const rows = await database.read(
				`SELECT at_ms, score_ppm FROM score_history WHERE provider_id = $1 AND ($2::bigint IS NULL OR at_ms < $2) ORDER BY at_ms DESC LIMIT $3`,
				[hex("a provider's id", providerId, 64), key?.value ?? null, limit + 1],
			);
			return toPage(rows, limit, toObject<{ atMs: number; scorePpm: number }>, (row) =>
				encodeCursor("score-history", { value: row.at_ms, id: "" }),
			);
		},

		async list(options = {}) {
			const limit = pageLimit(options);
			const key = decodeCursor("scores", "number", options.cursor);
			const rows = await database.read(
				`SELECT ${COLUMNS}, p.name FROM scores s JOIN providers p ON p.id = s.provider_id
				WHERE p.state <> 'removed' AND ($1::bigint IS NULL OR (s.score_ppm, s.provider_id) < ($1, $2))
				ORDER BY s.score_ppm DESC, s.provider_id DESC LIMIT $3`,
				[key?.value ?? null, key?.id ?? null, limit + 1],
			);
			return toPage(rows, limit, toObject<Score & { name: string }>, (row) =>
				encodeCursor("scores", { value: row.score_ppm, id: row.provider_id }),
			);
		},

		async all({ sinceMs }) {
			const rows = await database.read(
				`SELECT s.provider_id, s.score_ppm FROM scores s JOIN providers p ON p.id = s.provider_id AND p.state = 'active'
				WHERE s.at_ms >= $1 ORDER BY s.provider_id`,
				[integer("sinceMs", sinceMs)],
			);
			return rows.map((row) => toObject<{ providerId: string; scorePpm: number }>(row));
		},
	};
}
