// A lock on a folder: one process of this machine at a time has it. It is flock(2) on a file inside the
// folder, which goes with its process however that ends: there is no stale lock, and whoever may not write
// the folder cannot take it (a name in the kernel's abstract socket namespace anybody can). Node has no
// flock, so the program of util-linux takes it on our descriptor: the lock belongs to the open file, which we
// keep, and not to the program, which ends at once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";

export interface FolderLock {
	release(): Promise<void>;
}

/** What flock(1) ends with when another has the lock. */
const TAKEN = 1;

/** Null: somebody has it, and kept it for `waitMs`. Throws AssayError LOCK_FAILED. */
export async function lockFolder(folder: string, waitMs = 0): Promise<FolderLock | null> {
	const file = await open(join(folder, ".lock"), constants.O_RDWR | constants.O_CREAT, 0o600);
	try {
		// Who waits is in the kernel's queue: asking again and again would be a process each time.
		const patience = waitMs > 0 ? ["-w", String(waitMs / 1000)] : ["-n"];
		const child = spawn("flock", ["-x", ...patience, "3"], { stdio: ["ignore", "ignore", "ignore", file.fd] });
		const [code] = await once(child, "exit");
		if (code === 0) return { release: () => file.close() };
		if (code !== TAKEN) throw new Error(`flock ended with ${code}`);
	} catch (cause) {
		await file.close();
		throw new AssayError("LOCK_FAILED", `${folder} cannot be locked: ${(cause as Error).message}`, {
			hint: "Install util-linux, which has the program flock; the folder must be on a disk that knows locks.",
			cause,
		});
	}
	await file.close();
	return null;
}
