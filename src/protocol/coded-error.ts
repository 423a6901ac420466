// An error whose hint is the one that the table of codes has for it. Not in assay-error.ts: pages that throw
// none of these shall not carry the table.
import { AssayError } from "./assay-error.ts";
import { type Code, codes } from "./codes.ts";

export const codedError = (code: Code, message: string, options: { hint?: string; cause?: unknown } = {}): AssayError =>
	new AssayError(code, message, { hint: codes[code].hint, ...options });
