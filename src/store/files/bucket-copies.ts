// Evidence between the data folder and a bucket: what is kept is durable in the folder first, then sent, and
// leaves the folder when the bucket has acknowledged the same bytes. A note unsent/<hash> says that the only
// copy is here. Without a bucket everything stays in the folder.
import { createHash } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { readIfPresent } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Bucket } from "../bucket/bucket.ts";

/** How long a note may be without its file. */
const BEING_WRITTEN_MS = 600_000;
/** Of a file that a bucket gives; the largest evidence that is read anywhere. */
const MOST_BYTES = 64 * 1024 * 1024;

export const corrupt = (sha256: string, found: string) =>
	new AssayError("EVIDENCE_CORRUPT", `the file of the evidence ${sha256} hashes to ${found}`);

export function createBucketCopies({
	bucket,
	unsent,
	fileOf,
	write,
	onWarning,
}: {
	readonly bucket: Bucket | null;
	/** The folder of notes. */
	readonly unsent: string;
	readonly fileOf: (sha256: string) => string;
	readonly write: (path: string, content: Uint8Array | string) => Promise<void>;
	readonly onWarning: (message: string) => void;
}) {
	const objectOf = (sha256: string): string => `evidence/${sha256.slice(0, 2)}/${sha256.slice(2)}`;

	/** The folder's copy goes only when the bucket has acknowledged the same bytes. */
	async function send(sha256: string, bytes: Uint8Array): Promise<void> {
		await bucket!.put(objectOf(sha256), bytes);
		await rm(fileOf(sha256), { force: true });
		await rm(join(unsent, sha256), { force: true });
	}

	/** Durable here before this resolves; in the bucket too, unless it fails: then later. */
	async function keep(sha256: string, bytes: Uint8Array): Promise<void> {
		if (bucket === null) return write(fileOf(sha256), bytes);
		// The note first: a file without a note would never be sent.
		await write(join(unsent, sha256), "");
		await write(fileOf(sha256), bytes);
		await send(sha256, bytes).catch((error) => onWarning(`evidence ${sha256} waits for the bucket: ${error.message}`));
	}

	/** What failed before, and what a killed process left. One at a time; ends with the first that fails. */
	async function sendUnsent(): Promise<number> {
		let sent = 0;
		if (bucket === null) return sent;
		for (const sha256 of await readdir(unsent)) {
			if (!/^[0-9a-f]{64}$/.test(sha256)) continue;
			const bytes = await readIfPresent(fileOf(sha256));
			const isWhole = bytes !== null && createHash("sha256").update(bytes).digest("hex") === sha256;
			if (isWhole) {
				await send(sha256, bytes);
				sent += 1;
				continue;
			}
			// Killed between note and file, or after the bucket had it; unless its file is being written now.
			const note = await stat(join(unsent, sha256)).catch(() => null);
			if (note !== null && Date.now() - note.mtimeMs > BEING_WRITTEN_MS)
				await rm(join(unsent, sha256), { force: true });
		}
		return sent;
	}

	async function get(sha256: string): Promise<Uint8Array | null> {
		const bytes = bucket === null ? null : await bucket.get(objectOf(sha256), MOST_BYTES);
		if (bytes === null) return null;
		const found = createHash("sha256").update(bytes).digest("hex");
		if (found !== sha256) throw corrupt(sha256, found);
		return bytes;
	}

	return {
		keep,
		sendUnsent,
		/** null: the bucket has none, or there is no bucket. Verified by its hash: EVIDENCE_CORRUPT. */
		get,
		has: async (sha256: string): Promise<boolean> => bucket !== null && (await bucket.has(objectOf(sha256))),
		remove: async (sha256: string): Promise<void> => await bucket?.remove(objectOf(sha256)),
	};
}
