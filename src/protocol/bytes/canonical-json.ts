// Canonical JSON, docs/hardware-proof.md §8: keys sorted by code unit, no spaces, safe integers only, strings
// as JSON.stringify writes them. One value has one spelling; decoding refuses every other, so that signed
// bytes cannot be respelled.
import { AssayError } from "../assay-error.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Deeper than any shape of this protocol; keeps hostile nesting away from recursion. */
const DEEPEST = 16;

/** For values of our own making: throws when they hold what canonical JSON cannot say. */
export function encodeCanonicalJson(value: unknown): string {
	const text = spell(value, 0);
	if (text === null)
		throw new AssayError(
			"NOT_CANONICAL",
			"a value holds something other than safe integers, strings, lists and objects",
		);
	return text;
}

export type CanonicalResult =
	| { readonly ok: true; readonly value: Json }
	| { readonly ok: false; readonly at: number; readonly detail: string };

export function decodeCanonicalJson(text: string): CanonicalResult {
	const deep = tooDeepAt(text);
	if (deep !== null) return { ok: false, at: deep, detail: `nested deeper than ${DEEPEST}` };
	let value: Json;
	try {
		value = JSON.parse(text) as Json;
	} catch {
		return { ok: false, at: 0, detail: "not JSON" };
	}
	// Most texts are right, and the engine's own writer is ten times quicker. It keeps keys in their order, so
	// that must be the right one.
	if (isSorted(value) && JSON.stringify(value) === text) return { ok: true, value };
	const spelled = spell(value, 0);
	if (spelled === null) return { ok: false, at: 0, detail: "holds a number that is not a safe integer" };
	if (spelled === text) return { ok: true, value };
	let at = 0;
	while (at < text.length && text[at] === spelled[at]) at += 1;
	return { ok: false, at, detail: "not the canonical spelling" };
}

/** Where the text opens more brackets than DEEPEST, without parsing it; null when it never does. */
export function tooDeepAt(text: string): number | null {
	let depth = 0;
	for (let i = 0; i < text.length; i++) {
		const c = text.charCodeAt(i);
		if (c === 0x22) i = stringEnd(text, i + 1);
		else if (c === 0x5b || c === 0x7b) {
			depth += 1;
			if (depth > DEEPEST) return i;
		} else if (c === 0x5d || c === 0x7d) depth -= 1;
	}
	return null;
}

/**
 * Where the string that begins at `start` has its closing quote: the first one behind an even number of
 * backslashes; else the text's end.
 */
export function stringEnd(text: string, start: number): number {
	for (let from = start; ; ) {
		const quote = text.indexOf('"', from);
		if (quote < 0) return text.length;
		let first = quote;
		while (first > start && text.charCodeAt(first - 1) === 0x5c) first -= 1;
		if ((quote - first) % 2 === 0) return quote;
		from = quote + 1;
	}
}

/**
 * Whether a parsed value holds safe integers only and every object's keys are in order, as Object.keys gives
 * them.
 */
function isSorted(value: Json): boolean {
	if (typeof value === "number") return Number.isSafeInteger(value);
	if (typeof value !== "object" || value === null) return true;
	if (Array.isArray(value)) return value.every(isSorted);
	let before: string | null = null;
	for (const [key, item] of Object.entries(value)) {
		if ((before !== null && key <= before) || !isSorted(item)) return false;
		before = key;
	}
	return true;
}

function spell(value: unknown, depth: number): string | null {
	if (value === null) return "null";
	if (typeof value === "boolean") return value ? "true" : "false";
	if (typeof value === "number") return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : null;
	if (typeof value === "string") return JSON.stringify(value);
	if (typeof value !== "object" || depth >= DEEPEST) return null;
	const parts: string[] = [];
	if (Array.isArray(value)) {
		for (const item of value) {
			const part = spell(item, depth + 1);
			if (part === null) return null;
			parts.push(part);
		}
		return `[${parts.join(",")}]`;
	}
	const object = value as Record<string, unknown>;
	for (const key of Object.keys(object).sort()) {
		const part = spell(object[key], depth + 1);
		if (part === null) return null;
		parts.push(`${JSON.stringify(key)}:${part}`);
	}
	return `{${parts.join(",")}}`;
}
