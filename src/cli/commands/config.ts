// `assay config`: looks at the file that options may come from. `check` names every mistake and shows which
// value counts and where it is from, `example` prints a file with every option of a command. Not here: how
// the file is read (config/).
import { AssayError } from "../../protocol/assay-error.ts";
import { didYouMean } from "../../protocol/closest-word.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import { type CliIo, type Command, command } from "../command.ts";
import { type ConfigFile, type ConfigMistake, configPath, readConfigFile, valuesOf } from "../config/config-file.ts";
import { errorToExitCode } from "../exit-codes.ts";
import { optionHelp } from "../help.ts";
import { flag, type Option, parseOptions } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { left, plural, table } from "../print/table.ts";

interface Row {
	readonly command: string;
	readonly option: string;
	/** As it would be written in the file; null: none. */
	readonly value: string | null;
	readonly from: "environment" | "file" | "default";
	/** The line or the variable. */
	readonly where: string;
}

type Mistake = Omit<ConfigMistake, "code" | "line"> & { readonly code: string; readonly line: number | null };

type Loaders = Readonly<Record<string, () => Promise<Command>>>;

/** `loaders`: the commands that there are, this one among them. */
export const configCommand = (loaders: Loaders): Command =>
	command({
		name: "config",
		about: `Options of every command can stand in a file: a section for each command, in it name = value (TOML; docs/operator.md). The file is
that of --config, else of ASSAY_CONFIG, else config.toml in ASSAY_HOME or ~/.config/assay.

A flag counts before a variable of the environment, that before the file, that before the default. --no-NAME switches a flag of the file off.`,
		options: {
			all: flag("also show options that have their default"),
			json: flag("print mistakes and values as JSON"),
		},
		exits: { 64: "wrong usage, or a mistake in the file", 66: "the file cannot be read" },
		verbs: {
			check: {
				takes: "[FILE]",
				does: "name every mistake in the file; show each value that counts, and its source",
				async run(values, io, named) {
					const path = configPath(named, io);
					if (path === null)
						throw new AssayError("FILE_UNREADABLE", "there is no config file", {
							hint: "Name one, or begin with that of `assay config example validate`.",
						});
					const file = readConfigFile(path, Object.keys(loaders));
					const { rows, mistakes } = await looked(file, loaders, io);
					const shown = values.all ? rows : rows.filter(({ from }) => from !== "default");
					printResult(values, io, { path, mistakes, values: shown }, (paint) => text(path, shown, mistakes, paint));
					return mistakes.length === 0 ? 0 : errorToExitCode(new AssayError(mistakes[0]!.code, ""));
				},
			},
			example: {
				takes: "COMMAND",
				does: "print a file with every option of a command, each commented out",
				async run(_values, io, name = "") {
					if (!Object.hasOwn(loaders, name))
						throw new AssayError("USAGE", `there is no command '${name}'`, {
							hint: `${didYouMean(name, Object.keys(loaders))}Commands: ${Object.keys(loaders).join(", ")}.`,
						});
					io.out.write(exampleOf(await loaders[name]!()));
					return 0;
				},
			},
		},
	});

/** Each section against its command. */
async function looked(file: ConfigFile, loaders: Loaders, io: CliIo): Promise<{ rows: Row[]; mistakes: Mistake[] }> {
	const rows: Row[] = [];
	const mistakes: Mistake[] = [...file.mistakes];
	for (const name of new Set(file.sections)) {
		const row = await loaders[name]!();
		const found = valuesOf(file, row);
		mistakes.push(...found.mistakes);
		const { values } = parseOptions(row.options, [], { env: io.env, file: found.values });
		for (const [option, { env, value, fallback }] of Object.entries(row.options)) {
			const line = found.values.get(option)?.line;
			const variable = env !== undefined && io.env[env] ? env : null;
			const from = variable !== null ? "environment" : line !== undefined ? "file" : "default";
			const where = variable ?? (line === undefined ? "" : `line ${line}`);
			const given = variable === null ? values[option] : io.env[variable];
			const shown = from === "default" ? (fallback ?? (value === null ? "false" : null)) : written(given);
			rows.push({ command: name, option, value: shown, from, where });
		}
		// Values that are wrong by themselves would only be named twice.
		if (found.mistakes.length === 0) mistakes.push(...(await wrongTogether(row, values, io)));
	}
	return { rows, mistakes: mistakes.sort((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity)) };
}

async function wrongTogether(row: Command, values: Readonly<Record<string, unknown>>, io: CliIo): Promise<Mistake[]> {
	try {
		await row.check?.(values, io);
		return [];
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		const { code, message, hint } = error;
		return [{ code: code === "USAGE" ? "CONFIG_VALUE" : code, line: null, why: `[${row.name}] ${message}`, hint }];
	}
}

/** Logins in addresses are not for whoever reads along. */
function written(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
	if (typeof value !== "string") return String(value);
	return JSON.stringify(/^[a-z]+:\/\//.test(value) && URL.canParse(value) ? withoutLogin(value) : value);
}

function text(path: string, rows: readonly Row[], mistakes: readonly Mistake[], paint: Paint): string {
	const head =
		mistakes.length === 0
			? `${paint.good("good")}  ${path}`
			: `${paint.bad(plural(mistakes.length, "mistake"))} in ${path}`;
	const lines = mistakes.map(({ code, line, why, hint }) => {
		const where = line === null ? "" : `line ${line}: `;
		return `  ${where}${why} [${code}]${hint === "" ? "" : `\n    ${hint}`}`;
	});
	const columns = [
		left<Row>("command", ({ command: name }) => name),
		left<Row>("option", ({ option }) => option),
		left<Row>("value", ({ value }) => value),
		left<Row>("from", ({ from, where }) => (where === "" ? from : `${from}, ${where}`), "dim"),
	];
	const order = "A flag counts before the environment, that before the file, that before the default.";
	return [head, ...lines, "", table(columns, rows, paint, "no value is set"), paint.dim(order), ""].join("\n");
}

/** Every line but the section's is a comment: it changes nothing until somebody edits it. */
function exampleOf({ name, options }: Command): string {
	const rows = Object.entries(options).flatMap(([option, row]) => [
		"",
		`# ${optionHelp(row)}`,
		`# ${option} = ${sampleOf(row)}`,
	]);
	return [`# Options of assay ${name}; its --help says more.`, `[${name}]`, ...rows, ""].join("\n");
}

function sampleOf({ value, fallback, isList }: Option<unknown>): string {
	if (value === null) return "true";
	const one =
		fallback !== undefined && /^(0|[1-9]\d*)(\.\d+)?$/.test(fallback) ? fallback : JSON.stringify(fallback ?? value);
	return isList ? `[${one}]` : one;
}
