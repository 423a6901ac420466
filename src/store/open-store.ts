// Opens the store: server, tables, evidence folder, heartbeat. The only place where the parts, one for each
// thing, are put together; their types lie beside their SQL. Not here: judgement (market/, verify/), wiring
// (validator/). Pages: docs/network.md, docs/schedule.md §3.
//
// Times are `…AtMs` (milliseconds since 1970), money `…Micros`, shares `…Ppm`; all are safe integers. Clocks
// are arguments, with one exception: leases expire by the database's clock, the only one that processes on
// several machines have in common. Text from providers is stored as given, within limits; whoever shows it
// makes it safe (protocol/bytes/safe-text).

import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { realAfter } from "../platform/abortable.ts";
import { repeat } from "../platform/repeat.ts";
import { type BucketOptions, createBucket } from "./bucket/bucket.ts";
import { createChainStore } from "./chain.ts";
import { integer, name } from "./check-input.ts";
import { createConnections } from "./connections.ts";
import type { StoreContext } from "./context.ts";
import { createDeviceStore } from "./devices.ts";
import { createEvents } from "./events.ts";
import { openEvidenceFolder } from "./files/evidence.ts";
import { createJobAnswers } from "./jobs/job-answers.ts";
import { createJobMarket } from "./jobs/job-market.ts";
import { createJobMemory } from "./jobs/job-memory.ts";
import { createJobStore } from "./jobs/jobs.ts";
import { createJournalStore } from "./journal.ts";
import { createNonceStore } from "./nonces.ts";
import { createOverview, createPrune } from "./overview.ts";
import { type Database, openDatabase } from "./postgres/database.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "./postgres/embedded-server.ts";
import { laneOf } from "./postgres/lane.ts";
import { migrate } from "./postgres/migrations.ts";
import type { ServerAddress } from "./postgres/postgres-role.ts";
import { createProbeStore } from "./probes.ts";
import { createProviderStore } from "./providers.ts";
import { createDueProbes } from "./queue/due-probes.ts";
import { createLeases, mustBeat } from "./queue/leases.ts";
import { followPredecessors } from "./queue/predecessors.ts";
import { takeOver } from "./queue/take-over.ts";
import { createRentalStore } from "./rentals.ts";
import { createRollCallStore } from "./roll-calls.ts";
import { createScoreStore } from "./scores.ts";
import { createTokenStore } from "./tokens.ts";

export interface StoreOptions {
	/** Evidence, pending entries and, without `databaseUrl`, the embedded server's files. Made when missing. */
	readonly dataDir: string;
	/**
	 * An S3-compatible bucket for evidence, which several machines share; without it evidence stays in the data
	 * folder.
	 */
	readonly bucket?: BucketOptions | undefined;
	/** Any PostgreSQL server (14 or newer); without it the embedded one is started, or joined where it runs. */
	readonly databaseUrl?: string;
	/** Lower-case name. Default "assay". */
	readonly schema?: string;
	/** Names this process in leases and events; unique for every start. Default: random. */
	readonly process?: string;
	/** Connections of this process, the listener not counted. Default 10. */
	readonly poolSize?: number;
	/** How long a lease lasts without a heartbeat (they come at a third of it). Default 30,000. */
	readonly leaseMs?: number;
	/** Leave the embedded server running; for tests that share one. Default: stop it when nobody is left. */
	readonly keepServer?: boolean;
	/** Warnings: lost connections, taken-over servers. Never secrets. */
	readonly onWarning?: (message: string) => void;
}

const SEND_EVERY_MS = 30_000;
/** Connections at most of what can wait. */
const UNHURRIED = 4;

export type Store = Awaited<ReturnType<typeof openStore>>;

/** The embedded server's folder inside a data folder. */
export const serverFolder = (dataDir: string): string => join(resolve(dataDir), "postgres");

export async function openStore(o: StoreOptions) {
	const schema = name("schema", o.schema ?? "assay");
	const me = name("process", o.process ?? `p${randomBytes(8).toString("hex")}`);
	const leaseMs = integer("leaseMs", o.leaseMs ?? 30_000, 100);
	const onWarning = o.onWarning ?? (() => {});
	const dataDir = resolve(o.dataDir);
	const evidence = await openEvidenceFolder(dataDir, o.bucket === undefined ? null : createBucket(o.bucket), onWarning);
	const { database, disconnect } = await connect({ ...o, dataDir, onWarning }, schema, me);
	const opened = [disconnect];
	const close = async (): Promise<void> => {
		for (const end of opened.splice(0).reverse()) await end();
	};
	try {
		await database.transaction(async (sql) => await migrate(sql, schema));
		const channel = `${schema}_events`;
		const context: StoreContext = { database, schema, process: me, leaseMs, channel, onWarning };
		const jobMemory = createJobMemory();
		const leases = createLeases(context);
		const connections = createConnections(context);
		opened.push(await followPredecessors(context, dataDir));
		const dueProbes = createDueProbes(context, leases);
		const events = createEvents(context, dueProbes.wake);
		let beatAtMs = performance.now();
		await leases.start({
			async onBeat() {
				await takeOver(context, Date.now());
				beatAtMs = performance.now();
			},
			onReturn: connections.reconnect,
		});
		opened.push(leases.stop, dueProbes.stop, connections.disconnectAll);
		if (o.bucket !== undefined) {
			// What waits for the bucket is tried again; the error was said when it began to wait.
			const onError = () => {};
			opened.push(
				repeat({ everyMs: SEND_EVERY_MS, after: realAfter, onError }, async () => void (await evidence.sendUnsent()))
					.stop,
			);
		}
		await database.listen(channel, events.onPayload, events.onGap);
		return {
			process: me,
			schema,
			providers: createProviderStore(context),
			connections: connections.store,
			devices: createDeviceStore(context),
			probes: createProbeStore(context, evidence),
			evidence: evidence.store,
			dueProbes: dueProbes.store,
			leases: leases.store,
			scores: createScoreStore(context),
			rollCalls: createRollCallStore(context),
			chain: createChainStore(context),
			rentals: createRentalStore(context),
			jobs: createJobStore(context, jobMemory),
			/** For what can wait: the same with few of the connections. */
			unhurried: { jobs: createJobStore({ ...context, database: laneOf(database, UNHURRIED) }, jobMemory) },
			jobAnswers: createJobAnswers(context),
			jobMarket: createJobMarket(context),
			tokens: createTokenStore(context),
			nonces: createNonceStore(context),
			journal: createJournalStore(context),
			events: events.store,
			overview: createOverview(context),
			/** Removes history that nobody needs; evidence files stay. */
			prune: createPrune(context),
			/** One round trip to the database and the evidence folder; throws what is wrong. */
			async ready(): Promise<void> {
				await database.read("SELECT 1 FROM migrations LIMIT 1");
				await evidence.writable();
				mustBeat(beatAtMs, leaseMs);
			},
			/** Takes no more probes, aborts handlers and waits for them, gives leases back, closes everything. */
			close,
		};
	} catch (cause) {
		await close().catch(() => {});
		throw cause;
	}
}

/** To the server that is named, or to the embedded one, which the last process to leave stops. */
async function connect(
	o: StoreOptions & { readonly onWarning: (message: string) => void },
	schema: string,
	me: string,
): Promise<{ readonly database: Database; readonly disconnect: () => Promise<void> }> {
	const folder = serverFolder(o.dataDir);
	const isEmbedded = o.databaseUrl === undefined;
	let address: ServerAddress | string = o.databaseUrl ?? (await ensureEmbeddedServer({ folder }));
	const revive = async () => {
		if (isEmbedded) address = await ensureEmbeddedServer({ folder });
	};
	const applicationName = `assay/${me}`;
	const database = openDatabase({
		address: () => address,
		revive,
		schema,
		applicationName,
		poolSize: integer("poolSize", o.poolSize ?? 10, 2, 200),
		onWarning: o.onWarning,
	});

	/** Nobody else is connected to the server. Our own connections are known by their name. */
	async function isLast(): Promise<boolean> {
		const others = await database
			.read("SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1 LIMIT 1", [
				applicationName,
			])
			.catch(() => null);
		return others?.length === 0;
	}

	return {
		database,
		async disconnect() {
			const mayStop = isEmbedded && o.keepServer !== true;
			let stops = mayStop && (await isLast());
			// A connection that was ended a moment ago is still listed.
			for (let left = 3; mayStop && !stops && left > 0; left--) {
				await sleep(100);
				stops = await isLast();
			}
			await database.close();
			if (stops) await stopEmbeddedServer(folder);
		},
	};
}
