// Blobs there and back over the API piece by piece, docs/jobs.md §12: for Node and for browsers. An upload
// that is cut goes on where the server has it; what is fetched is checked by the blob's tree before anybody
// sees it. How bytes are read and hashed is passed in. Not here: files (blob-transfer.ts).
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes } from "../protocol/bytes/bytes.ts";
import { codedError } from "../protocol/coded-error.ts";
import { PIECE_BYTES, pieceBytes, pieceCount } from "../protocol/hash/blob-tree.ts";
import type { BlobName } from "../protocol/network/job-spec.ts";
import type { ApiClient } from "./create-client.ts";
import { createPatience, type PatienceOptions } from "./patience.ts";

export type UploadApi = Pick<ApiClient, "beginBlob" | "putBlob">;
export type DownloadApi = Pick<ApiClient, "getBlob" | "getJobBlob">;

/** The tree's hashes, docs/jobs.md §12: of a piece, and of all of them. */
export interface BlobHashes {
	readonly pieceRoot: (piece: Uint8Array) => Promise<Uint8Array> | Uint8Array;
	readonly foldPieces: (roots: readonly Uint8Array[]) => Promise<Uint8Array> | Uint8Array;
}

export interface TransferOptions extends PatienceOptions {
	/** Bytes that are there, as they come. */
	readonly onProgress?: (bytes: number, size: number) => void;
}

/**
 * Refusals after which the server is asked where the upload stands; more of them in a row than this are no
 * accident.
 */
const MOVED = ["BLOB_OFFSET", "BLOB_UNKNOWN"];
const MOST_MOVES = 8;

/** A blob whose name is known, and the roots of its pieces that fold to it. */
export interface NamedBlob {
	readonly blob: BlobName;
	readonly roots: readonly Uint8Array[];
	readonly read: (piece: number) => Promise<Uint8Array> | Uint8Array;
}

/**
 * Resolves when the server holds it for the caller. Throws what it refuses; BLOB_WRONG also when the bytes
 * changed meanwhile.
 */
export async function uploadPieces(
	api: UploadApi,
	{ blob: { root, size }, roots, read }: NamedBlob,
	{ pieceRoot }: Pick<BlobHashes, "pieceRoot">,
	options: TransferOptions = {},
): Promise<void> {
	const calls = { ...(options.signal && { signal: options.signal }) };
	const list = concatBytes(...roots);
	const patience = createPatience(options);
	const begin = () =>
		patience.until(async () => (await api.beginBlob({ params: { root }, query: { size }, body: list }, calls)).offset);
	let offset = await begin();
	let moves = 0;
	while (offset < size) {
		options.onProgress?.(offset, size);
		const at = offset / PIECE_BYTES;
		const body = await read(at);
		// Signed as what it was when it was named.
		const blobName = `${bytesToHex(roots[at]!)}-${body.length}`;
		try {
			const next = await api.putBlob({ params: { root }, query: { size, offset }, body }, { ...calls, blobName });
			({ offset } = next);
			moves = 0;
			patience.renew();
		} catch (error) {
			const isMoved = error instanceof AssayError && MOVED.includes(error.code);
			if (isMoved && ++moves > MOST_MOVES) throw error;
			if (!equalBytes(await pieceRoot(body), roots[at]!))
				throw wrongBlob(root, "the bytes changed while they were sent");
			// A piece that was cut off may be there all the same.
			if (!isMoved) await patience.wait(error);
			offset = await begin();
		}
	}
	options.onProgress?.(size, size);
}

export const wrongBlob = (what: string, why: string) => codedError("BLOB_WRONG", `${what}: ${why}`);

export interface Whence {
	/** A blob of this job; without it, of the caller's own. */
	readonly job?: string;
}

interface Taker {
	/** Of pieces that are there already. */
	readonly roots: Uint8Array[];
	readonly put: (piece: Uint8Array, at: number) => Promise<void> | void;
}

/** Throws BLOB_WRONG where the server gave other bytes than the name says. */
export async function fetchPieces(
	api: DownloadApi,
	{ root, size }: BlobName,
	options: TransferOptions & Whence,
	{ roots, put }: Taker,
	{ pieceRoot, foldPieces }: BlobHashes,
): Promise<void> {
	const { job, onProgress, signal } = options;
	const calls = { ...(signal && { signal }) };
	const patience = createPatience(options);
	const get = (first: number, length: number): Promise<Uint8Array> => {
		const query = { size, first, length };
		if (job === undefined) return api.getBlob({ params: { root }, query }, calls);
		return api.getJobBlob({ params: { id: job, root }, query }, calls);
	};
	while (roots.length < pieceCount(size)) {
		const [first, length] = [roots.length * PIECE_BYTES, pieceBytes(size, roots.length)];
		onProgress?.(first, size);
		const piece = await patience.until(() => get(first, length));
		if (piece.length !== length) throw wrongBlob(root, `${piece.length} bytes where ${length} were asked for`);
		roots.push(await pieceRoot(piece));
		await put(piece, first);
		patience.renew();
	}
	if (bytesToHex(await foldPieces(roots)) !== root)
		throw wrongBlob(root, "the bytes that came are not those that it names");
	onProgress?.(size, size);
}
