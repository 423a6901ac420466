// The committed vectors are exactly what the generator makes, and small enough to read.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { generateVectors } from "./generate.ts";

const generated = generateVectors();
const folder = new URL("./", import.meta.url);

test("every committed vector file equals what generate.ts makes", () => {
	for (const [name, text] of generated) {
		assert.ok(text.length < 200_000, `${name} is too large`);
		assert.equal(readFileSync(new URL(name, folder), "utf8"), text, `${name}: run node vectors/generate.ts`);
	}
});

test("no vector file is left that the generator does not make", () => {
	const made = new Set(generated.keys());
	for (const name of readdirSync(folder)) if (name.endsWith(".json")) assert.ok(made.has(name), name);
});

test("rows are flat: whole numbers and texts only", () => {
	for (const [name, text] of generated)
		for (const row of JSON.parse(text) as Record<string, unknown>[])
			for (const value of Object.values(row))
				assert.ok(typeof value === "string" || Number.isSafeInteger(value), `${name}: ${JSON.stringify(row)}`);
});
