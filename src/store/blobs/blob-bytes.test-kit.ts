// Bytes to upload, and a disk that is small, for tests of the store of blobs.
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { foldPieces, PIECE_BYTES, pieceRoot } from "../../platform/blob-tree.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { BlobStore, Disk } from "./blob-store.ts";
import type { Guest } from "./guest-room.ts";

export function bytesOf(size: number, salt = 1): Uint8Array {
	const bytes = new Uint8Array(size);
	for (let i = 0; i < size; i += 997) bytes[i] = (i / 997 + salt) & 255;
	bytes.set([salt & 255, salt >> 8].slice(0, size));
	return bytes;
}

export async function described(bytes: Uint8Array) {
	const pieces: Uint8Array[] = [];
	for (let at = 0; at < bytes.length; at += PIECE_BYTES)
		pieces.push(await pieceRoot(bytes.subarray(at, at + PIECE_BYTES)));
	return { pieces, blob: { root: bytesToHex(foldPieces(pieces)), size: bytes.length } };
}

export async function upload(store: BlobStore, holder: string, bytes: Uint8Array, guest?: Guest) {
	const { pieces, blob } = await described(bytes);
	let at = await store.begin(holder, blob, pieces, guest);
	while (at < bytes.length) at = await store.put(holder, blob, at, bytes.subarray(at, at + PIECE_BYTES));
	return blob;
}

/** A disk of so many bytes and inodes, on which there is nothing but what lies under the path. */
export const smallDisk = (bytes: number, files = 0): Disk => {
	return async (path) => {
		const sizes = new Map<number, number>();
		for (const name of readdirSync(path, { recursive: true, encoding: "utf8" })) {
			const found = lstatSync(join(path, name), { throwIfNoEntry: false });
			if (found) sizes.set(found.ino, found.isFile() ? found.size : 0);
		}
		const used = [...sizes.values()].reduce((sum, size) => sum + size, 0);
		return { bsize: 1, blocks: bytes, bavail: bytes - used, files, ffree: Math.max(0, files - sizes.size) };
	};
};
