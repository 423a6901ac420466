// up.json in the data folder of a running `assay up`: where it is, who it is, which process. Other commands
// find the network by it. Only one `up` runs from a folder (src/platform/folder-lock.ts). ATTACK: the admin's
// token goes to the URL in this file, so it is believed only while the process that wrote it lives.
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeDurably } from "../../platform/durable-file.ts";
import { lockFolder } from "../../platform/folder-lock.ts";
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

/** Throws UP_RUNNING when another process has the folder. */
export async function takeUpFile(dataDir: string, nowMs: number): Promise<UpHold> {
	const path = upPath(dataDir);
	await makeDataDir(dataDir);
	const running = await readRunningUp(dataDir);
	const lock = running === null ? await lockFolder(dataDir) : null;
	if (lock === null) {
		const { url, pid } = running ?? (await readUpFile(path)) ?? {};
		throw new AssayError(
			"UP_RUNNING",
			`a network runs from ${dataDir} already${url ? `, at ${url}` : ""}${pid ? ` (process ${pid})` : ""}`,
			{ hint: "Use that one, stop it with Ctrl-C where it runs, or choose another folder with --data." },
		);
	}
	const startTicks = (await startTicksOf(process.pid)) ?? "";
	const own: UpFile = { pid: process.pid, startTicks, startedAtMs: nowMs, url: null, key: null };
	const write = (content: UpFile) => writeDurably(path, `${JSON.stringify(content)}\n`);
	await write(own).catch(async (error) => {
		await lock.release();
		throw error;
	});
	return {
		publish: (where) => write({ ...own, ...where }),
		async release() {
			await rm(path, { force: true });
			await lock.release();
		},
	};
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
