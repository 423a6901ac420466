// The house rules that can be counted: files a folder, lines a function, lines of shell, columns of
// comments and pages, no circle of files. A function that is longer for a reason is named below with that
// reason. Not here: which room may import which (floors.test.ts).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { importsOf } from "./runner/imports-of.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const MAX_FILES = 26;
const MAX_MEDIAN_FILES = 15;
const MAX_LINES = 100;
const MAX_COLUMNS = 110;
/** What is longer is a program, and has types and tests. */
const MAX_SHELL_LINES = 250;

/** `file: function` → why it is longer. At most eight. */
const LONGER: Readonly<Record<string, string>> = {};

const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");
const sources = tracked.filter((file) => /\.(tsx?|cpp|hpp|cu|cuh|inc|sol)$/.test(file));
const isTest = (file: string) => /\.test(-kit)?\.tsx?$|^tests\/|^(engine|contracts)\/test\//.test(file);
const typescript = sources.filter((file) => /\.tsx?$/.test(file) && !isTest(file));

type Node = { readonly [key: string]: unknown };

/** Functions of a source that are longer than `most` lines, with their lengths. */
export function longFunctions(file: string, source: string, most = MAX_LINES): [name: string, lines: number][] {
	const found: [string, number][] = [];
	const nameOf = (value: unknown) => (value as { name?: string } | null)?.name;
	const walk = (value: unknown, name: string): void => {
		if (typeof value !== "object" || value === null) return;
		if (Array.isArray(value)) {
			for (const one of value) walk(one, name);
			return;
		}
		const node = value as Node;
		const own = nameOf(node.id) ?? nameOf(node.key) ?? name;
		if (/Function/.test(String(node.type)) && node.body) {
			const lines = source.slice(node.start as number, node.end as number).split("\n").length;
			if (lines > most) found.push([own, lines]);
		}
		for (const child of Object.values(node)) walk(child, own);
	};
	walk(parseSync(file, source).program, "");
	return found;
}

/** Imports among the files of `graph`; a circle as the path that closes it, or null. */
export function firstCircle(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
	const done = new Set<string>();
	const visit = (file: string, path: readonly string[]): string[] | null => {
		const at = path.indexOf(file);
		if (at >= 0) return [...path.slice(at), file];
		if (done.has(file)) return null;
		for (const next of graph.get(file) ?? []) {
			const circle = visit(next, [...path, file]);
			if (circle !== null) return circle;
		}
		done.add(file);
		return null;
	};
	for (const file of graph.keys()) {
		const circle = visit(file, []);
		if (circle !== null) return circle;
	}
	return null;
}

const textOf = (file: string) => readFileSync(join(root, file), "utf8");

test(`no folder has more than ${MAX_FILES} sources, tests not counted`, () => {
	const counts = new Map<string, number>();
	for (const file of sources.filter((one) => !isTest(one)))
		counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
	assert.deepEqual(
		[...counts].filter(([, count]) => count > MAX_FILES),
		[],
	);
	const sorted = [...counts.values()].sort((a, b) => a - b);
	assert.ok(sorted[sorted.length >> 1]! <= MAX_MEDIAN_FILES);
});

test(`all shell scripts together have at most ${MAX_SHELL_LINES} lines`, () => {
	const scripts = tracked.filter((file) => file.endsWith(".sh") || file === ".ci/run");
	const lines = scripts.map((file) => textOf(file).trimEnd().split("\n").length);
	assert.ok(scripts.length >= 7);
	assert.ok(
		lines.reduce((sum, one) => sum + one) <= MAX_SHELL_LINES,
		scripts.map((file, i) => `${file} ${lines[i]}`).join(", "),
	);
});

test(`functions have at most ${MAX_LINES} lines, but for those that say why`, () => {
	const long = typescript.flatMap((file) => longFunctions(file, textOf(file)).map(([name]) => `${file}: ${name}`));
	assert.deepEqual([...new Set(long)].sort(), Object.keys(LONGER).sort());
	assert.ok(long.length <= 8);
});

const LITERALS = /"(?:\\.|[^"\\])*"|(?<!\w)'(?:\\.|[^'\\])*'/g;

/** Lines with comments, or of a page's prose, that are too long. Not: what a tool reads, tables and code. */
export function wideLines(file: string, text: string, most = MAX_COLUMNS): number[] {
	const lines = text.split("\n");
	const isWide = (i: number) => lines[i]!.replaceAll("\t", "  ").length > most;
	if (/\.tsx?$/.test(file)) {
		const starts = lineStarts(text);
		return parseSync(file, text).comments.flatMap(({ value, start }) => {
			if (value.trim().startsWith("biome-ignore")) return [];
			const first = starts.findLastIndex((at) => at <= start);
			const all = value.split("\n").map((_, i) => first + i);
			return all.filter(isWide).map((i) => i + 1);
		});
	}
	const isPage = file.endsWith(".md");
	const isC = /\.(cpp|hpp|cuh?|sol)$/.test(file);
	let isCode = false;
	return lines.flatMap((line, i) => {
		if (isPage && /^\s*```/.test(line)) isCode = !isCode;
		const isProse = isPage
			? !isCode && !/^(\s*\||\s*#| {4})/.test(line) && !/`[^`]{60,}`/.test(line)
			: /^\s*(\/\/|\/\*|\* |# )/.test(line) || (isC && line.replace(LITERALS, "").includes("//"));
		return isProse && isWide(i) ? [i + 1] : [];
	});
}

const lineStarts = (text: string): number[] => [...text.matchAll(/^/gm)].map(({ index }) => index);

test(`comments and pages have at most ${MAX_COLUMNS} columns`, () => {
	const files = tracked.filter((file) => /\.(tsx?|[cm]js|cpp|hpp|cu|cuh|sol|sh|py|md)$/.test(file));
	assert.deepEqual(
		files.flatMap((file) => wideLines(file, textOf(file)).map((line) => `${file}:${line}`)),
		[],
	);
});

test("no file imports itself by way of others", () => {
	const graph = new Map(
		typescript.map((file) => [
			file,
			importsOf(textOf(file))
				.filter((name) => name.startsWith("."))
				.map((name) => relative(root, resolve(root, dirname(file), name))),
		]),
	);
	assert.equal(firstCircle(graph)?.join(" → ") ?? null, null);
});

/** Whether code waits while its file is loaded: not in one of its functions, which run later. */
function waits(value: unknown): boolean {
	if (typeof value !== "object" || value === null) return false;
	const { type } = value as Node;
	if (type === "AwaitExpression") return true;
	return !/Function/.test(String(type)) && Object.values(value).some(waits);
}

/**
 * Whether a file of tests waits while it is loaded, after its first test. Where several files share a process
 * that test may end meanwhile; the file then counts as over, and its later tests are cancelled.
 */
export function waitsAfterTest(file: string, source: string): boolean {
	const { body } = parseSync(file, source).program as unknown as { readonly body: readonly Node[] };
	const isTest = ({ start, end }: Node) => /^test[.(]/.test(source.slice(start as number, end as number));
	const first = body.findIndex(isTest);
	return first >= 0 && body.slice(first + 1).some(waits);
}

test("no file of tests waits between its tests while it is loaded", () => {
	const files = tracked.filter((file) => file.endsWith(".test.ts"));
	assert.deepEqual(
		files.filter((file) => waitsAfterTest(file, textOf(file))),
		[],
	);
});

test("a long function, a wide line and a circle are seen", () => {
	assert.equal(waitsAfterTest("a.test.ts", 'test("a", f);\nconst b = await c();\n'), true);
	assert.equal(
		waitsAfterTest("a.test.ts", 'const b = await c();\ntest("a", async () => await b);\nf(async () => await b);'),
		false,
	);
	const wide = `// ${"x ".repeat(60)}`;
	assert.deepEqual(wideLines("x.ts", `const a = 1;\n${wide}\nconst b = \`\n${wide}\`;`), [2]);
	assert.deepEqual(wideLines("x.ts", `/**\n * ok\n * ${"x ".repeat(60)}\n */\nconst a = 1;`), [3]);
	assert.deepEqual(wideLines("x.md", `${wide}\n\`\`\`\n${wide}\n\`\`\`\n| ${wide}\n`), [1]);
	assert.deepEqual([wideLines("x.sol", wide), wideLines("x.sh", `#${wide.slice(2)}`)], [[1], [1]]);
	for (const [code, found] of [
		[`f(1'000);  ${wide}'s`, [1]],
		[`f("\\"", '"');  ${wide}`, [1]],
		[`f("${wide}");`, []],
	] as const)
		assert.deepEqual([wideLines("x.cu", code), wideLines("x.cpp", code)], [found, found]);
	assert.deepEqual(wideLines("x.ts", `f("${wide}");\nf(1); ${wide}`), [2]);
	assert.deepEqual(longFunctions("x.ts", `export const f = () => {${"\n".repeat(9)}};`, 9), [["f", 10]]);
	assert.deepEqual(longFunctions("x.ts", `export const f = () => {${"\n".repeat(9)}};`, 10), []);
	assert.deepEqual(
		firstCircle(
			new Map([
				["a", ["b"]],
				["b", ["c"]],
				["c", ["b"]],
			]),
		),
		["b", "c", "b"],
	);
	assert.equal(
		firstCircle(
			new Map([
				["a", ["b", "c"]],
				["b", ["c"]],
				["c", []],
			]),
		),
		null,
	);
});
