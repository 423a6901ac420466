// Results that are kept by content: a second run does only what changed, and nothing that failed, that was
// changed meanwhile, or that ran under other conditions counts.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileOfTests } from "../run-tests.ts";
import { openKeptResults } from "./kept-results.ts";
import type { Task } from "./run-tasks.ts";
import { createSourceGraph } from "./source-graph.ts";

const FILES: Readonly<Record<string, string>> = {
	"a.test.ts": 'import "./a.ts";',
	"a.ts": "export {};",
	"b.test.ts": 'import "./builds.ts";',
	"builds.ts": 'join(root, "engine", "build.sh");',
	"engine/build.sh": "cmake",
	"engine/src/main.cpp": "int main() {}",
	"package-lock.json": "{}",
};
const a = fileOfTests("a.test.ts");
const b = fileOfTests("b.test.ts");
const lint: Task = { name: "lint", command: ["biome", "check"], reads: [""] };
const engine: Task = { name: "engine", command: ["bash", "build.sh"], reads: ["engine/"] };
const bench: Task = { name: "bench", command: ["true"] };
const TASKS = [a, b, lint, engine, bench];

function checkout() {
	const cwd = mkdtempSync(join(tmpdir(), "assay-kept-"));
	after(() => rmSync(cwd, { recursive: true }));
	const put = (file: string, text: string) => {
		mkdirSync(dirname(join(cwd, file)), { recursive: true });
		writeFileSync(join(cwd, file), text);
	};
	const files = Object.keys(FILES);
	for (const file of files) put(file, FILES[file]!);
	const graph = createSourceGraph(files, (file) => FILES[file]!);
	const open = (...scales: number[]) => openKeptResults(cwd, { files, graph }, scales.length > 0 ? scales : [1]);
	const kept = () => TASKS.filter(open().isKept).map(({ name }) => name);
	return { cwd, put, open, kept };
}

test("nothing is kept in a fresh clone; what ended well is, until what it depends on changes", () => {
	const { put, open, kept } = checkout();
	assert.deepEqual(kept(), []);
	const run = open();
	for (const task of TASKS) run.keep(task, 2.5);
	assert.deepEqual(kept(), ["a.test.ts", "b.test.ts", "lint", "engine"], "what says nothing of its files is not");
	assert.deepEqual([open().secondsOf("a.test.ts"), open().secondsOf("c.test.ts")], [2.5, undefined]);
	for (const [file, left] of [
		["a.ts", ["b.test.ts", "engine"]],
		["engine/src/main.cpp", ["a.test.ts"]],
		[`build/engine/linux-${process.arch}/assay-engine`, ["a.test.ts", "lint", "engine"]],
		["package-lock.json", []],
	] as const) {
		put(file, "changed");
		assert.deepEqual(kept(), left, file);
		if (FILES[file] === undefined) open().keep(b, 1);
		else put(file, FILES[file]);
		assert.equal(kept().length, 4, `${file} is as it was`);
	}
});

test("what was changed while it ran is not kept", () => {
	const { put, open, kept } = checkout();
	const run = open();
	assert.equal(run.isKept(a), false);
	put("a.ts", "changed");
	run.keep(a, 1);
	assert.deepEqual(kept(), []);
	put("a.ts", FILES["a.ts"]!);
	assert.deepEqual(kept(), []);
});

test("other settings are another result; more random cases count for fewer, not the other way round", () => {
	const { open, kept } = checkout();
	open(0.1, 1).keep(a, 1);
	assert.deepEqual([open(0.1, 1).isKept(a), open(1).isKept(a)], [true, false]);
	open(1).keep(b, 1);
	assert.deepEqual([open(0.1, 1).isKept(b), open(1).isKept(b)], [true, true]);
	process.env.ASSAY_SEED = "another";
	after(() => delete process.env.ASSAY_SEED);
	assert.deepEqual(kept(), []);
	delete process.env.ASSAY_SEED;
	assert.deepEqual(kept(), ["b.test.ts"]);
});

test("a spoilt file of results keeps nothing, and two runs beside each other keep both's", () => {
	const { put, open, kept } = checkout();
	put("build/kept-results.json", "{");
	const [one, two] = [open(), open()];
	one.keep(a, 1);
	two.keep(b, 1);
	assert.deepEqual(kept(), ["a.test.ts", "b.test.ts"]);
});
