// API tokens. Of a token only the SHA-256 is kept: its secret has 256 random bits, so a plain hash is
// enough.
import { createHash, randomBytes } from "node:crypto";
import { ROLES, type Role } from "../protocol/network/role.ts";
import { integer, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendJournal } from "./journal.ts";
import { type PageOptions, readPage } from "./page.ts";

interface Token {
	/** 16 hex digits, public. */
	readonly id: string;
	readonly name: string;
	readonly role: Role;
	/** The key it acts for; null: nobody's. */
	readonly subject: string | null;
	readonly createdAtMs: number;
	readonly expiresAtMs: number | null;
	readonly revokedAtMs: number | null;
}

type NewToken = Pick<Token, "name" | "role" | "subject" | "expiresAtMs">;

/** Who did it and when, for the journal. */
interface By {
	readonly nowMs: number;
	readonly actor: string;
}

const COLUMNS = "id, name, role, subject, created_at_ms, expires_at_ms, revoked_at_ms";
const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

export function createTokenStore({ database, schema }: StoreContext) {
	return {
		/** The secret is told once; only its SHA-256 is kept. */
		async create(token: NewToken, { nowMs, actor }: By): Promise<{ readonly token: Token; readonly secret: string }> {
			const id = randomBytes(8).toString("hex");
			const secret = `assay_${randomBytes(32).toString("base64url")}`;
			const values = [
				id,
				text("a token's name", token.name, 100),
				oneOf("a token's role", token.role, ROLES),
				token.subject === null ? null : text("a token's subject", token.subject, 200),
				hashOf(secret),
				integer("nowMs", nowMs),
				token.expiresAtMs === null ? null : integer("expiresAtMs", token.expiresAtMs),
			];
			return await database.transaction(async (sql) => {
				const [row] = await sql.query<Token>(
					`INSERT INTO tokens (id, name, role, subject, secret_sha256, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
					RETURNING ${COLUMNS}`,
					values,
				);
				const detail = { name: token.name, role: token.role, for: token.subject };
				await appendJournal(sql, schema, { actor, kind: "token.created", subject: id, detail }, nowMs);
				return { token: row!, secret };
			});
		},

		/** Null: unknown, expired or revoked. */
		async find(secret: string, { nowMs }: { readonly nowMs: number }): Promise<Token | null> {
			if (typeof secret !== "string" || secret.length > 200) return null;
			return await database.readOne<Token>(
				`SELECT ${COLUMNS} FROM tokens WHERE secret_sha256 = $1 AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > $2)`,
				[hashOf(secret), integer("nowMs", nowMs)],
			);
		},

		/** As it is from then on; null: there is no such token that still works. */
		async revoke(id: string, { nowMs, actor }: By): Promise<Token | null> {
			return await database.transaction(async (sql) => {
				const [revoked] = await sql.query<Token>(
					`UPDATE tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL RETURNING ${COLUMNS}`,
					[text("a token's id", id, 40), integer("nowMs", nowMs)],
				);
				if (!revoked) return null;
				await appendJournal(sql, schema, { actor, kind: "token.revoked", subject: id, detail: {} }, nowMs);
				return revoked;
			});
		},

		list: (options?: PageOptions) =>
			readPage<Token>(
				database,
				{ name: "tokens", columns: COLUMNS, from: "tokens", by: "created_at_ms", id: "id" },
				[],
				options,
			),
	};
}
