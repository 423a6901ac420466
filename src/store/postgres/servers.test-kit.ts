// The two servers that the store's tests run on: the embedded one, and Debian's PostgreSQL reached by its URL
// as any external one would be. Each test file starts its own and stops them; each test has a schema of its
// own.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import type { Store, StoreOptions } from "../open-store.ts";
import { openStore, serverFolder } from "../open-store.ts";
import { copyCluster } from "./cluster.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "./embedded-server.ts";
import { debianBinaries } from "./postgres-binaries.ts";
import type { ServerAddress } from "./postgres-role.ts";

export interface TestServer {
	readonly name: string;
	readonly dataDir: string;
	/** The options that open a store here, with a fresh schema unless one is named. */
	options(over?: Partial<StoreOptions>): StoreOptions;
	/** Opened and, at the end of the file, closed. */
	open(over?: Partial<StoreOptions>): Promise<Store>;
	/** For a client that goes behind the store's back. */
	connection(): Promise<string>;
}

let schemas = 0;

export function urlOf({ user, password, host, port, database }: ServerAddress): string {
	return `postgres://${user}:${password}@${host}:${port}/${database}`;
}

/** Runs the suite twice. */
export function onBothServers(suite: (server: TestServer) => void): void {
	for (const name of ["embedded", "external"] as const) {
		describe(`${name} PostgreSQL`, () => {
			const dataDir = mkdtempSync(join(tmpdir(), "assay-store-"));
			const external = join(dataDir, "external");
			const stores = new Set<Store>();
			let started: Promise<ServerAddress> | null = null;
			after(async () => {
				await Promise.all([...stores].map(async (store) => await store.close()));
				await stopEmbeddedServer(name === "embedded" ? serverFolder(dataDir) : external);
				rmSync(dataDir, { recursive: true, force: true });
			});
			const start = async (): Promise<ServerAddress> => {
				const folder = name === "embedded" ? serverFolder(dataDir) : external;
				const binaries = name === "embedded" ? undefined : await debianBinaries();
				assert.ok(binaries !== null, "these tests need Debian's PostgreSQL: apt-get install postgresql");
				const programs = binaries === undefined ? {} : { binaries };
				await copyCluster(folder, { durable: false, ...programs });
				return await ensureEmbeddedServer({ folder, ...programs });
			};
			const connection = async (): Promise<string> => {
				started ??= start();
				return urlOf(await started);
			};
			const options = (over: Partial<StoreOptions> = {}): StoreOptions => ({
				dataDir,
				schema: `test_${++schemas}`,
				keepServer: true,
				...over,
			});
			suite({
				name,
				dataDir,
				options,
				connection,
				async open(over = {}) {
					const databaseUrl = await connection();
					const store = await openStore(options({ ...(name === "embedded" ? {} : { databaseUrl }), ...over }));
					stores.add(store);
					return {
						...store,
						async close() {
							stores.delete(store);
							await store.close();
						},
					};
				},
			});
		});
	}
}
