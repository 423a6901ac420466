// Probes: their rows from `running` to `done` or `abandoned`, and what a killed process left to be counted. Page: docs/network.md §4.
import { AssayError } from "../protocol/assay-error.ts";
import { hex, integer, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { EvidenceFolder } from "./files/evidence.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { Row } from "./postgres/database.ts";
import { finishProbe } from "./probe-finish.ts";
import { providerLease } from "./queue/leases.ts";
import { bossOn } from "./queue/queue.ts";
import { takeOver } from "./queue/take-over.ts";
import { toObject } from "./rows.ts";
import type { PendingProbe, Probe, ProbeStore } from "./store.ts";

const COLUMNS = `id, provider_id, job_id, validator, process, link, state, started_at_ms, finished_at_ms, verdict, code, "where", detail,
	evidence_sha256, evidence_bytes, figures, findings, devices`;
const toProbe = (row: Row): Probe => toObject<Probe>(row);

/** Half-written files of a process that was killed; a running one needs seconds. */
const DRAFT_AGE_MS = 3_600_000;

export function createProbeStore(context: StoreContext, evidence: EvidenceFolder): ProbeStore {
	const { database, process: me } = context;

	const byIds = async (ids: readonly string[]): Promise<readonly Probe[]> =>
		(await database.read(`SELECT ${COLUMNS} FROM probes WHERE id = ANY ($1) ORDER BY started_at_ms, id`, [ids])).map(
			toProbe,
		);

	return {
		async begin(probe) {
			const providerId = hex("a provider's id", probe.providerId, 64);
			await database.transaction(async (sql) => {
				// Locked until the row is there: a take-over at this moment sees the lease or the row.
				const leases = await sql.query(
					"SELECT 1 FROM leases WHERE name = $1 AND holder = $2 AND expires_at > clock_timestamp() FOR SHARE",
					[providerLease(providerId), me],
				);
				if (leases.length === 0)
					throw new AssayError("STORE_LEASE_LOST", `this process does not hold the lease on provider ${providerId}`);
				// An earlier one of this holder that never ended (its handler failed): it cannot end any more.
				await sql.query(
					"UPDATE probes SET state = 'abandoned', finished_at_ms = $2 WHERE provider_id = $1 AND state = 'running'",
					[providerId, integer("startedAtMs", probe.startedAtMs)],
				);
				const inserted = await sql.write(
					`INSERT INTO probes (id, provider_id, job_id, validator, process, link, state, started_at_ms)
					SELECT $1, id, $3, $4, $5, link, 'running', $6 FROM providers WHERE id = $2`,
					[
						hex("a probe's id", probe.id, 32),
						providerId,
						probe.jobId,
						text("a validator's key", probe.validator, 200),
						me,
						probe.startedAtMs,
					],
				);
				if (inserted === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${providerId}`);
			});
		},

		async finish(finish) {
			const result = await finishProbe(context, finish);
			// Counted now or before: the note has done its duty either way, unless there was nothing to count it for.
			if (result.counted || (await isDone(finish.probeId))) await evidence.store.dropPending(finish.probeId);
			return result;
		},

		async abandon(probeId, { nowMs, nextProbeAtMs }) {
			return await database.transaction(async (sql) => {
				const [probe] = await sql.query(
					"UPDATE probes SET state = 'abandoned', finished_at_ms = $2 WHERE id = $1 AND state = 'running' RETURNING provider_id, job_id",
					[hex("a probe's id", probeId, 32), integer("nowMs", nowMs)],
				);
				if (!probe) return false;
				const [provider] = await sql.query("SELECT job_id, job_queue FROM providers WHERE id = $1 FOR UPDATE", [
					probe.provider_id,
				]);
				await sql.query(
					"UPDATE providers SET next_probe_at_ms = least($2, coalesce(requested_at_ms, $2)), requested_at_ms = NULL WHERE id = $1",
					[probe.provider_id, integer("nextProbeAtMs", nextProbeAtMs)],
				);
				if (provider.job_id !== null && provider.job_id === probe.job_id) {
					await sql.query(
						"UPDATE providers SET job_id = NULL, job_queue = NULL, job_at_ms = NULL, job_taken_by = NULL WHERE id = $1",
						[probe.provider_id],
					);
					await context.boss.cancel(provider.job_queue, probe.job_id, bossOn(sql));
				}
				return true;
			});
		},

		async recover({ nowMs }) {
			const abandoned = await takeOver(context, integer("nowMs", nowMs));
			await evidence.sweep(DRAFT_AGE_MS);
			const pending: PendingProbe[] = [];
			for (const { probeId, sha256 } of await evidence.pending()) {
				const [row] = await database.read(
					`SELECT ${COLUMNS}, EXISTS (SELECT 1 FROM leases l WHERE l.name = 'provider/' || probes.provider_id AND l.holder = probes.process
						AND l.expires_at > clock_timestamp()) AS alive FROM probes WHERE id = $1`,
					[probeId],
				);
				const alive = row?.state === "running" && row.alive;
				if (row?.state === "done" || (!alive && !(await evidence.store.has(sha256)))) {
					// Killed between steps 4 and 5; or before the file was in its place: then there is nothing to count.
					await evidence.store.dropPending(probeId);
					continue;
				}
				if (alive) continue;
				const { alive: _, ...probe } = row ?? { alive };
				pending.push({ probeId, evidenceSha256: sha256, probe: row ? toProbe(probe) : null });
			}
			return { pending, abandoned: abandoned.length > 0 ? await byIds(abandoned) : [] };
		},

		async get(id) {
			return (await byIds([hex("a probe's id", id, 32)]))[0] ?? null;
		},

		async list(options = {}) {
			const limit = pageLimit(options);
			const {
				providerId = null,
				state = null,
				verdict = null,
				code = null,
				sinceMs = null,
				untilMs = null,
			} = options.filter ?? {};
			const key = decodeCursor("probes", "number", options.cursor);
			const rows = await database.read(
				`SELECT ${COLUMNS} FROM probes
				WHERE ($1::text IS NULL OR provider_id = $1) AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR verdict = $3)
					AND ($4::text IS NULL OR code = $4) AND ($5::bigint IS NULL OR started_at_ms >= $5) AND ($6::bigint IS NULL OR started_at_ms < $6)
					AND ($7::bigint IS NULL OR (started_at_ms, id) < ($7, $8))
				ORDER BY started_at_ms DESC, id DESC LIMIT $9`,
				[providerId, state, verdict, code, sinceMs, untilMs, key?.value ?? null, key?.id ?? null, limit + 1],
			);
			return toPage(rows, limit, toProbe, (row) => encodeCursor("probes", { value: row.started_at_ms, id: row.id }));
		},

		async figureHistory({ providerId, device, name, limit = 100 }) {
			const rows = await database.read(
				`SELECT r.started_at_ms AS at_ms, (f ->> 'value')::bigint AS value, f ->> 'unit' AS unit, r.id AS probe_id
				FROM probes r CROSS JOIN LATERAL jsonb_array_elements(r.figures) f
				WHERE r.provider_id = $1 AND r.verdict = 'valid' AND (f ->> 'device')::integer = $2 AND f ->> 'name' = $3
				ORDER BY r.started_at_ms DESC, r.id DESC LIMIT $4`,
				[
					hex("a provider's id", providerId, 64),
					integer("device", device, 0, 255),
					text("a figure's name", name, 64),
					integer("limit", limit, 1, 1000),
				],
			);
			return rows.map((row) => toObject(row));
		},
	};

	async function isDone(probeId: string): Promise<boolean> {
		const [row] = await database.read("SELECT state FROM probes WHERE id = $1", [probeId]);
		return row?.state === "done";
	}
}
