// Receipts beside the evidence: receipts/ab/cdef….json, named by the SHA-256 of the evidence file they belong
// to, so that judging the evidence stays a matter of that file alone. Durable before `put` resolves. With a
// bucket a copy goes there, so that every machine of a network finds them; a note unsent-receipts/<hash> says
// that the bucket has not got it yet. Small text files; what they say is src/protocol/chain/probe-receipt.ts,
// whether it is true src/chain/contracts/slashing.ts.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { parseReceiptFile, type ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import type { Bucket } from "../bucket/bucket.ts";
import { hex } from "../check-input.ts";

/** Some 300 bytes a challenge. */
const MOST_BYTES = 2 ** 20;

export function createReceiptFolder(dataDir: string, bucket: Bucket | null = null) {
	const [unsent, drafts] = [join(dataDir, "unsent-receipts"), join(dataDir, "drafts")];
	const nameOf = (sha256: string): string => {
		hex("an evidence hash", sha256, 64);
		return `receipts/${sha256.slice(0, 2)}/${sha256.slice(2)}.json`;
	};
	const pathOf = (sha256: string): string => join(dataDir, nameOf(sha256));
	const write = (path: string, text: string) => writeDurably(path, text, { mode: 0o644, drafts });

	async function send(sha256: string): Promise<void> {
		const bytes = await readIfPresent(pathOf(sha256));
		// Killed between note and file: there is nothing to send.
		if (bytes !== null) await bucket!.put(nameOf(sha256), bytes);
		await rm(join(unsent, sha256), { force: true });
	}

	return {
		/** Nobody waits for the bucket: `sendUnsent` brings it there. */
		async put(file: ReceiptFile): Promise<void> {
			// The note first: a file without a note would never be sent.
			if (bucket !== null) await write(join(unsent, file.evidence), "");
			await write(pathOf(file.evidence), `${JSON.stringify(file)}\n`);
		},
		/**
		 * Null: receipts were never asked for. Throws AssayError RECEIPTS_BAD for a file that somebody spoilt.
		 */
		async get(sha256: string): Promise<ReceiptFile | null> {
			const local = await readIfPresent(pathOf(sha256));
			const text = local ?? (await bucket?.get(nameOf(sha256), MOST_BYTES)) ?? null;
			if (text === null) return null;
			const file = parseReceiptFile(Buffer.from(text).toString("utf8"));
			// ATTACK: a bucket that gives the receipts of other evidence.
			if (file.evidence !== sha256) throw new AssayError("RECEIPTS_BAD", "these receipts are of other evidence");
			return file;
		},
		/** What the bucket has not got yet; ends with the first that fails. */
		async sendUnsent(): Promise<void> {
			if (bucket === null) return;
			await makeFolder(unsent, 0o755);
			for (const sha256 of await readdir(unsent)) if (/^[0-9a-f]{64}$/.test(sha256)) await send(sha256);
		},
	};
}
