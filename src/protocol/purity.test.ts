// What runs in a browser must not lean on Node, and what anyone can run again must not know a clock, chance
// or the outside.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const SOURCES = new URL("../", import.meta.url).pathname;

const IMPURE: readonly [string, RegExp][] = [
	["a Node module", /from "node:|import\("node:|require\(/],
	["Buffer", /\bBuffer\b/],
	["process", /\bprocess\./],
	["a clock", /\bDate\b|\bperformance\b|\bsetTimeout\b|\bsetInterval\b/],
	["chance", /Math\.random|getRandomValues|randomBytes/],
	["the network", /\bfetch\(|\bXMLHttpRequest\b|\bWebSocket\b/],
];

/** Comments may name what the code must not use. */
function withoutComments(text: string): string {
	return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

/**
 * Sentences may talk of processes and clocks; only what is imported is itself a string. A template's `${…}`
 * stays.
 */
function withoutWords(code: string): string {
	return code.replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, '""');
}

function impurities(text: string): string[] {
	const code = withoutComments(text);
	return IMPURE.filter(([name, pattern]) => pattern.test(name === "a Node module" ? code : withoutWords(code))).map(
		([name]) => name,
	);
}

test("protocol/, work/ and verify/ import nothing but each other and noble", () => {
	let files = 0;
	for (const floor of ["protocol", "work", "verify"])
		for (const name of readdirSync(join(SOURCES, floor), { recursive: true, encoding: "utf8" })) {
			if (!name.endsWith(".ts") || /\.(test|test-kit)\.ts$/.test(name)) continue;
			files += 1;
			const text = readFileSync(join(SOURCES, floor, name), "utf8");
			assert.deepEqual(impurities(text), [], `${floor}/${name}`);
			for (const [, from] of text.matchAll(/from "([^"]+)"/g))
				assert.match(from!, /^\.{1,2}\/|^@noble\/(hashes|curves)\//, `${floor}/${name}`);
		}
	assert.ok(files > 30);
});

test("the check sees what it must see", () => {
	assert.deepEqual(impurities('import { readFileSync } from "node:fs";'), ["a Node module"]);
	assert.deepEqual(impurities("const x = Date.now() + Math.random();"), ["a clock", "chance"]);
	assert.deepEqual(impurities("Buffer.from(x)"), ["Buffer"]);
	assert.deepEqual(impurities("// no Buffer here\n/* nor Date */ const a = 1;"), []);
	assert.deepEqual(impurities('const hint = "Ended by this process. Date unknown.";'), []);
	assert.deepEqual(impurities('const hint = "a" + process.env.HOME;'), ["process"]);
	assert.deepEqual(impurities(`const at = \`now \${Date.now()}\`;`), ["a clock"]);
});
