// The log goes to standard error as lines of JSON, from its level on; standard output stays empty.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

test("lines of its level and above go to standard error, nothing to standard output", async () => {
	const program = `
		const { createLogger } = await import(${JSON.stringify(new URL("logger.ts", import.meta.url).href)});
		const log = createLogger("warn");
		log.info("too quiet");
		log.warn({ provider: "a" }, "loud enough");
	`;
	const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
	assert.equal(stdout, "");
	const [line, ...more] = stderr.trim().split("\n");
	assert.deepEqual(more, []);
	const { provider, msg, time } = JSON.parse(line!);
	assert.deepEqual([provider, msg, Number.isFinite(Date.parse(time))], ["a", "loud enough", true]);
});
