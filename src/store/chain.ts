// What is remembered of a chain, by chain and registry: single values, events with the cursor they belong to, intents of an account. Opaque here; what it means
// is chain/'s and the validator's. Writes that name a lease happen only while this process holds it: who lost it changes nothing any more. Page: docs/chain.md §10.
import { AssayError } from "../protocol/assay-error.ts";
import { integer, json, list, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { Sql } from "./postgres/database.ts";
import type { ChainEventRow, ChainKey, ChainStore } from "./store.ts";

/** A block of 60 M gas has room for some 1,000 registrations; a request covers 500 blocks. */
const MAX_EVENTS = 1_000_000;
const CURSOR = "events-cursor";

const keyOf = ({ chainId, registry }: ChainKey) => [integer("a chain's id", chainId), address(registry)] as const;

function address(value: string): string {
	if (!/^0x[0-9a-f]{40}$/.test(value)) throw new AssayError("STORE_INPUT", "an address is not 0x and 40 hex digits");
	return value;
}

export function createChainStore({ database, process: me }: StoreContext): ChainStore {
	/** Locks the lease's row: nobody takes it over before this transaction ends. */
	async function held(sql: Sql, lease: string | null): Promise<void> {
		if (lease === null) return;
		const rows = await sql.query(
			"SELECT 1 FROM leases WHERE name = $1 AND holder = $2 AND expires_at > clock_timestamp() FOR SHARE",
			[text("a lease's name", lease, 200), me],
		);
		if (rows.length === 0)
			throw new AssayError("STORE_LEASE_LOST", "another process sends to the chain now; nothing was written", {
				hint: "It goes on where this one was.",
			});
	}

	async function putValue(sql: Sql, key: ChainKey, name: string, value: unknown): Promise<void> {
		await sql.query(
			`INSERT INTO chain_values (chain_id, registry, name, value) VALUES ($1, $2, $3, $4)
			ON CONFLICT (chain_id, registry, name) DO UPDATE SET value = excluded.value`,
			[...keyOf(key), text("a value's name", name, 200), json("a value", value)],
		);
	}

	async function value(key: ChainKey, name: string) {
		const rows = await database.read(
			"SELECT value FROM chain_values WHERE chain_id = $1 AND registry = $2 AND name = $3",
			[...keyOf(key), text("a value's name", name, 200)],
		);
		return rows[0]?.value ?? null;
	}

	return {
		value,
		async putValue(key, name, given, lease = null) {
			await database.transaction(async (sql) => {
				await held(sql, lease);
				await putValue(sql, key, name, given);
			});
		},

		async events(key) {
			// One statement: the cursor and the events of one moment.
			const rows = await database.read(
				`SELECT v.value AS cursor, e.block, e.log_index, e.body FROM chain_values v
				LEFT JOIN chain_events e ON e.chain_id = v.chain_id AND e.registry = v.registry
				WHERE v.chain_id = $1 AND v.registry = $2 AND v.name = $3 ORDER BY e.block, e.log_index`,
				[...keyOf(key), CURSOR],
			);
			const events = rows
				.filter((row) => row.block !== null)
				.map((row): ChainEventRow => ({ block: row.block, logIndex: row.log_index, body: row.body }));
			return { cursor: rows[0]?.cursor ?? null, events };
		},

		async putEvents(key, { keepTo, added, cursor }) {
			const rows = list("events", added, MAX_EVENTS);
			await database.transaction(async (sql) => {
				// One writer at a time: two views of the chain must not mix.
				await sql.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
					`assay/chain/${keyOf(key).join("/")}`,
				]);
				await sql.query("DELETE FROM chain_events WHERE chain_id = $1 AND registry = $2 AND block > $3", [
					...keyOf(key),
					integer("a block", keepTo, -1),
				]);
				await sql.query(
					`INSERT INTO chain_events (chain_id, registry, block, log_index, body)
					SELECT $1, $2, n.block, n.log_index, n.body FROM unnest($3::bigint[], $4::bigint[], $5::jsonb[]) AS n (block, log_index, body)`,
					[
						...keyOf(key),
						rows.map(({ block }) => integer("a block", block)),
						rows.map(({ logIndex }) => integer("a log's index", logIndex)),
						rows.map(({ body }) => json("an event", body)),
					],
				);
				await putValue(sql, key, CURSOR, cursor);
			});
		},

		intents(key, account) {
			const owner = [...keyOf(key), address(account)] as const;
			return {
				async get(id) {
					const rows = await database.read(
						"SELECT body FROM chain_intents WHERE chain_id = $1 AND registry = $2 AND account = $3 AND id = $4",
						[...owner, text("an intent's id", id, 300)],
					);
					return rows[0]?.body ?? null;
				},
				async put(id, body, lease = null) {
					await database.transaction(async (sql) => {
						await held(sql, lease);
						await sql.query(
							`INSERT INTO chain_intents (chain_id, registry, account, id, body) VALUES ($1, $2, $3, $4, $5)
							ON CONFLICT (chain_id, registry, account, id) DO UPDATE SET body = excluded.body`,
							[...owner, text("an intent's id", id, 300), json("an intent", body)],
						);
					});
				},
				async remove(id, lease = null) {
					await database.transaction(async (sql) => {
						await held(sql, lease);
						await sql.query(
							"DELETE FROM chain_intents WHERE chain_id = $1 AND registry = $2 AND account = $3 AND id = $4",
							[...owner, text("an intent's id", id, 300)],
						);
					});
				},
				async ids() {
					const rows = await database.read(
						`SELECT id FROM chain_intents WHERE chain_id = $1 AND registry = $2 AND account = $3 ORDER BY id COLLATE "C" LIMIT 10000`,
						owner,
					);
					return rows.map((row) => row.id as string);
				},
			};
		},
	};
}
