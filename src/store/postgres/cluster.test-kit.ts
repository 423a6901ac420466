// A data folder's PostgreSQL cluster as a copy of one that was set up before, by the same code: setting one
// up takes a second of a core, and the tests need some fifty. How clusters are set up is tested where no copy
// is used: embedded-server.test.ts, server-rights.test.ts, and `assay up` in tests/cli and scripts.
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { appendFile, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ensureEmbeddedServer, stopEmbeddedServer } from "./embedded-server.ts";
import { findPostgresBinaries } from "./postgres-binaries.ts";

const MODELS = fileURLToPath(new URL("../../../build/test-clusters/", import.meta.url));
/** What decides how a cluster is set up. */
const MAKERS = ["embedded-server.ts", "postgres-role.ts", "postgres-account.ts", "cluster.test-kit.ts"];

/** Of these programs, for this user, by this code. */
async function modelFolder(binaries: string): Promise<string> {
	const key = createHash("sha256").update(`${binaries} ${process.getuid?.()} `);
	key.update(String((await stat(join(binaries, "postgres"))).mtimeMs));
	for (const name of MAKERS) key.update(await readFile(new URL(name, import.meta.url)));
	return join(MODELS, key.digest("hex").slice(0, 16));
}

/** Made beside and renamed into place: of several at once one is kept. */
async function makeModel(model: string, binaries: string): Promise<void> {
	const draft = `${model}-${randomBytes(6).toString("hex")}`;
	try {
		await ensureEmbeddedServer({ folder: draft, binaries, durable: false });
		await stopEmbeddedServer(draft);
		for (const own of ["port", "server.log"]) await rm(join(draft, own));
		await rename(draft, model);
	} catch (cause) {
		if (!(await exists(model))) throw cause;
	} finally {
		await rm(draft, { recursive: true, force: true });
	}
}

/**
 * Into a server's folder that is not there yet; `ensureEmbeddedServer` starts it. `durable`: whether it waits
 * for the disk.
 */
export async function copyCluster(
	folder: string,
	o: { readonly durable: boolean; readonly binaries?: string },
): Promise<void> {
	if (await exists(folder)) return;
	const binaries = o.binaries ?? (await findPostgresBinaries());
	const model = await modelFolder(binaries);
	if (!(await exists(model))) {
		await mkdir(MODELS, { recursive: true });
		await makeModel(model, binaries);
	}
	const draft = `${folder}-${randomBytes(6).toString("hex")}`;
	await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
	await promisify(execFile)("cp", ["-a", "--reflink=auto", model, draft]);
	if (!o.durable) await appendFile(join(draft, "data", "postgresql.conf"), "fsync = off\n");
	await rename(draft, folder);
}

const exists = (path: string): Promise<boolean> =>
	stat(path).then(
		() => true,
		() => false,
	);
