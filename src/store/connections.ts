// Which process holds a provider's agent connection, and which jobs it takes over it. A connection belongs to
// the last who got it; a process that was given up as dead and comes back takes its own up again.
import { AssayError } from "../protocol/assay-error.ts";
import type { Json } from "../protocol/bytes/canonical-json.ts";
import { hex, integer, json, list, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { unleased } from "./queue/leases.ts";
import { leftAt, reachableMs, uptimePpm } from "./reachable-time.ts";

/** What its agent said when it dialled in: every process may draw it. */
export interface JobTaker {
	/** Where it dialled from. */
	readonly address: string;
	/** Opaque here; read by the agent link's codec when it came. */
	readonly offer: Json;
}

const MOST_ASKED = 500;

export function createConnections({ database, process: me }: StoreContext) {
	/** Provider → since when. */
	const held = new Map<string, number>();
	return {
		store: {
			/**
			 * This process holds its agent connection from now on; a former holder loses it. `jobs` null: it takes
			 * none.
			 */
			async connect(
				providerId: string,
				{ nowMs, jobs = null }: { readonly nowMs: number; readonly jobs?: JobTaker | null },
			): Promise<void> {
				const values = [
					...[hex("a provider's id", providerId, 64), me, integer("nowMs", nowMs)],
					...(jobs === null ? [null, null] : [text("an address", jobs.address, 100), json("a job offer", jobs.offer)]),
				];
				// Before it is written: whoever is taken for dead meanwhile takes it up again on its return.
				held.set(providerId, nowMs);
				try {
					const changed = await database.write(
						`UPDATE providers p SET reachable_ms = ${reachableMs("$3")}, uptime_ppm = ${uptimePpm("$3")}, connected_to = $2, last_held_by = $2,
						connected_at_ms = $3, last_seen_at_ms = $3, job_address = $4, job_offer = $5::jsonb WHERE id = $1`,
						values,
					);
					if (changed === 0) throw new AssayError("STORE_NOT_FOUND", `there is no provider ${providerId}`);
				} catch (error) {
					// Nor is an older one: whoever dials in ends it.
					held.delete(providerId);
					throw error;
				}
			},
			/** The process that holds its agent connection and lives; null: none does. */
			async holder(providerId: string): Promise<string | null> {
				const [row] = await database.read<{ connectedTo: string }>(
					`SELECT connected_to FROM providers p WHERE id = $1 AND NOT ${unleased("'process/' || p.connected_to")}`,
					[hex("a provider's id", providerId, 64)],
				);
				return row?.connectedTo ?? null;
			},
			/** Of those that are connected, anywhere, and take jobs. */
			async jobTakers(ids: readonly string[]): Promise<ReadonlyMap<string, JobTaker>> {
				const rows = await database.read<{ id: string; jobAddress: string; jobOffer: Json }>(
					`SELECT id, job_address, job_offer FROM providers
					WHERE id = ANY ($1) AND connected_to IS NOT NULL AND job_offer IS NOT NULL`,
					[list("ids", ids, MOST_ASKED).map((id) => hex("a provider's id", id, 64))],
				);
				return new Map(rows.map(({ id, jobAddress, jobOffer }) => [id, { address: jobAddress, offer: jobOffer }]));
			},
			/** Agents that had proven something, went away in that time and are not back, oldest first. */
			leftBetween: async (afterMs: number, untilMs: number): Promise<readonly { id: string; name: string }[]> =>
				database.read(
					`SELECT id, name FROM providers WHERE link = 'agent' AND state = 'active' AND connected_to IS NULL AND last_valid_at_ms IS NOT NULL
						AND last_seen_at_ms > $1 AND last_seen_at_ms <= $2 ORDER BY last_seen_at_ms, id LIMIT ${MOST_ASKED}`,
					[integer("afterMs", afterMs), integer("untilMs", untilMs)],
				),
			/** Only if this process still holds it. */
			async disconnect(providerId: string, { nowMs }: { readonly nowMs: number }): Promise<void> {
				held.delete(providerId);
				await database.write(`UPDATE providers p SET ${leftAt("$3")} WHERE id = $1 AND connected_to = $2`, [
					hex("a provider's id", providerId, 64),
					me,
					integer("nowMs", nowMs),
				]);
			},
		},
		/** Those that others took for dead with this process, unless another process had them since. */
		async reconnect(): Promise<void> {
			await database.write(
				// What was before was counted by whoever took them for dead.
				`UPDATE providers p SET connected_to = $1, connected_at_ms = greatest(n.at_ms, p.last_seen_at_ms) FROM unnest($2::text[], $3::bigint[]) AS n (id, at_ms)
				WHERE p.id = n.id AND p.connected_to IS NULL AND p.last_held_by = $1`,
				[me, [...held.keys()], [...held.values()]],
			);
		},
		async disconnectAll(): Promise<void> {
			held.clear();
			await database
				.write(
					`UPDATE providers p SET ${leftAt("(extract(epoch FROM clock_timestamp()) * 1000)::bigint")} WHERE connected_to = $1`,
					[me],
				)
				.catch(() => {});
		},
	};
}
