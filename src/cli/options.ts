// Rows of the table of options. One row says what an option takes, what it is for and its default; the type
// of its value, `--help` and docs/cli.md follow from it. node:util's parseArgs reads the command line.
// Not here: the rows themselves, which stand beside the code that uses them.
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { AssayError } from "../protocol/assay-error.ts";
import { closestWord } from "../protocol/closest-word.ts";

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
	/**
	 * The variable of the environment that counts where the option is not given; the code that uses the value
	 * reads it.
	 */
	readonly env?: string | undefined;
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
	{ shape, fallback, env }: { readonly shape?: TextShape; readonly fallback?: D; readonly env?: string } = {},
): Option<string | D> {
	const read = (given: unknown, name: string) => checked(given as string | undefined, name, shape) ?? (fallback as D);
	return { value, help, fallback, env, read };
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

/** A value of the config file, as a command line would give it, with the name that an error has for it. */
export interface FileValue {
	readonly given: string | boolean | readonly string[];
	readonly name: string;
}

export interface Beneath {
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly file: ReadonlyMap<string, FileValue>;
}

/**
 * Strict: an unknown option or a missing value is an error. Throws USAGE. Flags come first, then variables,
 * then the file, then the row's own default. A flag of the file is switched off by --no-NAME.
 */
export function parseOptions<O extends Options>(
	options: O,
	args: readonly string[],
	{ env, file }: Beneath = { env: {}, file: new Map() },
): { readonly values: Values<O>; readonly positionals: string[]; readonly fromFile: readonly string[] } {
	const rows = Object.entries(options);
	const { values, positionals } = parsed(args, options);
	const fromFile: string[] = [];
	const read = rows.map(([name, row]) => {
		const given = isOff(values, name) ? false : values[name];
		const under = given === undefined && !(row.env && env[row.env]) ? file.get(name) : undefined;
		if (under === undefined) return [name, row.read(given, `--${name}`)] as const;
		fromFile.push(name);
		return [name, row.read(under.given, under.name)] as const;
	});
	return { values: Object.fromEntries(read) as Values<O>, positionals, fromFile };
}

const isOff = (values: Readonly<Record<string, unknown>>, name: string): boolean => values[off(name)] === true;
const off = (name: string): string => `no-${name}`;

function shapesOf(options: Options): ParseArgsOptionsConfig {
	const shapes = Object.entries(options).flatMap(([name, { value, isList }]) => {
		const type: "boolean" | "string" = value === null ? "boolean" : "string";
		const row = [name, { type, multiple: isList === true }] as const;
		return value === null && !Object.hasOwn(options, off(name)) ? [row, [off(name), { type }] as const] : [row];
	});
	return Object.fromEntries(shapes);
}

function parsed(args: readonly string[], rows: Options) {
	const options = shapesOf(rows);
	try {
		return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
	} catch (cause) {
		const { message } = cause as Error;
		const [, unknown] = /^Unknown option '-{0,2}([^']*)'/.exec(message) ?? [];
		if (unknown !== undefined) {
			const meant = closestWord(unknown, Object.keys(rows));
			throw usageError(`there is no option '${unknown}'${meant === null ? "" : `; did you mean --${meant}?`}`, cause);
		}
		const [, name] = /^Option '(?:-\w, )?--([\w-]+)[^']*' (?:argument|does not)/.exec(message) ?? [];
		if (name === undefined) throw usageError(message.split("\n")[0]!, cause);
		if (options[name]?.type === "boolean") throw usageError(`--${name} takes no value`, cause);
		const dash = /ambiguous/.test(message) ? `; one that begins with a dash is written --${name}=-…` : "";
		throw usageError(`--${name} needs a value${dash}`, cause);
	}
}
