// The README by its commands as they are written: each exists with its options. In the deep tier the machine
// is probed, and `npm start` runs a network in which the jobs are handed in until they are paid. The first
// screen is compared line by line in pages.test.ts.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { type CommandName, loaders } from "../../src/cli/commands.ts";
import { parseOptions } from "../../src/cli/options.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { createWalk, makeUserFolder, mustSucceed, root, type Step, stepsOf } from "./walk.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-readme-"));
const folder = join(scratch, "user");
// Which GPU code the engine has is the machine's choice: `npm start` builds none that is there.
const { PATH, ASSAY_CUDA_ARCHS } = process.env;
const env = { PATH, ASSAY_CUDA_ARCHS, HOME: scratch, ASSAY_HOME: join(scratch, "home"), NO_COLOR: "1" };
before(() => {
	mkdirSync(folder);
	makeUserFolder(folder);
	symlinkSync(join(root, "examples"), join(folder, "examples"));
});
after(() => rmSync(scratch, { recursive: true, force: true }));

const steps = stepsOf("README.md");
const [start, ...jobs] = ["npm start", "job submit", "job list"].flatMap((word) =>
	steps.filter(({ command }) => command.includes(word)),
) as [Step, ...Step[]];

/** Commands in a sentence or a table, e.g. `npx assay verify FILE`. */
const mentioned = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/`(npx assay [^`]+)`/g)].map(
	([, command]) => command!,
);

test("every command of the README exists, with its options", async () => {
	const typed = steps.map(({ command }) => command.split(" #")[0]!.trim());
	assert.ok(typed.length >= 5 && mentioned.length >= 12);
	for (const line of [...typed, ...mentioned].filter((one) => !one.startsWith("npm "))) {
		const [npx, assay, name, ...words] = line.split(/\s+/);
		assert.deepEqual([npx, assay], ["npx", "assay"], line);
		const { options, verbs } = await loaders[name as CommandName]();
		const { positionals } = parseOptions(options, words);
		assert.ok(Object.hasOwn(verbs, "") || Object.hasOwn(verbs, positionals[0]!), line);
	}
});

const skip = isDeep ? false : "minutes of work: for `npm run test:deep`";

test("a probe of this machine", { skip }, async () => {
	const [probe, ...others] = steps.filter(({ command }) => command.includes("assay probe"));
	assert.deepEqual(others, []);
	mustSucceed(probe!, await createWalk(folder, env).run(probe!));
});

test("npm start, and in a second terminal the block on paid work", { skip }, async () => {
	const walk = createWalk(folder, env);
	try {
		await walk.run({ ...start, command: `cd '${root}' && ${start.command}`, isLeftRunning: true });
		const url = await eventually(async () => /dashboard (http\S+)/.exec(walk.said())?.[1]);
		// On a slow machine `job submit` would give up before two hosts are proven that take work.
		const client = createApiClient({ baseUrl: url, retries: 2 });
		await eventually(async () => (await client.listJobHosts()).rows.length >= 2);
		assert.equal(jobs.length, 2);
		for (const step of jobs) mustSucceed(step, await walk.run(step));
	} finally {
		await walk.end();
	}
});
