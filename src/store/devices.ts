// Devices of providers as the last valid probe found them, and which GPU UUIDs appear on more than one. A UUID is a claim: the same one twice is
// a doubt, not a proof (docs/network.md §3).
import { hex, hostileText, list } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { toObject } from "./rows.ts";
import type { Device, DeviceStore } from "./store.ts";

export function createDeviceStore({ database }: StoreContext): DeviceStore {
	return {
		async ofProvider(providerId) {
			const rows = await database.read(
				`SELECT provider_id, device, kind, claimed_name, uuid, memory_bytes, profile, identity, probe_id, at_ms
				FROM devices WHERE provider_id = $1 ORDER BY device`,
				[hex("a provider's id", providerId, 64)],
			);
			return rows.map((row) => toObject<Device>(row));
		},

		async shared() {
			const rows = await database.read(
				// First by UUID alone, in the order of its index: almost none appears twice.
				`WITH twice AS (
					SELECT uuid FROM devices WHERE kind = 'gpu' AND uuid <> '' GROUP BY uuid HAVING min(provider_id) <> max(provider_id)
				)
				SELECT d.uuid, array_agg(DISTINCT d.provider_id ORDER BY d.provider_id) AS provider_ids
				FROM twice JOIN devices d ON d.uuid = twice.uuid AND d.kind = 'gpu' JOIN providers p ON p.id = d.provider_id AND p.state = 'active'
				GROUP BY d.uuid HAVING count(DISTINCT d.provider_id) > 1 ORDER BY d.uuid COLLATE "C" LIMIT 1000`,
			);
			return rows.map((row) => ({ uuid: row.uuid, providerIds: row.provider_ids }));
		},

		async othersWith(providerId, uuids) {
			const searched = list("uuids", uuids, 256).map((uuid) => hostileText(uuid, 200));
			const rows = await database.read(
				`SELECT DISTINCT d.provider_id AS id FROM devices d JOIN providers p ON p.id = d.provider_id AND p.state = 'active'
				WHERE d.kind = 'gpu' AND d.uuid <> '' AND d.uuid = ANY ($2) AND d.provider_id <> $1 ORDER BY 1`,
				[hex("a provider's id", providerId, 64), searched],
			);
			return rows.map((row) => row.id);
		},
	};
}
