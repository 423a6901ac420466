// Who may look into a data folder. Audit N17: they were open to every local user.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeDataDir } from "./data-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-folder-"));
after(() => rmSync(folder, { recursive: true }));
const modeOf = (path: string) => statSync(path).mode & 0o7777;

function existing(name: string, mode: number, files: readonly string[]): string {
	const path = join(folder, name);
	mkdirSync(path);
	for (const file of files) writeFileSync(join(path, file), "");
	chmodSync(path, mode);
	return path;
}

test("N17: a data folder is for its owner only: a new one, an empty one, and one of an earlier version", async () => {
	const fresh = join(folder, "new", "deep");
	for (const path of [
		fresh,
		existing("empty", 0o755, []),
		existing("network", 0o755, ["validator.key", "postgres"]),
		existing("provider", 0o750, ["provider.key"]),
	]) {
		await makeDataDir(path);
		assert.equal(modeOf(path), 0o700, path);
	}
	assert.equal(modeOf(join(folder, "new")), 0o700);
});

test("a folder that holds other things, or that everybody shares, stays as it is", async () => {
	const home = existing("home", 0o755, ["letters"]);
	const shared = existing("shared", 0o1777, ["provider.key"]);
	for (const path of [home, shared]) await makeDataDir(path);
	assert.equal(modeOf(home), 0o755);
	assert.equal(modeOf(shared), 0o1777);
});
