// What every part of the store is made with. Internal: users see open-store.ts only.
import type { Database } from "./postgres/database.ts";

export interface StoreContext {
	readonly database: Database;
	readonly schema: string;
	readonly process: string;
	readonly leaseMs: number;
	/** Where events and calls to simultaneous probes are told: one channel for all processes of a schema. */
	readonly channel: string;
	readonly onWarning: (message: string) => void;
}
