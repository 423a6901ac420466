// As whom the embedded server runs. Where root starts it: under an account of its own, `assay-postgres`, made
// on first use, without any right of root's (capabilities) and no way to get one back. It owns its cluster
// and nothing else; the folder above stays with root, so that a server which was taken over can lay no traps
// there. The cluster is handed to it open, so that it needs no right to pass the folders above. Where another
// user starts it: as that user.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, readFile, stat } from "node:fs/promises";
import { makeFolder } from "../../platform/durable-file.ts";
import { lockFolder } from "../../platform/folder-lock.ts";
import { AssayError } from "../../protocol/assay-error.ts";

export interface Account {
	readonly uid: number;
	readonly gid: number;
}

const NAME = "assay-postgres";
/** What is the machine's and not one data folder's; root's, for everybody to read. */
export const MACHINE_FOLDER = "/var/lib/assay";

/** Far longer than useradd takes. */
const ACCOUNT_MS = 60_000;

/** Null: as ourselves. */
export async function serverAccount(): Promise<Account | null> {
	if (process.getuid?.() !== 0) return null;
	for (const name of [NAME, "postgres", "nobody"]) {
		if (name === NAME) await makeAccount().catch(() => {});
		const found = await findAccount(name);
		if (found) return found;
		// Without useradd, or where /etc cannot be written: an account without rights that others may use too.
	}
	throw new AssayError("POSTGRES_FAILED", "PostgreSQL does not run as root and there is no account to run it under", {
		hint: "Install useradd (Debian: passwd), run as another user, or set DATABASE_URL to a server.",
	});
}

/**
 * Of two at once one makes it: useradd looks for the name before it locks, and would give it a second number.
 */
async function makeAccount(): Promise<void> {
	if (await findAccount(NAME)) return;
	await makeFolder(MACHINE_FOLDER, 0o755);
	let lock = await lockFolder(MACHINE_FOLDER, ACCOUNT_MS);
	while (!lock) lock = await lockFolder(MACHINE_FOLDER, ACCOUNT_MS);
	try {
		if (await findAccount(NAME)) return;
		const kind = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"];
		await ends("useradd", [...kind, "--shell", "/usr/sbin/nologin", NAME]);
	} finally {
		await lock.release();
	}
}

async function findAccount(name: string): Promise<Account | null> {
	for (const line of (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n")) {
		const [found, , uid, gid] = line.split(":");
		if (found === name && Number(uid) > 0 && Number(gid) > 0) return { uid: Number(uid), gid: Number(gid) };
	}
	return null;
}

/** A folder that the server shall own. For ourselves nothing is to be done. */
export async function handOver(path: string, account: Account | null): Promise<void> {
	if (account) await chown(path, account.uid, account.gid);
}

/** Files of a server that does not run: the cluster is the account's, also of a copy; the folder is ours. */
export async function takeBack(folder: string, account: Account | null): Promise<void> {
	await chmod(folder, 0o700);
	if (!account) return;
	await chown(folder, 0, 0);
	const cluster = await stat(`${folder}/data`).catch(() => null);
	if (!cluster || cluster.uid === account.uid) return;
	// The program of coreutils follows no links, even where somebody exchanges them meanwhile.
	const code = await ends("chown", ["-Rh", `${account.uid}:${account.gid}`, `${folder}/data`]);
	if (code !== 0) throw new AssayError("POSTGRES_FAILED", `${folder}/data cannot be given to the server's account`);
}

export interface Command {
	readonly program: string;
	readonly args: readonly string[];
	readonly uid?: number;
	readonly gid?: number;
}

/** The command line that runs a program under the account, without rights. */
export async function commandAs(account: Account | null, program: string, args: readonly string[]): Promise<Command> {
	if (!account) return { program, args };
	const none = ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"];
	const drop = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups", ...none, "--"];
	if ((await ends("setpriv", [...drop, "true"])) === 0)
		return { program: "setpriv", args: [...drop, program, ...args] };
	// Without util-linux, or in a container that may not narrow the set: the kernel still takes every right
	// away when root becomes another user.
	return { program, args, ...account };
}

/** The exit code; −1 when it cannot be run. */
async function ends(program: string, args: readonly string[]): Promise<number> {
	const child = spawn(program, args, { stdio: "ignore" });
	try {
		const [code] = await once(child, "exit");
		return code ?? -1;
	} catch {
		return -1;
	}
}
