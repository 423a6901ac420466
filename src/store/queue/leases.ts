// Leases: which process may do what, until when. Renewed by a heartbeat at a third of their length and given
// back when done; one that expired may be taken by another. They live by the database's clock, the only one
// that processes on several machines have in common. Here too: the process's own lease, by which others see
// that it is alive.
//
// Whoever cannot renew in time must assume that another has taken over: then `onLost` says so, and the work
// has to stop.
import { AssayError } from "../../protocol/assay-error.ts";
import { text } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import type { Sql } from "../postgres/sql.ts";

export interface Lease {
	readonly name: string;
	readonly holder: string;
	readonly expiresAtMs: number;
}

/** A beat older than this makes a process not ready. */
const LATE_MS = 60_000;

export const processLease = (process: string): string => `process/${process}`;
export const providerLease = (providerId: string): string => `provider/${providerId}`;

/**
 * SQL: the lease `l` is alive. One that would last for more than an hour, which none does, was made while the
 * clock was wrong: its holder renews it at the next beat, or is gone, and nobody waits for that day.
 */
export const alive = (l: string): string =>
	`(${l}.expires_at BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 hour')`;

/** SQL: no lease of this name is alive. `name` is an expression. */
export const unleased = (name: string): string =>
	`NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = ${name} AND ${alive("l")})`;

/** If so its row stays locked: nobody takes it over before the transaction ends. */
export async function holdsLease(sql: Sql, name: string, holder: string): Promise<boolean> {
	const held = await sql.query(`SELECT 1 FROM leases l WHERE name = $1 AND holder = $2 AND ${alive("l")} FOR SHARE`, [
		text("a lease's name", name, 200),
		holder,
	]);
	return held.length === 1;
}

export async function releaseLease(sql: Sql, name: string, holder: string): Promise<void> {
	await sql.write("DELETE FROM leases WHERE name = $1 AND holder = $2", [name, holder]);
}

async function takeLease(
	sql: Pick<Sql, "write">,
	of: { readonly name: string; readonly holder: string; readonly leaseMs: number; readonly condition: string },
): Promise<boolean> {
	const taken = await sql.write(
		`INSERT INTO leases AS l (name, holder, expires_at) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at WHERE ${of.condition}`,
		[text("a lease's name", of.name, 200), of.holder, of.leaseMs],
	);
	return taken === 1;
}

function listLeases(database: StoreContext["database"], prefix: string) {
	return database.read<Lease>(
		`SELECT name, holder, (extract(epoch FROM expires_at) * 1000)::bigint AS expires_at_ms FROM leases l
		WHERE starts_with(name, $1) AND ${alive("l")} ORDER BY name COLLATE "C" LIMIT 10000`,
		[text("a prefix", prefix, 200)],
	);
}

/** Throws STORE_TIMEOUT: others may take this process for dead. */
export function mustBeat(beatAtMs: number, leaseMs: number): void {
	const ageMs = performance.now() - beatAtMs;
	if (ageMs > Math.max(leaseMs, LATE_MS))
		throw new AssayError("STORE_TIMEOUT", `the last heartbeat is ${Math.round(ageMs / 1000)} s old`);
}

export function createLeases({ database, process: me, leaseMs, onWarning }: StoreContext) {
	const own = processLease(me);
	/** Name → monotonic time of the last certain renewal, taken before the statement was sent. */
	const held = new Map<string, number>();
	const listeners = new Set<(name: string) => void>();
	let timer: NodeJS.Timeout | null = null;
	let beating: Promise<void> = Promise.resolve();
	let stopped = false;
	let isReturning = false; // it was held for dead, and what follows from that is not done yet

	const lose = (name: string): void => {
		if (held.delete(name)) for (const listener of [...listeners]) listener(name);
	};

	async function take(name: string, condition: string): Promise<boolean> {
		const at = performance.now();
		const isTaken = await takeLease(database, { name, holder: me, leaseMs, condition });
		if (isTaken) held.set(name, at);
		return isTaken;
	}
	const acquire = (name: string) => take(name, `l.holder = excluded.holder OR NOT ${alive("l")}`);

	async function renew(): Promise<"renewed" | "returned"> {
		const names = [...held.keys()];
		const sentAt = performance.now();
		const rows = await database.query<Pick<Lease, "name">>(
			`UPDATE leases SET expires_at = clock_timestamp() + $3 * interval '1 ms' WHERE holder = $1 AND name = ANY ($2) RETURNING name`,
			[me, names, leaseMs],
		);
		const renewed = new Set(rows.map(({ name }) => name));
		for (const name of names) {
			if (!renewed.has(name)) lose(name);
			else if (held.has(name)) held.set(name, sentAt);
		}
		return renewed.has(own) || stopped || !(await acquire(own)) ? "renewed" : "returned";
	}

	async function beat(onReturn: () => Promise<void>): Promise<void> {
		try {
			const isBack = (await renew()) === "returned";
			if (isBack) onWarning("this process was held for dead (its lease had expired) and is back");
			isReturning ||= isBack;
			if (isReturning) await onReturn();
			isReturning = false;
		} catch (cause) {
			onWarning(`a heartbeat failed: ${(cause as Error).message}`);
			for (const [name, at] of held) if (performance.now() - at > leaseMs && name !== own) lose(name);
		}
	}

	return {
		/** Renews what the caller's own statement took; `sinceMs`: `performance.now()` before it was sent. */
		keep: (name: string, sinceMs: number): void => void held.set(name, sinceMs),
		/** Not renewed any more, whatever the database says. */
		drop: (name: string): void => void held.delete(name),

		/** Takes the process's lease and begins to beat. `onReturn`: the process had been given up as dead. */
		async start({ onBeat, onReturn }: Record<"onBeat" | "onReturn", () => Promise<void>>): Promise<void> {
			await acquire(own);
			const next = () => {
				timer = setTimeout(() => {
					beating = beat(onReturn)
						.then(onBeat)
						.catch((cause: Error) => onWarning(`after a heartbeat: ${cause.message}`))
						.finally(() => {
							if (!stopped) next();
						});
				}, leaseMs / 3);
			};
			next();
		},

		async stop(): Promise<void> {
			stopped = true;
			if (timer) clearTimeout(timer);
			await beating;
			held.clear();
			await database.write("DELETE FROM leases WHERE holder = $1", [me]).catch(() => {});
		},

		/** Named leases of this process: "provider/<id>", "rentals", anything. Renewed until released. */
		store: {
			/** True: held by this process (again). False: another holds it and is not expired. */
			acquire,
			/** Whoever has it: for one who knows that the holder is dead. Writes that name the lease stay safe. */
			seize: async (name: string): Promise<void> => void (await take(name, "true")),
			async release(name: string): Promise<void> {
				held.delete(name);
				await releaseLease(database, name, me);
			},
			/** Those that have not expired. */
			list: ({ prefix = "" }: { readonly prefix?: string } = {}) => listLeases(database, prefix),
			/** Called once for every lease of this process that was lost. Returns how to stop listening. */
			onLost(listener: (name: string) => void): () => void {
				listeners.add(listener);
				return () => void listeners.delete(listener);
			},
		},
	};
}

export type Leases = ReturnType<typeof createLeases>;
