// up.json in the data folder of a running `assay up`: where it is, who it is, which process. Other commands find the network by it, and a second
// `up` finds the first. Not a database: what it says is only believed while its process lives.
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { makeDataDir } from "../data-folder.ts";

export interface UpFile {
	readonly pid: number;
	/** When the kernel started that process, in its own ticks: ids are used again, a pair of both is not. */
	readonly startTicks: string;
	readonly startedAtMs: number;
	/** Null until the API answers. */
	readonly url: string | null;
	/** The validator's key, the audience of signed requests. */
	readonly key: string | null;
}

export interface UpHold {
	publish(where: { readonly url: string; readonly key: string }): Promise<void>;
	release(): Promise<void>;
}

const upPath = (dataDir: string) => join(dataDir, "up.json");

/** The network that runs from this folder now, or null. */
export async function readRunningUp(dataDir: string): Promise<UpFile | null> {
	const found = await readUpFile(upPath(dataDir));
	return found !== null && (await isAlive(found)) ? found : null;
}

/** Throws UP_RUNNING when another process has it. */
export async function takeUpFile(dataDir: string, nowMs: number): Promise<UpHold> {
	const path = upPath(dataDir);
	const own: UpFile = {
		pid: process.pid,
		startTicks: (await startTicksOf(process.pid)) ?? "",
		startedAtMs: nowMs,
		url: null,
		key: null,
	};
	const draft = `${path}.${process.pid}`;
	const write = (content: UpFile) => writeFile(draft, `${JSON.stringify(content)}\n`, { mode: 0o600 });
	try {
		await makeDataDir(dataDir);
		await write(own);
		// Linked and not renamed: of two that start at once the second finds the first one's.
		while (!(await linked(draft, path))) await setAside(path, dataDir);
	} catch (cause) {
		if (cause instanceof AssayError) throw cause;
		throw new AssayError("FILE_UNWRITABLE", `nothing can be written to ${dataDir}`, {
			hint: "Name a folder of your own with --data.",
			cause,
		});
	} finally {
		await rm(draft, { force: true }).catch(() => {});
	}
	return {
		async publish(where) {
			await write({ ...own, ...where });
			await rename(draft, path);
		},
		release: () => rm(path, { force: true }),
	};
}

async function linked(draft: string, path: string): Promise<boolean> {
	try {
		await link(draft, path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	}
}

/** Moves away what a dead process left. What was moved is looked at again: another starter may have put its own there meanwhile. */
async function setAside(path: string, dataDir: string): Promise<void> {
	const refuse = (running: UpFile) =>
		new AssayError(
			"UP_RUNNING",
			`a network runs from ${dataDir} already${running.url === null ? "" : `, at ${running.url}`} (process ${running.pid})`,
			{ hint: "Use that one, stop it with Ctrl-C where it runs, or name another folder with --data." },
		);
	const found = await readUpFile(path);
	if (found !== null && (await isAlive(found))) throw refuse(found);
	const aside = `${path}.stale.${process.pid}`;
	await rename(path, aside).catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "ENOENT") throw error;
	});
	const moved = await readUpFile(aside);
	if (moved !== null && (await isAlive(moved))) {
		await linked(aside, path);
		await rm(aside, { force: true });
		throw refuse(moved);
	}
	await rm(aside, { force: true });
}

/** Null: absent, or not one of ours. */
async function readUpFile(path: string): Promise<UpFile | null> {
	try {
		const { pid, startTicks, startedAtMs, url, key } = JSON.parse(await readFile(path, "utf8"));
		const isOurs = Number.isSafeInteger(pid) && pid > 0 && typeof startTicks === "string";
		const text = (value: unknown) => (typeof value === "string" ? value : null);
		return isOurs ? { pid, startTicks, startedAtMs: Number(startedAtMs), url: text(url), key: text(key) } : null;
	} catch {
		return null;
	}
}

async function isAlive({ pid, startTicks }: UpFile): Promise<boolean> {
	return (await startTicksOf(pid)) === startTicks;
}

/** Field 22 of /proc/PID/stat; the name in field 2 may hold anything, so it is counted from its closing bracket. */
async function startTicksOf(pid: number): Promise<string | null> {
	const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
	const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
	// A zombie has ended.
	return fields === undefined || fields[0] === "Z" ? null : (fields[19] ?? null);
}
