// The README tells the truth about the tree: every folder at the top is in it, every path that it names is
// there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Paths of the tree at the README's end, e.g. "src/protocol/". */
function treePaths(page: string): string[] {
	const block = /```\n(engine\/[\s\S]*?)```/.exec(page)?.[1] ?? "";
	let parent = "";
	return block.split("\n").flatMap((line) => {
		const name = /^( *)([\w.-]+\/)/.exec(line);
		if (name === null) return [];
		if (name[1] === "") parent = name[2]!;
		return [name[1] === "" ? parent : parent + name[2]];
	});
}

test("the tree names every folder that is tracked, and only folders that are there", () => {
	const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
	const folders = [...new Set(tracked.filter((path) => path.includes("/")).map((path) => `${path.split("/")[0]}/`))];
	const named = treePaths(readme);
	assert.deepEqual(
		named.filter((path) => path.split("/").length === 2).sort(),
		folders.sort(),
		"top folders in the README and in git",
	);
	for (const path of named) assert.ok(existsSync(join(root, path)), path);
});

test("every link and every placeholder of the README leads somewhere", () => {
	for (const [, path] of readme.matchAll(/\]\(([^)#:]+)\)/g)) assert.ok(existsSync(join(root, path!)), path);
	assert.doesNotMatch(readme, /@@/);
});

test("a tree that is wrong is seen", () => {
	assert.deepEqual(treePaths("```\nengine/   x\n  gone/   y\nsrc/ z\n```"), ["engine/", "engine/gone/", "src/"]);
});
