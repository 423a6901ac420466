// Uptime: the time that a provider's agent was connected, over hand-overs, processes that die and processes
// that were only thought dead. The SQL and market/scores/uptime.ts give the same.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { uptimeOf } from "../../src/market/scores/uptime.ts";
import type { Store } from "../../src/store/open-store.ts";
import { onBothServers } from "../../src/store/postgres/servers.test-kit.ts";
import { probeByHand, register } from "../../src/store/sample-rows.test-kit.ts";

onBothServers((server) => {
	let store: Store;
	beforeEach(async () => {
		store = await server.open();
	});
	const rowOf = async (id: string) => (await store.providers.get(id))!;
	const uptimeAt = async (id: string, nowMs: number) => uptimeOf(await rowOf(id), nowMs);

	test("time connected of the time registered; what lasts counts, nothing counts twice", async () => {
		const id = await register(store, "a", { link: "agent", nowMs: 1000 });
		assert.equal(await uptimeAt(id, 1000), 1_000_000);
		assert.equal(await uptimeAt(id, 2000), 0);
		await store.connections.connect(id, { nowMs: 2000 });
		assert.equal(await uptimeAt(id, 3000), 500_000);
		await store.connections.disconnect(id, { nowMs: 5000 });
		assert.equal((await rowOf(id)).uptimePpm, 750_000);
		assert.equal(await uptimeAt(id, 9000), 375_000);
		// Dials in again while the old link still stands, perhaps at another process.
		await store.connections.connect(id, { nowMs: 9000 });
		await store.connections.connect(id, { nowMs: 10_000 });
		assert.equal((await rowOf(id)).reachableMs, 4000);
		// The former holder's farewell, and a clock that was set back, take nothing and add nothing.
		const other = await server.open({ schema: store.schema });
		await other.connections.disconnect(id, { nowMs: 50_000 });
		await store.connections.disconnect(id, { nowMs: 8000 });
		assert.equal((await rowOf(id)).reachableMs, 4000);
		await other.close();
		await store.close();
	});

	test("a probe writes the uptime as it is then; that of a dialled host is how many probes it answered", async () => {
		const agent = await register(store, "agent", { link: "agent", nowMs: 1000 });
		await store.connections.connect(agent, { nowMs: 2000 });
		const dialled = await register(store, "dialled", { nowMs: 1000 });
		for (const id of [agent, dialled]) await probeByHand(store, id, `probe of ${id}`);
		const rows = await Promise.all([agent, dialled].map(rowOf));
		assert.deepEqual(
			rows.map(({ uptimePpm }) => uptimePpm),
			[750_000, 950_000],
		);
		assert.deepEqual(
			rows.map(({ answeredPpm }) => answeredPpm),
			[950_000, 950_000],
		);
		await store.close();
	});

	test("a process that died: as long as its lease lasted", async () => {
		const startMs = Date.now() - 100_000;
		const id = await register(store, "a", { link: "agent", nowMs: startMs });
		await store.connections.connect(id, { nowMs: startMs });
		const client = new pg.Client(await server.connection());
		await client.connect();
		// Of a process that nobody beats for, so that no beat comes between.
		await client.query(
			`INSERT INTO ${store.schema}.leases (name, holder, expires_at) VALUES ('process/ghost', 'ghost', to_timestamp($1 / 1000.0))`,
			[startMs + 50_000],
		);
		await client.query(`UPDATE ${store.schema}.providers SET connected_to = 'ghost' WHERE id = '${id}'`);
		await client.end();
		await store.probes.recover({ nowMs: Date.now() });
		const { connectedTo, reachableMs, lastSeenAtMs } = await rowOf(id);
		assert.deepEqual([connectedTo, reachableMs, lastSeenAtMs], [null, 50_000, startMs + 50_000]);
		await store.close();
	});

	test("a process that was only thought dead takes up again what nobody had since, also when that fails at first", async () => {
		const agent = (name: string) => register(store, name, { link: "agent", nowMs: 1000 });
		const [id, left, refused] = await Promise.all([agent("a"), agent("left"), agent("refused")]);
		const beating = await server.open({ schema: store.schema, leaseMs: 1000 });
		for (const one of [id, left, refused]) await beating.connections.connect(one, { nowMs: 2000 });
		// Its line to the first process is dead, which nobody has told that process.
		await store.connections.connect(left, { nowMs: 3000 });
		await store.connections.disconnect(left, { nowMs: 4000 });
		const client = new pg.Client(await server.connection());
		await client.connect();
		const { schema } = store;
		// Nothing can be written of a provider: one that dials in anew is sent away, and its older line ends.
		await client.query(`CREATE SEQUENCE ${schema}.tries;
			CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql
				AS $$ BEGIN PERFORM nextval('${schema}.tries'); RAISE EXCEPTION 'not now'; END $$;
			CREATE TRIGGER refuse BEFORE UPDATE ON ${schema}.providers EXECUTE FUNCTION ${schema}.refuse()`);
		await assert.rejects(beating.connections.connect(refused, { nowMs: 5000 }), /not now/);
		// What a take-over does; and nothing can be written until it was tried once more.
		await client.query(`BEGIN;
			ALTER TABLE ${schema}.providers DISABLE TRIGGER refuse;
			UPDATE ${schema}.providers SET connected_to = NULL;
			ALTER TABLE ${schema}.providers ENABLE TRIGGER refuse;
			DELETE FROM ${schema}.leases WHERE name = 'process/${beating.process}';
			COMMIT`);
		const tries = async () => Number((await client.query(`SELECT last_value FROM ${schema}.tries`)).rows[0].last_value);
		while ((await tries()) < 2) await sleep(20);
		await client.query(`DROP TRIGGER refuse ON ${schema}.providers`);
		await client.end();
		while ((await rowOf(id)).connectedTo !== beating.process) await sleep(20);
		const others = await Promise.all([left, refused].map(rowOf));
		assert.deepEqual(
			others.map(({ connectedTo }) => connectedTo),
			[null, null],
		);
		await beating.close();
		await store.close();
	});
});
