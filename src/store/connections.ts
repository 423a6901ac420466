// Which process holds a provider's agent connection. A connection belongs to the last who got it; a process
// that was given up as dead and comes back takes its own up again.
import { AssayError } from "../protocol/assay-error.ts";
import { hex, integer } from "./check-input.ts";
import type { StoreContext } from "./context.ts";

export function createConnections({ database, process: me }: StoreContext) {
	/** Provider → since when. */
	const held = new Map<string, number>();
	return {
		store: {
			/** This process holds its agent connection from now on; a former holder loses it. */
			async connect(providerId: string, { nowMs }: { readonly nowMs: number }): Promise<void> {
				const changed = await database.write(
					"UPDATE providers SET connected_to = $2, connected_at_ms = $3, last_seen_at_ms = $3 WHERE id = $1",
					[hex("a provider's id", providerId, 64), me, integer("nowMs", nowMs)],
				);
				if (changed === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${providerId}`);
				held.set(providerId, nowMs);
			},
			/** Only if this process still holds it. */
			async disconnect(providerId: string, { nowMs }: { readonly nowMs: number }): Promise<void> {
				held.delete(providerId);
				await database.write(
					"UPDATE providers SET connected_to = NULL, connected_at_ms = NULL, last_seen_at_ms = $3 WHERE id = $1 AND connected_to = $2",
					[hex("a provider's id", providerId, 64), me, integer("nowMs", nowMs)],
				);
			},
		},
		/** Those that others took for dead with this process. */
		async reconnect(): Promise<void> {
			await database.write(
				`UPDATE providers p SET connected_to = $1, connected_at_ms = n.at_ms FROM unnest($2::text[], $3::bigint[]) AS n (id, at_ms)
				WHERE p.id = n.id AND p.connected_to IS NULL`,
				[me, [...held.keys()], [...held.values()]],
			);
		},
		async disconnectAll(): Promise<void> {
			held.clear();
			await database
				.write("UPDATE providers SET connected_to = NULL, connected_at_ms = NULL WHERE connected_to = $1", [me])
				.catch(() => {});
		},
	};
}
