// What a watcher says of claims that it may not see, and that it asks for them again; that a false claim is
// looked at each time it is made; that a new process collects what an earlier one left. Whole watchers:
// tests/jobs/watch.test.ts; ones that are killed: tests/jobs/chaos.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { openWatchBook } from "./watch-book.ts";
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
		book: { verdictOf: () => null, endOf: () => null } as never,
		onEvent: ({ state }) => void told.push(state),
	});
	for (let round = 0; round < 5; round++, nowMs += 3_600_000) await watcher.round();
	assert.deepEqual(told, ["closed"]);
	assert.equal(asked, 5);
});

test("a false claim that fell is looked at again once another one claims the same, whatever the validator calls it, and else not", async () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-watch-book-"));
	try {
		const hash = "ab".repeat(32);
		const before = await openWatchBook(join(folder, "book.jsonl"), () => 0);
		await before.end(hash, 1, "proven");
		let [asked, attempt] = [0, 1];
		const api = {
			async *rows(_: string, { query }: { query: { state: string } }) {
				if (query.state === "claimed") yield { hash, job: "cd".repeat(32), part: 0, attempt: 1, atMs: 1, ends: {} };
			},
			async getClaimCase() {
				asked++;
				throw new AssayError("CALLER_OTHER", "not here");
			},
		};
		const readContract = async () => ({
			provider: "0xAB",
			attempt,
			state: 2,
			time: 0n,
			isChecked: false,
			isAlone: false,
		});
		const contracts = { client: { viem: { readContract } }, addresses: {} };
		const watcher = createWatcher({
			...{ api: api as never, chain: { evidence: { contracts } } as never, engine: {} as never },
			...{ policy: { jobs: "all", sharePpm: 0 }, folder, isDry: true, nowMs: () => 0, sleep: async () => {} },
			...{ secret: new Uint8Array(32), onEvent: () => {} },
			book: await openWatchBook(join(folder, "book.jsonl"), () => 0),
		});
		await watcher.round();
		assert.equal(asked, 0, "that one has fallen");
		attempt = 2;
		await watcher.round();
		assert.equal(asked, 1);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
});

test("what an earlier process was owed is collected by the next one: with its first round, again until it is taken, and never by a dry one", async () => {
	const run = async (isDry: boolean) => {
		let collected = 0;
		const collect = async () => {
			collected++;
			if (collected === 1) throw new AssayError("CHAIN_FEES", "the chain asks too much");
		};
		const watcher = createWatcher({
			...{ api: { async *rows() {} } as never, chain: { collect } as never, engine: {} as never },
			...{ policy: { jobs: "all", sharePpm: 0 }, folder: "none", isDry, nowMs: () => 0, sleep: async () => {} },
			...{ secret: new Uint8Array(32), book: {} as never, onEvent: () => {} },
		});
		for (let round = 0; round < 4; round++) await watcher.round();
		return collected;
	};
	assert.equal(await run(false), 2);
	assert.equal(await run(true), 0);
});
