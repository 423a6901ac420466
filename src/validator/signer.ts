// The verifier's Ed25519 key: made on first use, kept in a file that only its owner can read. Signs evidence, nothing else.
// Whoever holds evidence decides which keys to believe; this file only makes "the same verifier as last time" checkable.
import { chmod, link, mkdir, open, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../protocol/bytes.ts";
import { createSigner, type Signer } from "../protocol/signer.ts";

const KEY_BYTES = 32;

/** ASSAY_HOME, else ${XDG_CONFIG_HOME:-~/.config}/assay; XDG says that relative paths there are to be ignored. */
export function signerPath(environment: Readonly<Record<string, string | undefined>>): string {
	if (environment.ASSAY_HOME) return join(environment.ASSAY_HOME, "verifier.key");
	const config = environment.XDG_CONFIG_HOME?.startsWith("/")
		? environment.XDG_CONFIG_HOME
		: join(homedir(), ".config");
	return join(config, "assay", "verifier.key");
}

/** The key in the file, or a new one written there. Two processes that start at once end with the same key. */
export async function loadSigner(path: string, randomBytes: (size: number) => Uint8Array): Promise<Signer> {
	const found = await readKey(path);
	if (found) return createSigner(found);
	try {
		await mkdir(dirname(path), { recursive: true, mode: 0o700 });
		await writeNewKey(path, randomBytes);
	} catch (cause) {
		throw new AssayError("KEY_UNUSABLE", `the verifier's key cannot be written to ${path}`, {
			hint: "Set ASSAY_HOME to a folder that you may write to.",
			cause,
		});
	}
	const written = await readKey(path);
	if (!written) throw new AssayError("KEY_UNUSABLE", `the verifier's key vanished from ${path}`);
	return createSigner(written);
}

/** Written beside and linked into place: whoever comes second keeps the first one's key, and nobody reads half a key. */
async function writeNewKey(path: string, randomBytes: (size: number) => Uint8Array): Promise<void> {
	const draft = `${path}.${bytesToHex(randomBytes(8))}`;
	const file = await open(draft, "wx", 0o600);
	try {
		await file.writeFile(`${bytesToHex(randomBytes(KEY_BYTES))}\n`);
		await file.sync();
		await file.close();
		await link(draft, path).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EEXIST") throw error;
		});
	} finally {
		await rm(draft, { force: true });
	}
}

async function readKey(path: string): Promise<Uint8Array | null> {
	let text: string;
	try {
		text = await readFile(path, "utf8");
		// A key that was copied about may have become readable to others.
		await chmod(path, 0o600);
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw new AssayError("KEY_UNUSABLE", `the verifier's key in ${path} cannot be read`, {
			hint: "Make the file yours (mode 0600), or set ASSAY_HOME to another folder.",
			cause,
		});
	}
	const key = hexToBytes(text.trim(), KEY_BYTES);
	if (!key) {
		throw new AssayError("KEY_UNUSABLE", `${path} does not hold a key (64 hex digits)`, {
			hint: "Move the file away; a new key is made on the next run.",
		});
	}
	return key;
}
