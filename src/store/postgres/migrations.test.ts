// How a database gets its tables: a fresh one in one step, a later one by its next migration, however long
// that takes. One of before the first release, of a newer version or with an edited migration is refused, and
// nothing in it is changed.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import pg from "pg";
import type { AssayError } from "../../protocol/assay-error.ts";
import { register } from "../sample-rows.test-kit.ts";
import { tables } from "./migrations/001-tables.ts";
import { migrate } from "./migrations.ts";
import { onBothServers } from "./servers.test-kit.ts";
import { inTransaction } from "./sql.ts";

const code = (expected: string) => (error: unknown) => (error as AssayError).code === expected;
const FIRST = { number: 1, name: "tables", sql: tables };

onBothServers((server) => {
	const connect = async (): Promise<pg.Client> => {
		const client = new pg.Client(await server.connection());
		client.on("error", () => {});
		await client.connect();
		return client;
	};
	let client: pg.Client;
	before(async () => {
		client = await connect();
	});

	const run = async (schema: string, ...migrations: { number: number; name: string; sql: string }[]) =>
		await inTransaction(client, async (sql) => await migrate(sql, schema, migrations));
	const rowsOf = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;
	const tablesOf = async (schema: string) =>
		(await rowsOf("SELECT tablename AS name FROM pg_tables WHERE schemaname = $1", [schema])).map(({ name }) => name);

	test("a fresh database has all tables by one migration, and the next start adds nothing", async () => {
		const store = await server.open({ schema: "fresh" });
		await store.close();
		const expected = [...tables.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name);
		assert.ok(expected.length > 25, String(expected.length));
		assert.deepEqual((await tablesOf("fresh")).sort(), [...expected, "migrations"].sort());
		const applied = await rowsOf("SELECT * FROM fresh.migrations");
		assert.deepEqual(
			applied.map(({ number, name }) => [number, name]),
			[[1, "tables"]],
		);
		await (await server.open({ schema: "fresh" })).close();
		assert.deepEqual(await rowsOf("SELECT * FROM fresh.migrations"), applied);
	});

	test("a data folder or a database of before is refused with what to do, and nothing in it is changed", async () => {
		// What the last version of before left: 22 migrations, the first of them another text.
		await client.query(`CREATE SCHEMA before; CREATE TABLE before.providers (id text, schedule jsonb);
			CREATE TABLE before.migrations (number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
			INSERT INTO before.providers VALUES ('a', 'null');
			INSERT INTO before.migrations (number, name, sha256) SELECT n, 'm' || n, repeat('0', 64) FROM generate_series(1, 22) n`);
		const contents = async () => [
			await tablesOf("before"),
			await rowsOf("SELECT * FROM before.providers"),
			await rowsOf("SELECT * FROM before.migrations ORDER BY number"),
		];
		const found = await contents();
		await assert.rejects(server.open({ schema: "before" }), (error: AssayError) => {
			assert.equal(error.code, "STORE_OLD");
			assert.match(error.message, /schema before .* before the first release/);
			assert.match(error.hint, /another data folder \(`--data`\) or another database/);
			return true;
		});
		assert.deepEqual(await contents(), found);
		// Another schema of the same database has nothing to do with it.
		await (await server.open({ schema: "beside" })).close();
	});

	test("a later migration runs on tables in use and keeps their rows; then this version refuses them", async () => {
		const store = await server.open({ schema: "later" });
		const id = await register(store, "kept");
		const later = { number: 2, name: "later", sql: "ALTER TABLE providers ADD COLUMN later integer DEFAULT 7" };
		await run("later", FIRST, later);
		assert.deepEqual(await rowsOf("SELECT id, later FROM later.providers"), [{ id, later: 7 }]);
		assert.equal((await store.providers.get(id))?.name, "kept");
		await store.close();
		await assert.rejects(server.open({ schema: "later" }), (error: AssayError) => {
			assert.equal(error.code, "STORE_MIGRATION");
			assert.match(error.message, /newer version \(migration 2\)/);
			return true;
		});
	});

	test("migrations are applied once, in order, all or none; an edited one is refused", async () => {
		const one = { number: 1, name: "one", sql: "CREATE TABLE a (n integer); INSERT INTO a VALUES (1);" };
		const two = { number: 2, name: "two", sql: "INSERT INTO a VALUES (2);" };
		await run("migrated", one);
		await run("migrated", one);
		await assert.rejects(run("migrated", one, { ...two, sql: "INSERT INTO a VALUES (3); SELECT nonsense;" }));
		await run("migrated", one, two);
		assert.deepEqual(await rowsOf("SELECT n FROM migrated.a ORDER BY n"), [{ n: 1 }, { n: 2 }]);
		await assert.rejects(run("migrated", one, { ...two, sql: `${two.sql} ` }), code("STORE_MIGRATION"));
		await assert.rejects(run("migrated", one), code("STORE_MIGRATION"));
		await assert.rejects(run("migrated", { ...one, sql: `${one.sql} ` }, two), code("STORE_OLD"));
	});

	test("a migration may take longer than any statement, and so may waiting for it", async () => {
		// Sessions of the store have 15 s; these have 200 ms, and the migration takes four times that.
		const [quick, other] = [await connect(), await connect()];
		for (const one of [quick, other]) await one.query("SET statement_timeout = 200");
		await assert.rejects(quick.query("SELECT pg_sleep(0.8)"), { code: "57014" });
		const slow = { number: 1, name: "slow", sql: "CREATE TABLE a (n integer); SELECT pg_sleep(0.8)" };
		await Promise.all(
			[quick, other].map((one) => inTransaction(one, async (sql) => await migrate(sql, "slow", [slow]))),
		);
		assert.deepEqual(await tablesOf("slow"), ["migrations", "a"]);
		// Afterwards statements are limited again.
		await assert.rejects(quick.query("SELECT pg_sleep(0.8)"), { code: "57014" });
		for (const one of [quick, other, client]) await one.end();
	});
});
