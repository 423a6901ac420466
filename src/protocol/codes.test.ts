// The table of codes and its page say the same.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isCheat } from "./cheat-codes.ts";
import { CODES_PAGE, codesPage } from "./codes.test-kit.ts";
import { type CodeEntry, codes } from "./codes.ts";

const SOURCES = new URL("../", import.meta.url).pathname;
const table = codes as Readonly<Record<string, CodeEntry>>;

test("docs/codes.md is what the table makes", () => {
	assert.equal(readFileSync(CODES_PAGE, "utf8"), codesPage(), "run node src/protocol/codes.test-kit.ts");
});

test("every code has a name in capitals, a meaning and something to do", () => {
	for (const [code, { meaning, hint }] of Object.entries(table)) {
		assert.match(code, /^[A-Z][A-Z_]+[A-Z]$/);
		assert.match(meaning, /^\S.*\.$/, code);
		assert.match(hint, /^\S.*\.$/, code);
	}
});

test("a cheat is an invalid answer whose hint accuses; late, withheld and unfitting ones have other causes, too", () => {
	const cheats = Object.keys(table).filter(isCheat);
	assert.equal(cheats.length, 15);
	for (const code of cheats) {
		assert.equal(table[code]!.kind, "verdict-invalid", code);
		assert.equal(table[code]!.hint, table.ELEMENT_WRONG!.hint, code);
	}
	const innocent = [
		"OPENING_WITHHELD",
		"STREAM_WITHHELD",
		"STREAM_LATE",
		"ROOTS_MISSING",
		"CARD_CONTRADICTED",
		"MEMORY_APART",
	];
	assert.deepEqual([...innocent, "FILE_TRUNCATED", "", null].filter(isCheat), []);
});

function sourceFiles(): string[] {
	return readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
		(name) => name.endsWith(".ts") && !/\.(test|test-kit)\.ts$/.test(name),
	);
}

test("every AssayError of the sources carries a code of kind error", () => {
	for (const name of sourceFiles())
		for (const [, code] of readFileSync(join(SOURCES, name), "utf8").matchAll(
			/(?:new AssayError|codedError)\(\s*"([^"]*)"/g,
		))
			assert.equal(table[code!]?.kind, "error", `${name}: ${code} is not in src/protocol/codes.ts as an error`);
});

test("every code of a verdict or finding is used in verify or the codec, and none is written elsewhere in verify", () => {
	const texts = sourceFiles()
		.filter((name) => /^(verify|protocol|validator)\//.test(name) && !/^protocol\/(cheat-)?codes\.ts$/.test(name))
		.map((name) => readFileSync(join(SOURCES, name), "utf8"))
		.join("\n");
	for (const [code, { kind }] of Object.entries(table))
		if (kind !== "error") assert.ok(texts.includes(`"${code}"`), `${code} is never given`);
});
