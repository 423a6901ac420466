// Scores: the current one of each provider with its terms. Computed in market/, kept here. Page:
// docs/scores.md.
import type { Json } from "../protocol/bytes/canonical-json.ts";
import { hex, integer, json, list, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { type PageOptions, readPage } from "./page.ts";

interface Score {
	readonly providerId: string;
	readonly atMs: number;
	readonly scorePpm: number;
	/** "holistic" or "sn27". */
	readonly mode: string;
	/** The tree of terms, docs/network.md §2. */
	readonly terms: Json;
}

const COLUMNS = "s.provider_id, s.at_ms, s.score_ppm, s.mode, s.terms";

export function createScoreStore({ database }: StoreContext) {
	return {
		/** Become the providers' current scores, unless there are newer ones. */
		async put(scores: readonly Score[]): Promise<void> {
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
				// In the order of ids, so that two processes that score the same providers wait for each
				// other instead of deadlocking.
				await sql.write(
					`INSERT INTO scores AS s (provider_id, at_ms, score_ppm, mode, terms)
					SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::jsonb[]) AS n (provider_id) ORDER BY n.provider_id
					ON CONFLICT (provider_id) DO UPDATE SET at_ms = excluded.at_ms, score_ppm = excluded.score_ppm, mode = excluded.mode,
						terms = excluded.terms WHERE s.at_ms <= excluded.at_ms`,
					columns,
				);
				await sql.write(
					`UPDATE providers p SET score_ppm = s.score_ppm FROM scores s WHERE s.provider_id = p.id AND p.id = ANY ($1)
						AND p.score_ppm IS DISTINCT FROM s.score_ppm`,
					[columns[0]],
				);
			});
		},

		get: async (providerId: string) =>
			await database.readOne<Score>(`SELECT ${COLUMNS} FROM scores s WHERE provider_id = $1`, [
				hex("a provider's id", providerId, 64),
			]),

		/** Highest first, with the provider's name. */
		list: (options?: PageOptions) =>
			readPage<Score & { readonly name: string }>(
				database,
				{
					name: "scores",
					columns: `${COLUMNS}, p.name`,
					from: "scores s JOIN providers p ON p.id = s.provider_id",
					by: "s.score_ppm",
					id: "s.provider_id",
				},
				[["p.state <> ?", "removed"]],
				options,
			),

		/**
		 * Whose score above 0 stands on a probe before `probedBeforeMs`, and was made before `madeBeforeMs`: the
		 * oldest scores first.
		 */
		async aged(o: { readonly probedBeforeMs: number; readonly madeBeforeMs: number; readonly limit: number }) {
			const rows = await database.read<Pick<Score, "providerId">>(
				`SELECT s.provider_id FROM scores s JOIN providers p ON p.id = s.provider_id
				WHERE p.score_ppm > 0 AND s.at_ms < $2 AND coalesce(p.last_probe_at_ms, -1) < $1 ORDER BY s.at_ms, s.provider_id LIMIT $3`,
				[
					integer("probedBeforeMs", o.probedBeforeMs),
					integer("madeBeforeMs", o.madeBeforeMs),
					integer("a limit", o.limit, 1, 10_000),
				],
			);
			return rows.map(({ providerId }) => providerId);
		},

		/** Every current score of an active provider that is not older than `sinceMs`: what a report says. */
		async all({ sinceMs }: { readonly sinceMs: number }) {
			return await database.read<Pick<Score, "providerId" | "scorePpm">>(
				`SELECT s.provider_id, s.score_ppm FROM scores s JOIN providers p ON p.id = s.provider_id AND p.state = 'active'
				WHERE s.at_ms >= $1 ORDER BY s.provider_id`,
				[integer("sinceMs", sinceMs)],
			);
		},
	};
}
