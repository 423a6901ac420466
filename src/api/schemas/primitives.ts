// The small words of every schema: names, times, money, pages. Not the things themselves; those are in the
// other files of this folder. Page: docs/network.md §1. Text is refused when it holds control or invisible
// characters: it ends up in terminals, logs and SQL.
import * as z from "zod/mini";
import { isSafeText } from "../../protocol/bytes/safe-text.ts";
import { integer, matching, note } from "./base.ts";

const hex = (digits: number, what: string) =>
	note(matching(new RegExp(`^[0-9a-f]{${digits}}$`)), `${what}, ${digits} lower-case hex digits`);

export const hex32 = (what: string) => hex(64, what);

/** Ed25519 public key of a validator, a customer or a token's owner. */
export const publicKey = hex32("Ed25519 public key");
export const providerId = hex32("Name of a provider: its Ed25519 public key, or the hash of its target");
export const probeId = hex(32, "Name of a probe");
export const rentalId = hex(32, "Name of a rental");
export const tokenId = hex(16, "Name of a token");
export const sha256 = hex32("SHA-256");

/** As the chain writes bytes. */
export const chainHex = (size: number, what: string) =>
	note(matching(new RegExp(`^0x[0-9a-f]{${2 * size}}$`)), `${what}, 0x and ${2 * size} lower-case hex digits`);

/** A card in a person's words. */
export const modelName = note(
	z.string().check(z.regex(/^[A-Za-z0-9]+([ ._-][A-Za-z0-9]+)*$/), z.maxLength(64)),
	"A card of docs/profiles.md in any spelling; a part means all that have it: h100 finds every H100",
);

/** Safe integers only: a number that JavaScript, SQL and JSON do not all read alike is refused. */
export const count = integer(0);
export const atMs = note(integer(0), "Milliseconds since 1970");
export const micros = note(integer(0), "Millionths of the unit of account");
export const ppm = note(integer(0), "Millionths");
export const epochNumber = integer(0, 0xffff_ffff);

export const text = (longest: number) =>
	z.string().check(z.maxLength(longest), z.refine(isSafeText, "control or invisible characters"));
export const name = text(100).check(z.minLength(1));
/**
 * Text in replies. Not refused for what it holds: a provider's odd words must not make a read fail. Made safe
 * where it enters.
 */
export const said = z.string();
export const code = matching(/^[A-Z][A-Z_]+[A-Z]$/, "not a code of docs/codes.md");

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Anything that JSON can say: details whose shape belongs to whoever made them. */
export const json: z.ZodMiniType<JsonValue, JsonValue> = z
	.lazy(() => z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(json), z.record(z.string(), json)]))
	.register(z.globalRegistry, { id: "Json" });

export const MAX_PAGE = 500;
export const cursor = note(
	matching(/^[A-Za-z0-9_=.~-]{1,2000}$/),
	"Opaque; as the page before gave it, for the same query",
);
const limit = z._default(integer(1, MAX_PAGE), 50);
export const paging = { cursor: z.optional(cursor), limit };

/** `cursor` is null on the last page. */
export const page = <T extends z.ZodMiniType>(row: T) =>
	z.object({ rows: z.array(row).check(z.maxLength(MAX_PAGE)), cursor: z.nullable(cursor) });
