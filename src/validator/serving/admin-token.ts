// The admin's first token: made at the first start and written where only its owner can read it. Later starts find the file and leave it.
import { open, readFile, rm } from "node:fs/promises";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Store } from "../../store/store.ts";

/** Two processes that start at once on one folder: the second finds the file of the first. Gives the path. */
export async function ensureAdminToken(o: {
	readonly store: Store;
	readonly path: string;
	readonly nowMs: number;
}): Promise<string> {
	const { store, path, nowMs } = o;
	const found = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return null;
		throw unusable(path, error);
	});
	if (found !== null && (await store.tokens.find(found.trim(), { nowMs })) !== null) return path;
	// Revoked, or of another database: the file is replaced. Whoever can do this owns the data folder and with it the database.
	await rm(path, { force: true });
	try {
		const file = await open(path, "wx", 0o600);
		try {
			const { secret } = await store.tokens.create(
				{ name: "first admin", role: "admin", subject: null, expiresAtMs: null },
				{ nowMs, actor: "system" },
			);
			await file.writeFile(`${secret}\n`);
			await file.sync();
		} finally {
			await file.close();
		}
	} catch (error) {
		// Another process on this folder was quicker: its token is as good.
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(path, error);
	}
	return path;
}

function unusable(path: string, cause: unknown): unknown {
	if (cause instanceof AssayError) return cause;
	return new AssayError("FILE_UNWRITABLE", `the admin's token cannot be kept in ${path}`, {
		hint: "The data folder must be writable for whoever runs the validator.",
		cause,
	});
}
