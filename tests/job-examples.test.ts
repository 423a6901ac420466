// Every job of examples/jobs is some ten lines, builds, and becomes a spec that the API takes; the methods
// and limits in them are read.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { prepareJob } from "../src/cli/jobs/prepare-job.ts";
import { jobSpec } from "../src/protocol/network/job-spec.ts";

const folder = fileURLToPath(new URL("../examples/jobs/", import.meta.url));
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
const nothing = {
	steps: undefined,
	method: undefined,
	"most-price": undefined,
	"most-minutes": undefined,
	"price-per-hour": undefined,
};

test("the table of the examples names every one, and no other", () => {
	const named = [...readFileSync(`${folder}README.md`, "utf8").matchAll(/^\| `([a-z-]+\.json)`/gm)].map(
		([, name]) => name,
	);
	assert.deepEqual(named.sort(), names.sort());
});

const io = { cwd: folder, interrupted: new AbortController().signal };

for (const name of names)
	test(`${name}: ten lines or so that become a job`, async () => {
		const lines = readFileSync(`${folder}${name}`, "utf8").trim().split("\n");
		assert.ok(lines.length <= 12, `${lines.length} lines`);
		const { spec, blobs, order } = await prepareJob(name, nothing, io);
		assert.equal(jobSpec(spec, ""), null);
		assert.equal(order.mostMicros, 5_000_000);
		assert.ok(lines.some((line) => line.includes(`"method": "${spec.method.name}`)));
		const held = new Set(blobs.map(({ root, size }) => `${root}/${size}`));
		for (const { root, size } of [spec.program, ...spec.given]) assert.ok(held.has(`${root}/${size}`));
	});

test("whoever presses Ctrl-C while a job is made ready does not wait for it", async () => {
	const reason = new Error("Ctrl-C");
	await assert.rejects(prepareJob("simulate.json", nothing, { ...io, interrupted: AbortSignal.abort(reason) }), reason);
});

test("the command line stands above the job file", async () => {
	const asked = {
		...nothing,
		method: "sampled:3",
		"most-price": 0.5,
		"most-minutes": 2,
		"price-per-hour": 3,
		steps: 40,
	};
	const { order, spec, text } = await prepareJob("simulate.json", asked, io);
	assert.deepEqual(order, {
		method: { name: "sampled", count: 3 },
		mostMicros: 500_000,
		mostMs: 120_000,
		hourMicros: 3_000_000,
	});
	assert.deepEqual(spec.method, order.method);
	assert.equal(JSON.parse(text).steps, 40);
});
