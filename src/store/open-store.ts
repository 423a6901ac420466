// Opens the store: server, tables, evidence folder, heartbeat. The only place where the parts are put
// together. Page: docs/schedule.md §3.
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { createChainStore } from "./chain.ts";
import { integer, name } from "./check-input.ts";
import { createConnections } from "./connections.ts";
import type { StoreContext } from "./context.ts";
import { createDeviceStore } from "./devices.ts";
import { createEvents } from "./events.ts";
import { openEvidenceFolder } from "./files/evidence.ts";
import { createJournalStore } from "./journal.ts";
import { createOverview, createPrune } from "./overview.ts";
import { type Database, openDatabase } from "./postgres/database.ts";
import { ensureEmbeddedServer, type ServerAddress, stopEmbeddedServer } from "./postgres/embedded-server.ts";
import { migrate } from "./postgres/migrations.ts";
import { createProbeStore } from "./probes.ts";
import { createProviderStore } from "./providers.ts";
import { createDueProbes } from "./queue/due-probes.ts";
import { createLeases } from "./queue/leases.ts";
import { takeOver } from "./queue/take-over.ts";
import { createRentalStore } from "./rentals.ts";
import { createScoreStore } from "./scores.ts";
import type { Store, StoreOptions } from "./store.ts";
import { createNonceStore, createTokenStore } from "./tokens.ts";

/** The embedded server's folder inside a data folder. */
export const serverFolder = (dataDir: string): string => join(resolve(dataDir), "postgres");

export async function openStore(o: StoreOptions): Promise<Store> {
	const schema = name("schema", o.schema ?? "assay");
	const me = name("process", o.process ?? `p${randomBytes(8).toString("hex")}`);
	const leaseMs = integer("leaseMs", o.leaseMs ?? 30_000, 100);
	const onWarning = o.onWarning ?? (() => {});
	const dataDir = resolve(o.dataDir);
	const evidence = await openEvidenceFolder(dataDir);
	const { database, disconnect } = await connect({ ...o, dataDir, onWarning }, schema, me);
	const opened = [disconnect];
	const close = async (): Promise<void> => {
		for (const end of opened.splice(0).reverse()) await end();
	};
	try {
		await database.transaction(async (sql) => await migrate(sql, schema));
		const channel = `${schema}_events`;
		const context: StoreContext = { database, schema, process: me, leaseMs, channel, onWarning };
		const leases = createLeases(context);
		const connections = createConnections(context);
		const dueProbes = createDueProbes(context, leases);
		const events = createEvents(context, dueProbes.wake);
		await leases.start({
			onBeat: async () => void (await takeOver(context, Date.now())),
			onReturn: connections.reconnect,
		});
		opened.push(leases.stop, dueProbes.stop, connections.disconnectAll);
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
			chain: createChainStore(context),
			rentals: createRentalStore(context),
			tokens: createTokenStore(context),
			nonces: createNonceStore(context),
			journal: createJournalStore(context),
			events: events.store,
			overview: createOverview(context),
			prune: createPrune(context),
			async ready() {
				await database.read("SELECT 1 FROM migrations LIMIT 1");
				await evidence.writable();
			},
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
		statementTimeoutMs: integer("statementTimeoutMs", o.statementTimeoutMs ?? 15_000, 100),
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
			const stops = isEmbedded && o.keepServer !== true && (await isLast());
			await database.close();
			if (stops) await stopEmbeddedServer(folder);
		},
	};
}
