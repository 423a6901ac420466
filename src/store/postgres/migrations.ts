// The tables, as numbered migrations: applied once each, in order, under a lock, recorded with their hash. A
// migration that has been released is never edited; a change is a new number. They are text in the program,
// not files beside it, so that a packed program has them. What cannot run in a transaction (CREATE INDEX
// CONCURRENTLY) has no place here until a migration needs one.
import { createHash } from "node:crypto";
import { AssayError } from "../../protocol/assay-error.ts";
import { tables } from "./migrations/001-tables.ts";
import type { Sql } from "./sql.ts";

interface Migration {
	readonly number: number;
	readonly name: string;
	readonly sql: string;
}

const MIGRATIONS: readonly Migration[] = [{ number: 1, name: "tables", sql: tables }];

/** Within one transaction: all of them or none. `schema` is a checked name. */
export async function migrate(sql: Sql, schema: string, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
	// A change of a grown table takes longer than any other statement may, and so does waiting for it.
	await sql.write("SET LOCAL statement_timeout = 0");
	// Two processes that start at once: the second waits, then finds everything done.
	await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/migrate/${schema}`]);
	await sql.write(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
	await sql.write(
		`CREATE TABLE IF NOT EXISTS ${schema}.migrations (number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
	);
	const rows = await sql.query<{ readonly number: number; readonly sha256: string }>(
		`SELECT number, sha256 FROM ${schema}.migrations`,
	);
	const applied = new Map(rows.map((row) => [row.number, row.sha256]));
	for (const { number, name, sql: statements } of migrations) {
		const sha256 = createHash("sha256").update(statements).digest("hex");
		const known = applied.get(number);
		applied.delete(number);
		if (known === sha256) continue;
		if (known !== undefined && number === 1)
			throw new AssayError("STORE_OLD", `schema ${schema} has tables of before the first release`, {
				hint: "Begin anew beside it: name another data folder (`--data`) or another database (`--database`). Nothing in this one was changed.",
			});
		if (known !== undefined)
			throw new AssayError(
				"STORE_MIGRATION",
				`migration ${number} (${name}) in schema ${schema} is not the one that was applied`,
			);
		await sql.write(`SET LOCAL search_path = ${schema}`);
		await sql.write(statements);
		await sql.write(`INSERT INTO ${schema}.migrations (number, name, sha256) VALUES ($1, $2, $3)`, [
			number,
			name,
			sha256,
		]);
	}
	const unknown = [...applied.keys()];
	if (unknown.length > 0)
		throw new AssayError(
			"STORE_MIGRATION",
			`schema ${schema} was made by a newer version (migration ${unknown.join(", ")})`,
		);
}
