// Small files of a validator's chain folder: secrets and whole values. Durable before they resolve.
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";

const SECRET_BYTES = 32;

/** 32 random bytes in a file that only its owner reads; the same ever after. A spoilt file is refused, never replaced. */
export async function loadSecret(path: string, randomBytes: (size: number) => Uint8Array): Promise<Uint8Array> {
	const found = await readText(path);
	if (found === null) {
		await mkdir(dirname(path), { recursive: true, mode: 0o700 });
		const draft = `${path}.${bytesToHex(randomBytes(8))}`;
		await write(draft, `${bytesToHex(randomBytes(SECRET_BYTES))}\n`, "wx");
		// Whoever comes second keeps the first one's.
		await link(draft, path).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EEXIST") throw error;
		});
		await rm(draft);
	}
	const secret = hexToBytes((found ?? (await readText(path)) ?? "").trim(), SECRET_BYTES);
	if (secret === null)
		throw new AssayError("KEY_UNUSABLE", `${path} is not a key of ${2 * SECRET_BYTES} hex digits`, {
			hint: "Restore it from a copy: whatever the account holds is lost with its key.",
		});
	return secret;
}

export async function writeWhole(path: string, text: string): Promise<void> {
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	await write(`${path}.new`, text, "w");
	await rename(`${path}.new`, path);
}

/** Null when there is no such file. */
export async function readText(path: string): Promise<string | null> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
}

async function write(path: string, text: string, flag: "w" | "wx"): Promise<void> {
	const file = await open(path, flag, 0o600);
	try {
		await file.writeFile(text);
		await file.sync();
	} finally {
		await file.close();
	}
}
