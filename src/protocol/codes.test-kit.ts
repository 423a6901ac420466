// docs/codes.md as it must be for the table of codes.ts. Run by itself it writes the page: node
// src/protocol/codes.test-kit.ts
import { writeFileSync } from "node:fs";
import { type CodeEntry, type CodeKind, codes } from "./codes.ts";

export const CODES_PAGE = new URL("../../docs/codes.md", import.meta.url);

const CHAPTERS: readonly [CodeKind, string, string][] = [
	[
		"verdict-invalid",
		"Invalid",
		"The evidence is false, incomplete or not what was asked for. `where` in the verdict names the place.",
	],
	[
		"verdict-inconclusive",
		"Inconclusive",
		"Nothing is proven either way. Never punished. An error that kept a probe from starting is reported with its\nown code from the list of errors.",
	],
	["finding", "Findings", "Told beside a valid verdict: worth knowing, no proof either way."],
	["error", "Errors", "What the user or the surroundings did; a command then ends with an exit code of its own."],
];

export function codesPage(): string {
	const rows = Object.entries(codes as Readonly<Record<string, CodeEntry>>);
	const chapters = CHAPTERS.map(([kind, title, lead]) => {
		const lines = rows
			.filter(([, entry]) => entry.kind === kind)
			.map(([code, { meaning, hint }]) => `| \`${code}\` | ${meaning} | ${hint} |`);
		return `## ${title}\n${lead}\n\n| code | meaning | what to do |\n|---|---|---|\n${lines.join("\n")}\n`;
	});
	return `# Codes\n\nMade from \`src/protocol/codes.ts\` by \`node src/protocol/codes.test-kit.ts\`; a test keeps the two in step.\n\n${chapters.join("\n")}`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(CODES_PAGE, codesPage());
