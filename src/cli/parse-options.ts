// Options of one command, strictly: an unknown option, a missing value or a surplus argument is a usage error with a hint.
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { AssayError } from "../protocol/assay-error.ts";

export function usageError(message: string, command: string): AssayError {
	return new AssayError("USAGE", message, { hint: `See: assay ${command} --help` });
}

export function parseOptions<T extends ParseArgsOptionsConfig>(
	command: string,
	args: readonly string[],
	options: T,
	positionals: { readonly min: number; readonly max: number },
) {
	try {
		const parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
		const count = parsed.positionals.length;
		if (count < positionals.min) throw usageError("an argument is missing", command);
		if (count > positionals.max)
			throw usageError(`too many arguments: ${parsed.positionals.slice(positionals.max).join(" ")}`, command);
		return parsed;
	} catch (cause) {
		if (cause instanceof AssayError) throw cause;
		const sentence = cause instanceof Error ? (cause.message.split(". ")[0] ?? cause.message) : String(cause);
		throw usageError(sentence, command);
	}
}

/** A number within bounds from an option's text. */
export function numberOption(command: string, name: string, text: string, min: number, max: number): number {
	const value = Number(text);
	if (text.trim() === "" || !Number.isFinite(value) || value < min || value > max)
		throw usageError(`--${name} takes a number from ${min} to ${max}, not '${text}'`, command);
	return value;
}
