// Finds JSON that names a field twice. JSON.parse keeps the last of them, other readers the first: what two
// readers understand differently must not be proven about.
import { stringEnd } from "./canonical-json.ts";

/**
 * Fields of all objects inside a parsed value; without recursion, as a hostile text may be nested a million
 * deep.
 */
function fieldCount(value: unknown): number {
	let count = 0;
	const waiting = [value];
	for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
		if (typeof next !== "object" || next === null) continue;
		const held = Object.values(next);
		if (!Array.isArray(next)) count += held.length;
		for (const one of held) if (typeof one === "object") waiting.push(one);
	}
	return count;
}

/** `parsed` is what JSON.parse made of `text`. Every colon outside of strings belongs to one field. */
export function hasDoubleKeys(text: string, parsed: unknown): boolean {
	let colons = 0;
	for (let i = 0; i < text.length; i++) {
		const char = text.charCodeAt(i);
		if (char === 0x22) i = stringEnd(text, i + 1);
		else if (char === 0x3a) colons++;
	}
	return colons !== fieldCount(parsed);
}
