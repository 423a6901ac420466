// Bytes named by tree root and size, docs/jobs.md §12: inputs and results of jobs. Uploaded in pieces, each checked against the tree as it comes and on
// disk before it is acknowledged; an upload that was cut off goes on where it stands, over restarts too.
//
// A name under `holders/WHO/` is a hard link to the blob: the right to read it and the reason to keep it. A blob that nobody holds goes; one that
// somebody holds cannot, since the file system counts the links. Whoever uploads bytes that are there already uploads them all the same: else a
// name alone would tell what others have, or give it.
//
// Not here: who may upload how much altogether, and how long something is held: its callers decide.
import type { FileHandle } from "node:fs/promises";
import { link, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, readIfPresent, syncFolder, writeDurably } from "../../platform/durable-file.ts";
import { createKeyedMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { foldPieces, PIECE_BYTES, pieceBytes, pieceCount, pieceRoot } from "./blob-tree.ts";

export interface BlobName {
	/** 64 hex digits. */
	readonly root: string;
	readonly size: number;
}

export interface BlobLimits {
	readonly mostBytes: number;
	/** Of one holder, what it uploads now included. */
	readonly mostHeldBytes: number;
	/** Begun uploads of one holder. */
	readonly mostUploads: number;
}

export const BLOB_LIMITS: BlobLimits = { mostBytes: 32 * 2 ** 30, mostHeldBytes: 128 * 2 ** 30, mostUploads: 16 };

const HOLDER = /^[0-9a-z-]{1,80}$/;
const NAME = /^[0-9a-f]{64}-(0|[1-9]\d{0,15})$/;

type BlobCode = "BLOB_NAME" | "BLOB_TREE" | "BLOB_OFFSET" | "BLOB_WRONG" | "BLOB_UNKNOWN" | "BLOB_QUOTA" | "BLOB_LARGE";
const refused = (code: BlobCode, message: string) => new AssayError(code, message, { hint: codes[code].hint });

function fileName({ root, size }: BlobName): string {
	const name = `${root}-${size}`;
	if (!NAME.test(name) || !Number.isSafeInteger(size))
		throw refused("BLOB_NAME", "a blob is named by 64 hex digits and its size");
	return name;
}

function holderName(holder: string): string {
	if (!HOLDER.test(holder)) throw refused("BLOB_NAME", "a holder's name has 1 to 80 of 0-9, a-z and -");
	return holder;
}

const sizeOfName = (name: string): number => Number(name.slice(65));
const lengthOf = async (path: string): Promise<number | null> =>
	stat(path).then(
		({ size }) => size,
		() => null,
	);

export type BlobStore = Awaited<ReturnType<typeof openBlobStore>>;

export async function openBlobStore(path: string, limits: BlobLimits = BLOB_LIMITS) {
	const [whole, parts, holders] = ["whole", "parts", "holders"].map((name) => join(path, name)) as [
		string,
		string,
		string,
	];
	for (const folder of [whole, parts, holders]) await makeFolder(folder);
	const mutex = createKeyedMutex();
	const heldPath = (holder: string, name: string) => join(holders, holder, name);
	const partPath = (holder: string, name: string) => join(parts, holder, name);
	const isHeld = async (holder: string, name: string) => (await lengthOf(heldPath(holder, name))) !== null;

	/** Pieces that are on disk, of uploads that this process has seen. */
	const known = new Map<string, number>();

	/** Whole pieces on disk. After a crash the last one may be torn: it counts if it is what it must be. */
	async function piecesDone(at: string, size: number, roots: readonly Uint8Array[]): Promise<number> {
		const seen = known.get(at);
		if (seen !== undefined) return seen;
		const length = (await lengthOf(`${at}.bytes`)) ?? 0;
		let done = length >= size ? roots.length : Math.floor(length / PIECE_BYTES);
		if (done > 0) {
			const file = await open(`${at}.bytes`, "r");
			try {
				const last = new Uint8Array(pieceBytes(size, done - 1));
				await file.read(last, 0, last.length, (done - 1) * PIECE_BYTES);
				if (!equalBytes(await pieceRoot(last), roots[done - 1]!)) done -= 1;
			} finally {
				await file.close();
			}
		}
		known.set(at, done);
		return done;
	}

	async function rootsOf(at: string, size: number): Promise<readonly Uint8Array[] | null> {
		const bytes = await readIfPresent(`${at}.roots`);
		if (bytes === null || bytes.length !== 32 * pieceCount(size)) return null;
		return Array.from({ length: bytes.length / 32 }, (_, i) => new Uint8Array(bytes.subarray(32 * i, 32 * i + 32)));
	}

	async function mustHaveRoom(holder: string, name: string): Promise<void> {
		const held = await readdir(join(holders, holder)).catch(() => []);
		const begun = (await readdir(join(parts, holder)).catch(() => []))
			.filter((one) => one.endsWith(".roots"))
			.map((one) => one.slice(0, -".roots".length))
			.filter((one) => one !== name);
		if (begun.length >= limits.mostUploads)
			throw refused("BLOB_QUOTA", `${begun.length} uploads are under way, ${limits.mostUploads} are allowed`);
		const bytes = [...held, ...begun, name].reduce((sum, one) => sum + sizeOfName(one), 0);
		if (bytes > limits.mostHeldBytes)
			throw refused("BLOB_QUOTA", `that would be ${bytes} bytes in all, ${limits.mostHeldBytes} are allowed`);
	}

	/** Durable: a link to the whole blob under the holder's name. */
	async function addHolder(holder: string, name: string): Promise<void> {
		await makeFolder(join(holders, holder));
		await link(join(whole, name), heldPath(holder, name)).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EEXIST") throw error;
		});
		await syncFolder(join(holders, holder));
	}

	async function removeUpload(holder: string, name: string): Promise<void> {
		known.delete(partPath(holder, name));
		for (const end of ["roots", "bytes"]) await rm(`${partPath(holder, name)}.${end}`, { force: true });
	}

	/** Everything is there: it gets its name and its holder, and only then the upload goes. */
	async function finish(holder: string, name: string): Promise<void> {
		await mutex.run(name, async () => {
			await link(`${partPath(holder, name)}.bytes`, join(whole, name)).catch((error: NodeJS.ErrnoException) => {
				// The same bytes: both were checked.
				if (error.code !== "EEXIST") throw error;
			});
			await syncFolder(whole);
			await addHolder(holder, name);
			await removeUpload(holder, name);
		});
	}

	async function writePiece(at: string, bytes: Uint8Array, offset: number): Promise<void> {
		let file: FileHandle | undefined;
		// Until it is on disk nobody knows how much is.
		known.delete(at);
		try {
			file = await open(`${at}.bytes`, offset === 0 ? "w" : "r+", 0o600);
			await file.write(bytes, 0, bytes.length, offset);
			await file.sync();
			if (offset === 0) await syncFolder(join(at, ".."));
		} catch (cause) {
			throw new AssayError("FILE_UNWRITABLE", `the store of blobs cannot be written: ${(cause as Error).message}`, {
				hint: "Check that its disk is not full.",
				cause,
			});
		} finally {
			await file?.close();
		}
	}

	return {
		/**
		 * Begins an upload, or finds where it stands. `pieces`: the roots of its pieces, 32 bytes each, which fold to the blob's. The answer is the
		 * offset to go on at; the blob's size when this holder has it. Throws BLOB_TREE, BLOB_LARGE, BLOB_QUOTA.
		 */
		async begin(holder: string, blob: BlobName, pieces: readonly Uint8Array[]): Promise<number> {
			const [name, who] = [fileName(blob), holderName(holder)];
			if (blob.size < 1 || blob.size > limits.mostBytes)
				throw refused("BLOB_LARGE", `a blob has 1 to ${limits.mostBytes} bytes, not ${blob.size}`);
			if (pieces.length !== pieceCount(blob.size) || pieces.some((one) => one.length !== 32))
				throw refused(
					"BLOB_TREE",
					`${blob.size} bytes are ${pieceCount(blob.size)} pieces, with 32 bytes of root each`,
				);
			if (bytesToHex(foldPieces(pieces)) !== blob.root)
				throw refused("BLOB_TREE", "the roots of the pieces do not fold to the blob's");
			return mutex.run(`${who}/${name}`, async () => {
				if (await isHeld(who, name)) return blob.size;
				const at = partPath(who, name);
				if ((await rootsOf(at, blob.size)) === null) {
					await mustHaveRoom(who, name);
					await makeFolder(join(parts, who));
					await writeDurably(`${at}.roots`, concatBytes(...pieces));
				}
				const done = await piecesDone(at, blob.size, pieces);
				if (done < pieces.length) return PIECE_BYTES * done;
				await finish(who, name);
				return blob.size;
			});
		},

		/**
		 * One whole piece, in order. Durable when it resolves, with the offset of the next one; after the last the blob is held. Throws BLOB_UNKNOWN,
		 * BLOB_OFFSET, BLOB_WRONG, FILE_UNWRITABLE; whatever it throws, what was acknowledged stays.
		 */
		async put(holder: string, blob: BlobName, offset: number, bytes: Uint8Array): Promise<number> {
			const [name, who] = [fileName(blob), holderName(holder)];
			return mutex.run(`${who}/${name}`, async () => {
				if (await isHeld(who, name)) return blob.size;
				const at = partPath(who, name);
				const roots = await rootsOf(at, blob.size);
				if (roots === null) throw refused("BLOB_UNKNOWN", "this upload was not begun, or was given up");
				const done = await piecesDone(at, blob.size, roots);
				if (offset !== done * PIECE_BYTES)
					throw refused("BLOB_OFFSET", `the next piece begins at ${done * PIECE_BYTES}, not at ${offset}`);
				if (bytes.length !== pieceBytes(blob.size, done))
					throw refused("BLOB_OFFSET", `piece ${done} has ${pieceBytes(blob.size, done)} bytes, not ${bytes.length}`);
				if (!equalBytes(await pieceRoot(bytes), roots[done]!))
					throw refused("BLOB_WRONG", `piece ${done} has other bytes than its root says`);
				await writePiece(at, bytes, offset);
				known.set(at, done + 1);
				if (done + 1 < roots.length) return offset + bytes.length;
				await finish(who, name);
				return blob.size;
			});
		},

		/** Bytes of a blob that this holder has. Throws BLOB_UNKNOWN; a range outside gives what lies inside. */
		async read(holder: string, blob: BlobName, first: number, length: number): Promise<Uint8Array> {
			const file = await open(heldPath(holderName(holder), fileName(blob)), "r").catch(() => {
				throw refused("BLOB_UNKNOWN", "this holder has no such blob");
			});
			try {
				const bytes = new Uint8Array(Math.max(0, Math.min(length, blob.size - first)));
				if (bytes.length > 0) await file.read(bytes, 0, bytes.length, first);
				return bytes;
			} finally {
				await file.close();
			}
		},

		/** `other` gets what `holder` has: a job its inputs, a customer its result. Throws BLOB_UNKNOWN. */
		async share(holder: string, blob: BlobName, other: string): Promise<void> {
			const name = fileName(blob);
			await mutex.run(name, async () => {
				if (!(await isHeld(holderName(holder), name))) throw refused("BLOB_UNKNOWN", "this holder has no such blob");
				await addHolder(holderName(other), name);
			});
		},

		/** The holder has it no more; the last one's goes from the disk. */
		async release(holder: string, blob: BlobName): Promise<void> {
			const [name, who] = [fileName(blob), holderName(holder)];
			await mutex.run(name, async () => {
				await rm(heldPath(who, name), { force: true });
				await syncFolder(join(holders, who)).catch(() => {});
				const left = await stat(join(whole, name)).catch(() => null);
				if (left !== null && left.nlink === 1) await rm(join(whole, name), { force: true });
			});
		},

		async held(holder: string): Promise<BlobName[]> {
			const names = await readdir(join(holders, holderName(holder))).catch(() => []);
			return names
				.filter((name) => NAME.test(name))
				.map((name) => ({ root: name.slice(0, 64), size: sizeOfName(name) }));
		},

		/** Gives up uploads that nobody went on with since `beforeMs`, and removes what a crash left without a holder. */
		async sweep(beforeMs: number): Promise<void> {
			for (const holder of await readdir(parts))
				for (const file of await readdir(join(parts, holder))) {
					const name = file.replace(/\.(roots|bytes)$/, "");
					const at = partPath(holder, name);
					await mutex.run(`${holder}/${name}`, async () => {
						const found =
							(await stat(`${at}.bytes`).catch(() => null)) ?? (await stat(`${at}.roots`).catch(() => null));
						if (found !== null && found.mtimeMs < beforeMs) await removeUpload(holder, name);
					});
				}
			for (const name of await readdir(whole))
				await mutex.run(name, async () => {
					const found = await stat(join(whole, name)).catch(() => null);
					if (found !== null && found.nlink === 1 && found.mtimeMs < beforeMs)
						await rm(join(whole, name), { force: true });
				});
		},
	};
}
