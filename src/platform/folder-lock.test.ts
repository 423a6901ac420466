// The folder lock: one has it, by whatever path it names the folder, until it lets go or dies.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, stat, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { lockFolder } from "./folder-lock.ts";

const scratch = await mkdtemp(join(tmpdir(), "assay-folder-lock-"));
after(() => rm(scratch, { recursive: true }));
const [folder, other, alias] = [join(scratch, "folder"), join(scratch, "other"), join(scratch, "alias")];
await mkdir(folder);
await mkdir(other);
await symlink(folder, alias);

test("of many that try at once one gets the lock; other folders are not concerned", async () => {
	const tries = await Promise.all(Array.from({ length: 8 }, (_, i) => lockFolder(i % 2 === 0 ? folder : alias)));
	const [lock, ...more] = tries.filter((one) => one !== null);
	assert.ok(lock && more.length === 0);
	const beside = await lockFolder(other);
	assert.ok(beside);
	await lock.release();
	const again = await lockFolder(folder);
	assert.ok(again);
	await Promise.all([again.release(), beside.release()]);
});

test("who waits gets the lock when it is let go, and none when it is kept for longer", async () => {
	const first = await lockFolder(folder);
	assert.equal(await lockFolder(folder, 50), null);
	const waiting = lockFolder(alias, 600_000);
	let isThere = false;
	void waiting.then(() => (isThere = true));
	assert.equal(await lockFolder(folder), null);
	assert.equal(isThere, false);
	await first!.release();
	const second = await waiting;
	assert.ok(second);
	assert.equal(await lockFolder(folder), null);
	await second.release();
});

test("a process that is killed leaves no lock", async () => {
	const module = JSON.stringify(new URL("folder-lock.ts", import.meta.url).href);
	const program = `
		const { lockFolder } = await import(${module});
		console.log((await lockFolder(${JSON.stringify(folder)})) !== null);
		setInterval(() => {}, 1000);
	`;
	const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
	const [said] = await once(child.stdout, "data");
	assert.equal(String(said).trim(), "true");
	assert.equal(await lockFolder(folder), null);
	child.kill("SIGKILL");
	await once(child, "close");
	const lock = await lockFolder(folder);
	assert.ok(lock);
	await lock.release();
});

test("who may not write the folder cannot hold its lock", async () => {
	// The name that the lock had once: any user of the machine can take it.
	const name = createHash("sha256")
		.update(await realpath(folder))
		.digest("hex")
		.slice(0, 40);
	const squatter = createServer();
	await once(squatter.listen(`\0assay-folder-${name}`), "listening");
	const lock = await lockFolder(folder);
	assert.ok(lock);
	assert.equal((await stat(join(folder, ".lock"))).mode & 0o777, 0o600);
	await lock.release();
	squatter.close();
});

test("a folder that is not there cannot be locked", async () => {
	await assert.rejects(lockFolder(join(scratch, "none")), { code: "ENOENT" });
});
