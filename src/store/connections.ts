// Which process holds a provider's agent connection. A connection belongs to the last who got it; a process
// that was given up as dead and comes back takes its own up again.
import { AssayError } from "../protocol/assay-error.ts";
import { hex, integer } from "./check-input.ts";
import type { StoreContext } from "./context.ts";

export interface ConnectionStore {
	/** This process holds its agent connection from now on; a former holder loses it. */
	connect(providerId: string, options: { readonly nowMs: number }): Promise<void>;
	/** Only if this process still holds it. */
	disconnect(providerId: string, options: { readonly nowMs: number }): Promise<void>;
}

export interface Connections {
	readonly store: ConnectionStore;
	/** Those that others took for dead with this process. */
	reconnect(): Promise<void>;
	disconnectAll(): Promise<void>;
}

export function createConnections({ database, process: me }: StoreContext): Connections {
	/** Provider → since when. */
	const held = new Map<string, number>();
	return {
		store: {
			async connect(providerId, { nowMs }) {
				const changed = await database.write(
					"UPDATE providers SET connected_to = $2, connected_at_ms = $3, last_seen_at_ms = $3 WHERE id = $1",
					[hex("a provider's id", providerId, 64), me, integer("nowMs", nowMs)],
				);
				if (changed === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${providerId}`);
				held.set(providerId, nowMs);
			},
			async disconnect(providerId, { nowMs }) {
				held.delete(providerId);
				await database.write(
					"UPDATE providers SET connected_to = NULL, connected_at_ms = NULL, last_seen_at_ms = $3 WHERE id = $1 AND connected_to = $2",
					[hex("a provider's id", providerId, 64), me, integer("nowMs", nowMs)],
				);
			},
		},
		async reconnect() {
			await database.write(
				`UPDATE providers p SET connected_to = $1, connected_at_ms = n.at_ms FROM unnest($2::text[], $3::bigint[]) AS n (id, at_ms)
				WHERE p.id = n.id AND p.connected_to IS NULL`,
				[me, [...held.keys()], [...held.values()]],
			);
		},
		async disconnectAll() {
			held.clear();
			await database
				.write("UPDATE providers SET connected_to = NULL, connected_at_ms = NULL WHERE connected_to = $1", [me])
				.catch(() => {});
		},
	};
}
