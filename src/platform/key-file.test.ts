// Key files: made once, for their owner only, the same ever after; one that holds no key is refused and never
// replaced.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import { isSignature } from "../protocol/probe/signer.ts";
import { loadAccountKey, loadKeyFile } from "./key-file.ts";

const scratch = await mkdtemp(join(tmpdir(), "assay-key-file-"));
after(() => rm(scratch, { recursive: true }));
const keyFile = (name: string) => ({
	path: join(scratch, name, "some.key"),
	name: "some key",
	elsewhere: "Name with --data",
	randomBytes,
});
const loaders = {
	key: { load: async (name: string) => (await loadKeyFile(keyFile(name))).key, hint: /Move the file away/ },
	account: { load: async (name: string) => bytesToHex(await loadAccountKey(keyFile(name))), hint: /Restore it/ },
};

for (const [kind, { load, hint }] of Object.entries(loaders)) {
	test(`${kind}: eight that start at once end with one key, kept for its owner only`, async () => {
		const { path } = keyFile(kind);
		const keys = await Promise.all(Array.from({ length: 8 }, () => load(kind)));
		assert.equal(new Set(keys).size, 1);
		assert.deepEqual(await readdir(dirname(path)), ["some.key"], "no draft is left");
		assert.equal((await stat(path)).mode & 0o777, 0o600);
		assert.equal((await stat(dirname(path))).mode & 0o777, 0o700);
		await chmod(path, 0o644);
		assert.equal(await load(kind), keys[0]);
		assert.equal((await stat(path)).mode & 0o777, 0o600, "closed again");
	});

	test(`${kind}: a file that holds no key is refused and left as it is`, async () => {
		const { path } = keyFile(kind);
		await load(kind);
		for (const spoilt of ["", "00", "not a key\n", `${"g".repeat(64)}\n`]) {
			await writeFile(path, spoilt);
			await assert.rejects(load(kind), { code: "KEY_UNUSABLE", hint });
			assert.equal(await readFile(path, "utf8"), spoilt);
		}
	});
}

test("the key signs, and a place that cannot hold one is refused", async () => {
	const signer = await loadKeyFile(keyFile("signing"));
	const hash = new Uint8Array(randomBytes(32));
	assert.ok(isSignature(signer.key, bytesToHex(signer.sign(hash)), hash));
	await writeFile(join(scratch, "file"), "");
	await assert.rejects(loadKeyFile(keyFile("file")), { code: "KEY_UNUSABLE" });
	await assert.rejects(loadKeyFile({ ...keyFile(""), path: "/proc/assay/some.key" }), { code: "KEY_UNUSABLE" });
});
