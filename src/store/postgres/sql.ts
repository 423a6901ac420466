// Statements on one connection. Values are always parameters. A row comes as a plain object whose fields are
// the columns in camelCase (`next_probe_at_ms` as `nextProbeAtMs`); every statement names the type of its
// rows.
import pg from "pg";
import { AssayError } from "../../protocol/assay-error.ts";

export interface Sql {
	/** Once. For writes, and within transactions. */
	query<Row = never>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
	/** How many rows a write touched. */
	write(text: string, values?: readonly unknown[]): Promise<number>;
}

// bigint comes as text from PostgreSQL because it may not fit; all of ours do, and one that does not must not
// be rounded.
export const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, (text: string) => {
	const value = Number(text);
	if (!Number.isSafeInteger(value))
		throw new AssayError("STORE_FAILED", `${text} in the database is not a safe integer`);
	return value;
});

const names = new Map<string, string>();

function toCamel(column: string): string {
	let name = names.get(column);
	if (name === undefined) {
		name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
		names.set(column, name);
	}
	return name;
}

export function sqlOn(client: pg.ClientBase): Sql {
	return {
		async query<Row>(text: string, values: readonly unknown[] = []) {
			const { fields, rows } = await client.query({ text, values: [...values], rowMode: "array" });
			const names = fields.map(({ name }) => toCamel(name));
			return rows.map((row: unknown[]) => Object.fromEntries(names.map((name, i) => [name, row[i]])) as Row);
		},
		write: async (text, values = []) => (await client.query(text, [...values])).rowCount ?? 0,
	};
}

export async function inTransaction<Result>(
	client: pg.ClientBase,
	work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
	await client.query("BEGIN");
	try {
		const result = await work(sqlOn(client));
		await client.query("COMMIT");
		return result;
	} catch (cause) {
		await client.query("ROLLBACK").catch(() => {});
		throw cause;
	}
}
