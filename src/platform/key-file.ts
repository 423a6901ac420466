// A secret of 32 bytes in a file that only its owner can read: made on first use, the same ever after. A file
// that does not hold a key is refused, never replaced. Of two processes that start at once both end with the
// same key.
import { chmod } from "node:fs/promises";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../protocol/bytes/bytes.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import { createDurably, readIfPresent } from "./durable-file.ts";
import { createNodeSigner } from "./node-ed25519.ts";

const KEY_BYTES = 32;

export interface KeyFile {
	readonly path: string;
	/** For messages: "the verifier's key". */
	readonly name: string;
	/** How to name another folder, for hints: "Set ASSAY_HOME to". */
	readonly elsewhere: string;
	readonly randomBytes: (size: number) => Uint8Array;
}

/** An Ed25519 key: a new one is as good as one that was lost. Throws AssayError KEY_UNUSABLE. */
export const loadKeyFile = async (o: KeyFile): Promise<Signer> =>
	createNodeSigner(await loadBytes(o, "Move the file away; a new key is made on the next run."));

/** The key of an account, which may hold something. Throws AssayError KEY_UNUSABLE. */
export const loadAccountKey = (o: KeyFile): Promise<Uint8Array> =>
	loadBytes(o, "Restore it from a copy: whatever the account holds is lost with its key.");

async function loadBytes(o: KeyFile, hint: string): Promise<Uint8Array> {
	const found = await readKey(o, hint);
	if (found) return found;
	try {
		await createDurably(o.path, `${bytesToHex(o.randomBytes(KEY_BYTES))}\n`);
	} catch (cause) {
		throw new AssayError("KEY_UNUSABLE", `${o.name} cannot be written to ${o.path}`, {
			hint: `${o.elsewhere} a folder that you may write to.`,
			cause,
		});
	}
	const written = await readKey(o, hint);
	if (!written) throw new AssayError("KEY_UNUSABLE", `${o.name} vanished from ${o.path}`);
	return written;
}

async function readKey({ path, name, elsewhere }: KeyFile, hint: string): Promise<Uint8Array | null> {
	let text: string | undefined;
	try {
		text = (await readIfPresent(path))?.toString();
		if (text === undefined) return null;
		// A key that was copied about may have become readable to others.
		await chmod(path, 0o600);
	} catch (cause) {
		throw new AssayError("KEY_UNUSABLE", `${name} in ${path} cannot be read`, {
			hint: `Make the file yours (mode 0600). ${elsewhere} another folder otherwise.`,
			cause,
		});
	}
	const key = hexToBytes(text.trim(), KEY_BYTES);
	if (!key) throw new AssayError("KEY_UNUSABLE", `${path} does not hold a key (64 hex digits)`, { hint });
	return key;
}
