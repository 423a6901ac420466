// Rows of the database as plain objects: snake_case columns become the camelCase fields of store.ts, nothing else changes.
import type { Row } from "./postgres/database.ts";

const names = new Map<string, string>();

function toCamel(column: string): string {
	let name = names.get(column);
	if (name === undefined) {
		name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
		names.set(column, name);
	}
	return name;
}

/** Only the columns that the statement selected: select exactly the fields of the type. */
export function toObject<Result>(row: Row): Result {
	const object: Record<string, unknown> = {};
	for (const column of Object.keys(row)) object[toCamel(column)] = row[column];
	return object as Result;
}
