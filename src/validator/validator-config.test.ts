// Settings: defaults where nothing is said, every mistake named at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createValidatorConfig } from "./validator-config.ts";

test("groups are filled field by field; parameters go to market's table", () => {
	const config = createValidatorConfig({
		dataDir: "d",
		listen: { port: 0 },
		probe: { quick: true },
		params: { intervalMs: 60_000 },
	});
	assert.deepEqual(config.listen, { host: "127.0.0.1", port: 0, orNext: 0 });
	assert.deepEqual([config.probe.quick, config.probe.totalMs], [true, 900_000]);
	assert.deepEqual([config.params.intervalMs, config.params.retries], [60_000, 5]);
	assert.equal(createValidatorConfig({ dataDir: "d", name: undefined }).name, "validator");
});

test("what cannot work is refused, all of it in one sentence", () => {
	const wrong = () =>
		createValidatorConfig({ dataDir: "", concurrency: 0, listen: { port: 70_000 }, join: ["nobody"], schema: "No" });
	assert.throws(wrong, (error: { code: string; message: string }) => {
		assert.equal(error.code, "CONFIG_BAD");
		for (const name of ["dataDir", "concurrency", "listen.port", "join", "schema"])
			assert.ok(error.message.includes(name), name);
		return true;
	});
	// Else the provider would end the engine first, and look as if it had hung up.
	assert.throws(() => createValidatorConfig({ dataDir: "d", probe: { totalMs: 20 * 60_000 } }), { code: "CONFIG_BAD" });
	assert.throws(() => createValidatorConfig({ dataDir: "d", params: { intervalMS: 1 } }), { code: "PARAMS_BAD" });
});
