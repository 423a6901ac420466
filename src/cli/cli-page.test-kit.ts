// docs/cli.md as it must be for the commands' rows: the parts between its markers are made from them, the
// rest is written by hand. Run by itself it writes the page: node src/cli/cli-page.test-kit.ts
import { readFileSync, writeFileSync } from "node:fs";
import type { CommandRow } from "./command.ts";
import { loaders, summaries } from "./commands.ts";
import { errorExits, exitCodes } from "./exit-codes.ts";
import { exitText, optionGroups, optionHelp, optionName, paragraphs, usageLines, wrapped } from "./help.ts";
import type { Option } from "./options.ts";

export const CLI_PAGE = new URL("../../docs/cli.md", import.meta.url);

export async function cliPage(page = readFileSync(CLI_PAGE, "utf8")): Promise<string> {
	const commands = await Promise.all(Object.values(loaders).map((load) => load()));
	const parts: Readonly<Record<string, string>> = {
		overview: table(
			["command", "does"],
			Object.entries(summaries).map(([name, summary]) => [`[\`assay ${name}\`](#assay-${name})`, summary]),
		),
		commands: [...commands.map(commandChapter), ...sharedChapters(commands)].join("\n\n"),
		"exit codes": table(
			["code", "name", "meaning"],
			Object.entries(exitCodes).map(([name, { code, meaning }]) => [String(code), name, meaning]),
		),
		errors: table(
			["code", "errors"],
			[...Map.groupBy(errorExits, ([, exit]) => exit)].map(([exit, rows]) => [
				String(exitCodes[exit].code),
				exit === "unavailable"
					? "every other error, also one that this version does not know"
					: rows.map(([code]) => `\`${code}\``).join(", "),
			]),
		),
	};
	return page.replaceAll(
		/(<!-- made: ([a-z ]+) -->\n)[\s\S]*?(<!-- end -->)/g,
		(_, begin, name, end) => `${begin}${parts[name]}\n${end}`,
	);
}

function commandChapter(command: CommandRow): string {
	const verbs = Object.entries(command.verbs).filter(([name]) => name !== "");
	const groups = optionGroups(command.options);
	const shared = groups.map(([title]) => title).filter((title) => title !== "options");
	const own = groups.flatMap(([title, rows]) => (title === "options" ? rows : []));
	return [
		`### assay ${command.name}`,
		["```", ...usageLines(command), "```"].join("\n"),
		...paragraphs(command),
		...(verbs.length === 0
			? []
			: [
					table(
						["verb", "does"],
						verbs.map(([name, { does = "" }]) => [`\`${name}\``, does]),
					),
				]),
		...(own.length === 0 ? [] : [optionTable(own)]),
		...(shared.length === 0
			? []
			: [
					prose(
						`Also: ${shared.map((title) => `[${title}](#${title.toLowerCase().replaceAll(" ", "-")})`).join(", ")}.`,
					),
				]),
		prose(`Exit codes: ${exitText(command)}.`),
	].join("\n\n");
}

const prose = (text: string): string => wrapped(text, 0, 110);

/** Each group once, as the first command that has it words it. */
function sharedChapters(commands: readonly CommandRow[]): string[] {
	const groups = new Map<string, Map<string, Option<unknown>>>();
	for (const { options } of commands)
		for (const [title, rows] of optionGroups(options).filter(([name]) => name !== "options"))
			groups.set(title, new Map([...rows, ...(groups.get(title) ?? [])]));
	return [...groups].map(([title, rows]) => `### ${title}\n\n${optionTable([...rows])}`);
}

const optionTable = (rows: readonly (readonly [string, Option<unknown>])[]): string =>
	table(
		["option", "meaning"],
		rows.map(([name, row]) => [`\`${optionName(name, row)}\``, optionHelp(row)]),
	);

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
	return [line(titles), `|${"---|".repeat(titles.length)}`, ...rows.map(line)].join("\n");
}

if (process.argv[1] === import.meta.filename) writeFileSync(CLI_PAGE, await cliPage());
