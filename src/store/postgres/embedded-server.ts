// The embedded PostgreSQL server of a data folder: set up once, started when it does not run, joined when it
// does. It is a process of its own and outlives ours, even a kill -9; whoever opens the folder next joins it.
// Not here: as whom it runs (postgres-account.ts), as whom we use it (postgres-role.ts), SQL, pools.
//
// No lock is needed: the cluster is made beside and renamed into place, and of two servers started at once
// PostgreSQL itself lets one live. One machine at a time: two machines on one network folder cannot see each
// other's processes.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder, syncFolder, writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { connectionLost } from "../store-error.ts";
import { type Account, type Command, commandAs, handOver, serverAccount, takeBack } from "./postgres-account.ts";
import { binariesFor, findPostgresBinaries } from "./postgres-binaries.ts";
import { mendPidFile, readRunningServer } from "./postgres-pid.ts";
import { answers, makeRole, newPassword, roleAddress, type ServerAddress, SUPERUSER } from "./postgres-role.ts";

export interface EmbeddedServerOptions {
	/** The server's own folder; `data`, `server.log`, `port`, `inode` and two passwords are inside. */
	readonly folder: string;
	/** Other programs than those that are found. */
	readonly binaries?: string;
	/** False: nothing is forced to the disk, for tests; a power cut would lose everything. Default true. */
	readonly durable?: boolean;
	readonly deadlineMs?: number;
}

/** After a crash PostgreSQL first replays its log, which takes longer the more was written. */
const DEADLINE_MS = 60_000;
/** The cluster, which is handed over open: by this name its account need not pass the folders above. */
const CLUSTER = "/proc/self/fd/3";
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** Few connections a process, many processes: 4 validators of 10 + 2 each, and room for tests and people. */
const SETTINGS = [
	"listen_addresses=127.0.0.1",
	"unix_socket_directories=",
	"max_connections=200",
	"shared_buffers=128MB",
	// The default keeps up to 1 GB of log on the disk of a small machine.
	"max_wal_size=256MB",
	"log_min_messages=warning",
	"log_checkpoints=off",
	// Statements of other people's making must not fill the disk.
	"log_min_error_statement=panic",
	"timezone=UTC",
];

/** Makes sure that the server runs and answers, and says where. */
export async function ensureEmbeddedServer(o: EmbeddedServerOptions): Promise<ServerAddress> {
	const account = await serverAccount();
	const data = join(o.folder, "data");
	const patienceMs = o.deadlineMs ?? DEADLINE_MS;
	let deadline = performance.now() + patienceMs;
	await makeFolder(o.folder);
	let binaries: string | null = null;
	for (let attempt = 0; ; attempt++) {
		const running = await readRunningServer(data);
		// Asked to end by somebody's SIGTERM it waits for its clients, who are ours, and takes no new ones.
		if (running?.status === "stopping") interrupt(running.pid);
		if (running && running.port > 0) {
			const address = await roleAddress(o.folder, running.port);
			const answer = await answers(address);
			if (answer === "ready") return address;
			// It may go away at any moment; whether it worked is seen by looking again.
			if (answer === "unknown") await makeRole(o.folder, address).catch(ignoreLost);
		} else if (!running) {
			binaries ??= await binariesFor(account, o.binaries ?? (await findPostgresBinaries()));
			await takeBack(o.folder, account);
			if (!(await exists(join(data, "PG_VERSION")))) {
				await initialise(o, binaries, account);
				// Making a cluster is work, not silence: on a busy machine it alone may take a minute.
				deadline = performance.now() + patienceMs;
			}
			await refuseTornCopy(o.folder, data);
			await mendPidFile(data);
			await start(o, binaries, account);
		}
		if (performance.now() > deadline) throw await failed(o.folder, "the embedded PostgreSQL server does not answer");
		await sleep(Math.min(20 * 1.5 ** attempt, 250));
	}
}

/**
 * Ends the server if it runs: clients are cut off, everything committed is kept. Resolves when it is gone.
 */
export async function stopEmbeddedServer(folder: string): Promise<void> {
	const data = join(folder, "data");
	const running = await readRunningServer(data);
	if (!running) return;
	interrupt(running.pid);
	const deadline = performance.now() + DEADLINE_MS;
	while ((await readRunningServer(data))?.pid === running.pid) {
		if (performance.now() > deadline) throw await failed(folder, "the embedded PostgreSQL server does not end");
		await sleep(20);
	}
}

/** Cuts its clients off and ends at once; everything committed is kept. */
function interrupt(pid: number): void {
	try {
		process.kill(pid, "SIGINT");
	} catch {
		// It ended in between.
	}
}

async function initialise(o: EmbeddedServerOptions, binaries: string, account: Account | null): Promise<void> {
	const { folder, durable = true } = o;
	const draft = join(folder, `draft-${randomBytes(6).toString("hex")}`);
	const cluster = join(draft, "data");
	const password = join(draft, "password");
	try {
		for (const made of [draft, cluster]) {
			await mkdir(made, { mode: 0o700 });
			await handOver(made, account);
		}
		await writeDurably(password, `${newPassword()}\n`);
		await handOver(password, account);
		const args = [`--username=${SUPERUSER}`, `--pwfile=${CLUSTER}/../password`, "--auth=scram-sha-256"];
		args.push("--encoding=UTF8", "--no-locale", "--no-instructions", ...(durable ? [] : ["--no-sync"]));
		const command = await commandAs(account, join(binaries, "initdb"), [`--pgdata=${CLUSTER}`, ...args]);
		const opened = await open(cluster);
		const { code, output } = await finished(command, opened.fd).finally(() => opened.close());
		if (code !== 0) throw new AssayError("POSTGRES_FAILED", `initdb failed: ${output.trim().slice(-2000)}`);
		// Kept inside the cluster, so that both appear at once.
		await rename(password, join(cluster, "assay-password"));
		await syncFolder(cluster);
		await rename(cluster, join(folder, "data"));
		await syncFolder(folder);
	} catch (cause) {
		// Another process was first: its cluster is as good as ours.
		if (!isOccupied(cause)) throw cause;
	} finally {
		await rm(draft, { recursive: true, force: true });
	}
}

async function start(o: EmbeddedServerOptions, binaries: string, account: Account | null): Promise<void> {
	const { folder, durable = true } = o;
	const data = join(folder, "data");
	await refuseOtherVersion(data, binaries);
	await writeDurably(join(folder, "inode"), `${(await stat(data)).ino}\n`);
	const port = await choosePort(join(folder, "port"));
	const log = await open(join(folder, "server.log"), "a", 0o600);
	const cluster = await open(data);
	try {
		if ((await log.stat()).size > LOG_LIMIT_BYTES) await log.truncate(0);
		const settings = [...SETTINGS, ...(durable ? [] : ["fsync=off"])].flatMap((setting) => ["-c", setting]);
		// Its account may not pass the folders above the cluster, and need not.
		const args = ["-D", account ? CLUSTER : data, "-p", String(port), ...settings];
		const command = await commandAs(account, join(binaries, "postgres"), args);
		const child = spawn(command.program, command.args, {
			...options(command),
			// A session of its own: Ctrl-C in our terminal is for us, not for the database.
			detached: true,
			stdio: ["ignore", log.fd, log.fd, cluster.fd],
		});
		const ended = new Promise<string | null>((resolve) => {
			child.once("error", (error) => resolve(error.message));
			child.once("exit", (code) => resolve(`it ended with ${code}`));
		});
		child.unref();
		// Until it has said on which port it serves, or gave up: both within moments.
		for (let waits = 0; waits < 500; waits++) {
			const ending = await Promise.race([ended, sleep(20, null)]);
			if (await readRunningServer(data)) return;
			// It also ends when another process has just started one; the caller looks again.
			if (ending) break;
		}
		await sleep(50);
		if (!(await readRunningServer(data)) && !(await portTaken(port)))
			throw await failed(folder, `the embedded PostgreSQL server did not start: ${await ended}`);
	} finally {
		await Promise.all([log.close(), cluster.close()]);
	}
}

function options(command: Command) {
	const identity = command.uid === undefined ? {} : { uid: command.uid, gid: command.gid };
	// Nothing of ours in its surroundings: PG* variables would change how initdb and postgres behave.
	const { PATH = "/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
	return { ...identity, cwd: "/", env: { PATH, LC_ALL: "C", TZ: "UTC" } };
}

async function finished(command: Command, folder?: number): Promise<{ code: number | null; output: string }> {
	const stdio = ["ignore", "pipe", "pipe", folder ?? "ignore"] as const;
	const child = spawn(command.program, command.args, { ...options(command), stdio: [...stdio] });
	let output = "";
	for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
	return await new Promise((resolve, reject) => {
		child.once("error", (cause) => {
			reject(new AssayError("POSTGRES_FAILED", `${command.program} cannot be run: ${cause.message}`, { cause }));
		});
		child.once("close", (code) => resolve({ code, output }));
	});
}

/** The same port as last time when it is free, so that other processes find the server again where it was. */
async function choosePort(file: string): Promise<number> {
	const last = Number(await readFile(file, "utf8").catch(() => "0"));
	if (Number.isInteger(last) && last > 0 && last < 65_536 && !(await portTaken(last))) return last;
	const port = await listening(0);
	await writeDurably(file, `${port}\n`);
	return port;
}

async function portTaken(port: number): Promise<boolean> {
	return await listening(port).then(
		() => false,
		() => true,
	);
}

async function listening(port: number): Promise<number> {
	return await new Promise((resolve, reject) => {
		const server = createServer();
		server.once("error", reject);
		server.listen(port, "127.0.0.1", () => {
			const address = server.address();
			server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
		});
	});
}

/**
 * Files that were copied one after the other while a server wrote them may be of different moments, which
 * PostgreSQL does not always notice. A copy of a server that had ended has no pid file; a snapshot of a whole
 * disk has the same inode.
 */
async function refuseTornCopy(folder: string, data: string): Promise<void> {
	const marker = join(folder, "inode");
	const kept = await readFile(marker, "utf8").catch(() => null);
	if (kept === null || !(await exists(join(data, "postmaster.pid"))) || Number(kept) === (await stat(data)).ino) return;
	throw new AssayError("POSTGRES_FAILED", `${folder} was copied while its server was running: the copy may be torn`, {
		hint: `Stop what runs from the first folder and copy it again, or use pg_dump. If this copy is all there is, remove ${marker}: PostgreSQL then recovers what it can.`,
	});
}

async function refuseOtherVersion(data: string, binaries: string): Promise<void> {
	const made = (await readFile(join(data, "PG_VERSION"), "utf8")).trim();
	const { output } = await finished({ program: join(binaries, "postgres"), args: ["--version"] });
	const ours = /\b(\d+)(\.|beta|rc|devel)/.exec(output)?.[1] ?? "?";
	if (made === ours) return;
	throw new AssayError("POSTGRES_FAILED", `${dirname(data)} was made by PostgreSQL ${made}, here is ${ours}`, {
		hint: `Serve it with PostgreSQL ${made} and DATABASE_URL, or move it with pg_dump.`,
	});
}

async function failed(folder: string, what: string): Promise<AssayError> {
	const log = await readFile(join(folder, "server.log"), "utf8").catch(() => "");
	const tail = log.trim().split("\n").slice(-5).join(" | ").slice(-2000);
	return new AssayError("POSTGRES_FAILED", tail ? `${what}; its log ends with: ${tail}` : what, {
		hint: `See server.log in ${folder}, or set DATABASE_URL to another server.`,
	});
}

async function exists(path: string): Promise<boolean> {
	return await stat(path).then(
		() => true,
		() => false,
	);
}

function isOccupied(cause: unknown): boolean {
	const code = (cause as NodeJS.ErrnoException).code;
	return code === "ENOTEMPTY" || code === "EEXIST";
}

function ignoreLost(cause: unknown): void {
	if (cause instanceof AssayError || !connectionLost(cause)) throw cause;
}
