// From what a person types to the one thing it means: a whole id, the beginning of one, or a provider's name.
import type { ApiClient } from "../api/create-client.ts";
import type { ClaimOfJob, Job, ProviderSummary, Rental } from "../api/types.ts";
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
	const label = ({ id, name }: ProviderSummary) => `${id.slice(0, 16)} (${shown(name)})`;
	return only("provider", text, named.length > 0 ? named : found, "assay providers", label);
}

export async function findProbe(client: ApiClient, text: string): Promise<{ readonly id: string }> {
	if (/^[0-9a-f]{32}$/.test(text)) return { id: text };
	const rows = await beginning(client.rows("listProbes", { query: { limit: 500 } }), text);
	return only("probe", text, rows, "assay probes", ({ id }) => id.slice(0, 16));
}

export async function findRental(client: ApiClient, text: string): Promise<Rental> {
	if (/^[0-9a-f]{32}$/.test(text)) return client.getRental({ params: { id: text } });
	const rows = await beginning(client.rows("listRentals", { query: { limit: 500 } }), text);
	return only("rental", text, rows, "assay rent list", ({ id, state }) => `${id.slice(0, 16)} (${state})`);
}

export async function findJob(client: ApiClient, text: string): Promise<Job> {
	if (/^[0-9a-f]{64}$/.test(text)) return client.getJob({ params: { id: text } });
	const rows = await beginning(client.rows("listJobs", { query: { limit: 500 } }), text);
	const found = only("job", text, rows, "assay job list", ({ id, title }) => `${id.slice(0, 16)} (${shown(title)})`);
	return client.getJob({ params: { id: found.id } });
}

export async function findClaim(client: ApiClient, text: string): Promise<ClaimOfJob> {
	if (/^[0-9a-f]{64}$/.test(text)) return client.getClaim({ params: { hash: text } });
	const found: ClaimOfJob[] = [];
	let seen = 0;
	for await (const row of client.rows("listClaims", { query: { limit: 500 } })) {
		if (row.hash.startsWith(text)) found.push(row);
		if (++seen >= NEWEST) break;
	}
	return only("claim", text, found, "assay dispute list", ({ hash, state }) => `${hash.slice(0, 16)} (${state})`);
}

export async function findToken(client: ApiClient, text: string): Promise<{ readonly id: string }> {
	if (/^[0-9a-f]{16}$/.test(text)) return { id: text };
	const rows = await beginning(client.rows("listTokens", { query: { limit: 500 } }), text);
	return only("token", text, rows, "assay tokens", ({ id, name }) => `${id} (${shown(name)})`);
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

/** The one row that was found. `list` is the command that shows all. */
function only<T>(
	what: "provider" | "probe" | "rental" | "job" | "claim" | "token",
	text: string,
	rows: readonly T[],
	list: string,
	label: (row: T) => string,
): T {
	const [first] = rows;
	if (first === undefined)
		throw new AssayError(`${what.toUpperCase()}_UNKNOWN`, `there is no ${what} '${shown(text)}'`, {
			hint: `See: ${list}`,
		});
	if (rows.length === 1) return first;
	const some = rows.slice(0, 5).map(label).join(", ");
	throw new AssayError("ID_AMBIGUOUS", `'${shown(text)}' matches ${rows.length} ${what}s: ${some}`, {
		hint: `Give more digits of the id. See: ${list}`,
	});
}
