// The journal: who did what when, only ever added to. Each line's hash covers the line and the hash before
// it, so that a changed, removed or inserted line shows in `verify`. Lines are written in the transaction of
// the change itself: no change without its line.
import { createHash } from "node:crypto";
import { encodeCanonicalJson, type Json } from "../protocol/bytes/canonical-json.ts";
import { integer, json, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { type Query, readPage } from "./page.ts";
import type { Sql } from "./postgres/sql.ts";

/** One line of the journal; `detail` is canonical JSON (integers, strings, lists, objects). */
export interface JournalEntry {
	/** A key, a token's id, or "system". */
	readonly actor: string;
	/** e.g. "probe.done", "rental.active", "provider.paused". */
	readonly kind: string;
	/** What it is about: a provider's, rental's or token's id. */
	readonly subject: string;
	readonly detail: Json;
}

export interface JournalLine extends JournalEntry {
	readonly seq: number;
	readonly atMs: number;
	/** SHA-256 over the line and the hash of the line before it, hex. */
	readonly hash: string;
}

/** `detail` is the canonical spelling. */
type Row = Omit<JournalLine, "hash" | "detail"> & { readonly detail: string; readonly hash: Buffer };

const COLUMNS = "seq, at_ms, actor, kind, subject, detail, hash";

const BEFORE_FIRST = Buffer.alloc(32);
const BATCH = 2000;

function lineHash(previous: Uint8Array, { seq, atMs, actor, kind, subject, detail }: Omit<Row, "hash">): Buffer {
	const spelled = encodeCanonicalJson({ seq, atMs, actor, kind, subject, detail });
	return createHash("sha256").update(previous).update(spelled).digest();
}

/** Holds a lock to the end of the transaction: append last, so that others wait for a commit only. */
export async function appendJournal(
	sql: Sql,
	schema: string,
	entry: JournalEntry,
	nowMs: number,
): Promise<JournalLine> {
	const line = {
		atMs: integer("a line's time", nowMs),
		actor: text("a line's actor", entry.actor, 200),
		kind: text("a line's kind", entry.kind, 100),
		subject: text("a line's subject", entry.subject, 200),
		detail: json("a line's detail", entry.detail),
	};
	await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/journal/${schema}`]);
	const [last] = await sql.query<Pick<Row, "seq" | "hash">>("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1");
	const seq = (last?.seq ?? 0) + 1;
	const hash = lineHash(last?.hash ?? BEFORE_FIRST, { seq, ...line });
	const values = [seq, line.atMs, line.actor, line.kind, line.subject, line.detail, hash];
	await sql.write(`INSERT INTO journal (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)`, values);
	return { seq, ...line, detail: entry.detail, hash: hash.toString("hex") };
}

export function createJournalStore({ database, schema }: StoreContext) {
	return {
		append: (entry: JournalEntry, { nowMs }: { readonly nowMs: number }) =>
			database.transaction((sql) => appendJournal(sql, schema, entry, nowMs)),

		/** Newest first. */
		async list(query: Query<Pick<JournalEntry, "subject" | "actor" | "kind">> = {}) {
			const page = await readPage<Row>(
				database,
				{ name: "journal", columns: COLUMNS, from: "journal", by: "seq", id: "''::text" },
				[
					["subject = ?", query.subject],
					["actor = ?", query.actor],
					["kind = ?", query.kind],
				],
				query,
			);
			const rows = page.rows.map(
				(row): JournalLine => ({ ...row, detail: JSON.parse(row.detail) as Json, hash: row.hash.toString("hex") }),
			);
			return { ...page, rows };
		},

		/** Walks the whole chain. `brokenAt`: the first line that does not fit. */
		async verify(): Promise<{ readonly lines: number; readonly brokenAt: number | null; readonly head: string }> {
			let previous: Uint8Array = BEFORE_FIRST;
			let lines = 0;
			for (;;) {
				const rows = await database.read<Row>(`SELECT ${COLUMNS} FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2`, [
					lines,
					BATCH,
				]);
				for (const row of rows) {
					const hash = lineHash(previous, row);
					if (row.seq !== lines + 1 || !hash.equals(row.hash))
						return { lines, brokenAt: lines + 1, head: Buffer.from(previous).toString("hex") };
					previous = hash;
					lines += 1;
				}
				if (rows.length < BATCH) return { lines, brokenAt: null, head: Buffer.from(previous).toString("hex") };
			}
		},
	};
}
