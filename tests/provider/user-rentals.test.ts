// Rentals as system users, for real: the provider's own sshd on loopback, a real ssh client, users that are
// made and gone again. Needs root.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { ProviderEvent } from "../../src/provider/provider-event.ts";
import type { EnvironmentMaker } from "../../src/provider/rental/environment.ts";
import { findEnvironments } from "../../src/provider/rental/find-environments.ts";
import { type HostRentals, openHostRentals } from "../../src/provider/rental/host-rentals.ts";
import { bookPath, readBook } from "../../src/provider/rental/rental-book.ts";
import { waitingFor } from "../../src/provider/rental/rental-end.ts";
import { processesOf } from "../../src/provider/rental/user-environment.ts";
import { createSshClient, needRoot, type SshClient, type TestKey } from "./ssh-client.test-kit.ts";

const V = "aa".repeat(32);
const OTHER_V = "bb".repeat(32);
const HOUR = 3_600_000;
const rentalId = () => randomBytes(16).toString("hex");
const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;

let client: SshClient;
let customer: TestKey;
let stranger: TestKey;
let dataFolder = "";
let maker: EnvironmentMaker;
let rentals: HostRentals;
let events: ProviderEvent[] = [];
/** Moved by tests: hours pass at once. */
let shiftMs = 0;

async function startRentals(): Promise<HostRentals> {
	return openHostRentals({
		maker,
		bookPath: bookPath(dataFolder),
		sshHost: "127.0.0.1",
		devices: () => [],
		maxMs: 48 * HOUR,
		isBusy: () => false,
		nowMs: () => Date.now() + shiftMs,
		randomBytes: (n) => randomBytes(n),
		onEvent: (event) => events.push(event),
	});
}

const exists = (user: string) => {
	try {
		execFileSync("getent", ["passwd", user]);
		return true;
	} catch {
		return false;
	}
};
const marks = () => readdirSync(join(client.folder, "rentals")).filter((name) => name !== "last-user-id");
const uidOf = (user: string) => Number(execFileSync("id", ["-u", user]).toString());

before(async () => {
	needRoot();
	client = createSshClient();
	customer = client.makeKey("customer");
	stranger = client.makeKey("stranger");
	dataFolder = join(client.folder, "data");
	mkdirSync(dataFolder, { mode: 0o700 });
	writeFileSync(join(dataFolder, "provider.key"), "secret\n", { mode: 0o600 });
	chmodSync(client.folder, 0o755);
	maker = await findEnvironments({
		want: "user",
		dataFolder,
		rentalsFolder: join(client.folder, "rentals"),
		sshPort: await freePort(),
		sshListen: ["127.0.0.1"],
		containerImage: "",
		providerKey: randomBytes(32).toString("hex"),
		gpus: () => [],
	});
});
after(async () => {
	await rentals?.endAll();
	await rentals?.stop();
	await maker?.rest();
	client?.stop();
});
beforeEach(async () => {
	await rentals?.endAll();
	await rentals?.stop();
	shiftMs = 0;
	events = [];
	rentals = await startRentals();
});

const rent = async (o: { rental?: string; publicKey?: string; hours?: number } = {}) => {
	const { ssh } = await rentals.rent({
		rental: o.rental ?? rentalId(),
		publicKey: o.publicKey ?? customer.line,
		untilMs: Date.now() + (o.hours ?? 1) * HOUR,
		devices: [],
		validatorKey: V,
	});
	return ssh;
};

test("the customer gets in, as a user of their own; another key, a password, root and other users do not", async () => {
	const access = await rent();
	const inside = await client.run(access, customer, 'id -un; id -Gn; stat -c %a "$HOME"; echo $SHELL');
	assert.equal(inside.code, 0, inside.stderr);
	const [name, groups, mode] = inside.stdout.split("\n");
	assert.deepEqual([name, groups, mode], [access.user, access.user, "700"]);
	for (const file of ["/etc/subuid", "/etc/subgid"])
		assert.ok(!existsSync(file) || !readFileSync(file, "utf8").includes(access.user), file);
	const refused = /Permission denied/;
	assert.match((await client.run(access, stranger, "id")).stderr, refused);
	assert.match((await client.run({ ...access, user: "root" }, customer, "id")).stderr, refused);
	assert.match((await client.run({ ...access, user: "nobody" }, customer, "id")).stderr, refused);
	const password = await client.run(access, stranger, "id", [
		"-o",
		"PreferredAuthentications=password,keyboard-interactive",
	]);
	assert.match(password.stderr, refused);
	// Another host key than the one that the customer was given is noticed.
	const other = await client.run({ ...access, hostKey: stranger.line }, customer, "id");
	assert.match(other.stderr, /HOST IDENTIFICATION HAS CHANGED|verification failed/);
});

test("the customer cannot read the provider's things, become root, forward ports or let others in", async () => {
	const access = await rent();
	const at = (command: string, more: readonly string[] = []) => client.run(access, customer, command, more);
	for (const path of [
		join(dataFolder, "provider.key"),
		join(dataFolder, "rentals.json"),
		join(dataFolder, "rental/host_ed25519"),
		"/etc/shadow",
	])
		assert.notEqual((await at(`cat ${path}`)).code, 0, path);
	assert.notEqual((await at("sudo -n true")).code, 0);
	assert.notEqual((await at("echo | su root -c true")).code, 0);
	// Keys in one's own home open nothing: the server looks elsewhere, where only root writes.
	const planted = await at(
		`mkdir -p ~/.ssh && echo '${stranger.line}' > ~/.ssh/authorized_keys && chmod 600 ~/.ssh/authorized_keys && echo done`,
	);
	assert.equal(planted.stdout.trim(), "done");
	assert.match((await client.run(access, stranger, "id")).stderr, /Permission denied/);
	const keys = await at(`echo x >> ${join(client.folder, "rentals")}/*/keys/${access.user}`);
	assert.notEqual(keys.code, 0);
	const forward = await at("true", ["-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1"]);
	assert.notEqual(forward.code, 0);
	const direct = await at("true", ["-W", "127.0.0.1:22"]);
	assert.notEqual(direct.code, 0);
	const environment = await client.run(access, customer, "echo [$LD_PRELOAD$EVIL]", [
		"-o",
		"SetEnv=LD_PRELOAD=/x EVIL=1",
	]);
	assert.equal(environment.stdout.trim(), "[]");
});

test("files go in and out", async () => {
	const access = await rent();
	const written = await client.run(access, customer, "echo hello > ~/f && cat ~/f");
	assert.equal(written.stdout, "hello\n");
	const login = [
		"-F",
		"none",
		"-i",
		customer.file,
		"-P",
		String(access.port),
		"-o",
		"BatchMode=yes",
		"-o",
		"IdentitiesOnly=yes",
	];
	const known = ["-o", `UserKnownHostsFile=${join(client.folder, "known_hosts")}`];
	const paths = [`${access.user}@127.0.0.1:f`, join(client.folder, "got")];
	execFileSync("sftp", [...login, ...known, ...paths], { stdio: "pipe" });
	assert.equal(statSync(join(client.folder, "got")).size, 6);
});

test("at the end everything is killed and gone: processes, sessions, files, crontab, user", async () => {
	const rental = rentalId();
	const access = await rent({ rental });
	const uid = uidOf(access.user);
	const session = client.start(access, customer, "echo in; sleep 1000");
	assert.equal(await session.first, "in\n");
	const mess = [
		"setsid nohup sh -c 'while :; do sleep 1 & wait; done' >/dev/null 2>&1 &",
		"mkdir -p /tmp/assay-left-$USER/a && touch /tmp/assay-left-$USER/a/b /dev/shm/assay-left-$USER",
		"ln -s /etc/passwd ~/link && ln -s / ~/slash",
		"(ipcmk -M 1000 || true) >/dev/null 2>&1",
		"echo made",
	].join("\n");
	assert.match((await client.run(access, customer, mess)).stdout, /made/);
	assert.ok(processesOf(uid).length > 0);
	assert.deepEqual(await maker.list(), [access.user]);
	// As the crontab program would leave it; the host may not have one.
	const madeFolder = mkdirSync("/var/spool/cron/crontabs", { recursive: true });
	writeFileSync(join("/var/spool/cron/crontabs", access.user), "* * * * * id\n");

	await rentals.unrent({ rental, validatorKey: V });
	assert.notEqual((await session.ended).code, 0);
	assert.equal(exists(access.user), false);
	assert.deepEqual(processesOf(uid), []);
	assert.equal(existsSync(`/tmp/assay-left-${access.user}`), false);
	assert.equal(existsSync(`/dev/shm/assay-left-${access.user}`), false);
	assert.equal(existsSync(join("/var/spool/cron/crontabs", access.user)), false);
	// Only what is empty: another run may use it by now.
	for (const folder of madeFolder === undefined ? [] : ["/var/spool/cron/crontabs", madeFolder])
		if (existsSync(folder)) execFileSync("rmdir", ["--ignore-fail-on-non-empty", folder]);
	assert.ok(existsSync("/etc/passwd"));
	assert.deepEqual(
		marks().flatMap((name) => readdirSync(join(client.folder, "rentals", name, "homes"))),
		[],
	);
	assert.deepEqual(await maker.list(), []);
	assert.deepEqual(await readBook(bookPath(dataFolder)), []);
	// Nobody is there to be logged in to.
	assert.notEqual((await client.run(access, customer, "id")).code, 0);
	assert.deepEqual(events.at(-1), { kind: "unrented", rental, why: "released" });
	await assert.rejects(rentals.unrent({ rental, validatorKey: V }), isCode("RENTAL_UNKNOWN"));
});

test("a fork bomb ends too", async () => {
	const rental = rentalId();
	const access = await rent({ rental });
	const uid = uidOf(access.user);
	// Bounded by itself as well, so that a failing test does not take the machine with it.
	const bomb = "ulimit -u 60; f() { sleep 0.01; f & f; }; (f >/dev/null 2>&1 &) ; sleep 1; echo lit";
	const lit = client.start(access, customer, bomb);
	await lit.first;
	await rentals.unrent({ rental, validatorKey: V });
	assert.deepEqual(processesOf(uid), []);
	assert.equal(exists(access.user), false);
	await lit.ended;
});

test("a rental ends by itself when its time is over, and not before; extended it stays", async () => {
	const rental = rentalId();
	const access = await rent({ rental });
	await rentals.extend({ rental, untilMs: Date.now() + 3 * HOUR, validatorKey: V });
	assert.equal((await client.run(access, customer, "echo here")).stdout, "here\n");
	await rentals.stop();
	// Two hours later, had it not been extended, it would be over.
	shiftMs = 2 * HOUR;
	rentals = await startRentals();
	assert.equal(exists(access.user), true);
	assert.equal(rentals.rentals.length, 1);
	const over = Promise.withResolvers<void>();
	const untilMs = Date.now() + shiftMs + 2000;
	await rentals.extend({ rental, untilMs, validatorKey: V });
	const look = setInterval(() => events.some((e) => e.kind === "unrented") && over.resolve(), 20);
	await over.promise;
	clearInterval(look);
	assert.equal(exists(access.user), false);
	assert.deepEqual(events.at(-1), { kind: "unrented", rental, why: "expired" });
});

test("a provider that was killed goes on with its rental, and ends it if it is over", async () => {
	const rental = rentalId();
	const access = await rent({ rental });
	const session = client.start(access, customer, "echo in; sleep 1000");
	assert.equal(await session.first, "in\n");
	// Killed: no clean stop, only the clock and this process's memory are gone.
	await rentals.stop();
	rentals = await startRentals();
	assert.equal((await client.run(access, customer, "echo still")).stdout, "still\n");
	assert.deepEqual(await rentals.check({ rental, validatorKey: V }), { healthy: true, detail: "" });
	await rentals.stop();
	shiftMs = 2 * HOUR;
	rentals = await startRentals();
	assert.equal(exists(access.user), false);
	assert.deepEqual(rentals.rentals, []);
	await session.ended;
});

test("what was half made when the provider died is taken away", async () => {
	const rental = rentalId();
	const access = await rent({ rental });
	await rentals.stop();
	// As if killed between making the user and noting that it is there.
	const [entry] = await readBook(bookPath(dataFolder));
	writeFileSync(bookPath(dataFolder), JSON.stringify({ rentals: [{ ...entry, state: "making" }] }));
	rentals = await startRentals();
	assert.equal(exists(access.user), false);
	// And one that no book knows, as if the book had been lost.
	const lost = await rent();
	await rentals.stop();
	writeFileSync(bookPath(dataFolder), JSON.stringify({ rentals: [] }));
	rentals = await startRentals();
	assert.equal(exists(lost.user), false);
});

test("a spoilt book is not read as an empty one", async () => {
	await rentals.stop();
	for (const text of ["", "{}", '{"rentals":[{"name":"root"}]}', '{"rentals":[{"name":"../x"}]}']) {
		writeFileSync(bookPath(dataFolder), text);
		await assert.rejects(startRentals(), isCode("FILE_UNREADABLE"));
	}
	writeFileSync(bookPath(dataFolder), JSON.stringify({ rentals: [] }));
	rentals = await startRentals();
});

test("one rental at a time, and only its own validator may touch it", async () => {
	const rental = rentalId();
	const access = await rent({ rental });
	await assert.rejects(rent(), isCode("PROVIDER_RENTED"));
	// The same question again gets the same answer: the validator may have lost it.
	assert.deepEqual(await rent({ rental }), access);
	await assert.rejects(rent({ rental, publicKey: stranger.line }), isCode("PROVIDER_RENTED"));
	for (const run of [
		() => rentals.unrent({ rental, validatorKey: OTHER_V }),
		() => rentals.extend({ rental, untilMs: Date.now() + HOUR, validatorKey: OTHER_V }),
		() => rentals.check({ rental, validatorKey: OTHER_V }),
	])
		await assert.rejects(run(), isCode("RENTAL_UNKNOWN"));
	assert.equal(exists(access.user), true);
});

test("keys with anything more than a key, wrong ends and unknown devices are refused, and nothing is made", async () => {
	const evil = [
		`command="id" ${customer.line}`,
		`${customer.line}\nssh-ed25519 AAAA`,
		`${customer.line}\r\n`,
		`environment="A=b" ${customer.line}`,
		"ssh-ed25519 AAAA; id",
		"",
	];
	for (const publicKey of evil) await assert.rejects(rent({ publicKey }), isCode("PUBLIC_KEY_BAD"), publicKey);
	await assert.rejects(rent({ hours: -1 }), isCode("RENTAL_TIME"));
	await assert.rejects(rent({ hours: 1000 }), isCode("RENTAL_TIME"));
	const asked = { rental: rentalId(), publicKey: customer.line, untilMs: Date.now() + HOUR, validatorKey: V };
	await assert.rejects(rentals.rent({ ...asked, devices: ["GPU-none"] }), isCode("RENTAL_UNAVAILABLE"));
	assert.deepEqual(rentals.rentals, []);
	assert.deepEqual(await maker.list(), []);
});

test("N14: the SSH server itself lets nobody in after the end, with nobody left to tell it", async () => {
	const access = await rent();
	const { publicKey } = (await readBook(bookPath(dataFolder)))[0]!;
	await rentals.stop();
	// Held, not killed: it would be started again. Nothing of ours is able to act from here on.
	const waiting = waitingFor(access.user, join(dataFolder, "rental", "end-rental"));
	assert.equal(waiting.length, 1);
	process.kill(waiting[0]!, "SIGSTOP");
	await maker.setEnd({ name: access.user, publicKey, untilMs: Date.now() + HOUR });
	assert.equal((await client.run(access, customer, "echo in")).stdout, "in\n");
	const untilMs = Date.now() + 500;
	await maker.setEnd({ name: access.user, publicKey, untilMs });
	while (Date.now() <= untilMs + 1000) await sleep(50);
	assert.match((await client.run(access, customer, "id")).stderr, /Permission denied/);
	assert.ok(
		readFileSync(`${join(client.folder, "rentals")}/${marks()[0]}/keys/${access.user}`, "utf8").includes(publicKey),
	);
	// The twin: the same key with another end.
	await maker.setEnd({ name: access.user, publicKey, untilMs: Date.now() + HOUR });
	assert.equal((await client.run(access, customer, "echo in")).stdout, "in\n");
	rentals = await startRentals();
});

test("N17: no renter gets the user or group id of an earlier one, over restarts and lost books too", async () => {
	const ids: number[] = [];
	for (let i = 0; i < 3; i++) {
		const rental = rentalId();
		const { user } = await rent({ rental });
		const gid = Number(execFileSync("id", ["-g", user]).toString());
		assert.equal(gid, uidOf(user), "a group of the same number, so it is as new");
		ids.push(gid);
		await rentals.unrent({ rental, validatorKey: V });
		await rentals.stop();
		rentals = await startRentals();
	}
	assert.deepEqual(
		ids,
		[...new Set(ids)].sort((a, b) => a - b),
		"each one higher than the last",
	);
	assert.ok(ids[0]! >= 65_536, "above the host's own people");
	// What was given last is not guessed when it cannot be read.
	const remembered = join(client.folder, "rentals", "last-user-id");
	const before = readFileSync(remembered, "utf8");
	writeFileSync(remembered, "x");
	await assert.rejects(rent(), isCode("FILE_UNREADABLE"));
	writeFileSync(remembered, "524287");
	await assert.rejects(rent(), isCode("RENTAL_UNAVAILABLE"), "nor does it begin anew");
	writeFileSync(remembered, before);
	await rent();
});

test("users that are not ours are never removed", async () => {
	for (const name of ["root", "nobody", "../../etc", "assay-xyz", "assay-00000000 root", ""])
		await assert.rejects(maker.remove(name), isCode("RENTAL_FAILED"), name);
	assert.equal(exists("root"), true);
});
