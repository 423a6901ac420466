// Checks that hostile JSON has exactly the shape a page names: exact keys, bounded lists, safe integers,
// plain text. Gives the first place that is wrong, as a value. Not here: what the numbers mean together
// (verify/ judges that).
import { didYouMean } from "../closest-word.ts";
import { isSafeText } from "./safe-text.ts";

/** Null when right; else where and why. */
type Fault = { readonly where: string; readonly detail: string } | null;
/**
 * Checks a value; `T` is what a value that passes is. `also`: fields that it might have as well, which a
 * misspelt one may have been meant to be.
 */
export interface Shape<T = unknown> {
	(value: unknown, where: string, also?: readonly string[]): Fault;
	/** For the compiler only, never set. */
	readonly type?: T;
}
export type Typed<S> = S extends Shape<infer T> ? T : never;
export type Fields = Readonly<Record<string, Shape>>;
export type TypedFields<F extends Fields> = { readonly [K in keyof F]: Typed<F[K]> };

const fault = (where: string, detail: string): Fault => ({ where, detail });

export function int(min = 0, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
	return (value, where) =>
		typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max
			? null
			: fault(where, `must be a whole number from ${min} to ${max}`);
}

/** Plain text of bounded length: nothing that a terminal would obey. */
export function text(maxChars: number, minChars = 0): Shape<string> {
	return (value, where) => {
		if (typeof value !== "string") return fault(where, "must be text");
		if (value.length > maxChars || value.length < minChars)
			return fault(where, `must have ${minChars} to ${maxChars} characters`);
		return isSafeText(value) ? null : fault(where, "holds control or invisible characters");
	};
}

export function hex(bytes: number): Shape<string> {
	const pattern = new RegExp(`^[0-9a-f]{${2 * bytes}}$`);
	return (value, where) =>
		typeof value === "string" && pattern.test(value)
			? null
			: fault(where, `must be ${2 * bytes} lower-case hex digits`);
}

/** Text that the pattern matches; `words` say what it must be. */
export function pattern(regex: RegExp, words: string): Shape<string> {
	return (value, where) => (typeof value === "string" && regex.test(value) ? null : fault(where, words));
}

export function oneOf<const T extends string | number | boolean>(...allowed: readonly T[]): Shape<T> {
	return (value, where) => (allowed.includes(value as T) ? null : fault(where, `must be one of ${allowed.join(", ")}`));
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
	return (value, where) => (value === null ? null : shape(value, where));
}

export function list<T>(item: Shape<T>, max: number): Shape<readonly T[]> {
	return (value, where) => {
		if (!Array.isArray(value)) return fault(where, "must be a list");
		if (value.length > max) return fault(where, `must have at most ${max} items`);
		for (let i = 0; i < value.length; i++) {
			const found = item(value[i], `${where}[${i}]`);
			if (found !== null) return found;
		}
		return null;
	};
}

/** Exactly these keys, no others. */
export function object<F extends Fields>(fields: F): Shape<TypedFields<F>> {
	const names = Object.keys(fields);
	return (value, where, also = []) => {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return fault(where, "must be an object");
		const held = value as Readonly<Record<string, unknown>>;
		for (const name of names) {
			if (!Object.hasOwn(held, name)) return fault(join(where, name), "is missing");
			const found = fields[name]!(held[name], join(where, name));
			if (found !== null) return found;
		}
		const surplus = Object.keys(held).find((name) => !Object.hasOwn(fields, name));
		if (surplus === undefined) return null;
		const meant = didYouMean(
			surplus,
			[...names, ...also].filter((name) => !Object.hasOwn(held, name)),
		);
		return fault(where, `has a field that does not belong: ${quoted(surplus)}. ${meant}`.trimEnd());
	};
}

const MAX_QUOTED = 32;

/** A key is the file's own text: it is shown cut and in plain ASCII, so that it passes for nothing else. */
function quoted(key: string): string {
	const cut = JSON.stringify(key.slice(0, MAX_QUOTED));
	const plain = cut.replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
	return key.length > MAX_QUOTED ? `${plain} and so on` : plain;
}

/** The same keys, and this one or not. */
export function withOption<T, const N extends string, V>(
	shape: Shape<T>,
	name: N,
	option: Shape<V>,
): Shape<T & { readonly [K in N]?: V | undefined }> {
	return (value, where, also = []) => {
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
			return shape(value, where, [...also, name]);
		const { [name]: held, ...rest } = value as Record<string, unknown>;
		return option(held, join(where, name)) ?? shape(rest, where, also);
	};
}

/** Objects told apart by the text of one field. */
export function variants<F extends Fields>(field: string, shapes: F): Shape<Typed<F[keyof F]>> {
	return (value, where, also) => {
		const name = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : undefined;
		const shape = typeof name === "string" && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
		return shape === undefined
			? fault(join(where, field), `must be one of ${Object.keys(shapes).join(", ")}`)
			: shape(value, where, also);
	};
}

function join(where: string, name: string): string {
	return where === "" ? name : `${where}.${name}`;
}
