// What admins see: tokens and the journal. A token's secret is shown once, when it is made; only its SHA-256
// is kept.
import * as z from "zod";
import { ROLES } from "../../protocol/network/role.ts";
import { atMs, count, json, name, paging, publicKey, said, sha256, text, tokenId } from "./primitives.ts";

const tokenRole = z.enum(ROLES);

export const token = z.object({
	id: tokenId,
	name: said,
	role: tokenRole,
	subject: publicKey.nullable().describe("The key it acts for; null: nobody's"),
	createdAtMs: atMs,
	expiresAtMs: atMs.nullable(),
	revokedAtMs: atMs.nullable(),
});

/**
 * The role in its name is for people who read a configuration; what the token may do is what the store says.
 */
export const TOKEN_PATTERN = /^assay_(?:[a-z]+_)?[A-Za-z0-9_-]{32,128}$/;
export const madeToken = z.object({ token, secret: z.string().regex(TOKEN_PATTERN).describe("Shown this once") });

export const makeTokenBody = z.strictObject({
	name,
	role: tokenRole,
	subject: publicKey.nullable().default(null),
	expiresAtMs: atMs.nullable().default(null),
});
export const tokensQuery = z.strictObject({ ...paging });

export const auditLine = z.object({
	seq: count,
	atMs,
	actor: said.describe('A key, a token\'s name, or "system"'),
	kind: said,
	subject: said,
	detail: json,
	hash: sha256.describe("Over this line and the hash of the one before it"),
});
export const auditQuery = z.strictObject({
	actor: text(200).optional(),
	kind: text(100).optional(),
	subject: text(200).optional(),
	...paging,
});
