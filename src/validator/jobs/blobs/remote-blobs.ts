// Blobs behind the door of another process of this validator: the same as the folder's, over the API. Pieces
// are checked there as they come.
import { downloadBlob } from "../../../api/blob-transfer.ts";
import type { ApiClient } from "../../../api/create-client.ts";
import { PIECE_BYTES, pieceRoot } from "../../../platform/blob-tree.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, concatBytes } from "../../../protocol/bytes/bytes.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";

type Door = Pick<
	ApiClient,
	"beginBlob" | "putBlob" | "getBlob" | "getJobBlob" | "releaseBlob" | "shareBlob" | "listBlobs" | "rows"
>;

export function createRemoteBlobs(door: Door): Blobs {
	const of = ({ root, size }: BlobName, holder: string) => ({ params: { root }, query: { size, holder } });
	const share: Blobs["share"] = async (holder, blob, other) => {
		const { params, query } = of(blob, holder);
		await door.shareBlob({ params, query: { ...query, to: other } });
	};
	return {
		async begin(holder, blob, pieces, guest) {
			const { params, query } = of(blob, holder);
			// What the holder is there that process finds out itself, in the same database.
			const from = guest === undefined ? {} : { from: guest.from };
			return (await door.beginBlob({ params, query: { ...query, ...from }, body: concatBytes(...pieces) })).offset;
		},
		async put(holder, blob, offset, bytes, root = null) {
			const { params, query } = of(blob, holder);
			const blobName = `${bytesToHex(root ?? (await pieceRoot(bytes)))}-${bytes.length}`;
			return (await door.putBlob({ params, query: { ...query, offset }, body: bytes }, { blobName })).offset;
		},
		async read(holder, blob, first, length) {
			const { params, query } = of(blob, holder);
			const end = Math.min(blob.size, first + length);
			const read: Uint8Array[] = [];
			for (let at = first; at < end; at += PIECE_BYTES)
				read.push(
					await door.getBlob({ params, query: { ...query, first: at, length: Math.min(PIECE_BYTES, end - at) } }),
				);
			return concatBytes(...read);
		},
		async linkTo(holder, blob, path) {
			const { params, query } = of(blob, holder);
			// From another disk: a copy, checked on the way.
			await downloadBlob(
				{ ...door, getBlob: ({ query: range }) => door.getBlob({ params, query: { ...query, ...range } }) },
				blob,
				path,
			);
		},
		share,
		async shareAll(holder, blobs, other) {
			const absent: BlobName[] = [];
			for (const blob of blobs)
				await share(holder, blob, other).catch((error: unknown) => {
					if (!(error instanceof AssayError) || error.code !== "BLOB_UNKNOWN") throw error;
					absent.push(blob);
				});
			return absent;
		},
		async release(holder, blob) {
			await door.releaseBlob(of(blob, holder));
		},
		async list(holder, { after, limit }) {
			const { rows, cursor } = await door.listBlobs({ query: { holder, limit, ...(after && { cursor: after }) } });
			return { rows, next: cursor };
		},
		async held(holder) {
			const held: BlobName[] = [];
			for await (const { root, size } of door.rows("listBlobs", { query: { holder, limit: 500 } }))
				held.push({ root, size });
			return held;
		},
	};
}
