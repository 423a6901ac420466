// The day's budget of disk writes, over restarts and hours.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openDiskBudget } from "./disk-budget.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-budget-"));
after(() => rmSync(folder, { recursive: true }));
const path = join(folder, "disk-writes.json");
const [a, b, c] = ["aa", "bb", "cc"].map((byte) => byte.repeat(32)) as [string, string, string];
const HOUR = 3_600_000;

test("N5: each validator has its share of the day, all together the day's bytes, and a restart gives nothing back", async () => {
	let nowMs = 1000 * HOUR;
	const open = () => openDiskBudget({ path, bytesPerDay: 100, validators: 2, nowMs: () => nowMs });
	const first = await open();
	assert.equal(first.leftFor(a), 50);
	await Promise.all([first.spend(a, 30), first.spend(a, 10)]);
	assert.deepEqual([first.leftFor(a), first.leftFor(b)], [10, 50], "another one's share is its own");
	await first.spend(a, 25);
	const second = await open();
	assert.deepEqual([second.leftFor(a), second.leftFor(b), second.leftFor(c)], [0, 35, 35], "a wrote more than it had");
	await second.spend(b, 35);
	assert.equal(second.leftFor(c), 0, "a third key finds nothing");
	nowMs += 23 * HOUR;
	assert.equal((await open()).leftFor(b), 0);
	nowMs += HOUR;
	assert.deepEqual([(await open()).leftFor(a), second.leftFor(b)], [50, 50], "the next day");
	await second.spend(a, 0);
	assert.equal(second.leftFor(a), 50);
});

test("a spoilt book is said, not taken for a new day", async () => {
	writeFileSync(path, '{"writes":[{}]}');
	const opening = openDiskBudget({ path, bytesPerDay: 100, validators: 1, nowMs: () => 0 });
	await assert.rejects(opening, { code: "FILE_UNREADABLE" });
});
