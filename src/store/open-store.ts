// Opens the store: server, tables, queue, evidence folder, heartbeat. The only place where the parts are put together. Page: docs/network.md §4.
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createChainStore } from "./chain.ts";
import { integer, name } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { createDeviceStore } from "./devices.ts";
import { createEvents } from "./events.ts";
import { openEvidenceFolder } from "./files/evidence.ts";
import { createAuditStore } from "./journal.ts";
import { createOverview, createPrune } from "./overview.ts";
import { openDatabase } from "./postgres/database.ts";
import { ensureEmbeddedServer, type ServerAddress, stopEmbeddedServer } from "./postgres/embedded-server.ts";
import { migrate } from "./postgres/migrations.ts";
import { createProbeStore } from "./probes.ts";
import { createProviderStore } from "./providers.ts";
import { createLeases } from "./queue/leases.ts";
import { processQueue, startQueue } from "./queue/queue.ts";
import { takeOver } from "./queue/take-over.ts";
import { createWork } from "./queue/work.ts";
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
	await mkdir(dataDir, { recursive: true });
	const evidence = await openEvidenceFolder(dataDir);

	const folder = serverFolder(dataDir);
	const embedded = o.databaseUrl === undefined;
	let address: ServerAddress | string = o.databaseUrl ?? (await ensureEmbeddedServer({ folder }));
	const database = openDatabase({
		address: () => address,
		...(embedded
			? {
					revive: async () => {
						address = await ensureEmbeddedServer({ folder });
					},
				}
			: {}),
		schema,
		applicationName: `assay/${me}`,
		poolSize: integer("poolSize", o.poolSize ?? 10, 2, 200),
		statementTimeoutMs: integer("statementTimeoutMs", o.statementTimeoutMs ?? 15_000, 100),
		onWarning,
	});

	const opened: (() => Promise<void>)[] = [];
	const closeAll = async (): Promise<void> => {
		for (const close of opened.splice(0).reverse()) await close();
	};
	try {
		opened.push(async () => {
			const last = embedded && o.keepServer !== true && (await isLast());
			await database.close();
			if (last) await stopEmbeddedServer(folder);
		});
		await database.transaction(async (sql) => await migrate(sql, schema));
		const boss = await startQueue(database, schema, me, onWarning);
		opened.push(async () => {
			await boss.deleteQueue(processQueue(me)).catch(() => {});
			await boss.stop({ close: false, graceful: false });
		});
		const pollMs = integer("pollMs", o.pollMs ?? 2000, 10);
		const channel = `${schema}_events`;
		const context: StoreContext = { database, boss, schema, process: me, leaseMs, pollMs, channel, onWarning };
		const leases = createLeases(context);
		const providers = createProviderStore(context);
		const work = createWork(context, leases);
		const events = createEvents(context, work.wake);
		await leases.start({
			onBeat: async () => {
				await takeOver(context, Date.now());
			},
			onReturn: providers.reconnect,
		});
		opened.push(leases.stop);
		opened.push(async () => {
			await providers.disconnectAll();
			await work.stop();
		});
		await database.listen(channel, events.onPayload, events.onGap);
		return {
			process: me,
			schema,
			providers: providers.store,
			devices: createDeviceStore(context),
			probes: createProbeStore(context, evidence),
			evidence: evidence.store,
			work: work.store,
			leases: leases.store,
			scores: createScoreStore(context),
			chain: createChainStore(context),
			rentals: createRentalStore(context),
			tokens: createTokenStore(context),
			nonces: createNonceStore(context),
			audit: createAuditStore(context),
			events: events.store,
			overview: createOverview(context),
			prune: createPrune(context),
			async ready() {
				await database.read("SELECT 1 FROM migrations LIMIT 1");
				await evidence.writable();
			},
			close: closeAll,
		};
	} catch (cause) {
		await closeAll().catch(() => {});
		throw cause;
	}

	/** Nobody else is connected to the server: other processes, tools, people. Our own connections are known by their name. */
	async function isLast(): Promise<boolean> {
		try {
			const [row] = await database.read(
				"SELECT count(*) AS others FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1",
				[`assay/${me}`],
			);
			return row.others === 0;
		} catch {
			return false;
		}
	}
}
