// API tokens and nonces of signed requests. Of a token only the SHA-256 is kept: its secret has 256 random
// bits, so a plain hash is enough.
import { createHash, randomBytes } from "node:crypto";
import { ROLES, type Role } from "../protocol/network/role.ts";
import { integer, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendJournal } from "./journal.ts";
import { decodeCursor, encodeCursor, type Page, type PageOptions, pageLimit, toPage } from "./page.ts";

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

export interface TokenStore {
	/** The secret is told once; only its SHA-256 is kept. */
	create(
		token: {
			readonly name: string;
			readonly role: Role;
			readonly subject: string | null;
			readonly expiresAtMs: number | null;
		},
		options: { readonly nowMs: number; readonly actor: string },
	): Promise<{ readonly token: Token; readonly secret: string }>;
	/** Null: unknown, expired or revoked. */
	find(secret: string, options: { readonly nowMs: number }): Promise<Token | null>;
	revoke(id: string, options: { readonly nowMs: number; readonly actor: string }): Promise<boolean>;
	list(options?: PageOptions): Promise<Page<Token>>;
}

export interface NonceStore {
	/** True the first time for this key; false ever after, until `expiresAtMs` has passed and it was pruned. */
	use(options: { readonly key: string; readonly nonce: string; readonly expiresAtMs: number }): Promise<boolean>;
}

const COLUMNS = "id, name, role, subject, created_at_ms, expires_at_ms, revoked_at_ms";
const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

export function createTokenStore({ database, schema }: StoreContext): TokenStore {
	return {
		async create(token, { nowMs, actor }) {
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

		async find(secret, { nowMs }) {
			if (typeof secret !== "string" || secret.length > 200) return null;
			const rows = await database.read<Token>(
				`SELECT ${COLUMNS} FROM tokens WHERE secret_sha256 = $1 AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > $2)`,
				[hashOf(secret), integer("nowMs", nowMs)],
			);
			return rows[0] ?? null;
		},

		async revoke(id, { nowMs, actor }) {
			return await database.transaction(async (sql) => {
				const revoked = await sql.write(
					"UPDATE tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL",
					[text("a token's id", id, 40), integer("nowMs", nowMs)],
				);
				if (revoked > 0)
					await appendJournal(sql, schema, { actor, kind: "token.revoked", subject: id, detail: {} }, nowMs);
				return revoked > 0;
			});
		},

		async list(options = {}) {
			const limit = pageLimit(options);
			const key = decodeCursor("tokens", "number", options.cursor);
			const rows = await database.read<Token>(
				`SELECT ${COLUMNS} FROM tokens WHERE ($1::bigint IS NULL OR (created_at_ms, id) < ($1, $2)) ORDER BY created_at_ms DESC, id DESC LIMIT $3`,
				[key?.value ?? null, key?.id ?? null, limit + 1],
			);
			return toPage(rows, limit, ({ createdAtMs, id }) => encodeCursor("tokens", { value: createdAtMs, id }));
		},
	};
}

export function createNonceStore({ database }: StoreContext): NonceStore {
	return {
		async use({ key, nonce, expiresAtMs }) {
			const used = await database.write(
				"INSERT INTO nonces (key, nonce, expires_at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
				[text("a key", key, 200), text("a nonce", nonce, 200), integer("expiresAtMs", expiresAtMs)],
			);
			return used === 1;
		},
	};
}
