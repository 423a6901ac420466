// A rental through the program itself: asked for by a validator, entered with ssh, over the death of the
// provider by SIGKILL in the middle, until the provider that comes back ends it. Needs root, as the rental is
// a system user.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startDoor } from "../../src/engine/agent/agent.test-kit.ts";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { createSshClient, needRoot, type SshClient } from "../provider/ssh-client.test-kit.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const RENTALS = "/var/lib/assay-rentals";

let client: SshClient;
before(() => {
	needRoot();
	client = createSshClient();
});
after(() => {
	client?.stop();
	// The parent is the host's if it was there before us.
	if (existsSync(RENTALS) && readdirSync(RENTALS).length === 0) rmdirSync(RENTALS);
});

const exists = (user: string) => {
	try {
		execFileSync("getent", ["passwd", user]);
		return true;
	} catch {
		return false;
	}
};

test("a rental outlives the provider's death, and ends when asked; with --end-rentals the owner ends it", async () => {
	const door = await startDoor();
	const data = join(client.folder, "data");
	const port = await freePort();
	const args = [
		"--validator",
		door.url,
		"--data",
		data,
		"--rental",
		"user",
		"--ssh-port",
		String(port),
		"--ssh-listen",
		"127.0.0.1",
	];
	const provide = (...more: readonly string[]) => {
		const child = spawn(process.execPath, [MAIN, "provide", ...args, ...more], { stdio: ["ignore", "ignore", "pipe"] });
		let err = "";
		child.stderr.on("data", (chunk: Buffer) => {
			err += chunk.toString();
		});
		const ended = new Promise<{ code: number | null; err: string }>((resolve) =>
			child.once("close", (code) => resolve({ code, err })),
		);
		return { child, ended };
	};
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
	await door.stop();
});
