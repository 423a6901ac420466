// Shapes of fields that several kinds of job files have, and how a field is refused.
import { AssayError } from "../../protocol/assay-error.ts";
import { type Fields, object, pattern, type Shape, type Typed, text } from "../../protocol/bytes/shape.ts";
import { codes } from "../../protocol/codes.ts";

/** A number in [min, max]; JSON has no NaN and no infinity. */
export function real(min: number, max: number): Shape<number> {
	return (value, where) =>
		typeof value === "number" && value >= min && value <= max
			? null
			: { where, detail: `must be a number from ${min} to ${max}` };
}

/** An object in which fields may be missing; a missing one is not looked at. */
export function partial<F extends Fields>(fields: F): Shape<{ readonly [K in keyof F]?: Typed<F[K]> }> {
	const names = Object.keys(fields);
	return (value, where, also = []) => {
		if (typeof value !== "object" || value === null || Array.isArray(value))
			return { where, detail: "must be an object" };
		const held = names.filter((name) => Object.hasOwn(value, name));
		return object(Object.fromEntries(held.map((name) => [name, fields[name]!])))(value, where, [...also, ...names]);
	};
}

/** A path, relative to the job file. */
export const file = text(1024, 1);
export const seed = pattern(/^0x[0-9a-f]{64}$/, "must be 0x and 64 lower-case hex digits");

export function wrongField(where: string, detail: string, hint: string = codes.JOB_FIELD.hint): AssayError {
	return new AssayError("JOB_FIELD", `${where === "" ? "the job" : where} ${detail}`, { hint });
}
