// Statements on one connection. Values are always parameters. A row comes as a plain object whose fields are
// the columns in camelCase (`next_probe_at_ms` as `nextProbeAtMs`); every statement names the type of its
// rows.
import pg from "pg";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { connectionLost } from "../store-error.ts";

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

/**
 * Planning a statement takes the server longer than running most of ours: one that comes again and again is
 * planned once a connection.
 */
const PREPARED_FROM = 20;
const MOST_COUNTED = 1000;
const uses = new BoundedMap<string, number>(MOST_COUNTED);
const prepared = new Map<string, string>();

/**
 * What the server knows the statement by, on every connection. Without values it may be several statements,
 * which have no plan.
 */
function named(text: string, values: readonly unknown[]): { readonly name?: string } {
	const known = prepared.get(text);
	if (known !== undefined) return { name: known };
	const count = (uses.get(text) ?? 0) + 1;
	uses.set(text, count);
	if (values.length === 0 || count < PREPARED_FROM || prepared.size >= MOST_COUNTED) return {};
	uses.delete(text);
	const name = `assay${prepared.size}`;
	prepared.set(text, name);
	return { name };
}

export function sqlOn(client: pg.ClientBase): Sql {
	const send = (text: string, values: readonly unknown[]) =>
		client.query({ ...named(text, values), text, values: [...values], rowMode: "array" });
	return {
		async query<Row>(text: string, values: readonly unknown[] = []) {
			const { fields, rows } = await send(text, values);
			const names = fields.map(({ name }) => toCamel(name));
			return rows.map((row: unknown[]) => Object.fromEntries(names.map((name, i) => [name, row[i]])) as Row);
		},
		write: async (text, values = []) => (await send(text, values)).rowCount ?? 0,
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
		// A line that is lost is thrown away, and what was begun over it with it.
		if (!connectionLost(cause)) await client.query("ROLLBACK").catch(() => {});
		throw cause;
	}
}
