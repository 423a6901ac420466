// The one error class: a code from codes.ts, a sentence, a hint what to do, the cause.
// For what the user or the surroundings did wrong. A provider's wrong answer is a verdict, not an error.

export class AssayError extends Error {
	readonly code: string;
	readonly hint: string;

	constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
		super(message, options.cause === undefined ? undefined : { cause: options.cause });
		this.name = "AssayError";
		this.code = code;
		this.hint = options.hint ?? "";
	}
}
