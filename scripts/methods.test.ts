// Nobody asks for the name of a method of verification outside its folder: whoever has a job at hand asks its
// record (src/verify/methods/methods.ts). So a new method is a folder, a line in table.ts and its number on
// the wire. Found by the syntax tree: comparisons, cases, lists and maps of the names, and texts that are a
// name. "attested" is also the word for what devices signed, and "zk" a folder: these two are found where
// they are compared or listed.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { METHOD_NAMES, METHOD_NUMBERS } from "../src/protocol/network/job.ts";
import { METHODS } from "../src/verify/methods/methods.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const names: ReadonlySet<string> = new Set(METHOD_NAMES);
/** Also words for something else. */
const WORDS: ReadonlySet<string> = new Set(["attested"]);
const KEYS: ReadonlySet<string> = new Set(["attested", "zk"]);
const IN_TEXT = new RegExp(`\\b(${METHOD_NAMES.filter((name) => !WORDS.has(name)).join("|")})\\b`);
/** The wire's numbers. */
const TABLE = "src/protocol/network/job.ts";

type Node = { readonly type?: string; readonly start: number } & Readonly<Record<string, unknown>>;
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;
const children = (node: Node): Node[] => Object.values(node).flatMap((one) => [one].flat().filter(isNode));

/** The name that a text is, its count left away; null: none. */
function nameOf(value: unknown): string | null {
	if (!isNode(value)) return null;
	const [only, ...others] = (value.quasis ?? []) as { value: { cooked: string } }[];
	const text = value.type === "TemplateLiteral" && others.length === 0 ? only!.value.cooked : value.value;
	const name = typeof text === "string" ? text.replace(/:\d+$/, "") : "";
	return names.has(name) ? name : null;
}

/** What a list, a map or a comparison names; of any other node nothing. */
function namedBy(node: Node): string[] {
	const named = (...values: unknown[]) => values.map(nameOf).filter((name) => name !== null);
	if (node.type === "BinaryExpression") return named(node.left, node.right);
	if (node.type === "SwitchCase") return named(node.test);
	if (node.type === "ArrayExpression") return named(...(node.elements as unknown[]));
	if (node.type === "MemberExpression") {
		const { object, property, computed } = node as unknown as { object: Node; property: Node; computed: boolean };
		if (computed) return named(property);
		const isTable = ["METHODS", "METHOD_NUMBERS"].includes(String(object.name));
		return isTable && names.has(String(property.name)) ? [String(property.name)] : [];
	}
	if (node.type === "CallExpression") {
		const { callee } = node as unknown as { callee: Node };
		const isAsking = /^(includes|has|get|indexOf|startsWith|endsWith|test)$/.test(
			String((callee.property as Node | undefined)?.name),
		);
		return isAsking ? named(...(node.arguments as unknown[])) : [];
	}
	if (node.type === "ObjectExpression" || node.type === "TSTypeLiteral") {
		const keys = ((node.properties ?? node.members) as Node[]).map(({ key }) =>
			isNode(key) ? String(key.name ?? key.value) : "",
		);
		const own = keys.filter((key) => names.has(key));
		return own.length > 1 || own.some((key) => !KEYS.has(key)) ? own : [];
	}
	if (node.type === "Literal" && isNode(node.regex)) return IN_TEXT.exec(String(node.regex.pattern))?.slice(1) ?? [];
	const name = nameOf(node);
	return name === null || WORDS.has(name) ? [] : [name];
}

/** `line: name`, once each. */
export function methodsNamed(file: string, source: string): string[] {
	const found = new Set<string>();
	const walk = (node: Node): void => {
		for (const name of namedBy(node)) found.add(`${source.slice(0, node.start).split("\n").length}: ${name}`);
		for (const child of children(node)) walk(child);
	};
	walk(parseSync(file, source).program as unknown as Node);
	return [...found];
}

const isRecord = (file: string): boolean => /^src\/verify\/methods\/\w+\/\w/.test(file) || file === TABLE;
const sources = globSync(["src/**/*.{ts,tsx}", "web/**/*.{ts,tsx}"], { cwd: root }).filter(
	(file) => !/\.test(-kit)?\.tsx?$/.test(file) && !isRecord(file),
);

test("nobody asks for a method's name outside its record", () => {
	assert.ok(sources.length > 1000, `${sources.length} files`);
	const anyName = new RegExp(`\\b(${METHOD_NAMES.join("|")})\\b`);
	const asking = sources.flatMap((file) => {
		const source = readFileSync(`${root}${file}`, "utf8");
		return anyName.test(source) ? methodsNamed(file, source).map((place) => `${file}:${place}`) : [];
	});
	assert.deepEqual(asking, []);
});

test("who asks is found, however it is written", () => {
	const asks = [
		'if (method.name === "zk") pay();',
		'if ("attested" !== method.name) pay();',
		'switch (name) { case "attested": pay(); }',
		'const isOpen = ["attested"].includes(name);',
		'const isOpen = name.startsWith("attested");',
		'const OPEN = new Set(["optimistic", "zk"]);',
		"const bounds = { redundant: [2, 5] }[name];",
		"const bounds = { attested: 0, zk: 1 };",
		"type Bounds = { sampled: number };",
		"const rules = METHODS.attested;",
		'const number = METHOD_NUMBERS["attested"];',
		"const isIt = /^(zk|plonk)$/.test(name);",
		'const job = { method: "redundant:2" };',
		"const job = { method: `sampled` };",
	];
	for (const line of asks) assert.equal(methodsNamed("x.ts", `\n${line}`)[0]?.startsWith("2: "), true, line);
	const others = [
		'const column = left("attested", (row) => row.attested);',
		"const chain = { zk: openProofChain(), games: 1 };",
		"const text = `sampled rows of an optimistic guess`;",
		"const rules = METHODS[name];",
	];
	for (const line of others) assert.deepEqual(methodsNamed("x.ts", line), [], line);
});

test("each method has one record and one number, and one of them is the default", () => {
	assert.deepEqual(Object.keys(METHODS).sort(), Object.keys(METHOD_NUMBERS).sort());
	assert.equal(Object.values(METHODS).filter(({ isDefault }) => isDefault).length, 1);
	assert.equal(new Set(Object.values(METHOD_NUMBERS)).size, METHOD_NAMES.length);
});
