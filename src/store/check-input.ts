// What may go into a row: lengths, ranges, spellings. Wrong values of ours throw STORE_INPUT; text of a
// provider is cut and made harmless instead, because a hostile name must not keep evidence from being
// counted.
import { AssayError } from "../protocol/assay-error.ts";
import { encodeCanonicalJson } from "../protocol/bytes/canonical-json.ts";
import { safeText } from "../protocol/bytes/safe-text.ts";

/** Opaque JSON (schedules, terms, parameters) and claims; the longest honest claim (8 GPUs) has some 6 KB. */
const JSON_LIMIT_CHARS = 256 * 1024;

function bad(what: string, why: string): never {
	throw new AssayError("STORE_INPUT", `${what} ${why}`);
}

/** `digits` lower-case hex digits. */
export function hex(what: string, value: string, digits: number): string {
	if (typeof value !== "string" || value.length !== digits || /[^0-9a-f]/.test(value))
		bad(what, `is not ${digits} hex digits`);
	return value;
}

/** Of an account. */
export function address(value: string): string {
	if (!/^0x[0-9a-f]{40}$/.test(value)) bad("an address", "is not 0x and 40 hex digits");
	return value;
}

/** Text of our own or of an API caller: refused when it is too long or holds what PostgreSQL cannot. */
export function text(what: string, value: string, limit: number): string {
	if (typeof value !== "string") bad(what, "is not text");
	if (value.length > limit) bad(what, `is longer than ${limit} characters`);
	if (!value.isWellFormed() || value.includes("\0")) bad(what, "holds characters that cannot be stored");
	return value;
}

/** Text of a provider: cut and made harmless. */
export function hostileText(value: string, limit: number): string {
	return safeText(value.slice(0, limit));
}

export function integer(what: string, value: number, least = 0, most = Number.MAX_SAFE_INTEGER): number {
	if (!Number.isSafeInteger(value) || value < least || value > most)
		bad(what, `is not an integer from ${least} to ${most}`);
	return value;
}

export function oneOf<Value extends string>(what: string, value: Value, values: readonly Value[]): Value {
	if (!values.includes(value)) bad(what, `is none of ${values.join(", ")}`);
	return value;
}

export function list<Item>(what: string, value: readonly Item[], limit: number): readonly Item[] {
	if (!Array.isArray(value)) bad(what, "is not a list");
	if (value.length > limit) bad(what, `has more than ${limit} entries`);
	return value;
}

/**
 * As text for a jsonb column: integers, strings, lists, objects that PostgreSQL can hold. Throws on others.
 */
export function json(what: string, value: unknown, limitChars: number = JSON_LIMIT_CHARS): string {
	const spelled = encodeCanonicalJson(value);
	if (spelled.length > limitChars) bad(what, `is longer than ${limitChars} characters`);
	if (/\\u0000|\\ud[89a-f]/i.test(spelled)) bad(what, "holds characters that cannot be stored");
	return spelled;
}

/** The same for what a provider said: every string is made harmless; keys are ours. */
export function hostileJson(what: string, value: unknown): string {
	const spelled = JSON.stringify(value, (_, item) => (typeof item === "string" ? hostileText(item, 4096) : item));
	if (spelled.length > JSON_LIMIT_CHARS) bad(what, `is longer than ${JSON_LIMIT_CHARS} characters`);
	return spelled;
}

/** Names of schemas and processes go into identifiers and channels. */
export function name(what: string, value: string): string {
	if (typeof value !== "string" || !/^[a-z][a-z0-9_]{0,39}$/.test(value))
		bad(what, "is not a lower-case name of at most 40 letters, digits and _");
	return value;
}
