// One upload that is under way, as two files: `.roots`, those of its pieces, and `.bytes` beside it. Not
// here: whose it is, and whether there is room for it (blob-store.ts).
import { constants } from "node:fs";
import { type FileHandle, open, rm, stat, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import { PIECE_BYTES, pieceBytes, pieceCount, pieceRoot } from "../../platform/blob-tree.ts";
import { syncFolder, writeAll } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";

/** Of a file; null where there is none. */
export const lengthOf = async (path: string): Promise<number | null> =>
	stat(path).then(
		({ size }) => size,
		() => null,
	);

export class Upload {
	readonly path: string;
	readonly size: number;

	constructor(path: string, size: number) {
		this.path = path;
		this.size = size;
	}

	/** Whether it was begun. */
	async isBegun(): Promise<boolean> {
		return (await lengthOf(`${this.path}.roots`)) === 32 * pieceCount(this.size);
	}

	/** Whether it was begun with these roots of its pieces. */
	async hasRoots(roots: Uint8Array): Promise<boolean> {
		return (await this.isBegun()) && equalBytes(await readBytes(`${this.path}.roots`, 0, roots.length), roots);
	}

	rootOf(piece: number): Promise<Uint8Array> {
		return readBytes(`${this.path}.roots`, 32 * piece, 32);
	}

	/** Whole pieces on disk. After a crash the last one may be torn: it counts if it is what it must be. */
	async piecesDone(): Promise<number> {
		const length = await this.written();
		const done = length >= this.size ? pieceCount(this.size) : Math.floor(length / PIECE_BYTES);
		if (done === 0) return 0;
		const last = await readBytes(`${this.path}.bytes`, (done - 1) * PIECE_BYTES, pieceBytes(this.size, done - 1));
		return equalBytes(await pieceRoot(last), await this.rootOf(done - 1)) ? done : done - 1;
	}

	/** Whether so many pieces may be on disk. */
	async holds(pieces: number): Promise<boolean> {
		return (await this.written()) >= Math.min(pieces * PIECE_BYTES, this.size);
	}

	/** Bytes on disk. */
	async written(): Promise<number> {
		return (await lengthOf(`${this.path}.bytes`)) ?? 0;
	}

	/** Throws FILE_UNWRITABLE. */
	async write(bytes: Uint8Array, offset: number): Promise<void> {
		const path = `${this.path}.bytes`;
		let file: FileHandle | undefined;
		try {
			// Never cut: what another process may have written behind it was checked too.
			file = await open(path, constants.O_CREAT | constants.O_RDWR, 0o600);
			await writeAll(file, bytes, offset);
			await file.sync();
			if (offset === 0) await syncFolder(dirname(path));
		} catch (cause) {
			throw unwritable(cause);
		} finally {
			await file?.close();
		}
	}

	async remove(): Promise<void> {
		for (const end of ["roots", "bytes"]) await rm(`${this.path}.${end}`, { force: true });
	}

	/** When somebody last went on with it; null: it is gone. */
	async touchedMs(): Promise<number | null> {
		const found =
			(await stat(`${this.path}.bytes`).catch(() => null)) ?? (await stat(`${this.path}.roots`).catch(() => null));
		return found?.mtimeMs ?? null;
	}

	/** Whoever begins it again wants it: it is not given up now. */
	async renew(): Promise<void> {
		const now = new Date();
		for (const end of ["roots", "bytes"]) await utimes(`${this.path}.${end}`, now, now).catch(() => {});
	}
}

export const unwritable = (cause: unknown): AssayError =>
	new AssayError("FILE_UNWRITABLE", `the store of blobs cannot be written: ${(cause as Error).message}`, {
		hint: "Check that its disk is not full.",
		cause,
	});

export async function readBytes(path: string, first: number, length: number): Promise<Uint8Array> {
	const file = await open(path, "r");
	try {
		const bytes = new Uint8Array(Math.max(0, length));
		if (bytes.length > 0) await file.read(bytes, 0, bytes.length, first);
		return bytes;
	} finally {
		await file.close();
	}
}
