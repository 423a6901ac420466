// Bytes of our own into the store of blobs, as an uploader would bring them.

import { foldPieces, PIECE_BYTES, pieceCount, pieceRoot } from "../../../platform/blob-tree.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";

export async function putOwnBlob(blobs: Blobs, holder: string, bytes: Uint8Array): Promise<BlobName> {
	const pieces = Array.from({ length: pieceCount(bytes.length) }, (_, i) =>
		bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES),
	);
	const roots: Uint8Array[] = [];
	for (const piece of pieces) roots.push(await pieceRoot(piece));
	const blob = { root: bytesToHex(foldPieces(roots)), size: bytes.length };
	let offset = await blobs.begin(holder, blob, roots);
	while (offset < bytes.length) offset = await blobs.put(holder, blob, offset, pieces[offset / PIECE_BYTES]!);
	return blob;
}
