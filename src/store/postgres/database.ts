// Connections to PostgreSQL: one pool, transactions, one listening connection, and what becomes of errors. No
// SQL of our own tables here.
//
// Reads are tried again when the connection or the server went away; writes never by themselves, because
// nobody knows whether they happened. A transaction that PostgreSQL refused for a deadlock or a clash did not
// happen and is run again.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { connectionLost, isClash, isSilence, storeError } from "../store-error.ts";
import { listen } from "./listener.ts";
import type { ServerAddress } from "./postgres-role.ts";
import { inTransaction, type Sql, sqlOn, types } from "./sql.ts";

export interface Database extends Sql {
	/** Idempotent: tried again after a lost connection. */
	read<Row = never>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
	/** The same of the first row; null: there is none. */
	readOne<Row = never>(text: string, values?: readonly unknown[]): Promise<Row | null>;
	/** One statement that is a transaction by itself: run again as those are. */
	statement<Row = never>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
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
	readonly revive: () => Promise<void>;
	readonly schema: string;
	readonly applicationName: string;
	readonly poolSize: number;
	readonly onWarning: (message: string) => void;
	/** How long a server may say nothing to a statement. Default 20,000. */
	readonly answerMs?: number;
}

interface Retry {
	readonly attempts: number;
	readonly may: (cause: unknown) => boolean;
	readonly waitMs: (attempt: number) => number;
}

const STATEMENT_TIMEOUT_MS = 15_000;
/** A little more: the server ends a statement itself, unless nothing comes from it any more. */
const ANSWER_MS = 20_000;
/** Of silence, until the kernel asks whether the other end is still there. */
const KEEP_ALIVE_MS = 10_000;
/** A server that does not let a connection go by then is not waited for. */
const GOODBYE_MS = 5000;
const ONCE: Retry = { attempts: 1, may: () => false, waitMs: () => 0 };
const LOST: Retry = { attempts: 4, may: connectionLost, waitMs: (attempt) => 50 * 2 ** attempt };
/** At random, so that two that clashed do not meet again. */
const CLASH: Retry = { attempts: 8, may: isClash, waitMs: (attempt) => Math.random() * 10 * 2 ** attempt };

function clientConfig({ address, schema, applicationName, answerMs = ANSWER_MS }: DatabaseOptions): pg.ClientConfig {
	const server = address();
	return {
		...(typeof server === "string" ? { connectionString: server } : server),
		application_name: applicationName,
		connectionTimeoutMillis: 10_000,
		keepAlive: true,
		keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
		query_timeout: answerMs,
		// Times in rows are plain integers, so the session's zone does not matter; names are found in our
		// schema first.
		options: `-c search_path=${schema},public -c statement_timeout=${STATEMENT_TIMEOUT_MS} -c idle_in_transaction_session_timeout=60000`,
		types,
	};
}

/** The pool's connections, and how they are told from those that fell silent. */
function createClients(o: DatabaseOptions) {
	/** The ends of connections that are still there. */
	const ends = new Set<Promise<void>>();
	let made = 0;
	/** Those made before one of them fell silent: what took its line has taken theirs. */
	let suspects = 0;
	class FreshClient extends pg.Client {
		readonly number = ++made;
		constructor() {
			super(clientConfig(o));
			// A connection may be cut in the very bytes that say it is ready, before whoever asked for it can
			// listen.
			this.on("error", () => {});
			const end = new Promise<void>((resolve) => this.once("end", resolve));
			ends.add(end);
			void end.then(() => ends.delete(end));
		}
	}
	const isSuspect = (client: pg.PoolClient): boolean => (client as pg.PoolClient & FreshClient).number <= suspects;
	return {
		FreshClient,
		ends,
		isSuspect,
		fellSilent(client: pg.PoolClient): void {
			if (isSuspect(client)) return;
			suspects = made;
			o.onWarning("a connection to the database fell silent; all are made anew");
		},
	};
}

export function openDatabase(o: DatabaseOptions): Database {
	const { FreshClient, ends, isSuspect, fellSilent } = createClients(o);
	const pool = new pg.Pool({
		max: o.poolSize,
		idleTimeoutMillis: 30_000,
		Client: FreshClient,
		connectionTimeoutMillis: 10_000,
	});
	// An idle connection that dies is replaced at the next use; without a listener it would end the process.
	pool.on("error", () => {});

	const listeners: (() => Promise<void>)[] = [];
	let closed = false;
	let reviving: Promise<void> | null = null;
	const revive = async () => {
		reviving ??= o.revive().finally(() => {
			reviving = null;
		});
		await reviving;
	};

	/** Failures become errors of ours; those that left nothing behind are tried again. */
	async function tried<Result>(retry: Retry, work: (attempt: number) => Promise<Result>): Promise<Result> {
		for (let attempt = 1; ; attempt++) {
			try {
				return await work(attempt);
			} catch (cause) {
				if (closed || attempt >= retry.attempts || !retry.may(cause)) throw storeError(cause);
				await sleep(retry.waitMs(attempt));
			}
		}
	}

	/** A connection is taken before anything is sent, so failing to get one may always be tried again. */
	const connect = async (): Promise<pg.PoolClient> =>
		await tried(LOST, async (attempt) => {
			if (attempt > 1) await revive();
			for (;;) {
				const client = await pool.connect();
				if (!isSuspect(client)) return client;
				client.release(true);
			}
		});

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
			if (isSilence(cause)) fellSilent(client);
			throw cause;
		} finally {
			client.removeListener("error", onError);
			client.release(broken);
		}
	};

	const query = <Row>(retry: Retry, text: string, values?: readonly unknown[]): Promise<readonly Row[]> =>
		tried(retry, () => withClient((client) => sqlOn(client).query<Row>(text, values)));

	return {
		query: (text, values) => query(ONCE, text, values),
		read: (text, values) => query(LOST, text, values),
		readOne: async <Row>(text: string, values?: readonly unknown[]) =>
			(await query<Row>(LOST, text, values))[0] ?? null,
		statement: (text, values) => query(CLASH, text, values),
		write: (text, values) => tried(ONCE, () => withClient((client) => sqlOn(client).write(text, values))),
		transaction: (work) => tried(CLASH, () => withClient((client) => inTransaction(client, work))),
		async listen(channel, onPayload, onGap) {
			const { onWarning } = o;
			const connection = () => new FreshClient();
			const beatMs = o.answerMs ?? ANSWER_MS;
			const listening = { channel, connection, revive, onPayload, onGap, onWarning, beatMs };
			listeners.push(await tried(ONCE, () => listen(listening)));
		},
		async close() {
			closed = true;
			await Promise.all(listeners.map((end) => end()));
			// It does not wait for its connections. The server ends a socket when its own side is gone: then nobody
			// who asks finds us connected any more.
			await pool.end();
			await Promise.race([Promise.all(ends), sleep(GOODBYE_MS, undefined, { ref: false })]);
		},
	};
}
