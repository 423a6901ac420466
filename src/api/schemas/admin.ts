// What admins see: tokens and the journal. A token's secret is shown once, when it is made; only its SHA-256
// is kept.
import * as z from "zod/mini";
import { ROLES } from "../../protocol/network/role.ts";
import { matching, note } from "./base.ts";
import { atMs, count, json, name, paging, publicKey, said, sha256, text, tokenId } from "./primitives.ts";

const tokenRole = z.enum(ROLES);

export const token = z.object({
	id: tokenId,
	name: said,
	role: tokenRole,
	subject: note(z.nullable(publicKey), "The key it acts for; null: nobody's"),
	createdAtMs: atMs,
	expiresAtMs: z.nullable(atMs),
	revokedAtMs: z.nullable(atMs),
});

/**
 * The role in its name is for people who read a configuration; what the token may do is what the store says.
 */
export const TOKEN_PATTERN = /^assay_(?:[a-z]+_)?[A-Za-z0-9_-]{32,128}$/;
export const madeToken = z.object({ token, secret: note(matching(TOKEN_PATTERN), "Shown this once") });

export const makeTokenBody = z.strictObject({
	name,
	role: tokenRole,
	subject: z._default(z.nullable(publicKey), null),
	expiresAtMs: z._default(z.nullable(atMs), null),
});
export const tokensQuery = z.strictObject({ ...paging });

export const auditLine = z.object({
	seq: count,
	atMs,
	actor: note(said, 'A key, a token\'s name, or "system"'),
	kind: said,
	subject: said,
	detail: json,
	hash: note(sha256, "Over this line and the hash of the one before it"),
});
export const auditQuery = z.strictObject({
	actor: z.optional(text(200)),
	kind: z.optional(text(100)),
	subject: z.optional(text(200)),
	...paging,
});
