// Devices of providers as the last valid probe found them, and who else shows the same GPU UUIDs. A UUID is a
// claim: the same one twice is a doubt, not a proof (docs/schedule.md). A device key is proven, and counts
// for one provider.
import type { CountedAttestation, IdentityState, ProbeAttestation } from "../protocol/probe/verdict.ts";
import { hex, hostileText, integer, list } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { Sql } from "./postgres/sql.ts";

export interface DeviceRow {
	readonly device: number;
	readonly kind: "gpu" | "cpu" | "disk";
	readonly claimedName: string;
	readonly uuid: string;
	readonly memoryBytes: number;
	/** Proven profile id: only where the identity is `confirmed`, `consistent` or `other`. */
	readonly profile: string | null;
	readonly identity: IdentityState;
	/** Profiles that the figures leave equal; null or absent in rows of before. */
	readonly alike?: readonly string[] | null | undefined;
}

interface Device extends DeviceRow {
	readonly providerId: string;
	readonly probeId: string;
	readonly atMs: number;
}

export function createDeviceStore({ database }: StoreContext) {
	return {
		async ofProvider(providerId: string) {
			return await database.read<Device>(
				`SELECT provider_id, device, kind, claimed_name, uuid, memory_bytes, profile, identity, alike, probe_id, at_ms
				FROM devices WHERE provider_id = $1 ORDER BY device`,
				[hex("a provider's id", providerId, 64)],
			);
		},

		/** Of many at once. */
		kindsOf: (providerIds: readonly string[]) =>
			database.read<Pick<Device, "providerId" | "device" | "kind">>(
				"SELECT provider_id, device, kind FROM devices WHERE provider_id = ANY ($1)",
				[list("providers", providerIds, 100_000).map((id) => hex("a provider's id", id, 64))],
			),

		/** Of many at once; those that have none are left out. */
		attestationsOf: (providerIds: readonly string[]) =>
			database.read<{ readonly id: string; readonly attestation: CountedAttestation }>(
				"SELECT id, attestation FROM providers WHERE id = ANY ($1) AND attestation IS NOT NULL",
				[list("providers", providerIds, 10_000).map((id) => hex("a provider's id", id, 64))],
			),

		/** Which of these count for others; nothing is bound. */
		boundElsewhere: (providerId: string, attestation: ProbeAttestation, chain: ChainKeys) =>
			boundElsewhere(database, providerId, attestation, chain),

		/** The other active providers that showed one of these UUIDs; empty UUIDs never count. */
		async othersWith(providerId: string, uuids: readonly string[]): Promise<readonly string[]> {
			const searched = list("uuids", uuids, 256).map((uuid) => hostileText(uuid, 200));
			const rows = await database.read<{ readonly id: string }>(
				`SELECT DISTINCT d.provider_id AS id FROM devices d JOIN providers p ON p.id = d.provider_id AND p.state = 'active'
				WHERE d.kind = 'gpu' AND d.uuid <> '' AND d.uuid = ANY ($2) AND d.provider_id <> $1 ORDER BY 1`,
				[hex("a provider's id", providerId, 64), searched],
			);
			return rows.map(({ id }) => id);
		},
	};
}

/** A round has 32 at most. */
const MOST_DEVICES = 64;

/** Milliseconds; a holder that is rented is not asked meanwhile. */
export interface KeysHeld {
	readonly freeMs: number;
	readonly rentedMs: number;
}

/** What a chain says of the keys that were shown: it counts before the first who showed them here. */
export interface ChainKeys {
	readonly own: readonly string[];
	readonly elsewhere: CountedAttestation["elsewhere"];
}

/** Nobody bound any of them there, or there is no chain. */
export const NO_CHAIN_KEYS: ChainKeys = { own: [], elsewhere: [] };

interface ShownKeys {
	readonly providerId: string;
	readonly probeId: string;
	readonly attestation: ProbeAttestation | null;
	readonly atMs: number;
	/** A key that its holder has not shown for so long is free. */
	readonly held: KeysHeld;
	/** False: a later probe was counted before; this one binds nothing. */
	readonly isLatest: boolean;
	readonly chain: ChainKeys;
}

/**
 * For whom do these keys count? For the first who showed them, as long as its valid probes go on showing
 * them. Part of the transaction that counts a valid probe. ATTACK: a report answers a nonce of this
 * provider's own probe, so whoever binds a card had it at hand; one who only had it for a while (a customer
 * of its owner) loses it with the first valid probe without it. What is bound on a chain is the chain's to
 * say: its owner gets it from whoever was first here, and nobody else can bind it here.
 */
export async function bindKeys(sql: Sql, schema: string, shown: ShownKeys): Promise<CountedAttestation | null> {
	const { providerId, probeId, attestation, atMs, isLatest, chain } = shown;
	const simulated = attestation?.isSimulated ?? false;
	const devices = list("attested devices", attestation?.devices ?? [], MOST_DEVICES);
	const since = (heldMs: number) => Math.max(0, atMs - integer("how long keys are held", heldMs));
	const others = new Set(chain.elsewhere.map(({ key }) => key));
	const shownKeys = [...new Set(devices.map(({ key }) => hex("a device key", key, 64)))];
	const keys = shownKeys.filter((key) => simulated || !others.has(key)).sort();
	const own = simulated ? [] : chain.own;
	const held = await sql.query("SELECT 1 FROM device_keys WHERE provider_id = $1 LIMIT 1", [providerId]);
	if (shownKeys.length === 0 && held.length === 0) return attestation && { ...attestation, elsewhere: [] };
	// Two that swap cards would wait for each other.
	await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/device-keys/${schema}`]);
	if (isLatest) {
		await sql.write("DELETE FROM device_keys WHERE provider_id = $1 AND NOT (key = ANY ($2) AND simulated = $3)", [
			...[providerId, keys, simulated],
		]);
		await sql.write(
			`INSERT INTO device_keys AS k (key, simulated, provider_id, probe_id, bound_at_ms, shown_at_ms)
			SELECT unnest($1::text[]), $2, $3, $4, $5, $5 ON CONFLICT (key, simulated) DO UPDATE SET provider_id = excluded.provider_id,
				probe_id = excluded.probe_id, shown_at_ms = excluded.shown_at_ms,
				bound_at_ms = CASE WHEN k.provider_id = excluded.provider_id THEN k.bound_at_ms ELSE excluded.bound_at_ms END
			WHERE k.provider_id = excluded.provider_id OR k.key = ANY ($8) OR EXISTS (SELECT 1 FROM providers p WHERE p.id = k.provider_id
				AND (p.state = 'removed' OR k.shown_at_ms < CASE WHEN p.rental_id IS NULL THEN $6::bigint ELSE $7::bigint END))`,
			[keys, simulated, providerId, probeId, atMs, since(shown.held.freeMs), since(shown.held.rentedMs), own],
		);
	}
	if (attestation === null) return null;
	const elsewhere = await boundElsewhere({ read: sql.query.bind(sql) }, providerId, attestation, chain);
	return { ...attestation, level: elsewhere.length > 0 ? "none" : attestation.level, elsewhere };
}

async function boundElsewhere(
	{ read }: Pick<StoreContext["database"], "read">,
	providerId: string,
	{ devices, isSimulated }: ProbeAttestation,
	chain: ChainKeys,
): Promise<CountedAttestation["elsewhere"]> {
	const shown = new Set(devices.map(({ key }) => hex("a device key", key, 64)));
	// Simulated keys are on no chain: anybody could mint them.
	const onChain = isSimulated ? [] : chain.elsewhere.filter(({ key }) => shown.has(key));
	const told = new Set([...(isSimulated ? [] : chain.own), ...onChain.map(({ key }) => key)]);
	const here = await read<CountedAttestation["elsewhere"][number]>(
		"SELECT key, provider_id FROM device_keys WHERE key = ANY ($1) AND simulated = $2 AND provider_id <> $3",
		[[...shown].filter((key) => !told.has(key)), isSimulated, hex("a provider's id", providerId, 64)],
	);
	return [...here, ...onChain].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** What came from the host in it, cut to size: a long word must not keep a probe from being counted. */
export function cutAttestation(shown: ProbeAttestation): ProbeAttestation {
	const cut = (value: string | null, limit: number) => (value === null ? null : hostileText(value, limit));
	const { devices, guest, reasons, says } = shown;
	return {
		...shown,
		devices: devices.slice(0, MOST_DEVICES).map((one) => ({
			...one,
			chip: hostileText(one.chip, 64),
			driver: cut(one.driver, 64),
			firmware: cut(one.firmware, 64),
		})),
		guest: guest && {
			tee: hostileText(guest.tee, 64),
			measurement: hostileText(guest.measurement, 200),
			tcb: cut(guest.tcb, 100),
		},
		reasons: reasons.slice(0, 64).map(({ code, detail }) => ({ code, detail: hostileText(detail, 500) })),
		says: says.slice(0, 80).map((one) => hostileText(one, 300)),
	};
}
