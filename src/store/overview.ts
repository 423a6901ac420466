// The network in numbers, from rows that are few or counted beforehand; and the removal of history that
// nobody needs.
import type { VerdictStatus } from "../protocol/probe/verdict.ts";
import { integer } from "./check-input.ts";
import type { StoreContext } from "./context.ts";

export interface Overview {
	readonly providers: {
		readonly active: number;
		readonly paused: number;
		readonly connected: number;
		readonly rented: number;
		/** Active, and their owners let them, whether they are free now or not. */
		readonly offered: number;
		readonly proven: number;
	};
	readonly gpus: number;
	readonly models: readonly { readonly model: string; readonly gpus: number; readonly providers: number }[];
	/** Each GPU counts as the weakest of its group. In millions: ten thousand hosts pass 2⁵³ op/s and bytes. */
	readonly proven: { readonly fp16MopPerS: number; readonly memoryMiB: number; readonly memoryMBPerS: number };
	readonly probes: {
		readonly running: number;
		/** Ended within the last 60 minutes, whatever the clock says. */
		readonly lastHour: number;
		readonly day: Readonly<Record<VerdictStatus, number>>;
		readonly total: Readonly<Record<VerdictStatus, number>>;
		/** Invalid with a code that no honest host can cause. */
		readonly cheats: { readonly day: number; readonly total: number };
		/** Oldest first, empty hours included; the last one is not over yet. */
		readonly hours: readonly Hour[];
	};
	readonly evidence: { readonly files: number; readonly bytes: number };
}

/** Probes that ended in an hour, by verdict, and what they left. */
interface Hour extends Readonly<Record<VerdictStatus, number>> {
	readonly atMs: number;
	readonly cheats: number;
	readonly files: number;
}

interface PruneOptions {
	readonly probesBeforeMs: number;
	readonly nowMs: number;
	/** Rows a call. */
	readonly limit?: number;
}

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

type ModelRow = Overview["models"][number] & {
	readonly fp16: number;
	readonly memory: number;
	readonly bandwidth: number;
};
const HOURS = 24;
type TotalRow = Overview["evidence"] & {
	readonly verdict: VerdictStatus;
	readonly total: number;
	readonly day: number;
	readonly cheats: number;
	readonly cheatsOfDay: number;
};
interface HourRow {
	readonly hourAtMs: number;
	readonly verdict: VerdictStatus;
	readonly count: number;
	readonly cheats: number;
	readonly files: number;
}

export function createOverview({ database }: StoreContext) {
	return async ({ nowMs }: { readonly nowMs: number }): Promise<Overview> => {
		// Hours are counted whole: the day's window ends with the current hour.
		const since = Math.floor((integer("nowMs", nowMs) - DAY_MS) / HOUR_MS) * HOUR_MS;
		const [providers, models, running, lastHour, totals, hours] = await Promise.all([
			database.read<Overview["providers"]>(
				`SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'paused') AS paused,
					count(*) FILTER (WHERE state = 'active' AND connected_to IS NOT NULL) AS connected,
					count(*) FILTER (WHERE rental_id IS NOT NULL) AS rented,
					count(*) FILTER (WHERE state = 'active' AND rentable) AS offered,
					count(*) FILTER (WHERE state = 'active' AND last_verdict = 'valid') AS proven
				FROM providers`,
			),
			database.read<ModelRow>(
				`SELECT h.model, sum(h.count)::bigint AS gpus, count(*) AS providers,
					coalesce(sum(h.count * h.fp16_ops_per_s::numeric) / 1e6, 0)::bigint AS fp16,
					coalesce(sum(h.count * h.memory_bytes::numeric) / 1048576, 0)::bigint AS memory,
					coalesce(sum(h.count * h.memory_bytes_per_s::numeric) / 1e6, 0)::bigint AS bandwidth FROM holdings h
				JOIN providers p ON p.id = h.provider_id AND p.state = 'active' AND p.last_verdict = 'valid'
				GROUP BY h.model ORDER BY gpus DESC, h.model LIMIT 1000`,
			),
			database.read<{ readonly running: number }>("SELECT count(*) AS running FROM probes WHERE state = 'running'"),
			database.read<{ readonly ended: number }>(
				"SELECT count(*) AS ended FROM probes WHERE state = 'done' AND finished_at_ms > $1 AND finished_at_ms <= $2",
				[nowMs - HOUR_MS, nowMs],
			),
			database.read<TotalRow>(
				`SELECT verdict, sum(count)::bigint AS total, coalesce(sum(count) FILTER (WHERE hour_at_ms > $1), 0)::bigint AS day,
					sum(cheats)::bigint AS cheats, coalesce(sum(cheats) FILTER (WHERE hour_at_ms > $1), 0)::bigint AS cheats_of_day,
					sum(evidence_files)::bigint AS files, sum(evidence_bytes)::bigint AS bytes FROM probe_hours GROUP BY verdict`,
				[since],
			),
			database.read<HourRow>(
				"SELECT hour_at_ms, verdict, count, cheats, evidence_files AS files FROM probe_hours WHERE hour_at_ms > $1",
				[since],
			),
		]);
		const total: Record<VerdictStatus, number> = { valid: 0, invalid: 0, inconclusive: 0 };
		const day = { ...total };
		const cheats = { day: 0, total: 0 };
		const evidence = { files: 0, bytes: 0 };
		for (const row of totals) {
			total[row.verdict] = row.total;
			day[row.verdict] = row.day;
			cheats.total += row.cheats;
			cheats.day += row.cheatsOfDay;
			evidence.files += row.files;
			evidence.bytes += row.bytes;
		}
		return {
			providers: providers[0]!,
			gpus: sumOf(models, "gpus"),
			models: models.map(({ model, gpus, providers }) => ({ model, gpus, providers })),
			proven: {
				fp16MopPerS: sumOf(models, "fp16"),
				memoryMiB: sumOf(models, "memory"),
				memoryMBPerS: sumOf(models, "bandwidth"),
			},
			probes: {
				...{ running: running[0]!.running, lastHour: lastHour[0]!.ended },
				...{ day, total, cheats, hours: hoursOf(hours, since) },
			},
			evidence,
		};
	};
}

function hoursOf(rows: readonly HourRow[], since: number): Hour[] {
	return Array.from({ length: HOURS }, (_, i) => {
		const atMs = since + (i + 1) * HOUR_MS;
		const hour = { atMs, valid: 0, invalid: 0, inconclusive: 0, cheats: 0, files: 0 };
		for (const row of rows) {
			if (row.hourAtMs !== atMs) continue;
			hour[row.verdict] += row.count;
			hour.cheats += row.cheats;
			hour.files += row.files;
		}
		return hour;
	});
}

function sumOf(rows: readonly ModelRow[], column: "gpus" | "fp16" | "memory" | "bandwidth"): number {
	return rows.reduce((sum, row) => sum + row[column], 0);
}

export function createPrune({ database }: StoreContext) {
	return async ({ probesBeforeMs, nowMs, limit = 10_000 }: PruneOptions) => {
		integer("limit", limit, 1, 1_000_000);
		// In batches by row id: a long delete would hold up everything else. The probe behind a provider's
		// current figures stays.
		const probes = await database.write(
			`DELETE FROM probes WHERE id IN (SELECT r.id FROM probes r WHERE r.started_at_ms < $1 AND r.state <> 'running'
				AND NOT EXISTS (SELECT 1 FROM figures f WHERE f.provider_id = r.provider_id AND f.probe_id = r.id) ORDER BY r.started_at_ms LIMIT $2)`,
			[integer("probesBeforeMs", probesBeforeMs), limit],
		);
		const nonces = await database.write(
			"DELETE FROM nonces WHERE (key, nonce) IN (SELECT key, nonce FROM nonces WHERE expires_at_ms < $1 ORDER BY expires_at_ms LIMIT $2)",
			[integer("nowMs", nowMs), limit],
		);
		return { probes, nonces };
	};
}
