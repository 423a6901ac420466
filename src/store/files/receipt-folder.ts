// Receipts beside the evidence: receipts/ab/cdef….json, named by the SHA-256 of the evidence file they belong to, so that judging the evidence stays a matter of that file alone.
// Durable before `put` resolves. Small text files; what they say is src/protocol/chain/probe-receipt.ts, whether it is true src/chain/contracts/slashing.ts.
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { parseReceiptFile, type ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import { hex } from "../check-input.ts";

export interface ReceiptFolder {
	put(file: ReceiptFile): Promise<void>;
	/** Null: receipts were never asked for. Throws AssayError RECEIPTS_BAD for a file that somebody spoilt. */
	get(evidenceSha256: string): Promise<ReceiptFile | null>;
}

export function createReceiptFolder(dataDir: string): ReceiptFolder {
	const pathOf = (sha256: string): string => {
		hex("an evidence hash", sha256, 64);
		return join(dataDir, "receipts", sha256.slice(0, 2), `${sha256.slice(2)}.json`);
	};
	return {
		async put(file) {
			const path = pathOf(file.evidence);
			try {
				await mkdir(dirname(path), { recursive: true, mode: 0o755 });
				const draft = `${path}.${randomBytes(8).toString("hex")}`;
				const handle = await open(draft, "wx", 0o644);
				try {
					await handle.writeFile(`${JSON.stringify(file)}\n`);
					await handle.sync();
				} finally {
					await handle.close();
				}
				await rename(draft, path).catch(async (error) => {
					await rm(draft, { force: true });
					throw error;
				});
				for (const folder of [dirname(path), join(dataDir, "receipts"), dataDir]) {
					const place = await open(folder, "r");
					await place.sync().finally(() => place.close());
				}
			} catch (cause) {
				throw new AssayError("FILE_UNWRITABLE", `${path} cannot be written: ${(cause as Error).message}`, {
					hint: "Check the data folder's permissions and that its disk is not full.",
					cause,
				});
			}
		},
		async get(sha256) {
			let text: string;
			try {
				text = await readFile(pathOf(sha256), "utf8");
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
				throw error;
			}
			return parseReceiptFile(text);
		},
	};
}
