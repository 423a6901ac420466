// Devices of providers as the last valid probe found them, and who else shows the same GPU UUIDs. A UUID is a
// claim: the same one twice is a doubt, not a proof (docs/schedule.md).
import type { IdentityState } from "../protocol/probe/verdict.ts";
import { hex, hostileText, list } from "./check-input.ts";
import type { StoreContext } from "./context.ts";

export interface DeviceRow {
	readonly device: number;
	readonly kind: "gpu" | "cpu" | "disk";
	readonly claimedName: string;
	readonly uuid: string;
	readonly memoryBytes: number;
	/** Proven profile id: only where the identity is `confirmed`, `consistent` or `other`. */
	readonly profile: string | null;
	readonly identity: IdentityState;
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
				`SELECT provider_id, device, kind, claimed_name, uuid, memory_bytes, profile, identity, probe_id, at_ms
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
