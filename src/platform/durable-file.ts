// A durable file: written whole or not at all, and on disk before the call resolves. A draft is written and
// synced, then given its name, then the folder is synced; a power cut leaves the file as it was or as it is
// now, never half of it. A process killed in between leaves a draft, which nobody reads and removeDrafts
// clears away.
import { randomBytes } from "node:crypto";
import * as nodeFs from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";

export type Content = Parameters<typeof nodeFs.writeFile>[1];

export interface DurableOptions {
	/** Default 0o600: for its owner only. Missing folders are made, for whoever may read the file. */
	readonly mode?: number;
	/** Where the draft is written, on the same disk. Default: beside the file. */
	readonly drafts?: string;
	/** For tests, which trace the calls. */
	readonly fs?: Pick<typeof nodeFs, "open" | "rename" | "link" | "rm">;
}

/** Replaces what is there. Throws AssayError FILE_UNWRITABLE. */
export async function writeDurably(path: string, content: Content, options: DurableOptions = {}): Promise<void> {
	await putDurably(path, content, options, (fs, draft) => fs.rename(draft, path));
}

/**
 * Keeps what is there, and is false then: of two that create a file at once, one does. Throws AssayError
 * FILE_UNWRITABLE.
 */
export async function createDurably(path: string, content: Content, options: DurableOptions = {}): Promise<boolean> {
	let isNew = true;
	await putDurably(path, content, options, async (fs, draft) => {
		await fs.link(draft, path).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EEXIST") throw error;
			isNew = false;
		});
		await fs.rm(draft);
	});
	return isNew;
}

/**
 * All of them: a disk that is nearly full takes some of what it is given, and says only how many. Not
 * durable.
 */
export async function writeAll(file: nodeFs.FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
	for (let done = 0; done < bytes.length; )
		done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
}

async function putDurably(
	path: string,
	content: Content,
	{ mode = 0o600, drafts = dirname(path), fs = nodeFs }: DurableOptions,
	giveName: (fs: NonNullable<DurableOptions["fs"]>, draft: string) => Promise<void>,
): Promise<void> {
	const draft = join(drafts, `${basename(path)}.${randomBytes(8).toString("hex")}.draft`);
	try {
		// Who may read the file may look into its folder.
		for (const folder of [dirname(path), drafts]) await makeFolder(folder, mode | ((mode & 0o444) >> 2));
		const file = await fs.open(draft, "wx", mode);
		try {
			await file.writeFile(content);
			await file.sync();
		} finally {
			await file.close();
		}
		await giveName(fs, draft);
		await syncFolder(dirname(path), fs);
	} catch (cause) {
		await fs.rm(draft, { force: true }).catch(() => {});
		if (cause instanceof AssayError) throw cause;
		throw new AssayError("FILE_UNWRITABLE", `${path} cannot be written: ${(cause as Error).message}`, {
			hint: "Check the folder's permissions and that its disk is not full.",
			cause,
		});
	}
}

/** Makes names in the folder durable: new ones, changed ones and removed ones. */
export async function syncFolder(path: string, fs: Pick<typeof nodeFs, "open"> = nodeFs): Promise<void> {
	const folder = await fs.open(path, "r");
	await folder.sync().finally(() => folder.close());
}

/**
 * Makes the folder and what is missing above it, durably. One by one: Node's recursive way tries for ever
 * where a folder cannot be made although the one above it is there, as in /proc.
 */
export async function makeFolder(path: string, mode = 0o700): Promise<void> {
	const missing: string[] = [];
	for (let at = resolve(path); !(await isFolder(at)); at = dirname(at)) missing.unshift(at);
	for (const folder of missing) {
		await nodeFs.mkdir(folder, { mode }).catch(async (error) => {
			// Another process was quicker.
			if (!(await isFolder(folder))) throw error;
		});
		// A folder that may be written but not read cannot be synced.
		await syncFolder(dirname(folder)).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EACCES") throw error;
		});
	}
}

/** False where nothing is; throws where something else is. */
async function isFolder(path: string): Promise<boolean> {
	const found = await nodeFs.stat(path).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return null;
		throw error;
	});
	if (found !== null && !found.isDirectory()) throw new Error(`${path} is no folder`);
	return found !== null;
}

/** What a file holds; null when there is none. Throws AssayError FILE_UNREADABLE. */
export async function readIfPresent(path: string): Promise<Buffer | null> {
	try {
		return await nodeFs.readFile(path);
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw new AssayError("FILE_UNREADABLE", `${path} cannot be read: ${(cause as Error).message}`, { cause });
	}
}

/** Drafts in the folder that killed processes left: those older than any write takes. */
export async function removeDrafts(folder: string, olderThanMs = 3_600_000): Promise<void> {
	for (const name of await nodeFs.readdir(folder).catch(() => [])) {
		if (!name.endsWith(".draft")) continue;
		const found = await nodeFs.stat(join(folder, name)).catch(() => null);
		if (found && Date.now() - found.mtimeMs > olderThanMs) await nodeFs.rm(join(folder, name), { force: true });
	}
}

export const isThere = (path: string): Promise<boolean> =>
	nodeFs.access(path).then(
		() => true,
		() => false,
	);
