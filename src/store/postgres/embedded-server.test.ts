// The embedded server: set up once however many start it, joined, brought back after a kill, ended by the
// last.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
	mkdirSync,
	mkdtempSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import { openStore, serverFolder } from "../open-store.ts";
import { register } from "../sample-rows.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "./embedded-server.ts";
import { serverAccount } from "./postgres-account.ts";
import { hydrateLinks } from "./postgres-binaries.ts";
import { readRunningServer } from "./postgres-pid.ts";

const dataDir = mkdtempSync(join(tmpdir(), "assay-embedded-"));
const folder = serverFolder(dataDir);
const data = join(folder, "data");
const start = async () => await ensureEmbeddedServer({ folder, durable: false });
after(async () => {
	await stopEmbeddedServer(folder);
	rmSync(dataDir, { recursive: true, force: true });
});

test("four who start it at once get one server, with a password that only its owner can read", async () => {
	mkdirSync(folder, { recursive: true });
	const addresses = await Promise.all([start(), start(), start(), start()]);
	assert.equal(new Set(addresses.map((address) => JSON.stringify(address))).size, 1);
	for (const name of ["password", "superuser-password"])
		assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
	const client = new pg.Client({ ...addresses[0]!, password: "wrong" });
	await assert.rejects(client.connect(), { code: "28P01" });
	await client.end().catch(() => {});
	const running = await readRunningServer(data);
	assert.equal(running?.port, addresses[0]!.port);
	if (process.getuid?.() === 0) assert.notEqual(statSync(`/proc/${running!.pid}`).uid, 0, "it does not run as root");
});

test("a store outlives its server: killed, it is started again and nothing committed is lost", async () => {
	const warnings: string[] = [];
	const store = await openStore({ dataDir, schema: "revived", onWarning: (warning) => warnings.push(warning) });
	try {
		const missed = Promise.withResolvers<string>();
		store.events.subscribe((event) => missed.resolve(event.kind));
		const id = await register(store, "kept");
		const before = await readRunningServer(data);
		process.kill(before!.pid, "SIGKILL");
		// A busy machine takes its time to end it; until then its backends go on answering.
		while ((await readRunningServer(data))?.pid === before!.pid) await sleep(10);
		assert.equal((await store.providers.get(id))?.name, "kept");
		assert.equal(await missed.promise, "missed");
		const revived = await readRunningServer(data);
		assert.ok(revived !== null && revived.pid !== before!.pid);
		await register(store, "after");
		assert.equal((await store.providers.list()).rows.length, 2);
	} finally {
		await store.close();
	}
	assert.equal(await readRunningServer(data), null, "the last one out has stopped it");
});

test("connections that are cut are replaced; listeners hear that they may have missed something", async () => {
	const store = await openStore({ dataDir, schema: "cut" });
	const other = await openStore({ dataDir, schema: "cut" });
	try {
		const id = await register(store, "cut");
		const missed = Promise.withResolvers<string>();
		store.events.subscribe((event) => missed.resolve(event.kind));
		const client = new pg.Client(await start());
		await client.connect();
		await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [
			`assay/${store.process}`,
		]);
		await client.end();
		assert.equal((await store.providers.get(id))?.id, id);
		assert.equal(await missed.promise, "missed");
		await store.close();
		assert.notEqual(await readRunningServer(data), null, "the other one still needs it");
		assert.equal((await other.providers.get(id))?.id, id);
	} finally {
		await other.close();
		await store.close();
	}
	assert.equal(await readRunningServer(data), null);
});

test("who has closed is connected no more: whoever leaves next sees that nobody else is there", async () => {
	const client = new pg.Client(await start());
	await client.connect();
	try {
		const store = await openStore({ dataDir, schema: "gone", keepServer: true });
		const listed = async () =>
			(
				await client.query("SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1", [
					`assay/${store.process}`,
				])
			).rows[0].n;
		await Promise.all(Array.from({ length: 30 }, () => store.ready()));
		assert.ok((await listed()) >= 10);
		await store.close();
		assert.equal(await listed(), 0);
	} finally {
		await client.end();
	}
});

test("a server that somebody asked to end, and that waits for its clients, is ended and started again", async () => {
	const { port, user, password } = await start();
	const client = new pg.Client({ host: "127.0.0.1", port, user, password, database: "postgres" });
	client.on("error", () => {});
	await client.connect();
	const { pid } = (await readRunningServer(data))!;
	process.kill(pid, "SIGTERM");
	while ((await readRunningServer(data))?.status !== "stopping") await sleep(10);
	await start();
	assert.notEqual((await readRunningServer(data))?.pid, pid);
	await client.end().catch(() => {});
});

test("a process id in a stale file that belongs to something else does not keep it from starting", async () => {
	await start();
	const lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
	await stopEmbeddedServer(folder);
	// Under the server's own account: PostgreSQL alone would take it for a running server and refuse.
	const stranger = spawn("sleep", ["600"], { stdio: "ignore", ...((await serverAccount()) ?? {}) });
	try {
		await once(stranger, "spawn");
		writeFileSync(join(data, "postmaster.pid"), [String(stranger.pid), ...lines.slice(1)].join("\n"));
		assert.equal(await readRunningServer(data), null);
		await start();
		assert.notEqual((await readRunningServer(data))?.pid, stranger.pid);
	} finally {
		stranger.kill();
	}
});

test("the port is kept over a restart, and another one is taken when it is not free", async () => {
	const first = await start();
	await stopEmbeddedServer(folder);
	assert.equal((await start()).port, first.port);
	await stopEmbeddedServer(folder);
	const { createServer } = await import("node:net");
	const squatter = createServer().listen(first.port, "127.0.0.1");
	await once(squatter, "listening");
	assert.notEqual((await start()).port, first.port);
	squatter.close();
});

test("a folder that was copied while its server ran is refused, and never served by that one", async () => {
	const running = await start();
	const copies = mkdtempSync(join(tmpdir(), "assay-embedded-"));
	const copy = (name: string): string => {
		execFileSync("cp", ["-a", folder, join(copies, name)]);
		return join(copies, name);
	};
	const torn = copy("torn");
	const open = async (of: string) => await ensureEmbeddedServer({ folder: of, durable: false });
	await assert.rejects(open(torn), { code: "POSTGRES_FAILED", message: /copied while its server was running/ });
	// Its owner has nothing else.
	rmSync(join(torn, "inode"));
	assert.notEqual((await open(torn)).port, running.port);
	await stopEmbeddedServer(torn);
	await stopEmbeddedServer(folder);
	const whole = copy("whole");
	await open(whole);
	await stopEmbeddedServer(whole);
	rmSync(copies, { recursive: true });
});

test("files of another major version are refused, not touched", async () => {
	const other = mkdtempSync(join(tmpdir(), "assay-embedded-"));
	mkdirSync(join(other, "data"));
	writeFileSync(join(other, "data", "PG_VERSION"), "9.6\n");
	await assert.rejects(ensureEmbeddedServer({ folder: other }), (error: AssayError) => {
		assert.equal(error.code, "POSTGRES_FAILED");
		assert.match(error.message, /made by PostgreSQL 9\.6/);
		return true;
	});
	rmSync(other, { recursive: true });
});

test("a database that cannot be reached is an error with a code, not a crash", async () => {
	const url = "postgres://nobody:x@127.0.0.1:1/none";
	await assert.rejects(openStore({ dataDir, databaseUrl: url }), {
		code: "STORE_UNREACHABLE",
		hint: codes.STORE_UNREACHABLE.hint,
	});
});

test("links that install scripts would make are made when they are missing", async () => {
	const native = mkdtempSync(join(tmpdir(), "assay-native-"));
	const name = native.split("/").at(-1)!;
	const link = (from: string, to: string) => ({ source: `${name}/lib/${from}`, target: `${name}/lib/${to}` });
	mkdirSync(join(native, "lib"));
	writeFileSync(join(native, "lib", "libx.so.1.2"), "");
	symlinkSync("libx.so.1.2", join(native, "lib", "libx.so"));
	writeFileSync(
		join(native, "pg-symlinks.json"),
		JSON.stringify([link("libx.so.1.2", "libx.so"), link("libx.so.1.2", "libx.so.1")]),
	);
	await Promise.all([hydrateLinks(native), hydrateLinks(native)]);
	assert.equal(readlinkSync(join(native, "lib", "libx.so.1")), "libx.so.1.2");
	rmSync(native, { recursive: true });
});
