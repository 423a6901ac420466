// Leases: which process may do what, until when. Renewed by a heartbeat at a third of their length and given back when done; one that expired
// may be taken by another. They live by the database's clock. Here too: the process's own lease, by which others see that it is alive.
//
// Whoever cannot renew in time must assume that another has taken over: then `onLost` tells, and the work has to stop.
import { text } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import type { Sql } from "../postgres/database.ts";
import type { Lease, LeaseStore } from "../store.ts";

export const processLease = (process: string): string => `process/${process}`;
export const providerLease = (providerId: string): string => `provider/${providerId}`;

export interface Leases {
	readonly store: LeaseStore;
	/** Within a transaction of the caller's; `keep` has to be called after it was committed. */
	acquireWith(sql: Sql, name: string): Promise<boolean>;
	keep(name: string): void;
	releaseWith(sql: Sql, name: string): Promise<void>;
	/** From now on without heartbeats, whatever the database says. */
	drop(name: string): void;
	/** Takes the process's lease and begins to beat. `onBeat` follows every beat; `onReturn` when the process had been given up as dead. */
	start(hooks: { readonly onBeat: () => Promise<void>; readonly onReturn: () => Promise<void> }): Promise<void>;
	stop(): Promise<void>;
}

const LEASE_COLUMNS = "name, holder, (extract(epoch FROM expires_at) * 1000)::bigint AS expires_at_ms";

export function createLeases({ database, process: me, leaseMs, onWarning }: StoreContext): Leases {
	/** Name → monotonic time of the last certain renewal, taken before the statement was sent. */
	const held = new Map<string, number>();
	const listeners = new Set<(name: string) => void>();
	let timer: NodeJS.Timeout | null = null;
	let beating: Promise<void> = Promise.resolve();
	let stopped = false;

	const lose = (name: string): void => {
		if (held.delete(name)) for (const listener of [...listeners]) listener(name);
	};

	const acquireWith = async (sql: Sql, name: string): Promise<boolean> => {
		const rows = await sql.query(
			`INSERT INTO leases AS l (name, holder, expires_at) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
			WHERE l.holder = excluded.holder OR l.expires_at < clock_timestamp() RETURNING name`,
			[text("a lease's name", name, 200), me, leaseMs],
		);
		return rows.length === 1;
	};

	const releaseWith = async (sql: Sql, name: string): Promise<void> => {
		await sql.query("DELETE FROM leases WHERE name = $1 AND holder = $2", [name, me]);
	};

	const renew = async (onReturn: () => Promise<void>): Promise<void> => {
		const names = [...held.keys()];
		const sentAt = performance.now();
		try {
			const rows = await database.query(
				`UPDATE leases SET expires_at = clock_timestamp() + $3 * interval '1 ms' WHERE holder = $1 AND name = ANY ($2) RETURNING name`,
				[me, names, leaseMs],
			);
			const renewed = new Set(rows.map((row) => row.name as string));
			for (const name of names) {
				if (renewed.has(name)) {
					if (held.has(name)) held.set(name, sentAt);
				} else lose(name);
			}
			const own = processLease(me);
			if (!renewed.has(own) && !stopped && (await acquireWith(database, own))) {
				held.set(own, sentAt);
				onWarning("this process was held for dead (its lease had expired) and is back");
				await onReturn();
			}
		} catch (cause) {
			onWarning(`a heartbeat failed: ${(cause as Error).message}`);
			for (const [name, at] of held) if (performance.now() - at > leaseMs && name !== processLease(me)) lose(name);
		}
	};

	return {
		acquireWith,
		releaseWith,
		keep: (name) => void held.set(name, performance.now()),
		drop: (name) => void held.delete(name),

		async start({ onBeat, onReturn }) {
			await acquireWith(database, processLease(me));
			held.set(processLease(me), performance.now());
			const beat = () => {
				timer = setTimeout(() => {
					beating = renew(onReturn)
						.then(onBeat)
						.catch((cause: Error) => onWarning(`after a heartbeat: ${cause.message}`))
						.finally(() => {
							if (!stopped) beat();
						});
				}, leaseMs / 3);
			};
			beat();
		},

		async stop() {
			stopped = true;
			if (timer) clearTimeout(timer);
			await beating;
			held.clear();
			await database.write("DELETE FROM leases WHERE holder = $1", [me]).catch(() => {});
		},

		store: {
			async acquire(name) {
				const at = performance.now();
				const mine = await acquireWith(database, name);
				if (mine) held.set(name, at);
				return mine;
			},
			async seize(name) {
				const at = performance.now();
				await database.query(
					`INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
					ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`,
					[text("a lease's name", name, 200), me, leaseMs],
				);
				held.set(name, at);
			},
			async release(name) {
				held.delete(name);
				await releaseWith(database, name);
			},
			async holder(name) {
				const rows = await database.read(
					`SELECT ${LEASE_COLUMNS} FROM leases WHERE name = $1 AND expires_at > clock_timestamp()`,
					[text("a lease's name", name, 200)],
				);
				return rows[0] ? toLease(rows[0]) : null;
			},
			async list({ prefix = "" } = {}) {
				const rows = await database.read(
					`SELECT ${LEASE_COLUMNS} FROM leases WHERE starts_with(name, $1) AND expires_at > clock_timestamp() ORDER BY name COLLATE "C" LIMIT 10000`,
					[text("a prefix", prefix, 200)],
				);
				return rows.map(toLease);
			},
			onLost(listener) {
				listeners.add(listener);
				return () => void listeners.delete(listener);
			},
		},
	};
}

function toLease(row: { name: string; holder: string; expires_at_ms: number }): Lease {
	return { name: row.name, holder: row.holder, expiresAtMs: row.expires_at_ms };
}
