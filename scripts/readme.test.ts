// The README stays short, and its links lead somewhere; ARCHITECTURE.md names every folder at the top. That
// the README's commands work is checked in tests/walks/.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");

/** What people read of a page: without the targets of its links. */
const textOf = (page: string): string => page.replaceAll(/\]\([^)]*\)/g, "]");
const figuresOf = (page: string): string[] => textOf(page).match(/\d[\d.,]*/g) ?? [];

test("the README stays short: 130 lines, 60 figures", () => {
	assert.ok(readme.split("\n").length - 1 <= 130);
	assert.ok(figuresOf(readme).length <= 60, figuresOf(readme).join(" "));
	assert.deepEqual(figuresOf("[4 GPUs](docs/2.md), 1,000.5 on 8xH100"), ["4", "1,000.5", "8", "100"]);
});

test("the architecture names every folder that is tracked, and only folders that are there", () => {
	const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
	const folders = new Set(tracked.filter((path) => path.includes("/")).map((path) => `${path.split("/")[0]}/`));
	const rows = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").match(/^\| `.*$/gm)!;
	const named = rows.flatMap((row) => row.split("|")[1]!.match(/(?<=`)[^`]+\/(?=[^`]*`)/g) ?? []);
	const tops = new Set(named.map((path) => `${path.split("/")[0]}/`));
	assert.deepEqual(
		[...folders].filter((folder) => !tops.has(folder)),
		[],
		"folders that no row names",
	);
	for (const path of named.filter((one) => folders.has(`${one.split("/")[0]}/`)))
		assert.ok(existsSync(join(root, path)), path);
});

test("every link and every placeholder of the README leads somewhere", () => {
	for (const [, path] of readme.matchAll(/\]\(([^)#:]+)\)/g)) assert.ok(existsSync(join(root, path!)), path);
	assert.doesNotMatch(readme, /@@/);
});
