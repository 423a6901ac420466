// What admins see: tokens and the audit log. A token's secret is shown once, when it is made; only its SHA-256 is kept.
import { z } from "zod";
import { atMs, name, paging, publicKey, said, text, tokenId } from "./primitives.ts";

export const tokenRole = z.enum(["reader", "customer", "provider", "validator", "admin"]);

export const token = z.object({
	id: tokenId,
	name: said,
	role: tokenRole,
	key: publicKey.nullable().describe("For whom it speaks"),
	createdAtMs: atMs,
	expiresAtMs: atMs.nullable(),
	lastUsedAtMs: atMs.nullable(),
	revokedAtMs: atMs.nullable(),
});

export const TOKEN_PATTERN = /^assay_(reader|customer|provider|validator|admin)_[A-Za-z0-9_-]{43}$/;
export const madeToken = token.extend({ token: z.string().regex(TOKEN_PATTERN).describe("Shown once") });

export const makeTokenBody = z.strictObject({
	name,
	role: tokenRole,
	key: publicKey.nullable().default(null),
	expiresAtMs: atMs.nullable().default(null),
});
export const tokensQuery = z.strictObject({ role: tokenRole.optional(), ...paging });

export const auditLine = z.object({
	id: z.string().max(64),
	atMs,
	actor: said.describe("role:key, role:token or validator:process"),
	action: said,
	subject: said,
	detail: z.record(z.string(), z.json()),
});
export const auditQuery = z.strictObject({
	actor: text(200).optional(),
	action: text(100).optional(),
	subject: text(200).optional(),
	sinceMs: atMs.optional(),
	untilMs: atMs.optional(),
	...paging,
});
