// What the embedded server may do, and what we may do at it. Audit N4: one SQL statement of ours read
// /etc/shadow and every key beside the cluster, because the server had root's right to read all files and we
// worked as its superuser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { openStore, serverFolder } from "../open-store.ts";
import { register } from "../sample-rows.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "./embedded-server.ts";
import { commandAs, serverAccount } from "./postgres-account.ts";
import { binariesFor } from "./postgres-binaries.ts";
import { mendPidFile, readRunningServer } from "./postgres-pid.ts";
import type { ServerAddress } from "./postgres-role.ts";

const isRoot = process.getuid?.() === 0;
const dataDir = mkdtempSync(join(tmpdir(), "assay-rights-"));
const folder = serverFolder(dataDir);
const data = join(folder, "data");
const key = join(dataDir, "validator.key");
writeFileSync(key, "secret", { mode: 0o600 });
const start = async () => await ensureEmbeddedServer({ folder, durable: false });
after(async () => {
	await stopEmbeddedServer(folder);
	rmSync(dataDir, { recursive: true, force: true });
});

async function withClient<Result>(
	address: ServerAddress,
	act: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
	const client = new pg.Client(address);
	await client.connect();
	return await act(client).finally(() => client.end());
}

async function asSuperuser(): Promise<ServerAddress> {
	const password = readFileSync(join(folder, "superuser-password"), "utf8").trim();
	return { ...(await start()), user: "assay", password };
}

/** Of every process of the machine, read once; those that end meanwhile are left out. */
function allStatuses(): Record<string, string>[] {
	return readdirSync("/proc").flatMap((pid) => {
		if (!/^\d+$/.test(pid)) return [];
		try {
			const lines = readFileSync(`/proc/${pid}/status`, "utf8").trim().split("\n");
			return [Object.fromEntries(lines.map((line) => line.split(":\t").map((part) => part.trim())))];
		} catch {
			return [];
		}
	});
}

test("N4: the server that root starts, and each of its processes, is an account of its own without any right", {
	skip: !isRoot && "needs root",
}, async () => {
	const address = await start();
	await withClient(address, async () => {
		const pid = String((await readRunningServer(data))!.pid);
		const all = allStatuses().filter((status) => status.Pid === pid || status.PPid === pid);
		assert.ok(all.length > 3 && all.some((status) => status.Pid === pid), "the server and its children");
		for (const status of all) {
			assert.notEqual(status.Uid!.split("\t")[0], "0");
			assert.equal(status.Groups, "", "no group of root's");
			for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
				assert.equal(BigInt(`0x${status[set]}`), 0n, set);
			assert.equal(status.NoNewPrivs, "1");
		}
	});
	assert.equal(statSync(folder).uid, 0, "the folder above the cluster is not the server's");
	assert.equal(statSync(data).uid, (await serverAccount())!.uid);
});

const REFUSED: readonly string[] = [
	"SELECT pg_read_file('/etc/shadow')",
	`SELECT pg_read_file('${key}')`,
	"SELECT pg_read_binary_file('PG_VERSION')",
	"SELECT pg_ls_dir('.')",
	`COPY victim FROM '${key}'`,
	"COPY victim TO '/tmp/assay-copied'",
	"COPY victim FROM PROGRAM 'id'",
	"COPY victim TO PROGRAM 'cat >/dev/null'",
	"SELECT lo_import('/etc/passwd')",
	"SELECT lo_export(1, '/tmp/assay-exported')",
	"CREATE EXTENSION file_fdw",
	"CREATE FUNCTION run(cstring) RETURNS integer AS 'libc.so.6', 'system' LANGUAGE C",
	"LOAD '/tmp/assay.so'",
	"ALTER SYSTEM SET log_min_messages = 'debug5'",
	"CREATE ROLE other SUPERUSER LOGIN",
	"ALTER ROLE CURRENT_USER SUPERUSER",
	"ALTER ROLE assay PASSWORD 'mine'",
	"GRANT pg_read_server_files TO CURRENT_USER",
	"SET ROLE assay",
	"SELECT rolpassword FROM pg_authid",
	"CREATE DATABASE other",
];

test("N4: our role reads none of the server's files, runs no program and gets no further right", async () => {
	await withClient(await start(), async (client) => {
		await client.query("CREATE SCHEMA rights; SET search_path = rights; CREATE TABLE victim (line text)");
		for (const statement of REFUSED) await assert.rejects(client.query(statement), { code: "42501" }, statement);
		const { rows } = await client.query(
			"SELECT rolsuper, rolcreaterole, rolreplication FROM pg_roles WHERE rolname = user",
		);
		assert.deepEqual(rows, [{ rolsuper: false, rolcreaterole: false, rolreplication: false }]);
		await client.query("INSERT INTO victim VALUES ('its own tables are its own'); DROP SCHEMA rights CASCADE");
	});
	await assert.rejects(
		withClient({ ...(await start()), user: "assay" }, async () => {}),
		{ code: "28P01" },
	);
});

test("N4: even the superuser of a server that root started reads no key and no file of root's", {
	skip: !isRoot && "needs root",
}, async () => {
	await withClient(await asSuperuser(), async (client) => {
		assert.match((await client.query("SELECT pg_read_file('PG_VERSION') AS made")).rows[0].made, /^\d+/);
		for (const file of [key, "/etc/shadow", join(folder, "password")])
			await assert.rejects(client.query("SELECT pg_read_file($1)", [file]), { code: "42501" }, file);
	});
});

test("a folder that a copy made open, with another account's cluster, is closed and given back", async () => {
	const first = await openStore({ dataDir, keepServer: true });
	const id = await register(first, "kept");
	await first.close();
	await stopEmbeddedServer(folder);
	chmodSync(folder, 0o755);
	if (isRoot) execFileSync("chown", ["-R", "nobody", folder]);
	const again = await openStore({ dataDir, keepServer: true });
	try {
		assert.equal((await again.providers.get(id))?.name, "kept");
	} finally {
		await again.close();
	}
	assert.ok(!existsSync(join(data, "assay-password")), "the superuser's password is out of the server's reach");
	assert.equal(statSync(folder).mode & 0o777, 0o700);
	if (isRoot) assert.equal(statSync(join(data, "base")).uid, (await serverAccount())!.uid);
});

test("a link in place of the server's own file is not followed", async () => {
	await stopEmbeddedServer(folder);
	const victim = join(dataDir, "victim");
	writeFileSync(victim, "1\n2\n3\n");
	symlinkSync(victim, join(data, "postmaster.pid"));
	await assert.rejects(mendPidFile(data), { code: "POSTGRES_FAILED" });
	assert.equal(readFileSync(victim, "utf8"), "1\n2\n3\n");
	rmSync(join(data, "postmaster.pid"));
});

test("programs below a folder that only root may enter are copied to where the account can run them", {
	skip: !isRoot && "needs root",
}, async () => {
	const account = (await serverAccount())!;
	const [hidden, open] = [join(dataDir, "hidden"), mkdtempSync(join(tmpdir(), "assay-programs-"))];
	try {
		chmodSync(open, 0o755);
		mkdirSync(join(hidden, "native", "bin"), { recursive: true });
		chmodSync(hidden, 0o700);
		const binaries = join(hidden, "native", "bin");
		for (const name of ["initdb", "postgres"])
			writeFileSync(join(binaries, name), "#!/bin/sh\ncat $(dirname $0)/../said\n", { mode: 0o755 });
		writeFileSync(join(hidden, "native", "said"), "it runs");
		const found = await binariesFor(account, binaries, open);
		assert.ok(found.startsWith(open));
		assert.equal(await binariesFor(account, binaries, open), found, "once");
		assert.equal(await binariesFor(null, binaries, open), binaries, "our own user may enter");
		const { program, args } = await commandAs(account, join(found, "initdb"), []);
		assert.equal(execFileSync(program, [...args], { encoding: "utf8" }), "it runs");
	} finally {
		rmSync(open, { recursive: true });
	}
});
