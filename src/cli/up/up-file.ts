// up.json in the data folder of a running `assay up`: where it is, who it is, which process. Other commands
// find the network by it. Only one `up` runs from a folder (src/platform/folder-lock.ts). ATTACK: the admin's
// token goes to the URL in this file, so it is believed only while the process that wrote it lives.
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeDurably } from "../../platform/durable-file.ts";
import { lockFolder } from "../../platform/folder-lock.ts";
import { isRunning, markOwnProcess, type ProcessMark } from "../../platform/living-process.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { makeDataDir } from "../data-folder.ts";

export interface UpFile extends ProcessMark {
	readonly startedAtMs: number;
	/** Null until the API answers. */
	readonly url: string | null;
	/** The validator's key, the audience of signed requests. */
	readonly key: string | null;
	/** How many hosts it has ready for jobs in the end; they come one after the other. */
	readonly providers: number;
	/** Its only host lies, and the others come once it is convicted. */
	readonly isLiar: boolean;
	readonly dataDir: string;
}

export interface UpHold {
	publish(where: Pick<UpFile, "providers" | "isLiar"> & { readonly url: string; readonly key: string }): Promise<void>;
	release(): Promise<void>;
}

const upPath = (dataDir: string) => join(dataDir, "up.json");

/** The network that runs from this folder now, or null. */
export async function readRunningUp(dataDir: string): Promise<UpFile | null> {
	const found = await readUpFile(dataDir);
	if (found === null || !(await isRunning(found)) || (await isCopy(found, dataDir))) return null;
	return { ...found, dataDir };
}

/** The folder was copied from the one of that network. */
async function isCopy(found: UpFile, dataDir: string): Promise<boolean> {
	const [first, here] = await Promise.all([found.dataDir, dataDir].map((path) => stat(path).catch(() => null)));
	return first != null && here != null && (first.dev !== here.dev || first.ino !== here.ino);
}

/** Throws UP_RUNNING when another process has the folder. */
export async function takeUpFile(dataDir: string, nowMs: number): Promise<UpHold> {
	const path = upPath(dataDir);
	await makeDataDir(dataDir);
	const running = await readRunningUp(dataDir);
	const lock = running === null ? await lockFolder(dataDir) : null;
	if (lock === null) {
		const { url, pid } = running ?? (await readUpFile(dataDir)) ?? {};
		throw new AssayError(
			"UP_RUNNING",
			`a network runs from ${dataDir} already${url ? `, at ${url}` : ""}${pid ? ` (process ${pid})` : ""}`,
			{ hint: "Use that one, stop it with Ctrl-C where it runs, or choose another folder with --data." },
		);
	}
	const own: UpFile = {
		...{ ...(await markOwnProcess()), startedAtMs: nowMs, url: null, key: null },
		...{ providers: 0, isLiar: false, dataDir },
	};
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
async function readUpFile(dataDir: string): Promise<UpFile | null> {
	try {
		const said = JSON.parse(await readFile(upPath(dataDir), "utf8"));
		const { pid, startTicks, startedAtMs, url, key, providers, isLiar } = said;
		const isOurs = Number.isSafeInteger(pid) && pid > 0 && typeof startTicks === "string";
		const text = (value: unknown) => (typeof value === "string" ? value : null);
		if (!isOurs) return null;
		const where = { url: text(url), key: text(key), providers: Number(providers) || 0, isLiar: isLiar === true };
		return { pid, startTicks, startedAtMs: Number(startedAtMs), ...where, dataDir: text(said.dataDir) ?? dataDir };
	} catch {
		return null;
	}
}
