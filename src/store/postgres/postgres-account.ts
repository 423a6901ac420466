// As whom the embedded server runs. PostgreSQL refuses root, so as root it runs under an account without
// rights: `postgres` or `nobody`. Nothing on the machine is changed: no account is made, no folder of others
// is opened up.
import { chown, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";

export interface Account {
	readonly uid: number;
	readonly gid: number;
}

/** Null: as ourselves. */
export async function serverAccount(folder: string): Promise<Account | null> {
	if (process.getuid?.() !== 0) return null;
	// A folder that was already handed over stays with its account, whatever was installed since.
	const owner = await stat(folder).catch(() => null);
	if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
	const accounts = new Map<string, Account>();
	for (const line of (await readFile("/etc/passwd", "utf8")).split("\n")) {
		const [name = "", , uid, gid] = line.split(":");
		accounts.set(name, { uid: Number(uid), gid: Number(gid) });
	}
	const account = accounts.get("postgres") ?? accounts.get("nobody");
	if (!account || account.uid === 0) {
		throw new AssayError("POSTGRES_FAILED", "PostgreSQL does not run as root and there is no account to run it under", {
			hint: "Run as another user, or set DATABASE_URL to a server.",
		});
	}
	return account;
}

/** Hands a folder over; for ourselves nothing is to be done. */
export async function handOver(path: string, account: Account | null): Promise<void> {
	if (account) await chown(path, account.uid, account.gid);
}

export interface Command {
	readonly program: string;
	readonly args: readonly string[];
	readonly uid?: number;
	readonly gid?: number;
}

/**
 * The command line that runs a program under the account. A folder above the programs or the data that only
 * root may enter (/root) would lock the account out: then it keeps the one right to look through folders
 * (never to write), which needs util-linux's `setpriv`.
 */
export async function commandAs(
	account: Account | null,
	program: string,
	args: readonly string[],
	folders: readonly string[],
): Promise<Command> {
	if (!account) return { program, args };
	const open = await Promise.all(folders.map((folder) => mayEnter(folder, account)));
	if (open.every(Boolean)) return { program, args, ...account };
	// Containers often lack the right to search but have the larger one; neither makes the account own
	// anything.
	const right = (await hasCapability(2)) ? "dac_read_search" : "dac_override";
	const drop = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
	return {
		program: "setpriv",
		args: [...drop, `--inh-caps=-all,+${right}`, `--ambient-caps=-all,+${right}`, "--", program, ...args],
	};
}

/** Whether the account may pass through every folder above `path`, by plain permission bits. */
async function mayEnter(path: string, account: Account): Promise<boolean> {
	for (let folder = path; ; folder = dirname(folder)) {
		const entry = await stat(folder);
		const bit = entry.uid === account.uid ? 0o100 : entry.gid === account.gid ? 0o010 : 0o001;
		if (entry.isDirectory() && (entry.mode & bit) === 0) return false;
		if (folder === dirname(folder)) return true;
	}
}

async function hasCapability(bit: number): Promise<boolean> {
	const status = await readFile("/proc/self/status", "utf8").catch(() => "");
	const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
	return ((BigInt(`0x${effective}`) >> BigInt(bit)) & 1n) === 1n;
}
