// What is archived of epochs goes when it is old; what claims stand on stays, whatever a clock says.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createReportArchive } from "./report-archive.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-archive-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("N12: a clock that is 96 days or years ahead does not delete the leaves that claims stand on", async () => {
	const archive = createReportArchive(folder);
	for (let epoch = 7; epoch <= 12; epoch++) await archive.putReport(epoch, `0x${"11".repeat(20)}`, []);
	const kept = () =>
		readdirSync(folder)
			.map(Number)
			.sort((a, b) => a - b);
	await archive.prune(9, 12);
	assert.deepEqual(kept(), [9, 10, 11, 12], "what is old goes");
	for (const below of [1920, 2 ** 31]) await archive.prune(below, 11);
	assert.deepEqual(kept(), [11]);
});
