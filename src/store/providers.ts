// Providers: who they are, what they offer, when they are due. Decides nothing: schedules and scores come in
// decided. Figures and cards of theirs are written with a probe (probe-finish.ts) and read here. Pages:
// docs/network.md §1, docs/schedule.md.
import { AssayError } from "../protocol/assay-error.ts";
import type { ProviderMemory, ProviderState } from "../protocol/network/provider-memory.ts";
import type { HostClaim, LinkKind } from "../protocol/probe/evidence.ts";
import type { CountedAttestation, VerdictStatus } from "../protocol/probe/verdict.ts";
import { hex, hostileJson, hostileText, integer, list, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { Holding } from "./holdings.ts";
import { appendJournal } from "./journal.ts";
import type { Sql } from "./postgres/sql.ts";
import { MEMORY, writeMemory } from "./provider-memory.ts";
import { listProviders, type ProviderQuery } from "./provider-query.ts";

export interface Offer {
	readonly name: string;
	readonly pricePerHourMicros: number;
	readonly rentable: boolean;
	readonly ssh: boolean;
}

export interface Provider extends Offer {
	/** 64 hex digits. */
	readonly id: string;
	readonly link: LinkKind;
	/** ssh://…, "local", or "" for agents. */
	readonly target: string;
	readonly state: ProviderState;
	readonly registeredAtMs: number;
	/** The live process that holds its agent connection; null: not connected, and always for ssh and local. */
	readonly connectedTo: string | null;
	readonly connectedAtMs: number | null;
	readonly lastSeenAtMs: number | null;

	// the schedule's state, docs/schedule.md; decided by market/, kept here
	readonly nextProbeAtMs: number;
	readonly failures: number;
	readonly retries: number;
	readonly lastVerdict: VerdictStatus | null;
	readonly lastCode: string | null;
	readonly lastProbeAtMs: number | null;
	readonly lastValidAtMs: number | null;
	readonly reliabilityPpm: number;
	/**
	 * Time connected of the time registered, when that was last written; of those that are dialled
	 * `answeredPpm`.
	 */
	readonly uptimePpm: number;
	/** A record of past probes: how many came to a verdict. */
	readonly answeredPpm: number;
	/** See market/scores/uptime.ts. */
	readonly reachableMs: number;
	readonly reachableFromMs: number | null;
	/** The process that probes it now. */
	readonly probedBy: string | null;
	/** The rental that is reserved or active on it. */
	readonly rentalId: string | null;
	readonly scorePpm: number | null;

	// proven summary of the last valid probe; of the largest group of equal cards (see `Holding`)
	readonly model: string | null;
	readonly gpuCount: number;
	readonly memoryBytes: number | null;
	readonly fp16OpsPerS: number | null;
	readonly memoryBytesPerS: number | null;
	/** Of the last valid probe too; null: nothing was asked. */
	readonly attestation: CountedAttestation | null;
}

export interface RememberedProvider extends Provider {
	readonly memory: ProviderMemory;
}

export interface CurrentFigure {
	readonly device: number;
	readonly name: string;
	readonly value: number;
	readonly unit: string;
	readonly probeId: string;
	readonly evidenceSha256: string;
	readonly atMs: number;
}

interface NewProvider extends Offer {
	readonly id: string;
	readonly link: LinkKind;
	readonly target: string;
	readonly claim: HostClaim | null;
}

/** Who did it and when, for the journal. */
interface By {
	readonly nowMs: number;
	readonly actor: string;
}

const COLUMNS = `p.id, p.name, p.link, p.target, p.state, p.price_per_hour_micros, p.rentable, p.ssh, p.registered_at_ms,
	p.connected_to, p.connected_at_ms, p.last_seen_at_ms, p.next_probe_at_ms, p.failures, p.retries, p.last_verdict, p.last_code,
	p.last_probe_at_ms, p.last_valid_at_ms, p.reliability_ppm, p.uptime_ppm, p.answered_ppm, p.reachable_ms, p.reachable_from_ms, p.probed_by, p.rental_id, p.score_ppm, p.model,
	p.gpu_count, p.memory_bytes, p.fp16_ops_per_s, p.memory_bytes_per_s, p.attestation`;

const LINKS = ["agent", "ssh", "local"] as const;
const STATES = ["active", "paused", "removed"] as const;

const providerId = (id: string): string => hex("a provider's id", id, 64);

/** The offer comes from the provider itself: its name is cut and made harmless. */
function offerValues(offer: Offer): readonly [string, number, boolean, boolean] {
	const price = integer("a price", offer.pricePerHourMicros);
	return [hostileText(offer.name, 100), price, offer.rentable === true, offer.ssh === true];
}

function mustBeThere(changed: number, id: string): void {
	if (changed === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${id}`);
}

export async function writeClaim(sql: Sql, id: string, claim: HostClaim, nowMs: number): Promise<void> {
	await sql.write(
		`INSERT INTO claims (provider_id, claim, at_ms) VALUES ($1, $2, $3)
		ON CONFLICT (provider_id) DO UPDATE SET claim = excluded.claim, at_ms = excluded.at_ms`,
		[id, hostileJson("a claim", claim), nowMs],
	);
}

async function register(
	{ database, schema }: StoreContext,
	provider: NewProvider,
	{ nowMs, actor }: By,
): Promise<{ readonly provider: Provider; readonly created: boolean }> {
	const id = providerId(provider.id);
	const link = oneOf("a provider's link", provider.link, LINKS);
	const values = [id, link, text("a target", provider.target, 500), integer("nowMs", nowMs), ...offerValues(provider)];
	return await database.transaction(async (sql) => {
		const [created] = await sql.query<Provider>(
			`INSERT INTO providers AS p (id, link, target, registered_at_ms, next_probe_at_ms, name, price_per_hour_micros, rentable, ssh, state)
			VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8, 'active') ON CONFLICT (id) DO NOTHING RETURNING ${COLUMNS}`,
			values,
		);
		if (created) await sql.write("INSERT INTO provider_memory (provider_id) VALUES ($1)", [id]);
		const known = created ? null : await updateKnown(sql, values);
		const row = created ?? known!.provider;
		if (provider.claim) await writeClaim(sql, id, provider.claim, nowMs);
		// A provider that dials in again every few minutes with the same words is not news.
		if (created || known?.isChanged) {
			const { name, pricePerHourMicros, rentable } = row;
			const kind = created ? "provider.registered" : "provider.changed";
			const detail = { link, name, pricePerHourMicros, rentable };
			await appendJournal(sql, schema, { actor, kind, subject: id, detail }, nowMs);
		}
		return { provider: row, created: created !== undefined };
	});
}

async function updateKnown(
	sql: Sql,
	values: readonly unknown[],
): Promise<{ readonly provider: Provider; readonly isChanged: boolean }> {
	type Told = Pick<Provider, "link" | "target" | "name" | "pricePerHourMicros" | "rentable" | "ssh" | "state">;
	const [old] = await sql.query<Told>(
		"SELECT link, target, name, price_per_hour_micros, rentable, ssh, state FROM providers WHERE id = $1 FOR UPDATE",
		[values[0]],
	);
	const [provider] = await sql.query<Provider>(
		`UPDATE providers p SET link = $2, target = $3, name = $5, price_per_hour_micros = $6, rentable = $7, ssh = $8,
			state = CASE WHEN state = 'removed' THEN 'active' ELSE state END,
			next_probe_at_ms = CASE WHEN state = 'removed' THEN $4 ELSE next_probe_at_ms END
		WHERE id = $1 RETURNING ${COLUMNS}`,
		values,
	);
	const isChanged = (Object.keys(old!) as (keyof Told)[]).some((field) => old![field] !== provider![field]);
	return { provider: provider!, isChanged };
}

async function setOffer(
	{ database, schema }: StoreContext,
	id: string,
	offer: Partial<Offer>,
	{ nowMs, actor }: By,
): Promise<void> {
	await database.transaction(async (sql) => {
		const [old] = await sql.query<Offer>(
			"SELECT name, price_per_hour_micros, rentable, ssh FROM providers WHERE id = $1 FOR UPDATE",
			[providerId(id)],
		);
		if (!old) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${id}`);
		const [name, price, rentable, ssh] = offerValues({ ...old, ...offer });
		await sql.write(
			"UPDATE providers SET name = $2, price_per_hour_micros = $3, rentable = $4, ssh = $5 WHERE id = $1",
			[id, name, price, rentable, ssh],
		);
		const detail = { name, pricePerHourMicros: price, rentable, ssh };
		await appendJournal(sql, schema, { actor, kind: "provider.changed", subject: id, detail }, nowMs);
	});
}

export function createProviderStore(context: StoreContext) {
	const { database, schema } = context;

	const recallMany = async (ids: readonly string[]): Promise<readonly RememberedProvider[]> =>
		await database.read<RememberedProvider>(
			`SELECT ${COLUMNS}, ${MEMORY} AS memory FROM providers p JOIN provider_memory m ON m.provider_id = p.id
			WHERE p.id = ANY ($1) ORDER BY p.id`,
			[list("ids", ids, 10_000).map(providerId)],
		);

	return {
		/** New, or known: then its link and offer are brought up to date, and a removed one is active again. */
		register: (provider: NewProvider, by: By) => register(context, provider, by),
		setOffer: (id: string, offer: Partial<Offer>, by: By) => setOffer(context, id, offer, by),
		/** With what is remembered of them. */
		recallMany,
		recall: async (id: string): Promise<RememberedProvider | null> => (await recallMany([id]))[0] ?? null,
		list: (query: ProviderQuery = {}) => listProviders<Provider>(database, COLUMNS, query),

		get: async (id: string) =>
			await database.readOne<Provider>(`SELECT ${COLUMNS} FROM providers p WHERE id = $1`, [providerId(id)]),

		/** Outside a probe (suspicion, changed claims). */
		async remember(id: string, memory: ProviderMemory): Promise<void> {
			mustBeThere(await writeMemory(database, providerId(id), memory), id);
		},

		/** What it said of itself last; kept apart from the row because it is long. */
		async claim(id: string): Promise<HostClaim | null> {
			const row = await database.readOne<{ readonly claim: HostClaim }>(
				"SELECT claim FROM claims WHERE provider_id = $1",
				[providerId(id)],
			);
			return row?.claim ?? null;
		},

		async holdings(id: string) {
			return await database.read<Holding>(
				"SELECT model, count, figures FROM holdings WHERE provider_id = $1 ORDER BY count DESC, model",
				[providerId(id)],
			);
		},

		async figures(id: string) {
			return await database.read<CurrentFigure>(
				`SELECT device, name, value, unit, probe_id, evidence_sha256, at_ms FROM figures
				WHERE provider_id = $1 ORDER BY device, name COLLATE "C"`,
				[providerId(id)],
			);
		},

		/** Those of these names, of many at once. */
		figuresOf: (ids: readonly string[], names: readonly string[]) =>
			database.read<Pick<CurrentFigure, "device" | "name" | "value"> & { readonly providerId: string }>(
				"SELECT provider_id, device, name, value FROM figures WHERE provider_id = ANY ($1) AND name = ANY ($2)",
				[list("providers", ids, 100_000).map(providerId), list("names", names, 100)],
			),

		async setState(id: string, state: ProviderState, { nowMs, actor }: By): Promise<void> {
			oneOf("a provider's state", state, STATES);
			await database.transaction(async (sql) => {
				// Back from a pause: due at once if its time has passed, as it is.
				mustBeThere(await sql.write("UPDATE providers SET state = $2 WHERE id = $1", [providerId(id), state]), id);
				await appendJournal(sql, schema, { actor, kind: `provider.${state}`, subject: id, detail: {} }, nowMs);
			});
		},

		async setClaim(id: string, claim: HostClaim, { nowMs }: { readonly nowMs: number }): Promise<void> {
			await writeClaim(database, providerId(id), claim, integer("nowMs", nowMs));
		},

		/** Due at `atMs` or earlier. A running probe goes on, and its end does not push the date back again. */
		async requestProbe(id: string, { atMs }: { readonly atMs: number }): Promise<void> {
			const changed = await database.write(
				`UPDATE providers SET next_probe_at_ms = least(next_probe_at_ms, $2),
					requested_at_ms = CASE WHEN probed_by IS NULL THEN requested_at_ms ELSE least(requested_at_ms, $2) END
				WHERE id = $1`,
				[providerId(id), integer("atMs", atMs)],
			);
			mustBeThere(changed, id);
		},
	};
}
