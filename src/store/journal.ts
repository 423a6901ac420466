// The audit log: who did what when, only ever added to. Each line's hash covers the line and the hash before it, so that a changed, removed
// or inserted line shows in `verify`. Lines are written in the transaction of the change itself: no change without its line.
import { createHash } from "node:crypto";
import { encodeCanonicalJson } from "../protocol/bytes/canonical-json.ts";
import { integer, json, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { Row, Sql } from "./postgres/database.ts";
import type { AuditEntry, AuditLine, AuditStore } from "./store.ts";

const BEFORE_FIRST = Buffer.alloc(32);
const BATCH = 2000;

/** `detail` is the canonical spelling, as stored. */
function lineHash(
	previous: Uint8Array,
	line: Omit<AuditLine, "hash" | "detail"> & { readonly detail: string },
): Buffer {
	const { seq, atMs, actor, kind, subject, detail } = line;
	const spelled = encodeCanonicalJson({ seq, atMs, actor, kind, subject, detail });
	return createHash("sha256").update(previous).update(spelled).digest();
}

/** Holds a lock to the end of the transaction: append last, so that others wait for a commit only. */
export async function appendAudit(sql: Sql, schema: string, entry: AuditEntry, nowMs: number): Promise<AuditLine> {
	const actor = text("an audit line's actor", entry.actor, 200);
	const kind = text("an audit line's kind", entry.kind, 100);
	const subject = text("an audit line's subject", entry.subject, 200);
	const detail = json("an audit line's detail", entry.detail);
	const atMs = integer("an audit line's time", nowMs);
	await sql.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/audit/${schema}`]);
	const [last] = await sql.query("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
	const seq = (last?.seq ?? 0) + 1;
	const hash = lineHash(last?.hash ?? BEFORE_FIRST, { seq, atMs, actor, kind, subject, detail });
	await sql.query(
		"INSERT INTO audit (seq, at_ms, actor, kind, subject, detail, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		[seq, atMs, actor, kind, subject, detail, hash],
	);
	return { seq, atMs, actor, kind, subject, detail: entry.detail, hash: hash.toString("hex") };
}

function toLine(row: Row): AuditLine {
	const { seq, at_ms: atMs, actor, kind, subject } = row;
	return { seq, atMs, actor, kind, subject, detail: JSON.parse(row.detail), hash: row.hash.toString("hex") };
}

export function createAuditStore({ database, schema }: StoreContext): AuditStore {
	return {
		append: async (entry, { nowMs }) =>
			await database.transaction(async (sql) => await appendAudit(sql, schema, entry, nowMs)),

		async list(options = {}) {
			const limit = pageLimit(options);
			const { subject = null, actor = null, kind = null } = options.filter ?? {};
			const key = decodeCursor("audit", "number", options.cursor);
			const rows = await database.read(
				`SELECT seq, at_ms, actor, kind, subject, detail, hash FROM audit
				WHERE ($1::bigint IS NULL OR seq < $1) AND ($2::text IS NULL OR subject = $2)
					AND ($3::text IS NULL OR actor = $3) AND ($4::text IS NULL OR kind = $4)
				ORDER BY seq DESC LIMIT $5`,
				[key?.value ?? null, subject, actor, kind, limit + 1],
			);
			return toPage(rows, limit, toLine, (row) => encodeCursor("audit", { value: row.seq, id: "" }));
		},

		async verify() {
			let previous: Uint8Array = BEFORE_FIRST;
			let lines = 0;
			for (;;) {
				const rows = await database.read("SELECT * FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2", [lines, BATCH]);
				for (const row of rows) {
					const line = { seq: row.seq, atMs: row.at_ms, actor: row.actor, kind: row.kind, subject: row.subject };
					const hash = lineHash(previous, { ...line, detail: row.detail });
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
