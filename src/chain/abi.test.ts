// What is committed of the compiled contracts is what they compile to now.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { chainAbiFiles } from "../../scripts/generate-chain-abi.ts";

test("ABIs and creation code equal a fresh compile: else node scripts/generate-chain-abi.ts", () => {
	const folder = new URL("./abi/", import.meta.url);
	const fresh = chainAbiFiles();
	assert.deepEqual(readdirSync(folder).sort(), [...fresh.keys()].sort());
	for (const [file, text] of fresh) assert.ok(readFileSync(new URL(file, folder), "utf8") === text, `${file} is stale`);
});
