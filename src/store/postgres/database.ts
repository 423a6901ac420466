// Connections to PostgreSQL: one pool, transactions, one listening connection, and what becomes of errors. Every statement of the store goes
// through here with its values as parameters; no SQL of our own tables here.
//
// Reads are tried again when the connection or the server went away; writes never by themselves, because nobody knows whether they
// happened. A transaction that PostgreSQL refused for a deadlock or a clash did not happen and is run again.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { AssayError } from "../../protocol/assay-error.ts";
import { connectionLost, isClash, storeError } from "../store-error.ts";
import type { ServerAddress } from "./embedded-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: rows are typed where they are read, by the statement that selects them
export type Row = any;

export interface Sql {
	/** Once. For writes, and within transactions. */
	query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
	/** As the driver gives it, an array for several statements: for pg-boss. */
	raw(text: string, values?: readonly unknown[]): Promise<Row>;
	/** How many rows a write touched. */
	write(text: string, values?: readonly unknown[]): Promise<number>;
}

export interface Database extends Sql {
	/** Idempotent: tried again after a lost connection. */
	read(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
	/** All or nothing; `work` may run more than once and must have no other effects. */
	transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
	/** Calls back for every notification on the channel; `onGap` when some may have been missed. */
	listen(channel: string, onPayload: (payload: string) => void, onGap: () => void): Promise<void>;
	close(): Promise<void>;
}

export interface DatabaseOptions {
	/** Asked before every new connection: the embedded server may have moved to another port. */
	readonly address: () => ServerAddress | string;
	/** Called when the server is gone; brings the embedded one back. */
	readonly revive?: () => Promise<void>;
	readonly schema: string;
	readonly applicationName: string;
	readonly poolSize: number;
	readonly statementTimeoutMs: number;
	readonly onWarning: (message: string) => void;
}

const READ_ATTEMPTS = 4;
const CLASH_ATTEMPTS = 8;

// bigint comes as text from PostgreSQL because it may not fit; all of ours do, and one that does not must not be rounded.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, (text: string) => {
	const value = Number(text);
	if (!Number.isSafeInteger(value))
		throw new AssayError("STORE_FAILED", `${text} in the database is not a safe integer`);
	return value;
});

export function openDatabase(o: DatabaseOptions): Database {
	const config = () => {
		const address = o.address();
		return {
			...(typeof address === "string" ? { connectionString: address } : address),
			application_name: o.applicationName,
			connectionTimeoutMillis: 10_000,
			keepAlive: true,
			// Times in rows are plain integers, so the session's zone does not matter; names are found in our schema first.
			options: `-c search_path=${o.schema},public -c statement_timeout=${o.statementTimeoutMs} -c idle_in_transaction_session_timeout=60000`,
			types,
		};
	};
	class FreshClient extends pg.Client {
		constructor() {
			super(config());
		}
	}
	const pool = new pg.Pool({
		max: o.poolSize,
		idleTimeoutMillis: 30_000,
		Client: FreshClient,
		connectionTimeoutMillis: 10_000,
	});
	// An idle connection that dies is replaced at the next use; without a listener it would end the process.
	pool.on("error", () => {});

	const listeners = new Set<pg.Client>();
	let closed = false;
	let reviving: Promise<void> | null = null;
	const revive = async () => {
		reviving ??= (o.revive?.() ?? Promise.resolve()).finally(() => {
			reviving = null;
		});
		await reviving;
	};

	/** A connection is taken before anything is sent, so failing to get one may always be tried again. */
	const connect = async (): Promise<pg.PoolClient> => {
		for (let attempt = 1; ; attempt++) {
			try {
				return await pool.connect();
			} catch (cause) {
				if (closed || attempt >= READ_ATTEMPTS || !connectionLost(cause)) throw storeError(cause);
				await sleep(50 * 2 ** attempt);
				await revive();
			}
		}
	};

	const withClient = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> => {
		const client = await connect();
		let broken: Error | undefined;
		const onError = (error: Error) => {
			broken = error;
		};
		client.on("error", onError);
		try {
			return await work(client);
		} catch (cause) {
			if (connectionLost(cause)) broken ??= cause as Error;
			throw cause;
		} finally {
			client.removeListener("error", onError);
			client.release(broken);
		}
	};

	const run = async (text: string, values: readonly unknown[]) =>
		await withClient(async (client) => await client.query(text, values as unknown[]));

	const database: Database = {
		async query(text, values = []) {
			return (await run(text, values).catch(rethrow)).rows;
		},
		async raw(text, values = []) {
			return await run(text, values).catch(rethrow);
		},
		async write(text, values = []) {
			return (await run(text, values).catch(rethrow)).rowCount ?? 0;
		},
		async read(text, values = []) {
			for (let attempt = 1; ; attempt++) {
				try {
					return (await run(text, values)).rows;
				} catch (cause) {
					if (closed || attempt >= READ_ATTEMPTS || !connectionLost(cause)) throw storeError(cause);
					await sleep(50 * 2 ** attempt);
				}
			}
		},
		async transaction(work) {
			for (let attempt = 1; ; attempt++) {
				try {
					return await withClient(async (client) => await inTransaction(client, work));
				} catch (cause) {
					if (attempt >= CLASH_ATTEMPTS || !isClash(cause)) throw storeError(cause);
					await sleep(Math.random() * 10 * 2 ** attempt);
				}
			}
		},
		async listen(channel, onPayload, onGap) {
			let first = true;
			let waitMs = 100;
			const establish = async (): Promise<void> => {
				const client = new FreshClient();
				let gone = false;
				const onGone = () => {
					if (gone) return;
					gone = true;
					listeners.delete(client);
					void client.end().catch(() => {});
					if (!closed) void again();
				};
				client.on("error", onGone);
				client.on("end", onGone);
				client.on("notification", ({ payload }) => onPayload(payload ?? ""));
				listeners.add(client);
				try {
					await client.connect();
					await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
				} catch (cause) {
					client.removeListener("error", onGone);
					client.on("error", () => {});
					client.removeListener("end", onGone);
					listeners.delete(client);
					await client.end().catch(() => {});
					throw cause;
				}
				waitMs = 100;
				if (!first) onGap();
				first = false;
			};
			const again = async (): Promise<void> => {
				o.onWarning("the connection that listens for notifications was lost; connecting again");
				while (!closed) {
					await sleep(waitMs, undefined, { ref: false });
					waitMs = Math.min(2 * waitMs, 5000);
					try {
						await revive();
						if (!closed) await establish();
						return;
					} catch {
						// The server is away for longer; polling goes on meanwhile.
					}
				}
			};
			await establish().catch(rethrow);
		},
		async close() {
			closed = true;
			await Promise.all([...listeners].map((client) => client.end().catch(() => {})));
			await pool.end();
		},
	};
	return database;
}

async function inTransaction<Result>(client: pg.PoolClient, work: (sql: Sql) => Promise<Result>): Promise<Result> {
	const sql: Sql = {
		query: async (text, values = []) => (await client.query(text, values as unknown[])).rows,
		raw: async (text, values = []) => await client.query(text, values as unknown[]),
		write: async (text, values = []) => (await client.query(text, values as unknown[])).rowCount ?? 0,
	};
	await client.query("BEGIN");
	try {
		const result = await work(sql);
		await client.query("COMMIT");
		return result;
	} catch (cause) {
		await client.query("ROLLBACK").catch(() => {});
		throw cause;
	}
}

function rethrow(cause: unknown): never {
	throw storeError(cause);
}
