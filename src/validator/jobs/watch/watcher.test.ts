// What a watcher says of claims that it may not see, and that it asks for them again. Whole watchers: tests/jobs/watch.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { createWatcher } from "./watcher.ts";

test("a job that is for its parties alone is told once, and asked for again: a validator may say so of any job", async () => {
	const told: string[] = [];
	let [asked, nowMs] = [0, 0];
	const api = {
		async *rows(_: string, { query }: { query: { state: string } }) {
			const claim = { hash: "ab".repeat(32), job: "cd".repeat(32), part: 0, atMs: 1, ends: {} };
			if (query.state === "claimed") yield claim;
		},
		async getClaimCase() {
			asked++;
			throw new AssayError("CALLER_OTHER", "only the parties of this job may read what it was given");
		},
	};
	const watcher = createWatcher({
		...{ api: api as never, chain: null, engine: {} as never, secret: new Uint8Array(32) },
		...{ policy: { jobs: "all", sharePpm: 0 }, folder: "none", isDry: true, nowMs: () => nowMs, sleep: async () => {} },
		book: { verdictOf: () => null } as never,
		onEvent: ({ state }) => void told.push(state),
	});
	for (let round = 0; round < 5; round++, nowMs += 3_600_000) await watcher.round();
	assert.deepEqual(told, ["closed"]);
	assert.equal(asked, 5);
});
