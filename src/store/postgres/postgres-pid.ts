// postmaster.pid: who serves a data folder, on which port. Written by PostgreSQL; read here, and mended when
// its process is long gone.
import { constants, open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";

export interface RunningServer {
	readonly pid: number;
	readonly port: number;
	/** PostgreSQL's own word: "starting", "stopping", "ready", … */
	readonly status: string;
}

/** The server that runs on this folder; null: none does, even where a dead one left its file behind. */
export async function readRunningServer(folder: string): Promise<RunningServer | null> {
	const text = await readFile(join(folder, "postmaster.pid"), "utf8").catch(() => null);
	if (text === null) return null;
	const lines = text.split("\n").map((line) => line.trim());
	// Lines: pid, folder, start time, port, socket folder, address, shared memory, status.
	const [pid, port] = [Number(lines[0]), Number(lines[3])];
	if (!Number.isSafeInteger(pid) || pid <= 0 || !(await isPostmaster(pid, folder))) return null;
	return { pid, port: Number.isSafeInteger(port) ? port : 0, status: lines[7] ?? "" };
}

/**
 * PostgreSQL will not start while the process id in the file belongs to *anything* alive under its account,
 * which after a reboot or in a container happens by chance. The file is not deleted, because its
 * shared-memory line still guards against orphans of the old server; only the id is replaced by one that no
 * process can have (Linux ends below 2^22).
 */
export async function mendPidFile(folder: string): Promise<void> {
	const path = join(folder, "postmaster.pid");
	const text = await readFile(path, "utf8").catch(() => null);
	if (text === null || (await readRunningServer(folder))) return;
	const lines = text.split("\n");
	lines[0] = String(2 ** 22);
	// The server's account can write there: a link could lead to any file that we may write.
	const file = await open(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW).catch((cause) => {
		throw new AssayError("POSTGRES_FAILED", `${path} cannot be mended: ${cause.message}`, { cause });
	});
	await file.writeFile(lines.join("\n")).finally(() => file.close());
}

/**
 * By its program, its user and the folder it works in, so that a reused process id, one that somebody wrote
 * there, or the server of the folder that this one was copied from is not mistaken for this folder's server.
 */
async function isPostmaster(pid: number, folder: string): Promise<boolean> {
	try {
		const [line, state, process, cluster] = await Promise.all([
			readFile(`/proc/${pid}/cmdline`, "utf8"),
			readFile(`/proc/${pid}/stat`, "utf8"),
			stat(`/proc/${pid}`),
			stat(folder),
		]);
		if (process.uid !== cluster.uid) return false;
		// A zombie (Z) has ended; nobody has collected it yet.
		if (/\) Z /.test(state)) return false;
		const program = line.split("\0")[0] ?? "";
		if (!/(^|\/)(postgres|postmaster)$/.test(program)) return false;
		// Root without CAP_SYS_PTRACE, as in a container, may not look.
		const works = await stat(`/proc/${pid}/cwd`).catch(() => null);
		return works === null || (works.dev === cluster.dev && works.ino === cluster.ino);
	} catch {
		return false;
	}
}
