// Probes: their rows from `running` to `done` or `abandoned`, and what a killed process left to be counted.
// Page: docs/schedule.md §3.
import { AssayError } from "../protocol/assay-error.ts";
import type { Figure, LinkKind } from "../protocol/probe/evidence.ts";
import type { CountedAttestation, Finding, Strength, VerdictStatus } from "../protocol/probe/verdict.ts";
import { hex, integer, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { DeviceRow } from "./devices.ts";
import type { EvidenceFolder } from "./files/evidence.ts";
import { type Query, readPage } from "./page.ts";
import { type FinishProbe, type FinishResult, finishProbe } from "./probe-finish.ts";
import type { CurrentFigure, Provider } from "./providers.ts";
import { alive, holdsLease, providerLease } from "./queue/leases.ts";
import { takeOver } from "./queue/take-over.ts";

type ProbeState = "running" | "done" | "abandoned";

export interface Probe {
	/** 32 hex digits, the same as in the evidence. */
	readonly id: string;
	readonly providerId: string;
	readonly validator: string;
	readonly process: string;
	readonly link: LinkKind;
	readonly state: ProbeState;
	readonly startedAtMs: number;
	readonly finishedAtMs: number | null;
	readonly verdict: VerdictStatus | null;
	readonly code: string | null;
	readonly where: string | null;
	readonly detail: string | null;
	readonly evidenceSha256: string | null;
	readonly evidenceBytes: number | null;
	/** Of a valid one. */
	readonly strength: Strength | null;
	/** Proven figures, findings and devices; empty unless valid. */
	readonly figures: readonly Figure[];
	readonly findings: readonly Finding[];
	readonly devices: readonly DeviceRow[];
	/** Of a valid one whose host was asked for signed reports. */
	readonly attestation: CountedAttestation | null;
	readonly host: ProbedHost;
}

/** Its provider as it is now: largest group of equal cards, fp16 of the weakest. */
type ProbedHost = Pick<Provider, "name" | "model" | "gpuCount" | "fp16OpsPerS">;

type NewProbe = Pick<Probe, "id" | "providerId" | "validator" | "startedAtMs">;

export interface PendingProbe {
	readonly probeId: string;
	readonly evidenceSha256: string;
	/** Null: no such row (the entry is of another database). */
	readonly probe: Probe | null;
}

interface Recovered {
	readonly pending: readonly PendingProbe[];
	readonly abandoned: readonly Probe[];
}

interface FigureOfDevice {
	readonly providerId: string;
	readonly device: number;
	readonly name: string;
	readonly limit?: number;
}

type PastFigure = Pick<CurrentFigure, "atMs" | "value" | "unit" | "probeId">;

interface ProbeFilter extends Pick<Probe, "providerId" | "state"> {
	readonly verdict: VerdictStatus;
	readonly code: string;
	/** When it began. */
	readonly sinceMs: number;
	readonly untilMs: number;
}

const COLUMNS = `id, provider_id, validator, process, link, state, started_at_ms, finished_at_ms, verdict, code, "where", detail,
	evidence_sha256, evidence_bytes, strength, figures, findings, devices, attestation,
	(SELECT jsonb_build_object('name', p.name, 'model', p.model, 'gpuCount', p.gpu_count, 'fp16OpsPerS', p.fp16_ops_per_s) FROM providers p
		WHERE p.id = probes.provider_id) AS host`;

/** Half-written files of a process that was killed; a running one needs seconds. */
const DRAFT_AGE_MS = 3_600_000;

async function begin({ database, process: me }: StoreContext, probe: NewProbe): Promise<void> {
	const providerId = hex("a provider's id", probe.providerId, 64);
	const startedAtMs = integer("startedAtMs", probe.startedAtMs);
	await database.transaction(async (sql) => {
		// Locked until the row is there: a take-over at this moment sees the lease or the row.
		if (!(await holdsLease(sql, providerLease(providerId), me)))
			throw new AssayError("STORE_LEASE_LOST", `this process does not hold the lease on provider ${providerId}`);
		// An earlier one of this holder that never ended (its handler failed): it cannot end any more.
		await sql.write(
			"UPDATE probes SET state = 'abandoned', finished_at_ms = $2 WHERE provider_id = $1 AND state = 'running'",
			[providerId, startedAtMs],
		);
		const inserted = await sql.write(
			`INSERT INTO probes (id, provider_id, validator, process, link, state, started_at_ms)
			SELECT $1, id, $3, $4, link, 'running', $5 FROM providers WHERE id = $2`,
			[hex("a probe's id", probe.id, 32), providerId, text("a validator's key", probe.validator, 200), me, startedAtMs],
		);
		if (inserted === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${providerId}`);
	});
}

async function recover(context: StoreContext, evidence: EvidenceFolder, nowMs: number): Promise<Recovered> {
	const { database } = context;
	const abandoned = await takeOver(context, integer("nowMs", nowMs));
	await evidence.sweep(DRAFT_AGE_MS);
	const pending: PendingProbe[] = [];
	for (const { probeId, sha256 } of await evidence.pending()) {
		const [row] = await database.read<Probe & { readonly isLeased: boolean }>(
			`SELECT ${COLUMNS}, EXISTS (SELECT 1 FROM leases l WHERE l.name = 'provider/' || probes.provider_id AND l.holder = probes.process
				AND ${alive("l")}) AS is_leased FROM probes WHERE id = $1`,
			[probeId],
		);
		if (row?.state === "running" && row.isLeased) continue;
		if (row?.state === "done" || !(await evidence.store.has(sha256))) {
			// Killed between steps 4 and 5; or before the file was in its place: then there is nothing to
			// count.
			await evidence.store.dropPending(probeId);
			continue;
		}
		const { isLeased: _, ...probe } = row ?? { isLeased: false };
		pending.push({ probeId, evidenceSha256: sha256, probe: row ? (probe as Probe) : null });
	}
	return { pending, abandoned: abandoned.length > 0 ? await probesById(context, abandoned) : [] };
}

async function probesById({ database }: StoreContext, ids: readonly string[]): Promise<readonly Probe[]> {
	return await database.read<Probe>(`SELECT ${COLUMNS} FROM probes WHERE id = ANY ($1) ORDER BY started_at_ms, id`, [
		ids,
	]);
}

export function createProbeStore(context: StoreContext, evidence: EvidenceFolder) {
	const { database } = context;
	return {
		/**
		 * Step 1: the row, `running`. This process must hold the lease on the provider, else STORE_LEASE_LOST.
		 */
		begin: (probe: NewProbe) => begin(context, probe),
		/**
		 * After a start, and now and then: takes over what dead processes left, and lists the pending entries in
		 * this data folder that nobody is working on: verify each file again and `finish` it.
		 */
		recover: ({ nowMs }: { readonly nowMs: number }) => recover(context, evidence, nowMs),
		get: async (id: string): Promise<Probe | null> =>
			(await probesById(context, [hex("a probe's id", id, 32)]))[0] ?? null,

		/**
		 * Steps 4 and 5: one transaction, guarded by the row's state, then the pending entry is removed. False:
		 * it was counted before (or abandoned, and there is no evidence): nothing was changed.
		 */
		async finish(finish: FinishProbe): Promise<FinishResult> {
			const result = await finishProbe(context, finish);
			// Counted now or before: the note has done its duty either way, unless there was nothing to count
			// it for.
			const [probe] = result.counted ? [] : await probesById(context, [finish.probeId]);
			if (result.counted || probe?.state === "done") await evidence.store.dropPending(finish.probeId);
			return result;
		},

		/** It came to nothing (the process gives up): counts for nothing, provider due at `nextProbeAtMs`. */
		async abandon(probeId: string, at: { readonly nowMs: number; readonly nextProbeAtMs: number }): Promise<boolean> {
			const { nowMs, nextProbeAtMs } = at;
			return await database.transaction(async (sql) => {
				const [probe] = await sql.query<Pick<Probe, "providerId" | "process">>(
					"UPDATE probes SET state = 'abandoned', finished_at_ms = $2 WHERE id = $1 AND state = 'running' RETURNING provider_id, process",
					[hex("a probe's id", probeId, 32), integer("nowMs", nowMs)],
				);
				if (!probe) return false;
				await sql.write(
					`UPDATE providers SET next_probe_at_ms = least($2, requested_at_ms), requested_at_ms = NULL, probed_by = nullif(probed_by, $3)
					WHERE id = $1`,
					[probe.providerId, integer("nextProbeAtMs", nextProbeAtMs), probe.process],
				);
				return true;
			});
		},

		/** Newest first. */
		list: (query: Query<ProbeFilter> = {}) =>
			readPage<Probe>(
				database,
				{ name: "probes", columns: COLUMNS, from: "probes", by: "started_at_ms", id: "id" },
				[
					["provider_id = ?", query.providerId],
					["state = ?", query.state],
					["verdict = ?", query.verdict],
					["code = ?", query.code],
					["started_at_ms >= ?", query.sinceMs],
					["started_at_ms < ?", query.untilMs],
				],
				query,
			),

		/** The last `limit` values of one figure of one device, newest first: a host's history. */
		async figureHistory({ providerId, device, name, limit = 100 }: FigureOfDevice) {
			return await database.read<PastFigure>(
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
		},
	};
}
