// What dead processes leave behind is taken over: expired leases go, running probes without a lease are
// abandoned, providers that nobody works on any more are free again, connections of processes that are gone
// are forgotten. Every step looks at the state of the tables only, so it does not matter who runs it, how
// often, or whether a former run was itself killed halfway.
import type { StoreContext } from "../context.ts";
import { leftAt } from "../reachable-time.ts";
import type { Lease } from "./leases.ts";
import { alive, processLease, unleased } from "./leases.ts";

const ENDLESS = `r.state = 'running' AND ${unleased("'provider/' || r.provider_id")}`;
/** Still due: the date was not moved when it was taken. */
const ORPHANED = `p.probed_by IS NOT NULL AND ${unleased("'provider/' || p.id")}`;
const DISCONNECTED = `p.connected_to IS NOT NULL AND ${unleased("'process/' || p.connected_to")}`;

/** The ids of the probes that were abandoned. */
export async function takeOver(
	{ database, schema, onWarning }: StoreContext,
	nowMs: number,
): Promise<readonly string[]> {
	// Most beats find nothing: looked at without a lock first.
	const [found] = await database.read<{ readonly anything: boolean }>(
		`SELECT EXISTS (SELECT 1 FROM leases l WHERE NOT ${alive("l")})
			OR EXISTS (SELECT 1 FROM probes r WHERE ${ENDLESS})
			OR EXISTS (SELECT 1 FROM providers p WHERE ${ORPHANED})
			OR EXISTS (SELECT 1 FROM providers p WHERE ${DISCONNECTED}) AS anything`,
	);
	if (!found?.anything) return [];
	const { abandoned, expired } = await database.transaction(async (sql) => {
		// One at a time, and never waiting: the other is doing the same.
		const [lock] = await sql.query<{ readonly mine: boolean }>(
			"SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS mine",
			[`assay/take-over/${schema}`],
		);
		if (!lock?.mine) return { abandoned: [], expired: [] };
		const expired = await sql.query<Lease>(
			`DELETE FROM leases l WHERE NOT ${alive("l")} RETURNING name, holder, (extract(epoch FROM expires_at) * 1000)::bigint AS expires_at_ms`,
		);
		const abandoned = await sql.query<{ readonly id: string }>(
			`UPDATE probes r SET state = 'abandoned', finished_at_ms = $1 WHERE ${ENDLESS} RETURNING id`,
			[nowMs],
		);
		await sql.write(`UPDATE providers p SET probed_by = NULL WHERE ${ORPHANED}`);
		// Its agents were there as long as its lease, as far as anybody knows.
		const died =
			"coalesce((SELECT least(e.at_ms, $1) FROM unnest($2::text[], $3::bigint[]) AS e (name, at_ms) WHERE e.name = 'process/' || p.connected_to), $1)";
		await sql.write(`UPDATE providers p SET ${leftAt(died)} WHERE ${DISCONNECTED}`, [
			nowMs,
			expired.map(({ name }) => name),
			expired.map(({ expiresAtMs }) => expiresAtMs),
		]);
		return { abandoned, expired };
	});
	for (const { name, holder } of expired)
		if (name === processLease(holder)) onWarning(`process ${holder} is gone; its work is taken over`);
	return abandoned.map(({ id }) => id);
}
