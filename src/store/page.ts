// Paging by keys: a cursor holds the last row's sort value and id, so that a page costs the same wherever it
// lies and rows that come or go meanwhile neither repeat nor hide others. The cursor is opaque to callers but
// not secret; it is checked as hostile.
import { AssayError } from "../protocol/assay-error.ts";

/** `cursor` is opaque and belongs to the same query, filter and sort; null: this was the last page. */
export interface Page<Row> {
	readonly rows: readonly Row[];
	readonly cursor: string | null;
}

export interface PageOptions {
	/** 1 … 500, default 50. */
	readonly limit?: number;
	readonly cursor?: string | null;
}

const PAGE_LIMIT = 500;
const PAGE_DEFAULT = 50;

export interface Key {
	readonly value: number | string;
	readonly id: string;
}

export function pageLimit(options: PageOptions | undefined): number {
	const limit = options?.limit ?? PAGE_DEFAULT;
	if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_LIMIT)
		throw new AssayError("STORE_INPUT", `a page has 1 to ${PAGE_LIMIT} rows`);
	return limit;
}

/** `list` names the list and its order, so that a cursor of another one is refused. */
export function encodeCursor(list: string, key: Key): string {
	return Buffer.from(JSON.stringify([list, key.value, key.id])).toString("base64url");
}

export function decodeCursor(list: string, kind: "number" | "string", cursor: string | null | undefined): Key | null {
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

/** `rows` holds one more than the page when there is a next one. */
export function toPage<Row>(rows: readonly Row[], limit: number, toCursor: (row: Row) => string): Page<Row> {
	const shown = rows.slice(0, limit);
	const last = shown.at(-1);
	return { rows: shown, cursor: rows.length > limit && last !== undefined ? toCursor(last) : null };
}
