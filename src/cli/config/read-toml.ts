// Sections and values of a config file in TOML (toml.io, 1.0; smol-toml reads it), each with its line. A
// value is a string, a number, true or false, or a list of strings and numbers; other TOML is refused. Pure.
// Not here: which sections and names there are.
import { parse, TomlError, type TomlTable } from "smol-toml";

export interface TomlEntry {
	readonly section: string;
	readonly name: string;
	/** Numbers as text: an option reads them as it would from a command line. */
	readonly value: string | boolean | readonly string[];
	/** From 1. */
	readonly line: number;
}

interface TomlSection {
	readonly name: string;
	readonly line: number;
}

interface TomlMistake {
	readonly line: number;
	readonly why: string;
}

/** `[section` or `name =` where a line begins; either may be quoted, or the first part of a dotted name. */
const LINE = /^\s*(?:\[+\s*(["']?)(?<section>[\w-]+)\1\s*[\].]|(["']?)(?<name>[\w-]+)\3\s*[=.])/;

/** Of a text that is no TOML the first mistake is named; else all values that cannot be options. */
export function readToml(text: string): {
	readonly sections: readonly TomlSection[];
	readonly entries: readonly TomlEntry[];
	readonly mistakes: readonly TomlMistake[];
} {
	let tables: TomlTable;
	try {
		tables = parse(text, { integersAsBigInt: true });
	} catch (error) {
		if (!(error instanceof TomlError)) throw error;
		const why = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
		return { sections: [], entries: [], mistakes: [{ line: error.line, why }] };
	}
	const lineOf = linesOf(text);
	const sections: TomlSection[] = [];
	const entries: TomlEntry[] = [];
	const mistakes: TomlMistake[] = [];
	for (const [section, table] of Object.entries(tables)) {
		if (!isTable(table)) {
			mistakes.push({ line: lineOf(section), why: `${section} stands before the first [section], or in [[two]]` });
			continue;
		}
		sections.push({ name: section, line: lineOf(section) });
		for (const [name, given] of Object.entries(table)) {
			const line = lineOf(section, name);
			const value = readValue(given);
			if (value !== null) entries.push({ section, name, value, line });
			else mistakes.push({ line, why: `${name}: an option takes text, a number, true or false, or a list of those` });
		}
	}
	return { sections, entries, mistakes };
}

const isTable = (value: unknown): value is TomlTable =>
	typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null;

/** Null: what no option can be. */
function readValue(value: unknown): TomlEntry["value"] | null {
	if (typeof value === "boolean") return value;
	if (!Array.isArray(value)) return readScalar(value);
	const list = value.map(readScalar);
	return list.includes(null) ? null : (list as string[]);
}

function readScalar(value: unknown): string | null {
	if (typeof value === "string") return value;
	return typeof value === "bigint" || Number.isFinite(value) ? String(value) : null;
}

/**
 * Where a section or one of its names is first written; the parser does not say. Whatever is not found, as a
 * name with an escape, gets its section's line.
 */
function linesOf(text: string): (section: string, name?: string) => number {
	const lines = new Map<string, number>();
	let section = "";
	for (const [index, line] of text.split("\n").entries()) {
		const found = LINE.exec(line)?.groups;
		if (found === undefined) continue;
		if (found.section !== undefined) section = found.section;
		const key = found.section ?? (section === "" ? found.name! : `${section}.${found.name}`);
		if (!lines.has(key)) lines.set(key, index + 1);
	}
	return (of, name) => lines.get(name === undefined ? of : `${of}.${name}`) ?? lines.get(of) ?? 1;
}
