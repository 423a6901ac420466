// The config file: options of any command, a section each (docs/operator.md). Where it lies, and what is in
// it, checked against the commands' own rows. The format is read by read-toml.ts; which of flag, variable,
// file and default counts is decided in options.ts.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { didYouMean } from "../../protocol/closest-word.ts";
import { signerPath } from "../../validator/probe/signer.ts";
import type { CliIo, CommandRow, ConfigSection } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { type FileValue, type Option, type Options, usageError } from "../options.ts";
import { readToml, type TomlEntry } from "./read-toml.ts";

const MOST_BYTES = 2 ** 18;
const SYNTAX = 'A line is [command], name = value, or a comment; text stands in "quotes".';

export interface ConfigMistake {
	readonly code: "CONFIG_SYNTAX" | "CONFIG_UNKNOWN" | "CONFIG_VALUE";
	readonly line: number;
	readonly why: string;
	readonly hint: string;
}

export interface ConfigFile {
	readonly path: string;
	/** The commands that it has a section for, in its order; others are mistakes. */
	readonly sections: readonly string[];
	readonly entries: readonly TomlEntry[];
	readonly mistakes: readonly ConfigMistake[];
}

/** `--config FILE` is of every command. What follows `--` is not ours. */
export function takeConfig(args: readonly string[]): { config: string | undefined; rest: string[] } {
	const rest = [...args];
	const end = rest.indexOf("--");
	const at = rest.findIndex((arg, i) => (end < 0 || i < end) && (arg === "--config" || arg.startsWith("--config=")));
	if (at < 0) return { config: undefined, rest };
	const isOne = rest[at] !== "--config";
	const config = isOne ? rest[at]!.slice("--config=".length) : rest[at + 1];
	if (config === undefined || config === "") throw usageError("--config needs a value");
	rest.splice(at, isOne ? 1 : 2);
	return { config, rest };
}

/**
 * That of --config, of ASSAY_CONFIG (empty: none), or config.toml beside the verifier's key. null: there is
 * none.
 */
export function configPath(named: string | undefined, { env, cwd }: Pick<CliIo, "env" | "cwd">): string | null {
	if (named !== undefined) return resolve(cwd, named);
	if (env.ASSAY_CONFIG !== undefined) return env.ASSAY_CONFIG === "" ? null : resolve(cwd, env.ASSAY_CONFIG);
	const usual = join(dirname(signerPath(env)), "config.toml");
	return existsSync(usual) ? usual : null;
}

/** `commands`: those that there are. Throws FILE_UNREADABLE. */
export function readConfigFile(path: string, commands: readonly string[]): ConfigFile {
	const bytes = readInput(
		path,
		MOST_BYTES,
		"--config or ASSAY_CONFIG names it; `assay config example validate` prints one.",
	);
	const { sections, entries, mistakes } = readToml(Buffer.from(bytes).toString("utf8"));
	const unknown = sections.filter(({ name }) => !commands.includes(name));
	return {
		path,
		sections: sections.map(({ name }) => name).filter((name) => commands.includes(name)),
		entries,
		mistakes: [
			...mistakes.map(({ line, why }) => ({ code: "CONFIG_SYNTAX" as const, line, why, hint: SYNTAX })),
			...unknown.map(({ name, line }) => ({
				code: "CONFIG_UNKNOWN" as const,
				line,
				why: `there is no command '${name}'`,
				hint: didYouMean(name, commands).trim(),
			})),
		],
	};
}

/** What the file says to one command, and what of it is wrong. */
export function valuesOf(
	{ path, entries }: ConfigFile,
	{ name: command, options }: Pick<CommandRow, "name" | "options">,
): { readonly values: ReadonlyMap<string, FileValue & { readonly line: number }>; readonly mistakes: ConfigMistake[] } {
	const values = new Map<string, FileValue & { readonly line: number }>();
	const mistakes: ConfigMistake[] = [];
	for (const entry of entries.filter(({ section }) => section === command)) {
		const { name, line } = entry;
		try {
			const row = rowOf(options, command, name);
			const value = { given: givenBy(entry, row), name: `${path}, line ${line}: ${name}`, line };
			row.read(value.given, name);
			values.set(name, value);
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			const code = error.code === "CONFIG_UNKNOWN" ? error.code : "CONFIG_VALUE";
			mistakes.push({ code, line, why: error.message, hint: error.hint });
		}
	}
	return { values, mistakes };
}

function rowOf(options: Options, command: string, name: string): Option<unknown> {
	if (Object.hasOwn(options, name)) return options[name]!;
	throw new AssayError("CONFIG_UNKNOWN", `${command} has no option '${name}'`, {
		hint: didYouMean(name.replace(/^-+/, ""), Object.keys(options)).trim(),
	});
}

/** As parseArgs would have it. Throws USAGE. */
function givenBy({ name, value }: TomlEntry, { value: word, isList }: Option<unknown>): FileValue["given"] {
	if (word === null) {
		if (typeof value !== "boolean") throw usageError(`${name} takes true or false`);
		return value;
	}
	if (typeof value === "boolean") throw usageError(`${name} takes ${word}, not true or false`);
	if (typeof value === "string") return isList ? [value] : value;
	if (!isList) throw usageError(`${name} takes one value, not a list`);
	return value;
}

/**
 * For a command that runs: strict about the whole file's form and about its own section; undefined: there is
 * no file.
 */
export function configSection(
	row: CommandRow,
	path: string | null,
	commands: readonly string[],
): ConfigSection | undefined {
	if (path === null) return undefined;
	const file = readConfigFile(path, commands);
	const { values, mistakes } = valuesOf(file, row);
	const [first] = [...file.mistakes, ...mistakes];
	if (first === undefined) return { path, values };
	throw new AssayError(first.code, `${path}, line ${first.line}: ${first.why}`, {
		hint: `${first.hint === "" ? "" : `${first.hint} `}\`assay config check ${path}\` names all there is to mend.`,
	});
}
