// What runs the tests must itself be seen to fail: else a broken file would pass in silence.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { everything, IS_WAITING, LONG, runTasks, type Task } from "./run-tests.ts";

const cwd = mkdtempSync(join(tmpdir(), "assay-run-tests-"));
after(() => rmSync(cwd, { recursive: true }));

function testFile(name: string, text: string): Task {
	writeFileSync(join(cwd, name), `import { test } from "node:test";\n${text}\n`);
	return { name, command: [process.execPath, "--test-reporter=spec", name], isTestFile: true };
}

test("what fails, what tests nothing, what never ends, what is killed and what cannot start are all failures; what passes is counted", async () => {
	const printed: string[] = [];
	const { failed, counts } = await runTasks(
		[
			testFile("passes.mjs", 'test("one", (t) => t.diagnostic("seed 7")); test("two", () => {});'),
			testFile("fails.mjs", 'test("one", () => {}); test("two", () => { throw new Error("broken"); });'),
			testFile("tests-nothing.mjs", ""),
			{ ...testFile("never-ends.mjs", 'test("one", () => new Promise(() => {}));'), limitMs: 1000 },
			testFile("cannot-be-read.mjs", 'import "./nowhere.mjs"; test("one", () => {});'),
			testFile("killed.mjs", 'test("one", () => process.kill(process.pid, "SIGKILL"));'),
			{ name: "unknown", command: [join(cwd, "no-such-program")] },
			{ name: "plain", command: ["true"] },
		],
		{ cwd, print: (text) => printed.push(text) },
	);
	assert.deepEqual(
		failed.toSorted().map((one) => one.replace(/spawn .*ENOENT/, "ENOENT")),
		[
			"cannot-be-read.mjs (exit 1)",
			"fails.mjs (exit 1)",
			"killed.mjs (SIGKILL)",
			"never-ends.mjs (not done after 1 s)",
			"tests-nothing.mjs (no test in it)",
			"unknown (ENOENT)",
		],
	);
	assert.deepEqual(counts, { tests: 4, pass: 3, fail: 1, cancelled: 0, skipped: 0, todo: 0 });
	assert.equal(printed.length, 8);
	const passes = printed.find((text) => text.includes("passes.mjs"))!;
	assert.match(passes, /ℹ seed 7\n/);
	assert.doesNotMatch(passes, /ℹ tests/);
	assert.match(printed.find((text) => text.includes("fails.mjs"))!, /broken/);
});

test("two at a time and one that waits; beside a build only what has no deadlines", async () => {
	const log = join(cwd, "log");
	writeFileSync(log, "");
	// Where something must run beside another it stays until that one has started: else it is killed at its limit.
	const task = (name: string, more: Partial<Task> = {}, until = name): Task => ({
		name,
		command: [
			"bash",
			"-c",
			`echo "+${name}" >> log; until grep -q "+${until}" log; do sleep 0.02; done; echo "-${name}" >> log`,
		],
		limitMs: 60_000,
		...more,
	});
	const { failed } = await runTasks(
		[
			task("deadline-1"),
			task("waits-1", { isWaiting: true }, "deadline-3"),
			task("waits-2", { isWaiting: true }),
			task("build", { isBuild: true }, "pure-2"),
			task("pure-1", { hasNoDeadlines: true, isWaiting: false }),
			task("pure-2", { hasNoDeadlines: true }),
			task("deadline-2", {}, "deadline-3"),
			task("deadline-3"),
		],
		{ cwd, print: () => {} },
	);
	assert.deepEqual(failed, []);
	const lines = readFileSync(log, "utf8").trim().split("\n");
	assert.equal(lines.length, 16);
	const now = new Set<string>();
	const together: string[][] = [];
	for (const line of lines) {
		if (line.startsWith("+")) now.add(line.slice(1));
		else now.delete(line.slice(1));
		together.push([...now]);
	}
	const count = (names: string[], kind: string) => names.filter((name) => name.startsWith(kind)).length;
	for (const names of together) {
		assert.ok(count(names, "waits") <= 1, names.join());
		assert.ok(names.length - count(names, "waits") <= 2, names.join());
		if (names.includes("build")) assert.equal(count(names, "pure") + 1, names.length, names.join());
	}
});

test("whoever is named as long or waiting is there; every test file and the engine run once", () => {
	const root = fileURLToPath(new URL("..", import.meta.url));
	const names = everything(root).map(({ name }) => name);
	for (const name of [...IS_WAITING, ...Object.keys(LONG)]) assert.ok(names.includes(name), name);
	const tracked = spawnSync("git", ["ls-files", "*.test.ts"], { cwd: root, encoding: "utf8" })
		.stdout.trim()
		.split("\n");
	// A clone has nothing else; a checkout that is being worked in may.
	for (const name of ["engine", ...tracked.filter((file) => file !== "")])
		assert.equal(names.filter((one) => one === name).length, 1, name);
	assert.equal(names.length, new Set(names).size);
});
