// Path and query come as text; schemas speak of integers and booleans. Each field is turned into what its
// schema wants, spelled in one way only ("007", "1e3", "yes" stay text and are refused). Repeated keys become
// lists, which no schema takes.
import * as z from "zod/mini";

const { $ZodBoolean, $ZodDefault, $ZodNullable, $ZodNumber, $ZodOptional } = z.core;

export type TextFields = Readonly<Record<string, string | readonly string[]>>;

/** Without a prototype, so that no key can reach one. */
export function parseQuery(text: string): TextFields {
	const fields: Record<string, string | string[]> = Object.create(null);
	for (const [key, value] of new URLSearchParams(text)) {
		const held = fields[key];
		if (held === undefined) fields[key] = value;
		else if (typeof held === "string") fields[key] = [held, value];
		else held.push(value);
	}
	return fields;
}

const INTEGER = /^(0|[1-9][0-9]{0,15})$/;

export function readTextFields(schema: z.ZodMiniObject, fields: TextFields): Record<string, unknown> {
	const read: Record<string, unknown> = Object.create(null);
	for (const key of Object.keys(fields)) {
		const value = fields[key]!;
		read[key] =
			typeof value === "string" && Object.hasOwn(schema.shape, key) ? readText(schema.shape[key]!, value) : value;
	}
	return read;
}

function readText(schema: z.core.$ZodType, text: string): unknown {
	const inner = unwrapped(schema);
	if (inner instanceof $ZodNumber) return INTEGER.test(text) ? Number(text) : text;
	if (inner instanceof $ZodBoolean) return text === "true" ? true : text === "false" ? false : text;
	return text;
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
	if (schema instanceof $ZodOptional || schema instanceof $ZodDefault || schema instanceof $ZodNullable)
		return unwrapped(schema._zod.def.innerType);
	return schema;
}
