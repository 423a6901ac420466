// The part of TOML (toml.io, 1.0) that a file of options needs: `[section]`, `name = value`, comments; a
// value is a string, a number, true or false, or a list of strings and numbers. By hand: it is small, refuses
// what it does not know with its line, and a package for it would be one more that operators have to trust.
// Pure. Not here: which sections and names there are.

/** Numbers as they were written: an option reads them as it would from a command line. */
type TomlValue = string | boolean | { readonly number: string } | readonly (string | { readonly number: string })[];

export interface TomlEntry {
	readonly section: string;
	readonly name: string;
	readonly value: TomlValue;
	/** From 1. */
	readonly line: number;
}

export interface TomlSection {
	readonly name: string;
	readonly line: number;
}

export interface TomlMistake {
	readonly line: number;
	readonly why: string;
}

const SECTION = /^\[\s*([A-Za-z0-9_-]+)\s*\]$/;
const ENTRY = /^([A-Za-z0-9_-]+)\s*=\s*(.*)$/s;
const NUMBER = /^[+-]?(0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d+)?$/;
/** One value and what follows it: a quoted string, or a word. */
const SCALAR = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,\]#"'[]+)\s*/;

/** Everything that is wrong at once; entries are those that could be read. */
export function readToml(text: string): {
	readonly sections: readonly TomlSection[];
	readonly entries: readonly TomlEntry[];
	readonly mistakes: readonly TomlMistake[];
} {
	const sections: TomlSection[] = [];
	const entries: TomlEntry[] = [];
	const mistakes: TomlMistake[] = [];
	for (const { text: whole, line } of statements(text)) {
		const wrong = (why: string): void => void mistakes.push({ line, why });
		const section = SECTION.exec(whole)?.[1];
		if (section !== undefined) {
			if (sections.some(({ name }) => name === section)) wrong(`[${section}] is there twice`);
			sections.push({ name: section, line });
			continue;
		}
		const [, name, rest] = ENTRY.exec(whole) ?? [];
		const inside = sections.at(-1)?.name;
		if (name === undefined || rest === undefined) wrong("neither [section] nor name = value");
		else if (inside === undefined) wrong(`${name} stands before the first [section]`);
		else if (entries.some((entry) => entry.section === inside && entry.name === name)) wrong(`${name} is there twice`);
		else {
			const value = readValue(rest);
			if (typeof value === "object" && "why" in value) wrong(`${name}: ${value.why}`);
			else entries.push({ section: inside, name, value, line });
		}
	}
	return { sections, entries, mistakes };
}

/** Lines without comments; a list may go over several. */
function statements(text: string): { text: string; line: number }[] {
	const found: { text: string; line: number }[] = [];
	let open: { text: string; line: number } | null = null;
	for (const [index, raw] of text.split(/\r?\n/).entries()) {
		const bare = withoutComment(raw).trim();
		if (bare === "") continue;
		// A list that was never closed ends where a section or a name begins.
		const begins = SECTION.test(bare) || /^[A-Za-z0-9_-]+\s*=/.test(bare);
		if (open !== null && !begins) open.text += ` ${bare}`;
		else {
			open = { text: bare, line: index + 1 };
			found.push(open);
		}
		if (!/=\s*\[/.test(open.text) || open.text.endsWith("]")) open = null;
	}
	return found;
}

/** Up to the first # that is not in a string; all of it where a string does not end. */
function withoutComment(line: string): string {
	const [code = ""] = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"'])*/.exec(line) ?? [];
	return line[code.length] === "#" ? code : line;
}

function readValue(text: string): TomlValue | { readonly why: string } {
	if (!text.startsWith("[")) {
		const [word = "", one = ""] = SCALAR.exec(text) ?? [];
		if (one === "") return { why: text === "" ? "there is no value" : `${text} cannot be read` };
		return word.length < text.length ? { why: `there is more after ${one}` } : scalar(one);
	}
	const list: (string | { readonly number: string })[] = [];
	let rest = text.slice(1).trimStart();
	while (!rest.startsWith("]")) {
		const [word = "", one = ""] = SCALAR.exec(rest) ?? [];
		const value = one === "" ? { why: "a list ends with ]" } : scalar(one);
		if (typeof value === "boolean") return { why: "a list holds strings and numbers" };
		if (typeof value === "object" && "why" in value) return value;
		list.push(value);
		rest = rest.slice(word.length);
		if (rest.startsWith(",")) rest = rest.slice(1).trimStart();
		else if (!rest.startsWith("]")) return { why: "values of a list are separated by commas, and it ends with ]" };
	}
	return rest === "]" ? list : { why: `there is more after ${text.slice(0, text.length - rest.length + 1)}` };
}

function scalar(word: string): string | boolean | { readonly number: string } | { readonly why: string } {
	if (word === "true" || word === "false") return word === "true";
	if (NUMBER.test(word)) return { number: word.replaceAll("_", "") };
	if (word.startsWith("'")) return word.slice(1, -1);
	if (!word.startsWith('"')) return { why: `${word} is neither a number nor true or false; text stands in "quotes"` };
	try {
		return JSON.parse(word) as string;
	} catch {
		return { why: `${word} has an escape that is none` };
	}
}
