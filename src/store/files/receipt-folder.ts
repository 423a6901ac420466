// Receipts beside the evidence: receipts/ab/cdef….json, named by the SHA-256 of the evidence file they belong
// to, so that judging the evidence stays a matter of that file alone. Durable before `put` resolves. Small
// text files; what they say is src/protocol/chain/probe-receipt.ts, whether it is true
// src/chain/contracts/slashing.ts.
import { join } from "node:path";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { parseReceiptFile, type ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import { hex } from "../check-input.ts";

export function createReceiptFolder(dataDir: string) {
	const pathOf = (sha256: string): string => {
		hex("an evidence hash", sha256, 64);
		return join(dataDir, "receipts", sha256.slice(0, 2), `${sha256.slice(2)}.json`);
	};
	return {
		put: (file: ReceiptFile): Promise<void> =>
			writeDurably(pathOf(file.evidence), `${JSON.stringify(file)}\n`, {
				mode: 0o644,
				drafts: join(dataDir, "drafts"),
			}),
		/** Null: receipts were never asked for. Throws AssayError RECEIPTS_BAD for a file that somebody spoilt. */
		async get(sha256: string): Promise<ReceiptFile | null> {
			const text = await readIfPresent(pathOf(sha256));
			return text === null ? null : parseReceiptFile(String(text));
		},
	};
}
