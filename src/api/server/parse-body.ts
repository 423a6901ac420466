// Hostile bytes in, a JSON value out, or AssayError BODY_BAD. Stricter than JSON.parse: UTF-8 only, not deep,
// not of many parts, no NUL or broken characters (PostgreSQL refuses them, and so must we), no key twice, no
// keys that could reach a prototype. Shapes are checked later, by zod.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { stringEnd, tooDeepAt } from "../../protocol/bytes/canonical-json.ts";
import { hasDoubleKeys } from "../../protocol/bytes/double-keys.ts";

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Keys and values. What reading takes goes by them, not by bytes: a MiB of short keys takes a quarter of a
 * second, and this thread has everybody's sockets. The most that a route needs are 8,192 names of blobs.
 */
const MAX_PARTS = 45_000;

/** Keys and values, or a few more: each is followed by a mark of its own, or comes after a bracket. */
function countParts(text: string): number {
	let count = 0;
	for (let i = 0; i < text.length; i++) {
		const c = text.charCodeAt(i);
		if (c === 0x22) i = stringEnd(text, i + 1);
		else if (c === 0x2c || c === 0x3a || c === 0x5b || c === 0x7b) count += 1;
	}
	return count;
}

export function parseBody(bytes: Uint8Array): unknown {
	const text = bytesToUtf8(bytes);
	if (text === null) throw bad("the body is not UTF-8");
	// Counts brackets without recursion: JSON.parse and zod would both recurse into a megabyte of "[".
	if (tooDeepAt(text) !== null) throw bad("the body is nested too deeply");
	if (countParts(text) > MAX_PARTS) throw bad(`the body has more than ${MAX_PARTS} keys and values`);
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		throw bad("the body is not JSON");
	}
	const fault = hasDoubleKeys(text, value) ? "an object of the body has a key twice" : faultOf(value);
	if (fault !== null) throw bad(fault);
	return value;
}

/** Recursion is bounded by tooDeepAt above. */
function faultOf(value: unknown): string | null {
	if (typeof value === "string") return textFault(value);
	if (typeof value !== "object" || value === null) return null;
	if (Array.isArray(value)) {
		for (const item of value) {
			const fault = faultOf(item);
			if (fault !== null) return fault;
		}
		return null;
	}
	for (const key of Object.keys(value)) {
		if (FORBIDDEN_KEYS.has(key)) return `the body has a key ${key}`;
		const fault = textFault(key) ?? faultOf((value as Readonly<Record<string, unknown>>)[key]);
		if (fault !== null) return fault;
	}
	return null;
}

/** For query and path as well. */
export function textFault(text: string): string | null {
	if (text.includes("\0")) return "text with a NUL character";
	return text.isWellFormed() ? null : "text with half a character (a lone surrogate)";
}

function bad(detail: string): AssayError {
	return new AssayError("BODY_BAD", detail);
}
