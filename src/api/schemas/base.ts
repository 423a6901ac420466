// What schemas are made with beside zod/mini: descriptions, whole numbers, patterns. Not the words that they
// share (primitives.ts).
import { en } from "zod/locales";
import * as z from "zod/mini";

// zod/mini, which is a third of zod in a browser, has no sentences of its own for what is refused.
z.config(en());

/** The same schema with a description, which the OpenAPI document shows. */
export function note<T extends z.ZodMiniType>(schema: T, description: string): T {
	const same = schema.clone();
	z.globalRegistry.add(same, { description });
	return same;
}

/** A whole number from `least` to `most`; a safe one in any case. */
export const integer = (least: number, most?: number) =>
	z.int().check(z.minimum(least), ...(most === undefined ? [] : [z.maximum(most)]));
export const matching = (pattern: RegExp, fault?: string) => z.string().check(z.regex(pattern, fault));
/** A number that may be larger than 2⁵³. */
export const decimal = matching(/^(0|[1-9][0-9]{0,77})$/);
