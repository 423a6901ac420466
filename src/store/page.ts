// Paging by keys: a cursor holds the last row's sort value and id, so that a page costs the same wherever it
// lies and rows that come or go meanwhile neither repeat nor hide others. The cursor is opaque to callers but
// not secret; it is checked as hostile.
import { AssayError } from "../protocol/assay-error.ts";
import type { Database } from "./postgres/database.ts";

/** `cursor` is opaque and belongs to the same query, filter and sort; null: this was the last page. */
export interface Page<Row> {
	readonly rows: readonly Row[];
	readonly cursor: string | null;
}

export interface PageOptions {
	/** 1 … 500, default 50. */
	readonly limit?: number | undefined;
	readonly cursor?: string | null | undefined;
}

/** What a query may say, or leave out. */
export type Query<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined } & PageOptions;

const PAGE_LIMIT = 500;
const PAGE_DEFAULT = 50;

interface Key {
	readonly value: number | string;
	readonly id: string;
}

/**
 * Rows in the order of one column; ties are broken by the id in the same direction. Nothing here is a
 * caller's.
 */
interface List {
	/** Of the list and its order, so that a cursor of another one is refused. */
	readonly name: string;
	readonly columns: string;
	readonly from: string;
	/** Exactly as in the index of that order, else it is not used. */
	readonly by: string;
	readonly id: string;
	/** Of `by`; default "number". */
	readonly kind?: "number" | "string";
	/** Default true. */
	readonly descending?: boolean;
}

/** SQL with ? for its value, left out when that is undefined; or for all of several conditions at once. */
export type Condition =
	| readonly [sql: string, value: unknown]
	| readonly [sql: string, all: readonly Condition[], "all"];

export async function readPage<Row extends object>(
	database: Pick<Database, "read">,
	list: List,
	where: readonly Condition[],
	options: PageOptions = {},
): Promise<Page<Row>> {
	const { name, columns, from, by, id, kind = "number", descending = true } = list;
	const limit = options.limit ?? PAGE_DEFAULT;
	if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_LIMIT)
		throw new AssayError("STORE_INPUT", `a page has 1 to ${PAGE_LIMIT} rows`);
	const values: unknown[] = [];
	const conditions = sqlOf(where, values);
	const key = decodeCursor(name, kind, options.cursor);
	if (key) {
		const type = kind === "number" ? "bigint" : "text";
		const place = `($${values.push(key.value)}::${type}, $${values.push(key.id)}::text)`;
		conditions.push(`(${by}, ${id}) ${descending ? "<" : ">"} ${place}`);
	}
	const direction = descending ? "DESC" : "ASC";
	// One more than the page, to see whether there is a next one.
	const rows = await database.read<Row & { readonly sortValue: number | string; readonly sortId: string }>(
		`SELECT ${columns}, ${by} AS sort_value, ${id} AS sort_id FROM ${from} WHERE ${conditions.join(" AND ") || "true"}
		ORDER BY ${by} ${direction}, ${id} ${direction} LIMIT $${values.push(limit + 1)}`,
		values,
	);
	const shown = rows.slice(0, limit);
	const last = rows.length > limit ? shown.at(-1) : undefined;
	return {
		rows: shown.map(({ sortValue: _, sortId: __, ...row }) => row as unknown as Row),
		cursor: last === undefined ? null : encodeCursor(name, { value: last.sortValue, id: last.sortId }),
	};
}

function sqlOf(where: readonly Condition[], values: unknown[]): string[] {
	return where.flatMap(([sql, value, isAll]) => {
		if (isAll) {
			const all = sqlOf(value as readonly Condition[], values).join(" AND ");
			return all === "" ? [] : [sql.replace("?", () => all)];
		}
		if (value === undefined) return [];
		const place = `$${values.push(value)}`;
		return [sql.replaceAll("?", () => place)];
	});
}

function encodeCursor(list: string, key: Key): string {
	return Buffer.from(JSON.stringify([list, key.value, key.id])).toString("base64url");
}

function decodeCursor(list: string, kind: "number" | "string", cursor: string | null | undefined): Key | null {
	if (cursor === null || cursor === undefined) return null;
	const refuse = () => new AssayError("CURSOR_BAD", "the cursor is not one that this list gave");
	if (typeof cursor !== "string" || cursor.length > 2000 || /[^A-Za-z0-9_-]/.test(cursor)) throw refuse();
	let parsed: unknown;
	try {
		parsed = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
	} catch {
		throw refuse();
	}
	if (!Array.isArray(parsed) || parsed.length !== 3) throw refuse();
	const [of, value, id] = parsed as unknown[];
	if (of !== list || typeof value !== kind || typeof id !== "string" || id.length > 300 || id.includes("\0"))
		throw refuse();
	if (typeof value === "number" && !Number.isSafeInteger(value)) throw refuse();
	if (typeof value === "string" && (value.includes("\0") || !value.isWellFormed())) throw refuse();
	if (!id.isWellFormed()) throw refuse();
	return { value: value as number | string, id };
}
