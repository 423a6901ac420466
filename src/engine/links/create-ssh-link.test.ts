// The ssh link against a real OpenSSH server on loopback: logins, host keys, uploads, and far sides that lie,
// stall or die.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
	chmodSync,
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type EngineBuild, findEngine, hostPlatform } from "../builds.ts";
import { createEngineClient } from "../client/create-engine-client.ts";
import { POLITE, shellEngine, TALKING, writeProgram } from "../client/toy-program.test-kit.ts";
import { createSshLink, type SshLinkOptions } from "./create-ssh-link.ts";
import type { Link } from "./link.ts";
import { freePort, startTestSshd, type TestSshd } from "./test-sshd.test-kit.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-ssh-test-"));
const clockUs = () => Math.round(performance.now() * 1000);
const client = { clockUs, readyDeadlineMs: 600_000, randomBytes: (n: number) => new Uint8Array(n).fill(7) };
const gemm = {
	session: 1,
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 1000,
	keep: 1,
	seed: new Uint8Array(32),
} as const;
let sshd: TestSshd;
let polite: EngineBuild;
let count = 0;

before(async () => {
	sshd = await startTestSshd();
	polite = writeProgram(join(folder, "polite"), POLITE);
});
after(async () => {
	await sshd.stop();
	rmSync(folder, { recursive: true, force: true });
});

/** Key login to the shared server, with a known-hosts file of its own, unless said otherwise. */
function options(more: Partial<SshLinkOptions> = {}, server = sshd): SshLinkOptions {
	return {
		target: { kind: "ssh", user: server.user, host: "127.0.0.1", port: server.port },
		knownHostsFile: join(folder, `known hosts ${count++}`, "100%"),
		identityFile: server.identityFile,
		userConfig: false,
		connectTimeoutMs: 600_000,
		stepTimeoutMs: 600_000,
		env: process.env,
		clockUs,
		...more,
	};
}

async function open(
	more: Partial<SshLinkOptions> = {},
	build = polite,
	server = sshd,
): Promise<{ link: Link; steps: string[] }> {
	const steps: string[] = [];
	const link = await createSshLink(options({ onStep: (step) => steps.push(step), ...more }, server), async () => build);
	return { link, steps };
}

const fails = (code: string, more: Partial<SshLinkOptions> = {}, server?: TestSshd, build = polite) =>
	assert.rejects(
		createSshLink(options(more, server), async () => build),
		(error: Error & { code?: string; hint?: string }) => {
			assert.equal(error.name, "AssayError", error.stack ?? "");
			assert.equal(error.code, code, error.message);
			assert.notEqual(error.hint, "");
			return true;
		},
	);

const stored = (build: EngineBuild) => join(sshd.home, ".cache", "assay", `engine-${build.sha256}`);

/** Programs that the far side runs instead of its own. */
async function withLiar(name: string, script: string, run: (server: TestSshd) => Promise<void>): Promise<void> {
	const pathDir = mkdtempSync(join(folder, "liar-"));
	chmodSync(pathDir, 0o755);
	writeFileSync(join(pathDir, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
	const server = await startTestSshd({ path: `${pathDir}:/usr/bin:/bin` });
	try {
		await run(server);
	} finally {
		await server.stop();
	}
}

test("key login: uploaded once, then reused, hashed on the far side", async () => {
	const first = await open();
	assert.deepEqual(first.steps, ["connect", "hash", "upload", "start"]);
	assert.equal((await createEngineClient(first.link, client)).version, "toy");
	assert.equal(first.link.kind, "ssh");
	assert.equal(first.link.engineSha256, polite.sha256);
	assert.ok(first.link.handshakeUs !== null && first.link.handshakeUs > 0);
	await first.link.close();
	assert.equal((await first.link.closed).code, 0);
	assert.equal(statSync(stored(polite)).mode & 0o777, 0o700);
	const again = await open();
	assert.deepEqual(again.steps, ["connect", "hash", "start"]);
	await createEngineClient(again.link, client);
	await again.link.close();
	assert.deepEqual(
		readdirSync(join(sshd.home, ".cache", "assay")).filter((name) => name.startsWith(".")),
		[],
	);
});

test("a corrupted or unusable copy on the host is replaced", async () => {
	for (const spoil of [
		() => writeFileSync(stored(polite), "#!/bin/sh\necho bad\n"),
		() => chmodSync(stored(polite), 0o600),
	]) {
		const one = await open();
		await one.link.close();
		spoil();
		const { link, steps } = await open();
		assert.deepEqual(steps, ["connect", "hash", "upload", "start"]);
		assert.equal((await createEngineClient(link, client)).version, "toy");
		await link.close();
		assert.equal(readFileSync(stored(polite), "utf8"), POLITE);
	}
});

test("the host's XDG_CACHE_HOME holds, also one that a shell could trip over", async () => {
	const cache = join(folder, "c;id $(id)");
	const server = await startTestSshd({ extra: [`SetEnv "XDG_CACHE_HOME=${cache}"`] });
	try {
		const { link } = await open({}, polite, server);
		assert.equal((await createEngineClient(link, client)).version, "toy");
		await link.close();
		assert.deepEqual(readdirSync(join(cache, "assay")), [`engine-${polite.sha256}`]);
	} finally {
		await server.stop();
	}
});

test("a large program arrives whole", async () => {
	const large = writeProgram(join(folder, "large"), `${POLITE}${randomBytes(1_500_000).toString("hex")}\n`);
	const { link } = await open({}, large);
	assert.equal((await createEngineClient(link, client)).version, "toy");
	await link.close();
});

test("the host key is pinned on first use, and a changed one is refused", async () => {
	const server = await startTestSshd();
	try {
		const knownHostsFile = join(folder, "pinned", "known_hosts");
		const { link } = await open({ knownHostsFile }, polite, server);
		await link.close();
		const printed = execFileSync("ssh-keygen", ["-l", "-f", join(server.folder, "host.pub")]).toString();
		assert.equal(link.hostKey, printed.split(" ")[1]);
		const second = await open({ knownHostsFile }, polite, server);
		await second.link.close();
		await server.restart({ newHostKey: true });
		await fails("HOST_KEY_CHANGED", { knownHostsFile }, server);
		assert.match(readFileSync(knownHostsFile, "utf8"), /^\[127\.0\.0\.1\]:\d+ ssh-ed25519 \S+\n$/);
		const fresh = await open({}, polite, server);
		await fresh.link.close();
		assert.notEqual(fresh.link.hostKey, link.hostKey);
	} finally {
		await server.stop();
	}
});

test("a wrong key, a missing key file, a closed port, an unknown name", async () => {
	await fails("AUTH_FAILED", { identityFile: sshd.strangerFile });
	await fails("AUTH_FAILED", { identityFile: join(folder, "absent") });
	await fails("HOST_UNREACHABLE", {
		target: { kind: "ssh", user: sshd.user, host: "127.0.0.1", port: await freePort() },
	});
	await fails("HOST_UNREACHABLE", {
		target: { kind: "ssh", user: sshd.user, host: "no-such-host.invalid", port: null },
	});
});

test("password login, and a wrong password", {
	skip: process.getuid?.() === 0 ? false : "only root can make a temporary user",
}, async () => {
	const user = `assay${process.pid % 100_000}`;
	const password = `p4ss '"$(id) ${randomBytes(6).toString("hex")}`;
	const home = join(folder, "home");
	execFileSync("useradd", ["--create-home", "--home-dir", home, "--shell", "/bin/sh", user]);
	try {
		chmodSync(folder, 0o755);
		execFileSync("chpasswd", { input: `${user}:${password}\n` });
		const server = await startTestSshd({ extra: ["PasswordAuthentication yes"] });
		try {
			const target = { kind: "ssh", user, host: "127.0.0.1", port: server.port } as const;
			const { link } = await open({ target, password, identityFile: undefined }, polite, server);
			assert.equal((await createEngineClient(link, client)).version, "toy");
			await link.close();
			await fails("AUTH_FAILED", { target, password: "wrong", identityFile: undefined }, server);
			await fails("AUTH_FAILED", { target, identityFile: undefined }, server);
		} finally {
			await server.stop();
		}
	} finally {
		execFileSync("userdel", ["--force", user], { stdio: "ignore" });
	}
});

test("the user's configuration holds: an alias, and a jump host, behind which no handshake can be timed", async () => {
	const userConfig = join(folder, "ssh_config");
	const common = `HostName 127.0.0.1\nPort ${sshd.port}\nUser ${sshd.user}\nIdentityFile ${sshd.identityFile}\n`;
	const jump = `Host jump\n${common}StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n`;
	// RemoteCommand, forwardings and a foreign socket in it must not reach us.
	const rude = `ControlPath ${folder}/x\nRemoteCommand id\nRequestTTY force\nLocalForward 127.0.0.1:1 127.0.0.1:1\n`;
	writeFileSync(userConfig, `Host direct\n${common}${rude}\nHost inner\n${common}ProxyJump jump\n${jump}`);
	for (const [host, timed] of [
		["direct", true],
		["inner", false],
	] as const) {
		const target = { kind: "ssh", user: null, host, port: null } as const;
		const { link } = await open({ target, userConfig, identityFile: undefined });
		assert.equal((await createEngineClient(link, client)).version, "toy");
		assert.equal(link.handshakeUs !== null, timed);
		assert.match(link.hostKey ?? "", /^SHA256:/);
		await link.close();
	}
	writeFileSync(userConfig, "Nonsense here\n");
	await fails("SSH_FAILED", { userConfig });
});

test("a far side that lies about its system", async () => {
	await withLiar("uname", "echo Linux mips", (server) => fails("PLATFORM_UNSUPPORTED", {}, server));
	await withLiar("uname", "echo 'Linux $(reboot)'", (server) => fails("REMOTE_GARBAGE", {}, server));
	await withLiar("uname", "sleep 15", (server) => fails("HOST_UNREACHABLE", { connectTimeoutMs: 2000 }, server));
});

test("a far side that lies about the hash", async () => {
	await withLiar("sha256sum", `cat >/dev/null; echo ${"0".repeat(64)} -`, (server) =>
		fails("ENGINE_HASH_MISMATCH", {}, server),
	);
	await withLiar("sha256sum", "echo '; rm -rf x'", (server) => fails("REMOTE_GARBAGE", {}, server));
	await withLiar("sha256sum", "cat >/dev/null; sleep 15", (server) =>
		fails("HOST_SILENT", { stepTimeoutMs: 2000 }, server),
	);
});

test("a host that has no program to hash with, or no room for the engine", async () => {
	// The far side's shell finds only what this PATH has: neither sha256sum nor its stand-ins.
	const bare = mkdtempSync(join(folder, "bare-"));
	chmodSync(bare, 0o755);
	for (const name of ["uname", "cat", "mkdir", "mktemp", "chmod", "mv", "rm"])
		symlinkSync(`/bin/${name}`, join(bare, name));
	const server = await startTestSshd({ path: bare });
	try {
		await fails("REMOTE_HASH_MISSING", {}, server);
		rmSync(join(server.home, ".cache"), { recursive: true });
		writeFileSync(join(server.home, ".cache"), "a file where the folder should be");
		await fails("REMOTE_WRITE_FAILED", {}, server);
	} finally {
		await server.stop();
	}
});

test("a forced command that prints garbage, floods, or closes at once", async () => {
	for (const command of ["/bin/echo Welcome, choose from the menu", "/bin/cat /dev/zero", "/bin/false"]) {
		const server = await startTestSshd({ extra: [`ForceCommand ${command}`] });
		try {
			await fails("REMOTE_GARBAGE", {}, server);
		} finally {
			await server.stop();
		}
	}
});

test("a greeting is passed over, before answers and before the engine's first frame, and said; a flood of it is refused", async () => {
	const server = await startTestSshd({ extra: ['ForceCommand echo Hello; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'] });
	try {
		const notes: string[] = [];
		const { link } = await open({ onNote: (text) => notes.push(text) }, polite, server);
		assert.equal((await createEngineClient(link, client)).version, "toy");
		await link.close();
		assert.equal(notes.length, 1);
		assert.match(notes[0]!, /printed text before the engine began: Hello$/);
	} finally {
		await server.stop();
	}
	// Between our line and the engine nothing may come, and more than a greeting is none.
	const flood = "head -c 200000 /dev/zero | tr \\\\0 x";
	const extra = [
		`ForceCommand case "$SSH_ORIGINAL_COMMAND" in *assay:engine*) ${flood};; esac; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
	];
	const flooded = await startTestSshd({ extra });
	try {
		const { link } = await open({}, polite, flooded);
		await assert.rejects(createEngineClient(link, client), (error: Error & { code?: string; hint?: string }) => {
			assert.match(error.code ?? "", /^FRAME_/);
			assert.match(error.hint ?? "", /login script/);
			return true;
		});
	} finally {
		await flooded.stop();
	}
});

test("a host that accepts and says nothing", async () => {
	const server = createServer((socket) => void socket.on("error", () => {}));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address = server.address();
	assert.ok(address !== null && typeof address === "object");
	const target = { kind: "ssh", user: "x", host: "127.0.0.1", port: address.port } as const;
	await fails("HOST_UNREACHABLE", { target, connectTimeoutMs: 1500 });
	server.close();
});

test("an engine that does not run on the host", async () => {
	const { link } = await open({}, writeProgram(join(folder, "broken"), "#!/no/such/interpreter\n"));
	await assert.rejects(createEngineClient(link, client), { name: "AssayError", code: "LINK_CLOSED" });
});

async function waitFor(what: string, done: () => boolean): Promise<void> {
	for (let i = 0; i < 5000; i++) {
		if (done()) return;
		await sleep(20);
	}
	assert.fail(what);
}

/** What the kernel says of a process; "" when it has ended, which it may between two looks. */
function ofProcess(pid: number | string, file: "status" | "cmdline"): string {
	try {
		return readFileSync(`/proc/${pid}/${file}`, "utf8");
	} catch {
		return "";
	}
}

const isGone = (pid: number) => !/^State:\s+[^ZX\s]/m.test(ofProcess(pid, "status"));

test("an engine killed in the middle ends its requests", async () => {
	const pidFile = join(folder, "killed.pid");
	const { link } = await open(
		{},
		writeProgram(
			join(folder, "killed"),
			TALKING.replace(
				"const send",
				`(await import("node:fs")).writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));\nconst send`,
			),
		),
	);
	const engine = await createEngineClient(link, client);
	assert.ok((await engine.ping({ deadlineMs: 600_000 })) > 0);
	let killed = false;
	const answer = await engine.gemm(gemm, {
		deadlineMs: 600_000,
		onRoot: () => {
			if (!killed) process.kill(Number(readFileSync(pidFile, "utf8")), "SIGKILL");
			killed = true;
		},
	});
	assert.deepEqual([answer.end, answer.code], ["cut", "LINK_CLOSED"]);
	assert.ok(answer.roots.length >= 1);
	await link.close();
});

test("when the connection is cut, the engine on the host exits and nothing of ours stays", async () => {
	const pidFile = join(folder, "cut.pid");
	const cut = writeProgram(join(folder, "cut"), shellEngine(`echo $$ >${pidFile}\ncat >/dev/null`));
	const { link } = await open({}, cut);
	const engine = await createEngineClient(link, client);
	await waitFor("the engine did not start", () => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
	const pid = Number(readFileSync(pidFile, "utf8"));
	assert.equal(isGone(pid), false);
	// The one of our children that holds the connection.
	const masters = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
		.split(" ")
		.filter((child) => child !== "" && ofProcess(child, "cmdline").includes("ControlMaster=yes"));
	assert.equal(masters.length, 1);
	const [, socket] = /ControlPath=([^\0]+)/.exec(ofProcess(masters[0]!, "cmdline")) ?? [];
	assert.ok(socket !== undefined && existsSync(socket));
	assert.equal(statSync(dirname(socket)).mode & 0o777, 0o700);
	const running = engine.gemm(gemm, { deadlineMs: 600_000 });
	process.kill(Number(masters[0]), "SIGKILL");
	const answer = await running;
	assert.deepEqual([answer.end, answer.code], ["cut", "LINK_CLOSED"]);
	await link.close();
	await waitFor("the engine on the host lives on", () => isGone(pid));
	assert.equal(existsSync(dirname(socket)), false);
});

test("when this side dies without a word, nothing stays on either side", async () => {
	const pidFile = join(folder, "orphan.pid");
	const orphan = writeProgram(join(folder, "orphan"), shellEngine(`echo $$ >${pidFile}\ncat >/dev/null`));
	const script = `
		import { createSshLink } from ${JSON.stringify(new URL("./create-ssh-link.ts", import.meta.url).href)};
		const { clockUs, env, ...rest } = ${JSON.stringify({ ...options(), env: null })};
		await createSshLink({ ...rest, env: process.env, clockUs: () => 0 }, async () => (${JSON.stringify(orphan)}));
		console.log("open");
		setInterval(() => {}, 1000);`;
	const verifier = spawn(process.execPath, ["--input-type=module", "-e", script], {
		stdio: ["ignore", "pipe", "inherit"],
		// A process that is killed cannot clear its (empty) folder away; the test's own folder takes it.
		env: { ...process.env, TMPDIR: folder },
	});
	await once(verifier.stdout, "data");
	await waitFor("the engine did not start", () => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
	const pid = Number(readFileSync(pidFile, "utf8"));
	const ours = readFileSync(`/proc/${verifier.pid}/task/${verifier.pid}/children`, "utf8")
		.trim()
		.split(" ")
		.map(Number);
	assert.equal(ours.length, 2);
	verifier.kill("SIGKILL");
	await waitFor("the engine on the host lives on", () => isGone(pid));
	await waitFor("an ssh of ours lives on", () => ours.every(isGone));
});

test("the real engine over ssh", { timeout: 600_000 }, async () => {
	const { link, steps } = await open({}, await findEngine(hostPlatform()));
	assert.ok(steps.includes("upload"));
	const engine = await createEngineClient(link, client);
	const claim = await engine.hello({ deadlineMs: 600_000 });
	const device = claim.devices.findIndex(({ kind }) => kind === "cpu");
	assert.notEqual(device, -1);
	const answer = await engine.gemm({ ...gemm, device, rounds: 2 }, { deadlineMs: 600_000 });
	assert.deepEqual([answer.end, answer.roots.length], ["complete", 2]);
	const opened = await engine.open(
		{ session: 1, what: "leaves", places: [{ round: 0, index: 1 }] },
		{ deadlineMs: 600_000 },
	);
	assert.deepEqual([opened.end, opened.openings.length], ["complete", 1]);
	await engine.close();
	assert.equal((await link.closed).code, 0);
});
