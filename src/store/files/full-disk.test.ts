// A disk without room: the evidence folder says so, before evidence is lost to it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openEvidenceFolder } from "./evidence.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-full-disk-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const limit = (bytes: number | "unlimited") =>
	execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:`]);

test("a disk that takes files but no content is not writable; the try leaves nothing behind", async () => {
	limit(4096);
	try {
		const full = await openEvidenceFolder(folder);
		await assert.rejects(full.writable(), { code: "FILE_UNWRITABLE" });
	} finally {
		limit("unlimited");
	}
	await (await openEvidenceFolder(folder)).writable();
	assert.deepEqual(readdirSync(join(folder, "drafts")), []);
});
