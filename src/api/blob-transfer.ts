// Blobs there and back over the API for programs on Node, docs/jobs.md §12: of files or bytes in memory, a
// MiB or two at a time however large they are. A download goes on with what is on disk. Not here: the pieces
// themselves (blob-pieces.ts, for browsers too).
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { foldPieces, PIECE_BYTES, pieceBytes, pieceCount, pieceRoot } from "../platform/blob-tree.ts";
import { syncFolder, writeAll } from "../platform/durable-file.ts";
import { someAtOnce } from "../platform/some-at-once.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import type { BlobName } from "../protocol/network/job-spec.ts";
import {
	type DownloadApi,
	fetchPieces,
	type TransferOptions,
	type UploadApi,
	uploadPieces,
	type Whence,
	wrongBlob,
} from "./blob-pieces.ts";

const HASHES = { pieceRoot, foldPieces };

/** What a blob is called, and the roots of its pieces. */
export interface BlobRoots {
	readonly blob: BlobName;
	readonly roots: readonly Uint8Array[];
}

/** A file, or bytes in memory; those of a function are made when their turn has come. */
type BlobBytes = { readonly path: string } | { readonly bytes: Uint8Array | (() => Uint8Array) };
/** Hashed already by whoever knows its name: that takes seconds for 100 MB. */
export type BlobSource = BlobBytes & { readonly named?: BlobRoots };

/** The name of a blob, and the roots of its pieces that fold to it. */
export async function nameBlob(source: BlobBytes, signal?: AbortSignal): Promise<BlobRoots> {
	return await withPieces(source, async (size, read) => {
		const roots: Uint8Array[] = [];
		for (let i = 0; i < pieceCount(size); i++) {
			signal?.throwIfAborted();
			roots.push(await pieceRoot(await read(i)));
		}
		return { blob: { root: bytesToHex(foldPieces(roots)), size }, roots };
	});
}

/**
 * Resolves when the server holds it for the caller. Throws what it refuses; BLOB_WRONG also when the file
 * changed meanwhile.
 */
export async function uploadBlob(api: UploadApi, source: BlobSource, options: TransferOptions = {}): Promise<BlobName> {
	const { blob, roots } = source.named ?? (await nameBlob(source, options.signal));
	await withPieces(source, (_, read) => uploadPieces(api, { blob, roots, read }, HASHES, options));
	return blob;
}

/** Several, a few at once. Each is read when its turn has come. */
export async function uploadBlobs(
	api: UploadApi,
	sources: readonly BlobSource[],
	options: Omit<TransferOptions, "onProgress"> & { readonly onUploaded?: (blob: BlobName) => void } = {},
): Promise<BlobName[]> {
	const names: BlobName[] = [];
	await someAtOnce(sources, TRANSFERS_AT_ONCE, async (source, i) => {
		names[i] = await uploadBlob(api, source, options);
		options.onUploaded?.(names[i]!);
	});
	return names;
}

/** A server takes 16 uploads of one caller at once. */
export const TRANSFERS_AT_ONCE = 4;

/** Into memory. Throws BLOB_WRONG where the server gave other bytes than the name says. */
export async function fetchBlob(
	api: DownloadApi,
	blob: BlobName,
	options: TransferOptions & Whence = {},
): Promise<Uint8Array> {
	const bytes = new Uint8Array(blob.size);
	await fetchPieces(api, blob, options, { roots: [], put: (piece, at) => bytes.set(piece, at) }, HASHES);
	return bytes;
}

/**
 * Into a file: durable, and there only when it is whole and right. One that was cut off goes on with what is
 * in `path`.part.
 */
export async function downloadBlob(
	api: DownloadApi,
	blob: BlobName,
	path: string,
	options: TransferOptions & Whence = {},
): Promise<void> {
	const part = `${path}.part`;
	const roots = await piecesOf(part, blob.size);
	const file = await open(part, roots.length === 0 ? "w" : "r+", 0o600);
	try {
		const put = (piece: Uint8Array, at: number) => writeAll(file, piece, at);
		await fetchPieces(api, blob, options, { roots, put }, HASHES);
		await file.truncate(blob.size);
		await file.sync();
	} catch (error) {
		// What is wrong is wrong again the next time.
		if (error instanceof AssayError && error.code === "BLOB_WRONG") await rm(part, { force: true });
		throw error;
	} finally {
		await file.close();
	}
	await rename(part, path);
	await syncFolder(dirname(path));
}

/** Roots of the whole pieces that a file holds; none when it is not there. */
async function piecesOf(path: string, size: number): Promise<Uint8Array[]> {
	const found = await stat(path).catch(() => null);
	const whole = found === null ? 0 : Math.min(Math.floor(found.size / PIECE_BYTES), pieceCount(size) - 1);
	if (whole === 0) return [];
	return await withPieces({ path }, async (_, read) => {
		const roots: Uint8Array[] = [];
		for (let i = 0; i < whole; i++) roots.push(await pieceRoot(await read(i)));
		return roots;
	});
}

async function withPieces<T>(
	source: BlobBytes,
	act: (size: number, read: (piece: number) => Promise<Uint8Array>) => Promise<T>,
): Promise<T> {
	if ("bytes" in source) {
		const bytes = typeof source.bytes === "function" ? source.bytes() : source.bytes;
		return await act(bytes.length, async (i) => bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES));
	}
	const file = await open(source.path, "r");
	try {
		const { size } = await file.stat();
		return await act(size, async (i) => {
			const bytes = new Uint8Array(pieceBytes(size, i));
			const { bytesRead } = await file.read(bytes, 0, bytes.length, i * PIECE_BYTES);
			if (bytesRead === bytes.length) return bytes;
			throw wrongBlob(source.path, "it became shorter while it was read");
		});
	} finally {
		await file.close();
	}
}
