// From what a person types to the one thing it means: a whole id, the beginning of one, or a provider's name.
import type { ApiClient } from "../api/create-client.ts";
import type { ProbeSummary, ProviderSummary, Rental, Token } from "../api/types.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { shown } from "./print/table.ts";

/** How many of the newest are searched for a beginning. */
const NEWEST = 5000;

export async function findProvider(client: ApiClient, text: string): Promise<ProviderSummary> {
	if (/^[0-9a-f]{64}$/.test(text)) return client.getProvider({ params: { id: text } });
	const rows: ProviderSummary[] = [];
	for await (const row of client.rows("listProviders", { query: { q: text, limit: 500 } })) {
		if (row.name === text || row.id.startsWith(text)) rows.push(row);
		if (rows.length > NEWEST) break;
	}
	// A removed provider may have had the same name: the one that is present is meant.
	const present = rows.filter(({ state }) => state !== "removed");
	const found = present.length > 0 ? present : rows;
	// A whole name wins over the beginning of an id.
	const named = found.filter(({ name }) => name === text);
	return onlyOne(named.length > 0 ? named : found, {
		text,
		what: "provider",
		code: "PROVIDER_UNKNOWN",
		list: "assay providers",
		label: ({ id, name }) => `${id.slice(0, 16)} (${shown(name)})`,
	});
}

export async function findProbe(client: ApiClient, text: string): Promise<{ readonly id: string }> {
	if (/^[0-9a-f]{32}$/.test(text)) return { id: text };
	const rows = await beginning(client.rows("listProbes", { query: { limit: 500 } }), text);
	return onlyOne<ProbeSummary>(rows, {
		text,
		what: "probe",
		code: "PROBE_UNKNOWN",
		list: "assay probes",
		label: ({ id }) => id.slice(0, 16),
	});
}

export async function findRental(client: ApiClient, text: string): Promise<Rental> {
	if (/^[0-9a-f]{32}$/.test(text)) return client.getRental({ params: { id: text } });
	const rows = await beginning(client.rows("listRentals", { query: { limit: 500 } }), text);
	return onlyOne<Rental>(rows, {
		text,
		what: "rental",
		code: "RENTAL_UNKNOWN",
		list: "assay rent list",
		label: ({ id, state }) => `${id.slice(0, 16)} (${state})`,
	});
}

export async function findToken(client: ApiClient, text: string): Promise<{ readonly id: string }> {
	if (/^[0-9a-f]{16}$/.test(text)) return { id: text };
	const rows = await beginning(client.rows("listTokens", { query: { limit: 500 } }), text);
	return onlyOne<Token>(rows, {
		text,
		what: "token",
		code: "TOKEN_UNKNOWN",
		list: "assay tokens",
		label: ({ id, name }) => `${id} (${shown(name)})`,
	});
}

async function beginning<T extends { readonly id: string }>(rows: AsyncIterable<T>, text: string): Promise<T[]> {
	const found: T[] = [];
	let seen = 0;
	for await (const row of rows) {
		if (row.id.startsWith(text)) found.push(row);
		if (++seen >= NEWEST) break;
	}
	return found;
}

interface Wanted<T> {
	readonly text: string;
	readonly what: string;
	readonly code: string;
	readonly list: string;
	readonly label: (row: T) => string;
}

function onlyOne<T>(rows: readonly T[], { text, what, code, list, label }: Wanted<T>): T {
	const [first] = rows;
	if (first === undefined) throw new AssayError(code, `there is no ${what} '${shown(text)}'`, { hint: `See: ${list}` });
	if (rows.length === 1) return first;
	const some = rows.slice(0, 5).map(label).join(", ");
	throw new AssayError("ID_AMBIGUOUS", `'${shown(text)}' matches ${rows.length} ${what}s: ${some}`, {
		hint: `Give more digits of the id. See: ${list}`,
	});
}
