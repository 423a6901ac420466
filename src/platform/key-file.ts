// A key in a file that only its owner can read: made on first use, the same ever after. A spoilt file is refused, never replaced.
// Whoever runs something under a name of its own keeps it so: the validator (src/validator/probe/signer.ts), the provider (src/provider/), and the
// provider's account on a chain (src/provider/chain-account.ts), whose 32 bytes are no Ed25519 key.
import { chmod, link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../protocol/bytes/bytes.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import { createNodeSigner } from "./node-ed25519.ts";

const KEY_BYTES = 32;

export interface KeyFile {
	readonly path: string;
	/** For messages: "the verifier's key". */
	readonly name: string;
	/** How to name another folder, for hints: "Set ASSAY_HOME to". */
	readonly elsewhere: string;
	readonly randomBytes: (size: number) => Uint8Array;
	/** What to do about a spoilt file. Default: a new key is as good. */
	readonly spoiltHint?: string;
}

/** The Ed25519 key in the file, or a new one written there. Throws AssayError KEY_UNUSABLE. */
export const loadKeyFile = async (o: KeyFile): Promise<Signer> => createNodeSigner(await loadKeyBytes(o));

/** 32 bytes from the file, or random ones written there. Two processes that start at once end with the same ones. Throws AssayError KEY_UNUSABLE. */
export async function loadKeyBytes(o: KeyFile): Promise<Uint8Array> {
	const found = await readKey(o);
	if (found) return found;
	try {
		await mkdir(dirname(o.path), { recursive: true, mode: 0o700 });
		await writeNewKey(o);
	} catch (cause) {
		throw new AssayError("KEY_UNUSABLE", `${o.name} cannot be written to ${o.path}`, {
			hint: `${o.elsewhere} a folder that you may write to.`,
			cause,
		});
	}
	const written = await readKey(o);
	if (!written) throw new AssayError("KEY_UNUSABLE", `${o.name} vanished from ${o.path}`);
	return written;
}

/** Written beside and linked into place: whoever comes second keeps the first one's key, and nobody reads half a key. */
async function writeNewKey({ path, randomBytes }: KeyFile): Promise<void> {
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

async function readKey({ path, name, elsewhere, spoiltHint }: KeyFile): Promise<Uint8Array | null> {
	let text: string;
	try {
		text = await readFile(path, "utf8");
		// A key that was copied about may have become readable to others.
		await chmod(path, 0o600);
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw new AssayError("KEY_UNUSABLE", `${name} in ${path} cannot be read`, {
			hint: `Make the file yours (mode 0600). ${elsewhere} another folder otherwise.`,
			cause,
		});
	}
	const key = hexToBytes(text.trim(), KEY_BYTES);
	if (!key) {
		throw new AssayError("KEY_UNUSABLE", `${path} does not hold a key (64 hex digits)`, {
			hint: spoiltHint ?? "Move the file away; a new key is made on the next run.",
		});
	}
	return key;
}
