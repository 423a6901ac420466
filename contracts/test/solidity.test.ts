// Runs the Solidity tests, and compares what src/chain keeps of the contracts with the same build. One file,
// because compiling takes most of the time and Hardhat's cache (build/contracts) must not be written by two
// at once.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { chainAbiFiles } from "../../scripts/generate-chain-abi.ts";
import { isDeep, scaled, seed } from "../../tests/fuzz.test-kit.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("Solidity: unit, fuzz and invariant tests", async () => {
	const args = ["--config", "contracts/hardhat.config.ts", "test", "solidity"];
	const child = spawn(`${ROOT}/node_modules/.bin/hardhat`, args, {
		cwd: ROOT,
		env: { ...process.env, ASSAY_SEED: String(seed), HARDHAT_DISABLE_TELEMETRY_PROMPT: "true", NO_COLOR: "1" },
	});
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text) => {
			output += text;
		});
	const ending = await new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
	assert.equal(ending, 0, `${ending}: ${output.slice(-6000)}`);
	// Found and run, not merely not failed.
	assert.ok(Number(/(\d+) passing/.exec(output)?.[1]) >= 170, output.slice(-6000));
	assert.ok(output.includes(`✔ invariant_everythingHolds() (runs: ${scaled(isDeep ? 21 : 3)})`), output.slice(-6000));
});

test("ABIs and creation code equal a fresh build: else node scripts/generate-chain-abi.ts", async () => {
	const folder = new URL("../../src/chain/abi/", import.meta.url);
	const fresh = await chainAbiFiles();
	assert.deepEqual(readdirSync(folder).sort(), [...fresh.keys()].sort());
	for (const [file, text] of fresh) assert.ok(readFileSync(new URL(file, folder), "utf8") === text, `${file} is stale`);
});
