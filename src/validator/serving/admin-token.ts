// The admin's first token: made at the first start and written where only its owner can read it. Later starts
// find the file and leave it.
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import type { Store } from "../../store/open-store.ts";

/** Gives the path. Of two processes that start at once in one folder, the file has one's token. */
export async function ensureAdminToken(o: {
	readonly store: Store;
	readonly path: string;
	readonly nowMs: number;
}): Promise<string> {
	const { store, path, nowMs } = o;
	const found = await readIfPresent(path);
	if (found !== null && (await store.tokens.find(String(found).trim(), { nowMs })) !== null) return path;
	// Revoked, or of another database: the file is replaced. Whoever can do this owns the data folder and with
	// it the database.
	const { secret } = await store.tokens.create(
		{ name: "first admin", role: "admin", subject: null, expiresAtMs: null },
		{ nowMs, actor: "system" },
	);
	await writeDurably(path, `${secret}\n`);
	return path;
}
