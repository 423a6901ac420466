// What is remembered of a chain, by chain and registry: events with the cursor they belong to, intents of an
// account. Opaque here; what it means is chain/'s and the validator's. Writes that name a lease happen only
// while this process holds it: who lost it changes nothing any more. Page: docs/epochs.md §4.
import { AssayError } from "../protocol/assay-error.ts";
import type { Json } from "../protocol/bytes/canonical-json.ts";
import { address, integer, json, list, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { Sql } from "./postgres/sql.ts";
import { holdsLease } from "./queue/leases.ts";

/** Addresses are 0x and lower-case hex. */
export interface ChainKey {
	readonly chainId: number;
	readonly registry: string;
}

interface ChainEventRow {
	readonly block: number;
	readonly logIndex: number;
	readonly body: Json;
}

interface ChainEventChange {
	readonly keepTo: number;
	readonly added: readonly ChainEventRow[];
	readonly cursor: Json;
}

/** A block of 60 M gas has room for some 1,000 registrations; a request covers 500 blocks. */
const MAX_EVENTS = 1_000_000;
const CURSOR = "events-cursor";

const keyOf = ({ chainId, registry }: ChainKey) => [integer("a chain's id", chainId), address(registry)] as const;

async function putEvents({ database }: StoreContext, key: ChainKey, change: ChainEventChange): Promise<void> {
	const rows = list("events", change.added, MAX_EVENTS);
	const owner = keyOf(key);
	await database.transaction(async (sql) => {
		// One writer at a time: two views of the chain must not mix.
		await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/chain/${owner.join("/")}`]);
		await sql.write("DELETE FROM chain_events WHERE chain_id = $1 AND registry = $2 AND block > $3", [
			...owner,
			integer("a block", change.keepTo, -1),
		]);
		await sql.write(
			`INSERT INTO chain_events (chain_id, registry, block, log_index, body)
			SELECT $1, $2, n.block, n.log_index, n.body FROM unnest($3::bigint[], $4::bigint[], $5::jsonb[]) AS n (block, log_index, body)`,
			[
				...owner,
				rows.map(({ block }) => integer("a block", block)),
				rows.map(({ logIndex }) => integer("a log's index", logIndex)),
				rows.map(({ body }) => json("an event", body)),
			],
		);
		await sql.write(
			`INSERT INTO chain_values (chain_id, registry, name, value) VALUES ($1, $2, $3, $4)
			ON CONFLICT (chain_id, registry, name) DO UPDATE SET value = excluded.value`,
			[...owner, CURSOR, json("a cursor", change.cursor)],
		);
	});
}

function createIntentStore({ database, process: me }: StoreContext, owner: readonly [number, string, string]) {
	const whileHeld = async (lease: string | null | undefined, write: (sql: Sql) => Promise<unknown>) =>
		await database.transaction(async (sql) => {
			if (typeof lease === "string" && !(await holdsLease(sql, lease, me)))
				throw new AssayError("STORE_LEASE_LOST", "another process sends to the chain now; nothing was written", {
					hint: "It goes on where this one was.",
				});
			await write(sql);
		});
	const intentId = (id: string) => text("an intent's id", id, 300);
	return {
		async get(id: string): Promise<Json | null> {
			const row = await database.readOne<{ readonly body: Json }>(
				"SELECT body FROM chain_intents WHERE chain_id = $1 AND registry = $2 AND account = $3 AND id = $4",
				[...owner, intentId(id)],
			);
			return row?.body ?? null;
		},
		async list(): Promise<string[]> {
			const rows = await database.read<{ readonly id: string }>(
				"SELECT id FROM chain_intents WHERE chain_id = $1 AND registry = $2 AND account = $3 ORDER BY id",
				owner,
			);
			return rows.map(({ id }) => id);
		},
		/** With a `lease` a write happens only while this process holds it, else STORE_LEASE_LOST. */
		async put(id: string, body: Json, lease?: string | null): Promise<void> {
			const values = [...owner, intentId(id), json("an intent", body)];
			await whileHeld(lease, (sql) =>
				sql.write(
					`INSERT INTO chain_intents (chain_id, registry, account, id, body) VALUES ($1, $2, $3, $4, $5)
					ON CONFLICT (chain_id, registry, account, id) DO UPDATE SET body = excluded.body`,
					values,
				),
			);
		},
		async remove(id: string, lease?: string | null): Promise<void> {
			const values = [...owner, intentId(id)];
			await whileHeld(lease, (sql) =>
				sql.write(
					"DELETE FROM chain_intents WHERE chain_id = $1 AND registry = $2 AND account = $3 AND id = $4",
					values,
				),
			);
		},
	};
}

export function createChainStore(context: StoreContext) {
	return {
		/** In the order of the chain, with the cursor that was written with them; null before the first write. */
		async events(key: ChainKey) {
			// One statement: the cursor and the events of one moment.
			const rows = await context.database.read<
				{ readonly cursor: Json } & (
					| ChainEventRow
					| { readonly block: null; readonly logIndex: null; readonly body: null }
				)
			>(
				`SELECT v.value AS cursor, e.block, e.log_index, e.body FROM chain_values v
				LEFT JOIN chain_events e ON e.chain_id = v.chain_id AND e.registry = v.registry
				WHERE v.chain_id = $1 AND v.registry = $2 AND v.name = $3 ORDER BY e.block, e.log_index`,
				[...keyOf(key), CURSOR],
			);
			const events = rows.flatMap(({ block, logIndex, body }) => (block === null ? [] : [{ block, logIndex, body }]));
			return { cursor: rows[0]?.cursor ?? null, events };
		},
		/**
		 * All or nothing: what is above `keepTo` goes, then `added` (all above it) and the cursor are written.
		 */
		putEvents: (key: ChainKey, change: ChainEventChange) => putEvents(context, key, change),
		intents: (key: ChainKey, account: string) => createIntentStore(context, [...keyOf(key), address(account)]),
	};
}

export type ChainStore = ReturnType<typeof createChainStore>;
