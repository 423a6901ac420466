// Files that comments and pages name are there: a name that went stale sends its reader nowhere.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");
/** Of other projects, made by a build, or examples. */
const ELSEWHERE =
	/^(Test|Vm|ControlID|.*\b(Groth16|Plonk|SP1)Verifier\w*)\.sol$|^hook\.mjs$|^dist\/|^path\/to\/|^src\/work\/sum\.ts$/;
const NAME =
	/(?<![\w*…/.<-])(?:\.{1,2}\/)*((?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.(?:tsx?|mjs|cpp|hpp|cuh?|sol|inc))\b(?![\w/(])/g;

/** Every path, and every end of it that begins with a name. */
const known = new Set(
	tracked.flatMap((path) => {
		const parts = path.split("/");
		return parts.map((_, i) => parts.slice(i).join("/"));
	}),
);

/** Names of files in the text that no file of the tree has. */
function staleIn(text: string): string[] {
	return [...text.matchAll(NAME)].map(([, name]) => name!).filter((name) => !known.has(name) && !ELSEWHERE.test(name));
}

/** What follows a comment's mark, line by line; of a page every line. */
const proseOf = (path: string, line: string): string =>
	path.endsWith(".md") ? line : (/^\s*(?:\/\/|\/?\*).*|(?<![:"'`])\/\/ .*/.exec(line)?.[0] ?? "");

test("no comment and no page names a file that is not there", () => {
	assert.deepEqual(staleIn("as in gone.ts, ../away/house.test.ts, scripts/house.test.ts"), [
		"gone.ts",
		"away/house.test.ts",
	]);
	const found = tracked
		.filter(
			(path) =>
				/\.(tsx?|mjs|cpp|hpp|cuh?|sol|md)$/.test(path) && path !== "CHANGELOG.md" && !path.endsWith("comments.test.ts"),
		)
		.flatMap((path) =>
			readFileSync(join(root, path), "utf8")
				.split("\n")
				.flatMap((line, i) => staleIn(proseOf(path, line)).map((name) => `${path}:${i + 1} ${name}`)),
		);
	assert.deepEqual(found, []);
});
