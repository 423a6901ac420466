// Blobs of somebody else's job for whoever runs it again: read over the API as they are needed, kept in a
// folder until the claim is done with. Each is checked by its tree as it comes. Nothing is uploaded.
import { copyFile, link, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { downloadBlob } from "../../../api/blob-transfer.ts";
import type { ApiClient } from "../../../api/create-client.ts";
import { makeFolder } from "../../../platform/durable-file.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { EvidenceMeans } from "../evidence/claim-at-hand.ts";

export function openJobBlobs(
	api: Pick<ApiClient, "getBlob" | "getJobBlob">,
	job: string,
	folder: string,
): EvidenceMeans["blobs"] & { remove(): Promise<void> } {
	const fetched = async (blob: BlobName): Promise<string> => {
		await makeFolder(folder);
		const path = join(folder, `${blob.root}-${blob.size}`);
		if ((await stat(path).catch(() => null)) === null) await downloadBlob(api, blob, path, { job });
		return path;
	};
	return {
		async read(_, blob, first, length) {
			const bytes = await readFile(await fetched(blob));
			return new Uint8Array(bytes.subarray(first, first + length));
		},
		async linkTo(_, blob, path) {
			const from = await fetched(blob);
			await link(from, path).catch(() => copyFile(from, path));
		},
		async share() {
			throw new AssayError("BLOB_UNKNOWN", "a watcher holds nothing that others uploaded");
		},
		async release() {},
		remove: () => rm(folder, { recursive: true, force: true }),
	};
}
