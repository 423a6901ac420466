// What every part of the store is made with. Internal: users see store.ts only.
import type { PgBoss } from "pg-boss";
import type { Database } from "./postgres/database.ts";

export interface StoreContext {
	readonly database: Database;
	readonly boss: PgBoss;
	readonly schema: string;
	readonly process: string;
	readonly leaseMs: number;
	readonly pollMs: number;
	/** Where events, wake-ups for workers and lost leases are told: one channel for all processes of a schema. */
	readonly channel: string;
	readonly onWarning: (message: string) => void;
}
