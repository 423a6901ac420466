// The verifier's key file: made once, private, the same ever after; a spoilt one is refused, never replaced.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { loadSigner, signerPath } from "./signer.ts";

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
	const folder = await mkdtemp(join(tmpdir(), "assay-signer-"));
	try {
		await run(folder);
	} finally {
		await rm(folder, { recursive: true });
	}
}

test("makes a private key on first use and finds it again", () =>
	inFolder(async (folder) => {
		const path = join(folder, "new", "verifier.key");
		const first = await loadSigner(path, randomBytes);
		const again = await loadSigner(path, randomBytes);
		assert.equal(first.key, again.key);
		assert.equal((await stat(path)).mode & 0o777, 0o600);
		const message = randomBytes(40);
		const signature = first.sign(message);
		assert.equal(ed25519.verify(signature, message, hexToBytes(first.key)!), true);
		assert.equal(ed25519.verify(signature, randomBytes(40), hexToBytes(first.key)!), false);
	}));

test("several at once end with one key", () =>
	inFolder(async (folder) => {
		const path = join(folder, "verifier.key");
		const signers = await Promise.all(Array.from({ length: 8 }, () => loadSigner(path, randomBytes)));
		assert.equal(new Set(signers.map(({ key }) => key)).size, 1);
	}));

test("closes a key file that others could read", () =>
	inFolder(async (folder) => {
		const path = join(folder, "verifier.key");
		await loadSigner(path, randomBytes);
		await chmod(path, 0o644);
		await loadSigner(path, randomBytes);
		assert.equal((await stat(path)).mode & 0o777, 0o600);
	}));

test("refuses a spoilt key file and leaves it as it is", () =>
	inFolder(async (folder) => {
		const path = join(folder, "verifier.key");
		await writeFile(path, "not a key\n");
		await assert.rejects(loadSigner(path, randomBytes), (e) => e instanceof AssayError && e.code === "KEY_UNUSABLE");
		assert.equal(await readFile(path, "utf8"), "not a key\n");
	}));

test("the path follows ASSAY_HOME, then XDG_CONFIG_HOME, then the home folder", () => {
	assert.equal(signerPath({ ASSAY_HOME: "/a", XDG_CONFIG_HOME: "/x" }), "/a/verifier.key");
	assert.equal(signerPath({ XDG_CONFIG_HOME: "/x" }), "/x/assay/verifier.key");
	assert.match(signerPath({ XDG_CONFIG_HOME: "relative" }), /\/\.config\/assay\/verifier\.key$/);
	assert.match(signerPath({}), /\/\.config\/assay\/verifier\.key$/);
});
