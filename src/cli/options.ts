// Rows of the table of options. One row says what an option takes, what it is for and its default; the type
// of its value, `--help` and docs/cli.md follow from it. node:util's parseArgs reads the command line.
// Not here: the rows themselves, which stand beside the code that uses them.
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { AssayError } from "../protocol/assay-error.ts";
import { closestWord } from "./print/closest-word.ts";

/** Without a hint: run-command.ts names the command's help page. */
export function usageError(message: string, cause?: unknown): AssayError {
	return new AssayError("USAGE", message, cause === undefined ? {} : { cause });
}

export interface Option<T> {
	/** The word for its value in the help; null: a flag. */
	readonly value: string | null;
	readonly help: string;
	/** Its default, as the help shows it. */
	readonly fallback?: string | undefined;
	readonly isList?: boolean;
	/** Its heading in the help; undefined: the command's own option. */
	readonly group?: string;
	/** `given` is what parseArgs found. Throws USAGE. */
	read(given: unknown, name: string): T;
}

export type Options = Readonly<Record<string, Option<unknown>>>;
export type Values<O extends Options> = { readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** What a text must look like, and how to say so: "--trust takes 64 lower-case hex digits". */
export interface TextShape {
	readonly pattern: RegExp;
	readonly is: string;
}

export const hexKey: TextShape = { pattern: /^[0-9a-f]{64}$/, is: "64 lower-case hex digits" };
export const account: TextShape = { pattern: /^0x[0-9a-fA-F]{40}$/, is: "an account, 0x and 40 hex digits" };

export const flag = (help: string): Option<boolean> => ({ value: null, help, read: (given) => given === true });

export function text<D extends string | undefined = undefined>(
	value: string,
	help: string,
	{ shape, fallback }: { readonly shape?: TextShape; readonly fallback?: D } = {},
): Option<string | D> {
	const read = (given: unknown, name: string) => checked(given as string | undefined, name, shape) ?? (fallback as D);
	return { value, help, fallback, read };
}

/** May be given several times. */
export function list(value: string, help: string, shape?: TextShape): Option<readonly string[] | undefined> {
	const read = (given: unknown, name: string) => {
		for (const one of (given as string[] | undefined) ?? []) checked(one, name, shape);
		return given as string[] | undefined;
	};
	return { value, help: `${help}; repeatable`, isList: true, read };
}

export function choice<W extends string, D extends W | undefined = undefined>(
	value: string,
	words: readonly W[],
	help: string,
	fallback?: D,
): Option<W | D> {
	const shape = { pattern: new RegExp(`^(${words.join("|")})$`), is: words.join(", ") };
	const read = (given: unknown, name: string) =>
		(checked(given as string | undefined, name, shape) as W | undefined) ?? (fallback as D);
	return { value, help, fallback, read };
}

type Range = readonly [min: number, max: number];

export const number = <D extends number | undefined = undefined>(
	value: string,
	help: string,
	range: Range,
	fallback?: D,
): Option<number | D> => numeric(value, help, range, fallback as D, (given) => given);

/** Fractions are cut off. */
export const whole = <D extends number | undefined = undefined>(
	value: string,
	help: string,
	range: Range,
	fallback?: D,
): Option<number | D> => numeric(value, help, range, fallback as D, Math.floor);

function numeric<D>(value: string, help: string, [min, max]: Range, fallback: D, cut: (given: number) => number) {
	const read = (given: unknown, name: string): number | D =>
		given === undefined ? fallback : cut(readNumber(name, given as string, min, max));
	return { value, help, fallback: fallback === undefined ? undefined : String(fallback), read };
}

/** Puts rows under a heading of their own. */
export function group<O extends Options>(title: string, rows: O): O {
	return Object.fromEntries(
		Object.entries(rows).map(([name, row]) => [name, { ...row, group: title }]),
	) as unknown as O;
}

function checked(given: string | undefined, name: string, shape: TextShape | undefined): string | undefined {
	if (given !== undefined && shape !== undefined && !shape.pattern.test(given))
		throw usageError(`${name} takes ${shape.is}, not '${given}'`);
	return given;
}

export function readNumber(name: string, given: string, min: number, max: number): number {
	const value = Number(given);
	if (given.trim() === "" || !Number.isFinite(value) || value < min || value > max)
		throw usageError(`${name} takes a number from ${min} to ${max}, not '${given}'`);
	return value;
}

/** Strict: an unknown option or a missing value is an error. Throws USAGE. */
export function parseOptions<O extends Options>(
	options: O,
	args: readonly string[],
): { readonly values: Values<O>; readonly positionals: string[] } {
	const rows = Object.entries(options);
	const shapes = rows.map(([name, { value, isList }]) => {
		const type: "boolean" | "string" = value === null ? "boolean" : "string";
		return [name, { type, multiple: isList === true }] as const;
	});
	const { values, positionals } = parsed(args, Object.fromEntries(shapes));
	const read = rows.map(([name, row]) => [name, row.read(values[name], `--${name}`)] as const);
	return { values: Object.fromEntries(read) as Values<O>, positionals };
}

function parsed(args: readonly string[], options: ParseArgsOptionsConfig) {
	try {
		return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
	} catch (cause) {
		const { message } = cause as Error;
		const [, unknown] = /^Unknown option '-{0,2}([^']*)'/.exec(message) ?? [];
		if (unknown !== undefined) {
			const meant = closestWord(unknown, Object.keys(options));
			throw usageError(`there is no option '${unknown}'${meant === null ? "" : `; did you mean --${meant}?`}`, cause);
		}
		const [, name] = /^Option '(?:-\w, )?--([\w-]+)[^']*' (?:argument|does not)/.exec(message) ?? [];
		if (name === undefined) throw usageError(message.split("\n")[0]!, cause);
		if (options[name]?.type === "boolean") throw usageError(`--${name} takes no value`, cause);
		const dash = /ambiguous/.test(message) ? `; one that begins with a dash is written --${name}=-…` : "";
		throw usageError(`--${name} needs a value${dash}`, cause);
	}
}
