// Checks that hostile JSON has exactly the shape a page names: exact keys, bounded lists, safe integers, plain text.
// Gives the first place that is wrong, as a value. Not here: what the numbers mean together (verify/ judges that).
import { isSafeText } from "./safe-text.ts";

/** Null when right; else where and why. */
export type Fault = { readonly where: string; readonly detail: string } | null;
export type Shape = (value: unknown, where: string) => Fault;

const fault = (where: string, detail: string): Fault => ({ where, detail });

export function int(min = 0, max: number = Number.MAX_SAFE_INTEGER): Shape {
	return (value, where) =>
		typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max
			? null
			: fault(where, `must be a whole number from ${min} to ${max}`);
}

/** Plain text of bounded length: nothing that a terminal would obey. */
export function text(maxChars: number, minChars = 0): Shape {
	return (value, where) => {
		if (typeof value !== "string") return fault(where, "must be text");
		if (value.length > maxChars || value.length < minChars)
			return fault(where, `must have ${minChars} to ${maxChars} characters`);
		return isSafeText(value) ? null : fault(where, "holds control or invisible characters");
	};
}

export function hex(bytes: number): Shape {
	const pattern = new RegExp(`^[0-9a-f]{${2 * bytes}}$`);
	return (value, where) =>
		typeof value === "string" && pattern.test(value)
			? null
			: fault(where, `must be ${2 * bytes} lower-case hex digits`);
}

export function oneOf(...allowed: readonly (string | number | boolean)[]): Shape {
	return (value, where) =>
		allowed.includes(value as string) ? null : fault(where, `must be one of ${allowed.join(", ")}`);
}

export function orNull(shape: Shape): Shape {
	return (value, where) => (value === null ? null : shape(value, where));
}

export function list(item: Shape, max: number): Shape {
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
export function object(fields: Readonly<Record<string, Shape>>): Shape {
	const names = Object.keys(fields);
	return (value, where) => {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return fault(where, "must be an object");
		const held = value as Readonly<Record<string, unknown>>;
		for (const name of names) {
			if (!Object.hasOwn(held, name)) return fault(join(where, name), "is missing");
			const found = fields[name]!(held[name], join(where, name));
			if (found !== null) return found;
		}
		if (Object.keys(held).length === names.length) return null;
		// A surplus key is the file's own text: it is not repeated here.
		return fault(where, "has a field that does not belong");
	};
}

/** Objects told apart by the text of one field. */
export function variants(field: string, shapes: Readonly<Record<string, Shape>>): Shape {
	return (value, where) => {
		const name = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : undefined;
		const shape = typeof name === "string" && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
		return shape === undefined
			? fault(join(where, field), `must be one of ${Object.keys(shapes).join(", ")}`)
			: shape(value, where);
	};
}

function join(where: string, name: string): string {
	return where === "" ? name : `${where}.${name}`;
}
