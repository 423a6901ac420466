// Step 4 of a probe's life (docs/schedule.md §3): everything that a verdict changes, in one transaction,
// guarded by the row's state. Whoever comes second (a recovery beside a slow process) changes nothing.
import { isCheat } from "../protocol/cheat-codes.ts";
import type { ProviderMemory } from "../protocol/network/provider-memory.ts";
import type { Figure, HostClaim } from "../protocol/probe/evidence.ts";
import type {
	CountedAttestation,
	Finding,
	ProbeAttestation,
	Strength,
	VerdictStatus,
} from "../protocol/probe/verdict.ts";
import { hex, hostileJson, hostileText, integer, list, oneOf } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { bindKeys, type ChainKeys, cutAttestation, type DeviceRow, type KeysHeld } from "./devices.ts";
import { holdingsOf, UNKNOWN_MODEL } from "./holdings.ts";
import { appendJournal } from "./journal.ts";
import type { Sql } from "./postgres/sql.ts";
import { writeMemory } from "./provider-memory.ts";
import { writeClaim } from "./providers.ts";
import { uptimePpm } from "./reachable-time.ts";

export interface FinishProbe {
	readonly probeId: string;
	readonly finishedAtMs: number;
	/**
	 * When it is counted: an earlier probe's date that lies after it was set while the clock was wrong, and is
	 * no later one's.
	 */
	readonly nowMs?: number;
	readonly verdict: {
		readonly status: VerdictStatus;
		readonly code: string | null;
		readonly where: string | null;
		readonly detail: string | null;
	};
	/** What `evidence.put` gave; null when the host said nothing that could be recorded. */
	readonly evidence: { readonly sha256: string; readonly bytes: number } | null;
	readonly strength: Strength | null;
	readonly figures: readonly Figure[];
	readonly findings: readonly Finding[];
	readonly devices: readonly DeviceRow[];
	readonly claim: HostClaim | null;
	/** Of a valid one: what its devices signed; null: nothing was asked. */
	readonly attestation: ProbeAttestation | null;
	readonly keysHeld: KeysHeld;
	/** What the chain says of the keys in it. */
	readonly chainKeys: ChainKeys;
	/** Words on devices that count for others. */
	readonly elsewhereFindings: (attestation: CountedAttestation | null) => readonly Finding[];
	/** Its new state, as market/schedule decided it. Not applied when a later probe was counted meanwhile. */
	readonly provider: {
		readonly nextProbeAtMs: number;
		readonly failures: number;
		readonly retries: number;
		readonly reliabilityPpm: number;
		readonly answeredPpm: number;
		readonly memory: ProviderMemory;
	};
	readonly actor: string;
}

const HOUR_MS = 3_600_000;
/** Of processes that share a database. */
const CLOCKS_DIFFER_MS = 300_000;
/** More than there are profiles. */
const MAX_ALIKE = 256;

export interface FinishResult {
	readonly counted: boolean;
	readonly latest: boolean;
	/** As it counts; absent: not a valid one, or nothing was asked. */
	readonly attestation?: CountedAttestation;
}

interface ProbeRow {
	readonly providerId: string;
	readonly process: string;
	readonly state: "running" | "done" | "abandoned";
	readonly startedAtMs: number;
}

export async function finishProbe({ database, schema }: StoreContext, finish: FinishProbe): Promise<FinishResult> {
	const f = checked(finish);
	return await database.transaction(async (sql) => {
		const [probe] = await sql.query<ProbeRow>(
			"SELECT provider_id, process, state, started_at_ms FROM probes WHERE id = $1 FOR UPDATE",
			[f.probeId],
		);
		// An abandoned probe counts only if there is evidence to count: a process was slow or died, but the
		// host did answer.
		if (!probe || probe.state === "done" || (probe.state === "abandoned" && f.evidence === null))
			return { counted: false, latest: false };
		const { providerId, startedAtMs } = probe;
		const [provider] = await sql.query<{ readonly lastProbeAtMs: number | null }>(
			"SELECT last_probe_at_ms FROM providers WHERE id = $1 FOR UPDATE",
			[providerId],
		);
		const last = provider?.lastProbeAtMs ?? 0;
		const latest = last <= startedAtMs || last > (f.nowMs ?? Number.POSITIVE_INFINITY) + CLOCKS_DIFFER_MS;
		const isValid = f.verdict.status === "valid";
		const { probeId, attestation: shown, keysHeld: held, chainKeys: chain } = f;
		const keys = { providerId, probeId, attestation: shown, atMs: startedAtMs, held, chain, isLatest: latest };
		const attestation = isValid ? await bindKeys(sql, schema, keys) : null;
		await markDone(sql, { ...f, findings: [...f.findings, ...f.elsewhereFindings(attestation)] }, attestation);
		await countHour(sql, f);
		if (latest) {
			await updateProvider(sql, probe, f);
			if (isValid) await replaceProven(sql, providerId, f, attestation);
		}
		// One that had been abandoned is not what its process works on by now.
		if (probe.state === "running")
			await sql.write("UPDATE providers SET probed_by = NULL, crashes = 0 WHERE id = $1 AND probed_by = $2", [
				providerId,
				probe.process,
			]);
		const { status: verdict, code } = f.verdict;
		const detail = { probe: f.probeId, verdict, code, evidence: f.evidence?.sha256 ?? null, latest };
		const entry = { actor: f.actor, kind: "probe.done", subject: providerId, detail };
		await appendJournal(sql, schema, entry, f.finishedAtMs);
		return { counted: true, latest, ...(attestation && { attestation }) };
	});
}

/** Ours is refused when it is wrong; what came from the provider is cut to size. */
function checked(finish: FinishProbe): FinishProbe {
	hex("a probe's id", finish.probeId, 32);
	integer("finishedAtMs", finish.finishedAtMs);
	if (finish.nowMs !== undefined) integer("nowMs", finish.nowMs);
	oneOf("a verdict", finish.verdict.status, ["valid", "invalid", "inconclusive"]);
	if (finish.evidence) {
		hex("an evidence hash", finish.evidence.sha256, 64);
		integer("evidence bytes", finish.evidence.bytes);
	}
	for (const figure of list("figures", finish.figures, 4096)) {
		integer("a figure's device", figure.device, 0, 255);
		integer("a figure", figure.value);
	}
	for (const device of list("devices", finish.devices, 256)) {
		integer("a device's number", device.device, 0, 255);
		integer("a device's memory", device.memoryBytes);
	}
	const { provider } = finish;
	integer("nextProbeAtMs", provider.nextProbeAtMs);
	integer("failures", provider.failures, 0, 2 ** 31 - 1);
	integer("retries", provider.retries, 0, 2 ** 31 - 1);
	integer("reliabilityPpm", provider.reliabilityPpm, 0, 1_000_000);
	integer("answeredPpm", provider.answeredPpm, 0, 1_000_000);
	const cut = (value: string | null, limit: number) => (value === null ? null : hostileText(value, limit));
	const { status, code, where, detail } = finish.verdict;
	const verdict = { status, code: cut(code, 64), where: cut(where, 200), detail: cut(detail, 2000) };
	const devices = finish.devices.map((device) => ({
		...device,
		claimedName: hostileText(device.claimedName, 200),
		uuid: hostileText(device.uuid, 200),
		profile: cut(device.profile, 100),
		alike: device.alike?.slice(0, MAX_ALIKE).map((id) => hostileText(id, 100)) ?? null,
	}));
	const figures = finish.figures.map((figure) => ({
		...figure,
		name: hostileText(figure.name, 64),
		unit: hostileText(figure.unit, 16),
	}));
	const attestation = finish.attestation && cutAttestation(finish.attestation);
	return { ...finish, verdict, devices, figures, attestation };
}

async function markDone(sql: Sql, f: FinishProbe, attestation: CountedAttestation | null): Promise<void> {
	const { status, code, where, detail } = f.verdict;
	await sql.write(
		`UPDATE probes SET state = 'done', finished_at_ms = $2, verdict = $3, code = $4, "where" = $5, detail = $6, evidence_sha256 = $7,
			evidence_bytes = $8, figures = $9, findings = $10, devices = $11, strength = $12, attestation = $13 WHERE id = $1`,
		[
			f.probeId,
			f.finishedAtMs,
			status,
			code,
			where,
			detail,
			f.evidence?.sha256 ?? null,
			f.evidence?.bytes ?? null,
			hostileJson("figures", f.figures),
			hostileJson("findings", f.findings),
			hostileJson("devices", f.devices),
			f.strength,
			attestation && hostileJson("an attestation", attestation),
		],
	);
}

async function countHour(sql: Sql, f: FinishProbe): Promise<void> {
	const hour = Math.floor(f.finishedAtMs / HOUR_MS) * HOUR_MS;
	await sql.write(
		`INSERT INTO probe_hours AS h (hour_at_ms, verdict, count, evidence_files, evidence_bytes, cheats) VALUES ($1, $2, 1, $3, $4, $5)
		ON CONFLICT (hour_at_ms, verdict) DO UPDATE SET count = h.count + 1, cheats = h.cheats + excluded.cheats,
			evidence_files = h.evidence_files + excluded.evidence_files, evidence_bytes = h.evidence_bytes + excluded.evidence_bytes`,
		[hour, f.verdict.status, f.evidence ? 1 : 0, f.evidence?.bytes ?? 0, isCheat(f.verdict.code) ? 1 : 0],
	);
}

async function updateProvider(sql: Sql, { providerId, startedAtMs }: ProbeRow, f: FinishProbe): Promise<void> {
	const { nextProbeAtMs, failures, retries, reliabilityPpm, answeredPpm, memory } = f.provider;
	await sql.write(
		`UPDATE providers p SET last_probe_at_ms = $2, last_verdict = $3, last_code = $4, failures = $5, retries = $6, reliability_ppm = $7,
			answered_ppm = $8, uptime_ppm = CASE WHEN link = 'agent' THEN ${uptimePpm("$11::bigint")} ELSE $8::integer END, next_probe_at_ms = least($9, requested_at_ms), requested_at_ms = NULL,
			last_valid_at_ms = CASE WHEN $3 = 'valid' THEN $2 ELSE last_valid_at_ms END,
			last_seen_at_ms = CASE WHEN $10 THEN $11 ELSE last_seen_at_ms END
		WHERE id = $1`,
		[
			providerId,
			startedAtMs,
			f.verdict.status,
			f.verdict.code,
			failures,
			retries,
			reliabilityPpm,
			answeredPpm,
			nextProbeAtMs,
			f.claim !== null,
			f.finishedAtMs,
		],
	);
	await writeMemory(sql, providerId, memory);
	if (f.claim !== null) await writeClaim(sql, providerId, f.claim, f.finishedAtMs);
}

/** Devices, figures and holdings are those of the last valid probe, wholly: a card that is gone is gone. */
async function replaceProven(
	sql: Sql,
	providerId: string,
	f: FinishProbe,
	attestation: CountedAttestation | null,
): Promise<void> {
	const at = f.finishedAtMs;
	for (const table of ["devices", "figures", "holdings"])
		await sql.write(`DELETE FROM ${table} WHERE provider_id = $1`, [providerId]);
	await sql.write(
		`INSERT INTO devices (provider_id, device, kind, claimed_name, uuid, memory_bytes, profile, identity, alike, probe_id, at_ms)
		SELECT $1, d.device, d.kind, d."claimedName", d.uuid, d."memoryBytes", d.profile, d.identity, d.alike, $3, $4 FROM jsonb_to_recordset($2) AS
			d (device integer, kind text, "claimedName" text, uuid text, "memoryBytes" bigint, profile text, identity text, alike jsonb)`,
		[providerId, JSON.stringify(f.devices), f.probeId, at],
	);
	// The best of a figure that several challenges gave.
	await sql.write(
		`INSERT INTO figures (provider_id, device, name, value, unit, probe_id, evidence_sha256, at_ms)
		SELECT DISTINCT ON (g.device, g.name) $1, g.device, g.name, g.value, g.unit, $3, $4, $5
		FROM jsonb_to_recordset($2) AS g (device integer, name text, value bigint, unit text) ORDER BY g.device, g.name, g.value DESC`,
		[providerId, JSON.stringify(f.figures), f.probeId, f.evidence?.sha256 ?? "", at],
	);
	const holdings = holdingsOf(f.devices, f.figures);
	for (const { model, count, figures } of holdings) {
		await sql.write(
			`INSERT INTO holdings (provider_id, model, count, memory_bytes, fp16_ops_per_s, memory_bytes_per_s, figures) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			[providerId, model, count, ...summary(figures), JSON.stringify(figures)],
		);
	}
	const first = holdings[0];
	const model = first && first.model !== UNKNOWN_MODEL ? first.model : null;
	await sql.write(
		`UPDATE providers SET model = $2, gpu_count = $3, memory_bytes = $4, fp16_ops_per_s = $5, memory_bytes_per_s = $6, attestation = $7
		WHERE id = $1`,
		[
			...[providerId, model, first?.count ?? 0, ...summary(first?.figures ?? {})],
			attestation && hostileJson("an attestation", attestation),
		],
	);
}

/** The figures that have columns of their own, in the order of the columns. */
function summary(figures: { readonly [name: string]: number }): readonly (number | null)[] {
	return ["memory.resident", "gemm.fp16", "memory.bandwidth"].map((name) => figures[name] ?? null);
}
