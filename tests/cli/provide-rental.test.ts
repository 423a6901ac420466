// A rental through the program itself: asked for by a validator, entered with ssh, over the death of the
// provider by SIGKILL in the middle, until the provider that comes back ends it, or its time is over with
// every process of ours dead. Needs root, as the rental is a system user.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openDoor, type TestDoor } from "../../src/engine/agent/agent.test-kit.ts";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { waitingFor as waitingForEnd } from "../../src/provider/rental/rental-end.ts";
import { processesOf } from "../../src/provider/rental/user-environment.ts";
import { atEnd } from "../at-end.test-kit.ts";
import { createSshClient, needRoot, type SshClient } from "../provider/ssh-client.test-kit.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const RENTALS = "/var/lib/assay-rentals";

let client: SshClient;
before(() => {
	needRoot();
	client = createSshClient();
});
// The parent stays: it remembers the user ids that were given.
after(() => client?.stop());

const exists = (user: string) => {
	try {
		execFileSync("getent", ["passwd", user]);
		return true;
	} catch {
		return false;
	}
};

function provider(t: TestContext, door: TestDoor, data: string, port: number) {
	const args = [
		...["--validator", door.url, "--data", data, "--rental", "user"],
		...["--ssh-port", String(port), "--ssh-listen", "127.0.0.1"],
	];
	let isEnding = false;
	const provide = (...more: readonly string[]) => {
		isEnding = more.includes("--end-rentals");
		const child = spawn(process.execPath, [MAIN, "provide", ...args, ...more], {
			stdio: ["ignore", "ignore", "pipe"],
			detached: true,
		});
		let err = "";
		child.stderr.on("data", (chunk: Buffer) => {
			err += chunk.toString();
		});
		const ended = new Promise<{ code: number | null; err: string }>((resolve) =>
			child.once("close", (code) => resolve({ code, err })),
		);
		atEnd(t, async () => {
			child.kill("SIGKILL");
			await ended;
		});
		return { child, ended };
	};
	// Users and their SSH server would outlive a test that fails.
	atEnd(t, async () => {
		if (!isEnding) await provide("--end-rentals").ended;
	});
	return provide;
}

test("a rental outlives the provider's death, and ends when asked; with --end-rentals the owner ends it", async (t) => {
	const door = await openDoor(t);
	const data = join(client.folder, "data");
	const port = await freePort();
	const provide = provider(t, door, data, port);
	const customer = client.makeKey("customer");
	const rental = "5a".repeat(16);
	const request = { rental, publicKey: customer.line, untilMs: Date.now() + 3_600_000, devices: [] };

	const first = provide("--rentable", "--ssh-host", "127.0.0.1");
	const far = await door.next();
	assert.deepEqual(far.offer.ssh, { host: "127.0.0.1", port });
	const { ssh: access } = await far.ask("rent", request);
	const session = client.start(access, customer, "echo in; sleep 1000");
	assert.equal(await session.first, "in\n");
	first.child.kill("SIGKILL");
	await first.ended;
	await far.closed;
	assert.equal((await client.run(access, customer, "echo still")).stdout, "still\n");

	const second = provide("--rentable", "--ssh-host", "127.0.0.1");
	const back = await door.next();
	assert.equal(back.providerKey, far.providerKey);
	assert.deepEqual(await back.ask("check", { rental }), { healthy: true, detail: "" });
	await assert.rejects(
		back.openLink({ probe: "00".repeat(16), limits: { memoryBytes: 1e9, minutes: 1 } }),
		(e) => e instanceof AssayError && e.code === "PROVIDER_RENTED",
	);
	await back.ask("unrent", { rental });
	assert.equal(exists(access.user), false);
	await session.ended;

	const { ssh: next } = await back.ask("rent", { ...request, rental: "6b".repeat(16) });
	second.child.kill("SIGTERM");
	assert.equal((await second.ended).code, 0);
	assert.equal((await client.run(next, customer, "echo still")).stdout, "still\n");
	const owner = await provide("--end-rentals").ended;
	assert.equal(owner.code, 0, owner.err);
	assert.equal(exists(next.user), false);
	assert.notEqual((await client.run(next, customer, "id")).code, 0);
	rmSync(join(RENTALS, far.providerKey.slice(0, 16)), { recursive: true });
});

test("N14: with every process of ours killed, access ends at the rental's time: sessions, processes, keys, account", async (t) => {
	const door = await openDoor(t);
	const data = join(client.folder, "dead");
	const provide = provider(t, door, data, await freePort());
	const first = provide("--rentable", "--ssh-host", "127.0.0.1");
	const far = await door.next();
	const customer = client.makeKey("left-alone");
	const rental = "7c".repeat(16);
	const request = { rental, publicKey: customer.line, untilMs: Date.now() + 3_600_000, devices: [] };
	const { ssh: access } = await far.ask("rent", request);
	const uid = Number(execFileSync("id", ["-u", access.user]).toString());
	const session = client.start(access, customer, "echo in; sleep 1000");
	assert.equal(await session.first, "in\n");
	const stay = "setsid nohup sh -c 'trap \"\" HUP TERM; while :; do sleep 1; done' >/dev/null 2>&1 & echo left";
	assert.equal((await client.run(access, customer, stay)).stdout, "left\n");
	// The renter reaches neither what waits for the end nor the file that says when it is.
	const waitingFor = (user: string) => waitingForEnd(user, join(data, "rental", "end-rental"));
	const [waiting] = waitingFor(access.user);
	assert.ok(waiting, "somebody waits for the end");
	const spoil = `kill -9 ${waiting}; kill -9 -1; echo 9999999999 9999999999 > ${join(data, "rental", `${access.user}.end`)}`;
	await client.run(access, customer, spoil);
	assert.deepEqual(waitingFor(access.user), [waiting]);
	assert.equal((await client.run(access, customer, stay)).stdout, "left\n");

	// The end is moved to the next seconds, which has to reach whoever waits; then all of ours die, by group
	// too.
	await far.ask("extend", { rental, untilMs: Date.now() + 30_000 });
	process.kill(-first.child.pid!, "SIGKILL");
	await first.ended;
	for (let i = 0; processesOf(uid).length > 0 || waitingFor(access.user).length > 0; i++) {
		assert.ok(i < 1800, `processes of the renter outlive the rental: ${processesOf(uid)}`);
		await sleep(500);
	}
	await session.ended;
	// Nothing of the provider runs, its SSH server still does: it lets nobody in.
	assert.match((await client.run(access, customer, "id")).stderr, /Permission denied/);
	const [, , , , , , , expires] = execFileSync("getent", ["shadow", access.user]).toString().split(":");
	assert.equal(expires, "1", "the account has expired");
	assert.equal(existsSync(join(RENTALS, far.providerKey.slice(0, 16), "keys", access.user)), false);

	// Whoever starts again finds the rest and removes it.
	const owner = await provide("--end-rentals").ended;
	assert.equal(owner.code, 0, owner.err);
	assert.equal(exists(access.user), false);
	rmSync(join(RENTALS, far.providerKey.slice(0, 16)), { recursive: true });
});
