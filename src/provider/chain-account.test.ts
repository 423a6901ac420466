// The file of the provider's account: made once, its owner's alone, never replaced.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { chainAccountPath, loadProviderAccount } from "./chain-account.ts";

test("the account is made once, readable by its owner only; a spoilt file is refused and left as it is", async () => {
	const folder = await mkdtemp(join(tmpdir(), "assay-account-"));
	try {
		const [first, racing] = await Promise.all([
			loadProviderAccount(folder, randomBytes),
			loadProviderAccount(folder, randomBytes),
		]);
		assert.equal(racing.address, first.address);
		assert.equal((await loadProviderAccount(folder, randomBytes)).address, first.address);
		const path = chainAccountPath(folder);
		assert.equal((await stat(path)).mode & 0o777, 0o600);
		assert.equal((await readFile(path, "utf8")).trim().length, 64);
		for (const spoilt of ["", "00", `${"g".repeat(64)}\n`]) {
			await writeFile(path, spoilt);
			await assert.rejects(loadProviderAccount(folder, randomBytes), { code: "KEY_UNUSABLE", hint: /Restore it/ });
			assert.equal(await readFile(path, "utf8"), spoilt);
		}
	} finally {
		await rm(folder, { recursive: true });
	}
});
