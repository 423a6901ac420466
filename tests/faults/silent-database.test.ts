// Connections to PostgreSQL that say nothing more and are never closed, as after a failover or a firewall
// that lost its state: all that waits for them goes on over new ones.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { openDatabase } from "../../src/store/postgres/database.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { laneOf } from "../../src/store/postgres/lane.ts";
import { openLine } from "./line.ts";

test("what waits for connections that fell silent goes on over new ones, and those that listen hear again", async () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-silent-"));
	await copyCluster(folder, { durable: false });
	const server = await ensureEmbeddedServer({ folder });
	const line = await openLine(server.port);
	const warnings: string[] = [];
	const database = openDatabase({
		address: () => ({ ...server, port: line.port }),
		revive: async () => {},
		onWarning: (message) => warnings.push(message),
		...{ schema: "assay", applicationName: "assay/silent", poolSize: 4, answerMs: 1500 },
	});
	try {
		const lane = laneOf(database, 4);
		const gap = Promise.withResolvers<void>();
		await database.listen("news", () => {}, gap.resolve);
		const ask = (seconds: number) => lane.read<{ one: number }>(`SELECT 1 AS one FROM pg_sleep(${seconds})`);
		await Promise.all([1, 2, 3, 4].map(() => ask(0.1)));
		line.freeze();
		const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => ask(0)));
		assert.deepEqual(
			answers.map(([row]) => row?.one),
			Array(8).fill(1),
		);
		await gap.promise;
		assert.ok(warnings.some((one) => one.includes("fell silent")));
		// A transaction that hangs in the middle is none, and keeps nobody else waiting.
		const cut = database.transaction(async (sql) => {
			await sql.query("SELECT 1");
			line.freeze();
			await sql.query("SELECT 1");
		});
		await assert.rejects(cut, { code: "STORE_UNREACHABLE" });
		assert.equal((await ask(0)).length, 1);
	} finally {
		line.thaw();
		await line.close();
		await database.close();
		await stopEmbeddedServer(folder);
		rmSync(folder, { recursive: true, force: true });
	}
});
