// A command's help page, made from its row: usage lines, what it does, its options by group, its exit codes.
import type { CommandRow } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Option, Options } from "./options.ts";

const WIDTH = 100;
/** A longer name has its help on the next line. */
const MAX_NAME = 24;

export function helpText(command: CommandRow): string {
	const verbs = Object.entries(command.verbs).filter(([name]) => name !== "");
	const usages = usageLines(command).map((line, i) => `${i === 0 ? "usage:" : "      "} ${line}`);
	return [
		usages.join("\n"),
		...paragraphs(command),
		...(verbs.length === 0 ? [] : [rowLines(verbs.map(([name, { does = "" }]) => [name, does]))]),
		...optionGroups(command.options).map(([title, rows]) => {
			const lines = rowLines(rows.map(([name, row]) => [optionName(name, row), optionHelp(row)]));
			return `${title}:\n${lines}`;
		}),
		wrapped(`exit codes: ${exitText(command)}`, 0),
	].join("\n\n");
}

export const paragraphs = ({ about }: CommandRow): string[] =>
	about.split("\n\n").map((paragraph) => wrapped(paragraph.replaceAll("\n", " "), 0));

export function usageLines({ name, verbs, options }: CommandRow): string[] {
	const more = Object.keys(options).length === 0 ? "" : "[OPTIONS]";
	return Object.entries(verbs).map(([verb, { takes = "", needs = "" }]) =>
		["assay", name, verb, takes, needs, more].filter(Boolean).join(" "),
	);
}

/** A command's own options first, then each group under its heading. */
export function optionGroups(options: Options): [title: string, rows: [name: string, row: Option<unknown>][]][] {
	const groups = new Map<string, [string, Option<unknown>][]>([["options", []]]);
	for (const [name, row] of Object.entries(options)) {
		const title = row.group ?? "options";
		groups.set(title, [...(groups.get(title) ?? []), [name, row]]);
	}
	return [...groups].filter(([, rows]) => rows.length > 0);
}

export const optionName = (name: string, { value }: Option<unknown>): string =>
	`--${name}${value === null ? "" : ` ${value}`}`;

export const optionHelp = ({ help, fallback }: Option<unknown>): string =>
	fallback === undefined ? help : `${help} (default ${fallback})`;

export function exitText({ exits = {} }: CommandRow): string {
	const all: Readonly<Record<number, string>> = { 0: "done", [exitCodes.usage.code]: "wrong usage", ...exits };
	return Object.entries(all)
		.map(([code, meaning]) => `${code} ${meaning}`)
		.join(", ");
}

function rowLines(rows: readonly (readonly [name: string, help: string])[]): string {
	const width = Math.min(MAX_NAME, Math.max(...rows.map(([name]) => name.length))) + 4;
	return rows
		.map(([name, help]) => {
			const head = `  ${name}`;
			const text = wrapped(help, width);
			return head.length + 2 > width ? `${head}\n${text}` : head.padEnd(width) + text.trimStart();
		})
		.join("\n");
}

/** Broken between words; every line begins after so many spaces. */
export function wrapped(text: string, indent: number, width = WIDTH): string {
	const lines: string[] = [];
	for (const word of text.split(" ")) {
		const last = lines.at(-1);
		if (last !== undefined && indent + last.length + 1 + word.length <= width)
			lines[lines.length - 1] = `${last} ${word}`;
		else lines.push(word);
	}
	return lines.map((line) => " ".repeat(indent) + line).join("\n");
}
