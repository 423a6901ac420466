// The small words of every schema: names, times, money, pages. Not the things themselves; those are in the
// other files of this folder. Page: docs/network.md §1. Text is refused when it holds control or invisible
// characters: it ends up in terminals, logs and SQL.
import * as z from "zod";
import { isSafeText } from "../../protocol/bytes/safe-text.ts";

const hex = (digits: number, what: string) =>
	z
		.string()
		.regex(new RegExp(`^[0-9a-f]{${digits}}$`))
		.describe(`${what}, ${digits} lower-case hex digits`);

/** Ed25519 public key of a validator, a customer or a token's owner. */
export const publicKey = hex(64, "Ed25519 public key");
export const providerId = hex(64, "Name of a provider: its Ed25519 public key, or the hash of its target");
export const probeId = hex(32, "Name of a probe");
export const rentalId = hex(32, "Name of a rental");
export const tokenId = hex(16, "Name of a token");
export const sha256 = hex(64, "SHA-256");

/** As the chain writes bytes. */
export const chainHex = (size: number, what: string) =>
	z
		.string()
		.regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`))
		.describe(`${what}, 0x and ${2 * size} lower-case hex digits`);

/** A card in a person's words. */
export const modelName = z
	.string()
	.regex(/^[A-Za-z0-9]+([ ._-][A-Za-z0-9]+)*$/)
	.max(64)
	.describe("A card of docs/profiles.md in any spelling; a part means all that have it: h100 finds every H100");

/** Safe integers only: a number that JavaScript, SQL and JSON do not all read alike is refused. */
export const count = z.int().min(0);
export const atMs = z.int().min(0).describe("Milliseconds since 1970");
export const micros = z.int().min(0).describe("Millionths of the unit of account");
export const ppm = z.int().min(0).describe("Millionths");
export const epochNumber = z.int().min(0).max(0xffff_ffff);

export const text = (longest: number) => z.string().max(longest).refine(isSafeText, "control or invisible characters");
export const name = text(100).min(1);
/**
 * Text in replies. Not refused for what it holds: a provider's odd words must not make a read fail. Made safe
 * where it enters.
 */
export const said = z.string();
export const code = z.string().regex(/^[A-Z][A-Z_]+[A-Z]$/, "not a code of docs/codes.md");

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Anything that JSON can say: details whose shape belongs to whoever made them. */
export const json: z.ZodType<JsonValue, JsonValue> = z
	.lazy(() => z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(json), z.record(z.string(), json)]))
	.meta({ id: "Json" });

export const MAX_PAGE = 500;
export const cursor = z
	.string()
	.regex(/^[A-Za-z0-9_=.~-]{1,2000}$/)
	.describe("Opaque; as the page before gave it, for the same query");
const limit = z.int().min(1).max(MAX_PAGE).default(50);
export const paging = { cursor: cursor.optional(), limit };

/** `cursor` is null on the last page. */
export const page = <T extends z.ZodType>(row: T) =>
	z.object({ rows: z.array(row).max(MAX_PAGE), cursor: cursor.nullable() });
