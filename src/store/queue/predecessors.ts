// Processes that ended without giving anything back, on the data folder of one that starts: what they held is
// free at once instead of when their leases end. Each process has a folder here, whose lock goes with it
// however it ends: one that is frozen still has it, one on another machine that shares the disk too. Without
// locks nothing is given up early.
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../platform/durable-file.ts";
import { lockFolder } from "../../platform/folder-lock.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { StoreContext } from "../context.ts";
import { takeOver } from "./take-over.ts";

/** Still to be named: whoever starts at the same moment must not take it for a dead one's. */
const NEW = ".new-";
const STOP = "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE application_name = left($1, 63)";

/** Gives back how to end: this process holds nothing any more. */
export async function followPredecessors(context: StoreContext, dataDir: string): Promise<() => Promise<void>> {
	const { process: me, database, onWarning } = context;
	const folder = join(dataDir, "processes");
	await makeFolder(folder);
	const own = await mkdtemp(join(folder, NEW));
	const lock = await lockFolder(own).catch((error: unknown) => {
		if (error instanceof AssayError && error.code === "LOCK_FAILED") return null;
		throw error;
	});
	if (lock === null) {
		await rm(own, { recursive: true, force: true });
		return async () => {};
	}
	await rename(own, join(folder, me));
	const dead: string[] = [];
	for (const name of await readdir(folder)) {
		if (name === me || name.startsWith(NEW)) continue;
		const theirs = await lockFolder(join(folder, name)).catch(() => null);
		if (theirs === null) continue;
		dead.push(name);
		// What it had sent may still be carried out; then it would hold a lease that nobody gives back.
		await database.query(STOP, [`assay/${name}`]).catch(() => []);
		await database.write("DELETE FROM leases WHERE holder = $1", [name]);
		await rm(join(folder, name), { recursive: true, force: true });
		await theirs.release();
	}
	if (dead.length > 0) {
		onWarning(`${dead.join(", ")} ended on this data folder without giving anything back; it is taken over`);
		await takeOver(context, Date.now());
	}
	return async () => {
		await rm(join(folder, me), { recursive: true, force: true });
		await lock.release();
	};
}
