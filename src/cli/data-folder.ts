// Where data lie unless a command says otherwise: a validator's, which `assay up` and `assay validate` share, and a provider's.
import { mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";
import type { CliIo } from "./command.ts";

/** ASSAY_HOME, else ${XDG_DATA_HOME:-~/.local/share}/assay; XDG says that relative paths there are to be ignored. */
export const defaultDataDir = (env: CliIo["env"]): string => join(home(env), "network");

/** Of `assay provide`; the key in it is the provider's name. The provider of `assay up` has a folder inside the network's. */
export const defaultProviderDir = (env: CliIo["env"]): string => join(home(env), "provider");

function home(env: CliIo["env"]): string {
	if (env.ASSAY_HOME) return env.ASSAY_HOME;
	const data = env.XDG_DATA_HOME?.startsWith("/") ? env.XDG_DATA_HOME : join(homedir(), ".local", "share");
	return join(data, "assay");
}

/**
 * Makes the folder and those above it, before anything else is begun. One by one: Node's recursive way tries for ever where a folder cannot be
 * made although the one above it is there, as in /proc. Throws AssayError FILE_UNWRITABLE.
 */
export async function makeDataDir(path: string, mode = 0o777): Promise<void> {
	const missing: string[] = [];
	try {
		for (let at = resolve(path); !(await isFolder(at)); at = dirname(at)) missing.unshift(at);
		for (const folder of missing)
			await mkdir(folder, { mode }).catch(async (error) => {
				// Another process was quicker.
				if (!(await isFolder(folder))) throw error;
			});
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `nothing can be written to ${path}`, {
			hint: "Name a folder of your own with --data.",
			cause,
		});
	}
}

/** False where nothing is; throws where something else is. */
async function isFolder(path: string): Promise<boolean> {
	const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return null;
		throw error;
	});
	if (found !== null && !found.isDirectory()) throw new Error(`${path} is no folder`);
	return found !== null;
}
