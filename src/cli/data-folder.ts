// Default data folders: a validator's, which `assay up` and `assay validate` share, and a provider's.
import { chmod, readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { makeFolder } from "../platform/durable-file.ts";
import { realEnvironment } from "../platform/environment.ts";
import { loadKeyFile } from "../platform/key-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import type { CliIo } from "./command.ts";

/**
 * ASSAY_HOME, else ${XDG_DATA_HOME:-~/.local/share}/assay; XDG says that relative paths there are to be
 * ignored.
 */
export const defaultDataDir = (env: CliIo["env"]): string => join(home(env), "network");

/**
 * Of `assay provide`; the key in it is the provider's name. The provider of `assay up` has a folder inside
 * the network's.
 */
export const defaultProviderDir = (env: CliIo["env"]): string => join(home(env), "provider");

/** Where vendors' files are kept for `assay attest`. */
export const defaultAttestDir = (env: CliIo["env"]): string => join(home(env), "attest");

function home(env: CliIo["env"]): string {
	if (env.ASSAY_HOME) return env.ASSAY_HOME;
	const data = env.XDG_DATA_HOME?.startsWith("/") ? env.XDG_DATA_HOME : join(homedir(), ".local", "share");
	return join(data, "assay");
}

/** The Ed25519 key that names the provider of this folder, made on first use. Throws KEY_UNUSABLE. */
export const loadProviderKey = (folder: string): Promise<Signer> =>
	loadKeyFile({
		path: join(folder, "provider.key"),
		name: "the provider's key",
		elsewhere: "Name with --data",
		randomBytes: realEnvironment().randomBytes,
	});

/**
 * Makes the folder and those above it, before anything else is begun: keys, tokens and evidence are for its
 * owner only. One that was there is closed to others too, if it is ours alone. Throws AssayError
 * FILE_UNWRITABLE.
 */
export async function makeDataDir(path: string): Promise<void> {
	try {
		await makeFolder(path);
		if (await isOursAlone(path)) await chmod(path, 0o700);
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot write to ${path}`, {
			hint: "Choose a folder that you may write to with --data.",
			cause,
		});
	}
}

/** What a data folder has and no other. */
const OURS = ["validator.key", "provider.key", "up.json", "rentals.json"];

/** Empty, or with our files in it: --data may also name /tmp or a home, which stay as they are. */
async function isOursAlone(path: string): Promise<boolean> {
	const { uid, mode } = await stat(path);
	if (uid !== process.getuid?.() || (mode & 0o1000) !== 0 || (mode & 0o077) === 0) return false;
	const names = await readdir(path);
	return names.length === 0 || OURS.some((name) => names.includes(name));
}
