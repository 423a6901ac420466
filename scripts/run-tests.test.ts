// What runs the tests must itself be seen to fail: else a broken file would pass in silence.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packPackages } from "./pack-packages.ts";
import { type Choice, fileOfTests, filesTogether, LONGEST, tasksOf } from "./run-tests.ts";
import { runTasks, type Task } from "./runner/run-tasks.ts";

const cwd = mkdtempSync(join(tmpdir(), "assay-run-tests-"));
after(() => rmSync(cwd, { recursive: true }));

function testFile(name: string, text: string): Task {
	writeFileSync(join(cwd, name), `import { test } from "node:test";\n${text}\n`);
	return fileOfTests(name);
}

test("what fails, what tests nothing, what never ends, what is killed and what cannot start are all failures; what passes is counted", async () => {
	const printed: string[] = [];
	const passed: string[] = [];
	const busy = "const until = process.cpuUsage().user + 4e5; while (process.cpuUsage().user < until);";
	const { failed, lastWords, errors, counts, coreSeconds } = await runTasks(
		[
			testFile(
				"hook.mjs",
				'import { after } from "node:test"; test("one", () => {}); after(() => { throw new Error("spoilt"); });',
			),
			testFile("busy.mjs", `test("one", () => { ${busy} });`),
			testFile("passes.mjs", 'test("one", (t) => t.diagnostic("seed 7")); test("two", () => {});'),
			testFile("fails.mjs", 'test("one", () => {}); test("two", () => { throw new Error("broken"); });'),
			testFile("tests-nothing.mjs", ""),
			{ ...testFile("never-ends.mjs", 'test("one", () => new Promise(() => {}));'), limitMs: 1000 },
			testFile("cannot-be-read.mjs", 'import "./nowhere.mjs"; test("one", () => {});'),
			testFile("killed.mjs", 'test("one", () => process.kill(process.pid, "SIGKILL"));'),
			{ name: "unknown", command: [join(cwd, "no-such-program")] },
			{ name: "plain", command: ["true"] },
			{ name: "silent", command: ["true"], says: /^\d+ passed, 0 failed$/m },
			{ name: "says so", command: ["echo", "3 passed, 0 failed"], says: /^\d+ passed, 0 failed$/m },
		],
		{ cwd, print: (text) => printed.push(text), onPassed: ({ name }) => passed.push(name) },
	);
	assert.deepEqual(
		failed.toSorted().map((one) => one.replace(/spawn .*ENOENT/, "ENOENT")),
		[
			"cannot-be-read.mjs (exit 1)",
			"fails.mjs (exit 1)",
			"hook.mjs (exit 0, a hook failed)",
			"killed.mjs (SIGKILL)",
			"never-ends.mjs (not done after 1 s)",
			"silent (it does not say /^\\d+ passed, 0 failed$/m)",
			"tests-nothing.mjs (no test in it)",
			"unknown (ENOENT)",
		],
	);
	assert.equal(lastWords.length, failed.length);
	assert.match(lastWords.find((one) => one.startsWith("fails.mjs"))!, /broken/);
	assert.deepEqual(errors.toSorted(), [`✖ ${join(cwd, "hook.mjs")}: Error: spoilt`, "✖ two: Error: broken"]);
	assert.deepEqual(passed.toSorted(), ["busy.mjs", "passes.mjs", "plain", "says so"]);
	assert.deepEqual(counts, { tests: 6, pass: 5, fail: 1, cancelled: 0, skipped: 0, todo: 0 });
	assert.equal(printed.length, 12);
	const passes = printed.find((text) => text.includes("passes.mjs"))!;
	assert.match(passes, /ℹ seed 7\n/);
	assert.match(passes, /^== passes\.mjs, [\d.]+ s, [\d.]+ s of a core\n/);
	// Of two that end at the same moment one may be given what both took.
	const coreS = Object.values(coreSeconds).reduce((sum, one) => sum + one, 0);
	assert.ok(coreS >= 0.4, JSON.stringify(coreSeconds));
	assert.doesNotMatch(passes, /ℹ tests/);
	assert.match(printed.find((text) => text.includes("fails.mjs"))!, /broken/);
});

test("what a test throws later is its own, what it begins is below it, and no hook follows every promise", async () => {
	const printed: string[] = [];
	const later = testFile(
		"later.mjs",
		`import assert from "node:assert/strict";
		import { AsyncResource, executionAsyncId } from "node:async_hooks";
		import { describe } from "node:test";
		import { setTimeout as sleep } from "node:timers/promises";
		const begin = (act) => void (async () => { await sleep(1); act(); })();
		test("above", async () => { await sleep(1); await test("below", () => {}); });
		test("in a timer", async () => { setTimeout(() => { throw new Error("of a timer"); }, 1); await new Promise(() => {}); });
		test("of a promise", async () => { begin(() => { throw new Error("not handled"); }); await new Promise(() => {}); });
		describe("of a suite", () => { test("well", () => sleep(1)); test("ill", async () => { await sleep(1); assert.fail("ill"); }); });
		test("after its end", () => { setTimeout(() => { throw new Error("too late"); }, 1); });
		test("promises without numbers", async () => {
			await sleep(5);
			await null;
			assert.deepEqual([executionAsyncId(), new AsyncResource("ours").constructor], [0, AsyncResource]);
		});`,
	);
	await runTasks([later], { cwd, print: (text) => printed.push(text) });
	const said = printed.join();
	for (const line of [
		"▶ above",
		"  ✔ below",
		"✔ above",
		"✖ in a timer",
		"✖ of a promise",
		"▶ of a suite",
		"  ✔ well",
		"  ✖ ill",
		"✔ after its end",
		"✔ promises without numbers",
	])
		assert.match(said, new RegExp(`^${line}( |$)`, "m"));
	assert.match(said, /Test "after its end" .*generated asynchronous activity after the test ended.*too late/);
	assert.match(said, /Error: of a timer\n/);
	assert.match(said, /Error: not handled\n/);
});

test("a file that hangs says which test still runs, what keeps it alive and what it started", async () => {
	const printed: string[] = [];
	const hangs = testFile(
		"hangs.mjs",
		`import { spawn } from "node:child_process";
		test("ended", () => {});
		test("hangs", async (t) => {
			await t.test("deep in it", () => new Promise(() => spawn("sleep", ["61.5"])));
		});`,
	);
	const { failed } = await runTasks([{ ...hangs, limitMs: 12_000 }], { cwd, print: (text) => printed.push(text) });
	assert.deepEqual(failed, ["hangs.mjs (not done after 12 s)"]);
	const [, pid] = /^ *(\d+) .*sleep 61\.5$/m.exec(printed.join())!;
	process.kill(Number(pid));
	assert.match(printed.join(), /still running: hangs\n/);
	assert.match(printed.join(), /still running: deep in it\n/);
	assert.match(printed.join(), /alive by: .*1 ProcessWrap/);
	assert.doesNotMatch(printed.join(), /still running: ended/);
});

test("six at a time, and what has no deadlines beside them; what waits for a task comes after it", async () => {
	const log = join(cwd, "log");
	writeFileSync(log, "");
	// Where something must run beside another it stays until that one has started: else it is killed at its
	// limit.
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
			task("deadline-1", { after: "pure-build" }, "deadline-6"),
			task("pure-build", { isPure: true }, "deadline-5"),
			task("pure-1", { isPure: true }),
			task("pure-2", { isPure: true }),
			...[2, 3, 4, 5].map((i) => task(`deadline-${i}`, {}, "deadline-6")),
			task("alone-1", { isAlone: true }),
			task("pure-3", { isPure: true }, "deadline-6"),
			task("deadline-6", {}, "pure-3"),
			task("deadline-7"),
			task("last", { after: "deadline-6" }),
			task("alone-2", { isAlone: true }),
		],
		{ cwd, print: () => {} },
	);
	assert.deepEqual(failed, []);
	const lines = readFileSync(log, "utf8").trim().split("\n");
	assert.equal(lines.length, 28);
	assert.deepEqual(lines.slice(24), ["+alone-1", "-alone-1", "+alone-2", "-alone-2"]);
	assert.ok(lines.indexOf("+last") > lines.indexOf("-deadline-6"), lines.join());
	assert.ok(lines.indexOf("+deadline-1") > lines.indexOf("-pure-build"), lines.join());
	const now = new Set<string>();
	for (const line of lines) {
		if (line.startsWith("+")) now.add(line.slice(1));
		else now.delete(line.slice(1));
		assert.ok([...now].filter((name) => !name.startsWith("pure")).length <= 6, [...now].join());
	}
});

test("our sources get the packed packages, packages their own", async () => {
	const root = fileURLToPath(new URL("..", import.meta.url));
	const hook = await packPackages(root);
	const whose = (at: string) => {
		const code = `import { getAddress } from "viem"; import { Counter } from "prom-client"; import fastify from "fastify";
			try { getAddress("0x"); } catch ({ stack }) { console.log(typeof Counter, typeof fastify, stack.match(/file:\\S+/)[0]); }`;
		const args = ["--import", pathToFileURL(hook).href, "--input-type=module", "--eval", code];
		return spawnSync(process.execPath, args, { cwd: join(root, at), encoding: "utf8" }).stdout;
	};
	assert.match(whose("src"), /^function function file:\S+\/build\/test-packages\/\S+\n$/);
	assert.match(whose("node_modules/viem"), /^function function file:\S+\/node_modules\/viem\/_esm\/\S+\n$/);
});

test("files that share a process are all run, one after the other; which fails, has no test or cannot be read is said", async () => {
	const log = (word: string) =>
		`import { appendFileSync } from "node:fs"; const log = () => appendFileSync("order", "${word} ");`;
	const files = [
		testFile("first.mjs", `import { after } from "node:test"; ${log("first")} after(log); test("one", () => {});`),
		testFile("second.mjs", `${log("second")} log(); test("two", () => {}); test("later", { skip: true }, () => {});`),
	];
	const wrong = testFile("third.mjs", 'test("three", () => { throw new Error("broken"); });');
	const unread = testFile("fourth.mjs", 'import "./nowhere.mjs"; test("four", () => {});');
	const empty = testFile("fifth.mjs", "");
	const ends = testFile("sixth.mjs", 'test("six", () => process.exit(0));');
	const run = async (...tasks: Task[]) => await runTasks(filesTogether(tasks), { cwd, print: () => {} });
	const { counts, coreSeconds } = await run(...files);
	assert.deepEqual(counts, { tests: 3, pass: 2, fail: 0, cancelled: 0, skipped: 1, todo: 0 });
	assert.deepEqual(Object.keys(coreSeconds), ["first.mjs", "second.mjs", "2 files from first.mjs on"]);
	// What a file does after its tests is done before the next one is read.
	assert.equal(readFileSync(join(cwd, "order"), "utf8"), "first second ");
	const { failed, lastWords, counts: all } = await run(...files, wrong, unread, empty);
	assert.deepEqual(failed, [
		"5 files from first.mjs on (exit 1; third.mjs: fail; fourth.mjs: fail; fifth.mjs: without a test)",
	]);
	assert.match(lastWords[0]!, /broken/);
	assert.deepEqual(all, { tests: 4, pass: 2, fail: 1, cancelled: 0, skipped: 1, todo: 0 });
	const left = "not run to its end";
	assert.deepEqual((await run(ends, ...files)).failed, [
		`3 files from sixth.mjs on (no test in it; sixth.mjs: ${left}; first.mjs: ${left}; second.mjs: ${left})`,
	]);
});

test("`test` runs every test file and the engine once; `check` only what knows no clock; `deep` what is random, attacks and loads", () => {
	const root = fileURLToPath(new URL("..", import.meta.url));
	const names = tasksOf(root, ["test"]).tasks.flatMap(({ name, files }) => files ?? [name]);
	const tracked = spawnSync("git", ["ls-files", "*.test.ts"], { cwd: root, encoding: "utf8" })
		.stdout.trim()
		.split("\n");
	// A clone has nothing else; a checkout that is being worked in may.
	for (const name of ["types", ...tracked.filter((file) => file !== "")])
		assert.equal(names.filter((one) => one === name).length, 1, name);
	assert.equal(names.length, new Set(names).size);
	// The others want a GPU, or are asked by tests here.
	const programs = readdirSync(join(root, "engine/test"))
		.filter((file) => /(_test|_fuzz)\.cpp$/.test(file))
		.map((file) => file.replace(".cpp", ""));
	assert.ok(programs.length >= 8);
	for (const name of programs)
		assert.ok(
			names.some((one) => one.startsWith("engine: ") && one.includes(`/${name}`)),
			name,
		);
	for (const name of LONGEST) assert.ok(names.includes(name), `${name} is no test file any more`);
	const quick = tasksOf(root, ["check"]).tasks;
	assert.ok(quick.every(({ isPure, name }) => isPure && !name.endsWith("built")));
	assert.ok(quick.some(({ command }) => command.includes("src/verify/hardware/mutation.test.ts")));
	const deep = tasksOf(root, ["deep"]).tasks.map(({ name }) => name);
	for (const name of [
		...["engine and its tests, built", "src/verify/hardware/mutation.test.ts", "tests/api/hostile.test.ts"],
		...["tests/validator/floods.test.ts", "bench/floods.ts", "bench/faults.ts"],
	])
		assert.ok(deep.includes(name), name);
	assert.deepEqual(tasksOf(root, ["no-such-name"]).tasks, []);
	// One file brings along what it cannot make itself.
	assert.deepEqual(
		tasksOf(root, ["scripts/release.test"]).tasks.map(({ name }) => name),
		["engine for the other platform, built", "scripts/release.test.ts"],
	);
	assert.deepEqual(
		tasksOf(root, ["both-checkers"]).tasks.map(({ name }) => name),
		["tests/work/both-checkers.test.ts"],
	);
	// Whoever builds a program of the engine's tests would wait for that build, in the place of others.
	const waiting = tasksOf(root, ["test"]).tasks.filter(({ after }) => after === "engine and its tests, built");
	const builders = tracked.filter((file) =>
		/"engine\/build\.sh"\), "--/.test(file === "" ? "" : readFileSync(join(root, file), "utf8")),
	);
	assert.ok(builders.length > 0 || tracked[0] === "");
	for (const file of builders)
		assert.ok(
			waiting.some(({ name }) => name === file),
			file,
		);
});

test("what ended well before is left out, but for a build that another needs; `near` runs what depends on a change", () => {
	const root = fileURLToPath(new URL("..", import.meta.url));
	const namesOf = (...[word, choice]: [string, Choice]) =>
		tasksOf(root, [word], choice).tasks.flatMap(({ name, files }) => files ?? [name]);
	assert.deepEqual(namesOf("test", { isKept: () => true }), []);
	assert.deepEqual(namesOf("check", { isKept: () => true }), []);
	const only = (name: string): Choice => ({ isKept: (task) => task.name !== name });
	assert.deepEqual(namesOf("test", only("types")), ["types"]);
	const [other, built] = ["engine for the other platform, built", "engine and its tests, built"];
	assert.deepEqual(namesOf("test", only("scripts/release.test.ts")), [other, "scripts/release.test.ts"]);
	const [program = ""] = namesOf("test", {}).filter((name) => name.startsWith("engine: "));
	assert.deepEqual(namesOf("test", only(program)), [built, program]);
	const near = (changed: string, ...names: string[]): Choice => ({
		near: { changed: [changed], tests: new Map(names.map((name) => [name, changed])) },
	});
	const two = ["tests/cheaters.test.ts", "src/protocol/codes.test.ts"];
	assert.deepEqual(namesOf("near", near("src/protocol/codes.ts", ...two)), two);
	const all = namesOf("near", near("engine/src/main.cpp", ...two));
	assert.deepEqual([all.includes(other!), all.includes(built!), all.includes(program)], [true, true, true]);
	assert.deepEqual(namesOf("near", { ...near("src/protocol/codes.ts", ...two), ...only(two[0]!) }), [two[0]]);
});
