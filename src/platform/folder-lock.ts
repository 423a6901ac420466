// A lock on a folder: one process of this machine at a time has it. It is a name in the kernel's abstract socket
// namespace, which goes with its process however that ends: there is no stale lock, and taking it is one atomic step.
// Processes in different network namespaces do not see each other's.
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { createServer } from "node:net";

export interface FolderLock {
	release(): Promise<void>;
}

/** Null: somebody has it. */
export async function lockFolder(folder: string): Promise<FolderLock | null> {
	const name = createHash("sha256")
		.update(await realpath(folder))
		.digest("hex")
		.slice(0, 40);
	const server = createServer((socket) => socket.destroy()).unref();
	return await new Promise((resolve, reject) => {
		server.once("error", (error: NodeJS.ErrnoException) =>
			error.code === "EADDRINUSE" ? resolve(null) : reject(error),
		);
		server.listen(`\0assay-folder-${name}`, () =>
			resolve({ release: () => new Promise((done) => void server.close(() => done())) }),
		);
	});
}
