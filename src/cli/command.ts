// What a command is: a name, rows of options, and a function (or one for each verb) from values to an exit
// code. One command a file. Commands write results to `out` and everything else (progress, errors) to `err`,
// so that `--json` output stays clean.
import { AssayError } from "../protocol/assay-error.ts";
import { didYouMean } from "../protocol/closest-word.ts";
import { type FileValue, type Options, parseOptions, usageError, type Values } from "./options.ts";

export interface CliIo {
	readonly out: NodeJS.WriteStream;
	readonly err: NodeJS.WriteStream;
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
	/** Aborted by the first Ctrl-C (or SIGTERM); a second Ctrl-C, a moment later, ends the process at once. */
	readonly interrupted: AbortSignal;
	/** The config file that values came from, and which; undefined: there is none. */
	readonly config?: { readonly path: string; readonly names: readonly string[] };
}

export interface Verb<O extends Options = Options> {
	/**
	 * Its arguments as the usage line has them: `FILE`, `[PROVIDER]`, `[COMMAND…]`. How many there may be
	 * follows from it.
	 */
	readonly takes?: string;
	/** Options that the usage line names: those without which it does not work. */
	readonly needs?: string;
	/** What it does, for commands with several verbs. */
	readonly does?: string;
	run(values: Values<O>, io: CliIo, ...args: string[]): Promise<number>;
}

export interface CommandRow<O extends Options = Options> {
	readonly name: string;
	/** What help says beneath the usage lines; paragraphs are separated by an empty line. */
	readonly about: string;
	readonly options: O;
	/** Exit codes besides 0 and 64, with what they mean here. */
	readonly exits?: Readonly<Record<number, string>>;
	/** By name; "": without a verb. */
	readonly verbs: Readonly<Record<string, Verb<O>>>;
	/**
	 * For `assay config check`: what is wrong with values together, before anything is begun. Throws
	 * AssayError.
	 */
	check?(values: Values<O>, io: CliIo): Promise<void>;
}

export interface Command extends CommandRow {
	/** `file`: this command's section of the config file. */
	run(args: readonly string[], io: CliIo, file?: ConfigSection): Promise<number>;
}

export interface ConfigSection {
	readonly path: string;
	readonly values: ReadonlyMap<string, FileValue>;
}

/** A verb's work, loaded when it is asked for. */
export const later =
	<Given extends readonly unknown[]>(load: () => Promise<(...given: Given) => Promise<number>>) =>
	async (...given: Given): Promise<number> =>
		(await load())(...given);

/** A command of a single action says `takes`, `needs` and `run` itself, the others `verbs`. */
export function command<O extends Options>(
	row: Omit<CommandRow<O>, "verbs"> & (Verb<NoInfer<O>> | { readonly verbs: CommandRow<NoInfer<O>>["verbs"] }),
): Command {
	const verbs = "verbs" in row ? row.verbs : { "": row };
	return {
		...(row as unknown as CommandRow),
		verbs: verbs as unknown as CommandRow["verbs"],
		async run(args, io, file) {
			const beneath = { env: io.env, file: file?.values ?? new Map() };
			const { values, positionals, fromFile } = parseOptions(row.options, args, beneath);
			const [verb, given] = chosen(row.name, verbs, positionals);
			const config = file && { path: file.path, names: fromFile };
			return verb.run(values, config ? { ...io, config } : io, ...given);
		},
	};
}

function chosen<O extends Options>(
	name: string,
	verbs: CommandRow<O>["verbs"],
	positionals: string[],
): readonly [Verb<O>, string[]] {
	const [first = "", ...rest] = positionals;
	const names = Object.keys(verbs).filter(Boolean);
	if (names.length > 0 && !Object.hasOwn(verbs, first))
		throw new AssayError("USAGE", `${name} takes ${names.join(", ")}${first === "" ? "" : `, not '${first}'`}`, {
			hint: `${didYouMean(first, names)}See: assay ${name} --help`,
		});
	const [verb, given] = names.length > 0 ? [verbs[first]!, rest] : [verbs[""]!, positionals];
	const words = (verb.takes ?? "").split(" ").filter(Boolean);
	const missing = words.filter((word) => !word.startsWith("["))[given.length];
	if (missing !== undefined) throw usageError(`an argument is missing: ${missing}`);
	if (given.length > words.length && !words.at(-1)?.includes("…"))
		throw usageError(`too many arguments: ${given.slice(words.length).join(" ")}`);
	return [verb, given];
}
