// The store: what opens it and what it gives, one part for each thing. The parts' types lie beside their SQL.
// Not here: judgement (market/, verify/), wiring (validator/). Page: docs/network.md.
//
// Times are `…AtMs` (milliseconds since 1970), money `…Micros`, shares `…Ppm`; all are safe integers. Clocks
// are arguments, with one exception: leases expire by the database's clock, the only one that processes on
// several machines have in common. Text from providers is stored as given, within limits; whoever shows it
// makes it safe (protocol/bytes/safe-text).
import type { ChainStore } from "./chain.ts";
import type { ConnectionStore } from "./connections.ts";
import type { DeviceStore } from "./devices.ts";
import type { EventStore } from "./events.ts";
import type { EvidenceStore } from "./files/evidence.ts";
import type { JournalStore } from "./journal.ts";
import type { Overview, PruneOptions } from "./overview.ts";
import type { ProbeStore } from "./probes.ts";
import type { ProviderStore } from "./providers.ts";
import type { DueProbeStore } from "./queue/due-probes.ts";
import type { LeaseStore } from "./queue/leases.ts";
import type { RentalStore } from "./rentals.ts";
import type { ScoreStore } from "./scores.ts";
import type { NonceStore, TokenStore } from "./tokens.ts";

export interface StoreOptions {
	/** Evidence, pending entries and, without `databaseUrl`, the embedded server's files. Made when missing. */
	readonly dataDir: string;
	/** Any PostgreSQL server (14 or newer); without it the embedded one is started, or joined where it runs. */
	readonly databaseUrl?: string;
	/** Lower-case name. Default "assay". */
	readonly schema?: string;
	/** Names this process in leases and events; unique for every start. Default: random. */
	readonly process?: string;
	/** Connections of this process, the listener not counted. Default 10. */
	readonly poolSize?: number;
	readonly statementTimeoutMs?: number;
	/** How long a lease lasts without a heartbeat (they come at a third of it). Default 30,000. */
	readonly leaseMs?: number;
	/** Leave the embedded server running; for tests that share one. Default: stop it when nobody is left. */
	readonly keepServer?: boolean;
	/** Warnings: lost connections, taken-over servers. Never secrets. */
	readonly onWarning?: (message: string) => void;
}

export interface Store {
	readonly process: string;
	readonly schema: string;
	readonly providers: ProviderStore;
	readonly connections: ConnectionStore;
	readonly devices: DeviceStore;
	readonly probes: ProbeStore;
	readonly evidence: EvidenceStore;
	readonly dueProbes: DueProbeStore;
	readonly leases: LeaseStore;
	readonly scores: ScoreStore;
	readonly chain: ChainStore;
	readonly rentals: RentalStore;
	readonly tokens: TokenStore;
	readonly nonces: NonceStore;
	readonly journal: JournalStore;
	readonly events: EventStore;
	overview(options: { readonly nowMs: number }): Promise<Overview>;
	/** One round trip to the database and the evidence folder; throws what is wrong. */
	ready(): Promise<void>;
	/** Removes history that nobody needs; evidence files stay. At most `limit` rows a call (default 10,000). */
	prune(options: PruneOptions): Promise<{ readonly probes: number; readonly nonces: number }>;
	/** Takes no more probes, aborts handlers and waits for them, gives leases back, closes everything. */
	close(): Promise<void>;
}
