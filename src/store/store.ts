// The shapes of the store: every row that goes in or comes out, and the methods grouped by thing. Types only, plain objects.
// Not here: SQL (one file per thing beside this one), judgement (market/, verify/), wiring (validator/). Page: docs/network.md.
//
// Times are `…AtMs` (milliseconds since 1970), money `…Micros`, shares `…Ppm`; all are safe integers. Clocks are arguments, with one
// exception: leases expire by the database's clock, the only one that processes on several machines have in common.
// Text from providers is stored as given, within limits; whoever shows it makes it safe (protocol/safe-text).
import type { Json } from "../protocol/bytes/canonical-json.ts";
import type { Figure, HostClaim } from "../protocol/probe/evidence.ts";
import type { Finding, IdentityState } from "../protocol/probe/verdict.ts";

// ---- opening

export interface StoreOptions {
	/** Evidence folder, pending entries and, without `databaseUrl`, the embedded server's files. Made when missing. */
	readonly dataDir: string;
	/** Any PostgreSQL server (14 or newer); without it the embedded one is started, or joined when it already runs on `dataDir`. */
	readonly databaseUrl?: string;
	/** Lower-case name; the queue lives in `<schema>_queue`. Default "assay". */
	readonly schema?: string;
	/** Names this process in leases and events; unique for every start. Default: random. */
	readonly process?: string;
	/** Connections of this process, the listener not counted. Default 10. */
	readonly poolSize?: number;
	readonly statementTimeoutMs?: number;
	/** How long a lease lasts without a heartbeat (they come at a third of it). Default 30,000. */
	readonly leaseMs?: number;
	/** The longest that a worker waits before it looks for jobs when no notification comes. Default 2,000. */
	readonly pollMs?: number;
	/** Leave the embedded server running when this store closes; for tests that share one server. Default: stop it when nobody is left. */
	readonly keepServer?: boolean;
	/** Warnings: lost connections, taken-over servers. Never secrets. */
	readonly onWarning?: (message: string) => void;
}

export interface Store {
	readonly process: string;
	readonly schema: string;
	readonly providers: ProviderStore;
	readonly devices: DeviceStore;
	readonly probes: ProbeStore;
	readonly evidence: EvidenceStore;
	readonly work: WorkStore;
	readonly leases: LeaseStore;
	readonly scores: ScoreStore;
	readonly chain: ChainStore;
	readonly rentals: RentalStore;
	readonly tokens: TokenStore;
	readonly nonces: NonceStore;
	readonly audit: AuditStore;
	readonly events: EventStore;
	overview(options: { readonly nowMs: number }): Promise<Overview>;
	/** One round trip to the database and the evidence folder; throws what is wrong. */
	ready(): Promise<void>;
	/** Removes history that nobody needs any more; evidence files stay. At most `limit` rows a call (default 10,000). */
	prune(options: PruneOptions): Promise<{ readonly probes: number; readonly scores: number; readonly nonces: number }>;
	/** Stops taking jobs, waits for running handlers (their signals are aborted), gives leases back, closes everything. */
	close(): Promise<void>;
}

export interface PruneOptions {
	readonly probesBeforeMs: number;
	readonly scoresBeforeMs: number;
	readonly nowMs: number;
	readonly limit?: number;
}

/** `cursor` is opaque and belongs to the same query with the same filter and sort; null: this was the last page. */
export interface Page<Row> {
	readonly rows: readonly Row[];
	readonly cursor: string | null;
}

export interface PageOptions {
	/** 1 … 500, default 50. */
	readonly limit?: number;
	readonly cursor?: string | null;
}

/** One line of the audit log; `detail` is canonical JSON (integers, strings, lists, objects). */
export interface AuditEntry {
	/** A key, a token's id, or "system". */
	readonly actor: string;
	/** e.g. "probe.done", "rental.active", "provider.paused". */
	readonly kind: string;
	/** What it is about: a provider's, rental's or token's id. */
	readonly subject: string;
	readonly detail: Json;
}

// ---- providers

export type LinkKind = "agent" | "ssh" | "local";
export type ProviderState = "active" | "paused" | "removed";
export type VerdictStatus = "valid" | "invalid" | "inconclusive";

export interface Offer {
	readonly name: string;
	readonly pricePerHourMicros: number;
	readonly rentable: boolean;
	readonly ssh: boolean;
}

export interface Provider {
	/** 64 hex digits. */
	readonly id: string;
	readonly name: string;
	readonly link: LinkKind;
	/** ssh://…, "local", or "" for agents. */
	readonly target: string;
	readonly state: ProviderState;
	readonly pricePerHourMicros: number;
	readonly rentable: boolean;
	readonly ssh: boolean;
	readonly registeredAtMs: number;
	/** The process that holds its agent connection and is alive; null: not connected. Always null for ssh and local. */
	readonly connectedTo: string | null;
	readonly connectedAtMs: number | null;
	readonly lastSeenAtMs: number | null;

	// the schedule's state, docs/network.md §3; decided by market/, kept here
	readonly nextProbeAtMs: number;
	readonly failures: number;
	readonly retries: number;
	readonly lastVerdict: VerdictStatus | null;
	readonly lastCode: string | null;
	readonly lastProbeAtMs: number | null;
	readonly lastValidAtMs: number | null;
	readonly reliabilityPpm: number;
	readonly uptimePpm: number;
	/** Whatever else the schedule wants to remember (suspicion, medians): opaque here. */
	readonly schedule: Json;
	/** The job that is queued or running for it. */
	readonly jobId: string | null;
	/** The rental that is reserved or active on it. */
	readonly rentalId: string | null;
	readonly scorePpm: number | null;

	// proven summary of the last valid probe; of the largest group of equal cards (see `Holding`)
	readonly model: string | null;
	readonly gpuCount: number;
	readonly memoryBytes: number | null;
	readonly fp16OpsPerS: number | null;
	readonly memoryBytesPerS: number | null;
}

/** Equal cards of one provider, by proven model: what a search by figures looks at. Figures are those of the weakest of the group. */
export interface Holding {
	readonly model: string;
	readonly count: number;
	readonly figures: { readonly [name: string]: number };
}

export type ProviderSort =
	| "score"
	| "price"
	| "memory"
	| "fp16"
	| "bandwidth"
	| "uptime"
	| "name"
	| "registered"
	| "lastProbe"
	| "nextProbe";

export interface ProviderFilter {
	readonly state?: ProviderState;
	readonly link?: LinkKind;
	readonly connected?: boolean;
	readonly rented?: boolean;
	readonly rentable?: boolean;
	/** Substring of the name, or a prefix of the id. */
	readonly text?: string;
	/** Proven profile id, exactly. With the minima below: one group of equal cards must satisfy all of them. */
	readonly model?: string;
	readonly minCount?: number;
	readonly minMemoryBytes?: number;
	readonly minFp16OpsPerS?: number;
	readonly minMemoryBytesPerS?: number;
	/** Any other figure of each card of the group, by name ("fma.fp64"). At most 16. */
	readonly minFigures?: { readonly [name: string]: number };
	readonly maxPricePerHourMicros?: number;
	readonly minUptimePpm?: number;
	readonly minScorePpm?: number;
	readonly lastVerdict?: VerdictStatus;
	/** The last valid verdict must not be older. */
	readonly provenSinceMs?: number;
}

export interface ProviderQuery extends PageOptions {
	readonly filter?: ProviderFilter;
	/** Default "score". */
	readonly sort?: ProviderSort;
	/** Default: false for "price", "name", "nextProbe"; true for the others. */
	readonly descending?: boolean;
}

export interface CurrentFigure {
	readonly device: number;
	readonly name: string;
	readonly value: number;
	readonly unit: string;
	readonly probeId: string;
	readonly evidenceSha256: string;
	readonly atMs: number;
}

export interface ProviderStore {
	/** New, or the same again: then name, target, price and so on are brought up to date and the state is left as it is (removed → active). */
	register(
		provider: Offer & {
			readonly id: string;
			readonly link: LinkKind;
			readonly target: string;
			readonly claim: HostClaim | null;
		},
		options: { readonly nowMs: number; readonly actor: string },
	): Promise<{ readonly provider: Provider; readonly created: boolean }>;
	get(id: string): Promise<Provider | null>;
	getMany(ids: readonly string[]): Promise<readonly Provider[]>;
	list(query?: ProviderQuery): Promise<Page<Provider>>;
	count(filter?: ProviderFilter): Promise<number>;
	/** What it said of itself last; kept apart from the row because it is long. */
	claim(id: string): Promise<HostClaim | null>;
	holdings(id: string): Promise<readonly Holding[]>;
	figures(id: string): Promise<readonly CurrentFigure[]>;
	setState(
		id: string,
		state: ProviderState,
		options: { readonly nowMs: number; readonly actor: string },
	): Promise<void>;
	setOffer(
		id: string,
		offer: Partial<Offer>,
		options: { readonly nowMs: number; readonly actor: string },
	): Promise<void>;
	setClaim(id: string, claim: HostClaim, options: { readonly nowMs: number }): Promise<void>;
	/** Due at `atMs` or earlier. A running probe goes on, and its end does not push the date back again. */
	requestProbe(id: string, options: { readonly atMs: number }): Promise<void>;
	/** Opaque schedule state outside a probe (suspicion). */
	setSchedule(id: string, schedule: Json): Promise<void>;
	/** This process holds its agent connection from now on; a former holder loses it. */
	connect(id: string, options: { readonly nowMs: number }): Promise<void>;
	/** Only if this process still holds it. */
	disconnect(id: string, options: { readonly nowMs: number }): Promise<void>;
}

// ---- devices

export interface DeviceRow {
	readonly device: number;
	readonly kind: "gpu" | "cpu" | "disk";
	readonly claimedName: string;
	readonly uuid: string;
	readonly memoryBytes: number;
	/** Proven profile id: only where the identity is `confirmed` or `consistent` (or `other`: the card its figures explain). */
	readonly profile: string | null;
	readonly identity: IdentityState;
}

export interface Device extends DeviceRow {
	readonly providerId: string;
	readonly probeId: string;
	readonly atMs: number;
}

export interface DeviceStore {
	ofProvider(providerId: string): Promise<readonly Device[]>;
	/** GPU UUIDs that more than one active provider showed; empty UUIDs never count. */
	shared(): Promise<readonly { readonly uuid: string; readonly providerIds: readonly string[] }[]>;
	/** The other active providers that showed one of these UUIDs. */
	othersWith(providerId: string, uuids: readonly string[]): Promise<readonly string[]>;
}

// ---- probes and evidence

export type ProbeState = "running" | "done" | "abandoned";

export interface Probe {
	/** 32 hex digits, the same as in the evidence. */
	readonly id: string;
	readonly providerId: string;
	readonly jobId: string | null;
	readonly validator: string;
	readonly process: string;
	readonly link: LinkKind;
	readonly state: ProbeState;
	readonly startedAtMs: number;
	readonly finishedAtMs: number | null;
	readonly verdict: VerdictStatus | null;
	readonly code: string | null;
	readonly where: string | null;
	readonly detail: string | null;
	readonly evidenceSha256: string | null;
	readonly evidenceBytes: number | null;
	/** Proven figures, findings and devices; empty unless valid. */
	readonly figures: readonly Figure[];
	readonly findings: readonly Finding[];
	readonly devices: readonly DeviceRow[];
}

export interface FinishProbe {
	readonly probeId: string;
	readonly finishedAtMs: number;
	readonly verdict: {
		readonly status: VerdictStatus;
		readonly code: string | null;
		readonly where: string | null;
		readonly detail: string | null;
	};
	/** What `evidence.put` gave; null when the host said nothing that could be recorded. */
	readonly evidence: { readonly sha256: string; readonly bytes: number } | null;
	readonly figures: readonly Figure[];
	readonly findings: readonly Finding[];
	readonly devices: readonly DeviceRow[];
	readonly claim: HostClaim | null;
	/** The provider's new state, as market/schedule decided it. Not applied when a later probe of the provider was counted meanwhile. */
	readonly provider: {
		readonly nextProbeAtMs: number;
		readonly failures: number;
		readonly retries: number;
		readonly reliabilityPpm: number;
		readonly uptimePpm: number;
		readonly schedule: Json;
	};
	readonly actor: string;
}

export interface PendingProbe {
	readonly probeId: string;
	readonly evidenceSha256: string;
	/** Null: no such row (the entry is of another database). */
	readonly probe: Probe | null;
}

export interface ProbeFilter {
	readonly providerId?: string;
	readonly state?: ProbeState;
	readonly verdict?: VerdictStatus;
	readonly code?: string;
	readonly sinceMs?: number;
	readonly untilMs?: number;
}

export interface ProbeStore {
	/** Step 1: the row, `running`. The lease on the provider must be held by this process: else STORE_LEASE_LOST. */
	begin(probe: {
		readonly id: string;
		readonly providerId: string;
		readonly jobId: string | null;
		readonly validator: string;
		readonly startedAtMs: number;
	}): Promise<void>;
	/**
	 * Steps 4 and 5: one transaction, guarded by the row's state, then the pending entry is removed. False: it was counted before
	 * (or abandoned, and there is no evidence): nothing was changed.
	 */
	finish(finish: FinishProbe): Promise<{ readonly counted: boolean; readonly latest: boolean }>;
	/** It came to nothing (the process gives up): counts for nothing, provider due at `nextProbeAtMs`. */
	abandon(probeId: string, options: { readonly nowMs: number; readonly nextProbeAtMs: number }): Promise<boolean>;
	/**
	 * After a start, and now and then: takes over what dead processes left (expired leases, their jobs, running rows → abandoned) and lists
	 * the pending entries in this data folder that nobody is working on: verify each file again and `finish` it.
	 */
	recover(options: { readonly nowMs: number }): Promise<{
		readonly pending: readonly PendingProbe[];
		readonly abandoned: readonly Probe[];
	}>;
	get(id: string): Promise<Probe | null>;
	/** Newest first. */
	list(options?: PageOptions & { readonly filter?: ProbeFilter }): Promise<Page<Probe>>;
	/** The last `limit` values of one figure of one device, newest first: a host's history. */
	figureHistory(options: {
		readonly providerId: string;
		readonly device: number;
		readonly name: string;
		readonly limit?: number;
	}): Promise<
		readonly { readonly atMs: number; readonly value: number; readonly unit: string; readonly probeId: string }[]
	>;
}

export interface EvidenceStore {
	/** Step 3: durable under its hash, and noted in pending/<probe id>, before this resolves. */
	put(probeId: string, bytes: Uint8Array): Promise<{ readonly sha256: string; readonly bytes: number }>;
	/** Verified by its hash: EVIDENCE_MISSING, EVIDENCE_CORRUPT. */
	get(sha256: string): Promise<Uint8Array>;
	has(sha256: string): Promise<boolean>;
	/** Takes a pending entry away without counting it (another database's, or a file that does not verify as a probe). */
	dropPending(probeId: string): Promise<void>;
}

// ---- work

export interface ProbeJob {
	readonly id: string;
	readonly providerId: string;
	readonly queuedAtMs: number;
	/** Probes that must overlap in time: all of them wait for `startAtMs`. */
	readonly together: {
		readonly id: string;
		readonly startAtMs: number;
		readonly providerIds: readonly string[];
	} | null;
	/** Aborted when the lease was lost or the store closes: stop probing. */
	readonly signal: AbortSignal;
}

export interface WorkStore {
	/**
	 * Takes due, active, unrented, unleased providers without a job (agents: only those connected to this process) and queues one job each,
	 * in the same transaction. Longest due first.
	 */
	dispatchDue(options: { readonly nowMs: number; readonly limit: number }): Promise<readonly string[]>;
	/** One job for each of these providers, or none at all: false when one of them is busy, rented, not active or not connected anywhere. */
	dispatchTogether(options: {
		readonly providerIds: readonly string[];
		readonly startAtMs: number;
		readonly nowMs: number;
	}): Promise<boolean>;
	/**
	 * Takes jobs, at most `concurrency` at once: lease on the provider first, heartbeats while the handler runs, lease given back after it. A handler
	 * that returned without `probes.finish` or that threw leaves the provider due again after `retryMs`, doubled each time in a row. Returns at once; `close` ends it.
	 */
	take(
		options: { readonly concurrency: number; readonly retryMs?: number; readonly nowMs: () => number },
		handler: (job: ProbeJob) => Promise<void>,
	): Promise<{ readonly running: () => number; readonly stop: () => Promise<void> }>;
	/** Queued and running jobs, and providers that are due and wait. */
	counts(options: {
		readonly nowMs: number;
	}): Promise<{ readonly queued: number; readonly running: number; readonly due: number }>;
}

export interface Lease {
	readonly name: string;
	readonly holder: string;
	readonly expiresAtMs: number;
}

/** Named leases of this process: "provider/<id>", "chain", anything. Held leases are renewed by the store until released. */
export interface LeaseStore {
	/** True: held by this process (again). False: another holds it and is not expired. */
	acquire(name: string): Promise<boolean>;
	/** Whoever has it: for one who knows by other means that the holder is dead or will find out. Writes that name a lease stay safe. */
	seize(name: string): Promise<void>;
	release(name: string): Promise<void>;
	holder(name: string): Promise<Lease | null>;
	list(options?: { readonly prefix?: string }): Promise<readonly Lease[]>;
	/** Tells once when a lease of this process was lost. Returns the way to stop listening. */
	onLost(listener: (name: string) => void): () => void;
}

// ---- chain

/** Addresses are 0x and lower-case hex. */
export interface ChainKey {
	readonly chainId: number;
	readonly registry: string;
}

export interface ChainEventRow {
	readonly block: number;
	readonly logIndex: number;
	readonly body: Json;
}

/** `lease`: the write happens only while this process holds it, else STORE_LEASE_LOST. Durable when they resolve. */
export interface ChainIntentStore {
	get(id: string): Promise<Json | null>;
	put(id: string, body: Json, lease?: string | null): Promise<void>;
	remove(id: string, lease?: string | null): Promise<void>;
	/** At most 10,000, sorted. */
	ids(): Promise<readonly string[]>;
}

export interface ChainStore {
	value(key: ChainKey, name: string): Promise<Json | null>;
	putValue(key: ChainKey, name: string, value: Json, lease?: string | null): Promise<void>;
	/** In the order of the chain, with the cursor that was written together with them; null before the first write. */
	events(key: ChainKey): Promise<{ readonly cursor: Json | null; readonly events: readonly ChainEventRow[] }>;
	/** All or nothing: what is above `keepTo` is forgotten, then `added` (all above it) and the cursor are written. */
	putEvents(
		key: ChainKey,
		change: { readonly keepTo: number; readonly added: readonly ChainEventRow[]; readonly cursor: Json },
	): Promise<void>;
	intents(key: ChainKey, account: string): ChainIntentStore;
}

// ---- scores

export interface Score {
	readonly providerId: string;
	readonly atMs: number;
	readonly scorePpm: number;
	/** "holistic" or "sn27". */
	readonly mode: string;
	/** The tree of terms, docs/network.md §5. */
	readonly terms: Json;
}

export interface ScoreStore {
	/** Becomes the provider's current score and a line of its history. */
	put(scores: readonly Score[]): Promise<void>;
	get(providerId: string): Promise<Score | null>;
	history(
		providerId: string,
		options?: PageOptions,
	): Promise<Page<{ readonly atMs: number; readonly scorePpm: number }>>;
	/** Highest first, with the provider's name. */
	list(options?: PageOptions): Promise<Page<Score & { readonly name: string }>>;
	/** Every current score of an active provider that is not older than `sinceMs`: what a report says. */
	all(options: {
		readonly sinceMs: number;
	}): Promise<readonly { readonly providerId: string; readonly scorePpm: number }[]>;
}

// ---- rentals

export type RentalState = "reserved" | "active" | "ended" | "refused";
export type RentalEnd = "released" | "expired" | "failed";

export interface RentalAccess {
	readonly host: string;
	readonly port: number;
	readonly user: string;
	readonly hostKey: string;
}

export interface Rental {
	/** 32 hex digits. */
	readonly id: string;
	readonly providerId: string;
	/** The customer's key. */
	readonly customer: string;
	readonly state: RentalState;
	readonly endReason: RentalEnd | null;
	readonly publicKey: string;
	readonly pricePerHourMicros: number;
	readonly devices: readonly number[];
	readonly access: RentalAccess | null;
	readonly reservedAtMs: number;
	readonly startedAtMs: number | null;
	readonly untilMs: number;
	readonly endedAtMs: number | null;
	readonly chargedMicros: number | null;
	readonly refundMicros: number | null;
	readonly misses: number;
	readonly lastHealthyAtMs: number | null;
	readonly detail: string | null;
}

export interface RentalChange {
	readonly id: string;
	/** Guard: the state that it must be in. */
	readonly from: RentalState;
	readonly to: RentalState;
	readonly atMs: number;
	readonly actor: string;
	readonly access?: RentalAccess;
	readonly untilMs?: number;
	readonly endReason?: RentalEnd;
	readonly chargedMicros?: number;
	readonly refundMicros?: number;
	readonly misses?: number;
	readonly lastHealthyAtMs?: number;
	readonly detail?: string;
	/** Guards a change that was decided from an old row (extend, health): refused when the row has another value by now. */
	readonly ifUntilMs?: number;
}

export interface RentalFilter {
	readonly customer?: string;
	readonly providerId?: string;
	readonly state?: RentalState;
}

export interface RentalStore {
	/**
	 * `reserved`, and the provider out of the schedule, in one transaction. RENTAL_CONFLICT when the provider has another rental, is not active,
	 * not rentable, or is being probed at this moment (then `busy` is in the hint: try again).
	 */
	reserve(
		rental: Pick<
			Rental,
			"id" | "providerId" | "customer" | "publicKey" | "pricePerHourMicros" | "devices" | "reservedAtMs" | "untilMs"
		>,
		options: { readonly actor: string; readonly evenWhileProbed?: boolean },
	): Promise<Rental>;
	/** Null: it is not in the state `from` (any more), nothing was changed. Ended or refused: the provider is due at once. */
	change(change: RentalChange): Promise<Rental | null>;
	get(id: string): Promise<Rental | null>;
	/** Newest first. */
	list(options?: PageOptions & { readonly filter?: RentalFilter }): Promise<Page<Rental>>;
	/** All that are reserved or active: for the health watch and the expiry. */
	open(): Promise<readonly Rental[]>;
}

// ---- tokens, nonces, audit, events

export type Role = "reader" | "customer" | "provider" | "validator" | "admin";

export interface Token {
	/** 16 hex digits, public. */
	readonly id: string;
	readonly name: string;
	readonly role: Role;
	/** The key it acts for; null: nobody's. */
	readonly subject: string | null;
	readonly createdAtMs: number;
	readonly expiresAtMs: number | null;
	readonly revokedAtMs: number | null;
}

export interface TokenStore {
	/** The secret is told once; only its SHA-256 is kept. */
	create(
		token: {
			readonly name: string;
			readonly role: Role;
			readonly subject: string | null;
			readonly expiresAtMs: number | null;
		},
		options: { readonly nowMs: number; readonly actor: string },
	): Promise<{ readonly token: Token; readonly secret: string }>;
	/** Null: unknown, expired or revoked. */
	find(secret: string, options: { readonly nowMs: number }): Promise<Token | null>;
	revoke(id: string, options: { readonly nowMs: number; readonly actor: string }): Promise<boolean>;
	list(options?: PageOptions): Promise<Page<Token>>;
}

export interface NonceStore {
	/** True the first time for this key; false ever after, until `expiresAtMs` has passed and it was pruned. */
	use(options: { readonly key: string; readonly nonce: string; readonly expiresAtMs: number }): Promise<boolean>;
}

export interface AuditLine extends AuditEntry {
	readonly seq: number;
	readonly atMs: number;
	/** SHA-256 over the line and the hash of the line before it, hex. */
	readonly hash: string;
}

export interface AuditStore {
	append(entry: AuditEntry, options: { readonly nowMs: number }): Promise<AuditLine>;
	/** Newest first. */
	list(
		options?: PageOptions & {
			readonly filter?: { readonly subject?: string; readonly actor?: string; readonly kind?: string };
		},
	): Promise<Page<AuditLine>>;
	/** Walks the whole chain. `brokenAt`: the first line that does not fit. */
	verify(): Promise<{ readonly lines: number; readonly brokenAt: number | null; readonly head: string }>;
}

/** Small (canonical JSON of at most 4 KiB), told to all processes; not stored. */
export interface StoreEvent {
	/** "probe", "provider", "rental", … */
	readonly kind: string;
	readonly subject: string;
	readonly atMs: number;
	readonly detail: Json;
}

export interface EventStore {
	publish(event: StoreEvent): Promise<void>;
	/** Every event of every process from now on (this one's too). `missed` is told when the connection was lost for a while. */
	subscribe(listener: (event: StoreEvent | { readonly kind: "missed" }) => void): () => void;
}

export interface Overview {
	readonly providers: {
		readonly active: number;
		readonly paused: number;
		readonly connected: number;
		readonly rented: number;
		readonly proven: number;
	};
	readonly gpus: number;
	readonly models: readonly { readonly model: string; readonly gpus: number; readonly providers: number }[];
	/** Over all proven GPUs, each counted as the weakest of its group. In millions: ten thousand hosts pass 2⁵³ op/s and bytes. */
	readonly proven: { readonly fp16MopPerS: number; readonly memoryMiB: number; readonly memoryMBPerS: number };
	readonly probes: {
		readonly running: number;
		readonly day: Readonly<Record<VerdictStatus, number>>;
		readonly total: Readonly<Record<VerdictStatus, number>>;
	};
	readonly evidence: { readonly files: number; readonly bytes: number };
}
