// What an engine that somebody else uses is held to have written to the owner's disk.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openGuardedEngine } from "./guard-engine.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-guard-"));
after(() => rmSync(folder, { recursive: true }));

/** Writes 1 MiB of its own, says so, and ends as it is told to. */
async function writtenBy(end: string): Promise<number> {
	const script = `head -c 1048576 /dev/zero >"${folder}/own"; sync "${folder}/own"; echo; read -r word; ${end}`;
	const link = await openGuardedEngine({
		...{ command: "/bin/sh", args: ["-c", script], env: process.env, everyMs: 5 },
		...{ limits: { memoryBytes: 1e10, minutes: 10 }, onKilled: () => {} },
	});
	await new Promise((resolve) => link.output.once("data", resolve));
	await link.close();
	return link.written;
}

test("its last line counts; one that ends well without it wrote nothing, whatever the kernel counts", async () => {
	assert.equal(await writtenBy("echo 4096 bytes written to the disk >&2; exit 0"), 4096);
	assert.equal(await writtenBy("exit 0"), 0);
});
