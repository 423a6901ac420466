// Bytes named by tree root and size, docs/jobs.md §12: inputs and results of jobs. Uploaded in pieces, each
// checked against the tree as it comes and on disk before it is acknowledged; an upload that was cut off goes
// on where it stands, over restarts too.
//
// A name under `holders/WHO/` is a hard link to the blob: the right to read it and the reason to keep it. A
// blob that nobody holds goes; one that somebody holds cannot, since the file system counts the links.
// Whoever uploads bytes that are there already uploads them all the same: else a name alone would tell what
// others have, or give it.
//
// Several processes may have one folder: what they do to a name is one act of the file system, and who finds
// it done by another goes on.
//
// Not here: who may hold what for how long: its callers decide.
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { link, open, readdir, rm, rmdir, stat, statfs, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { foldPieces, PIECE_BYTES, pieceBytes, pieceCount, pieceRoot } from "../../platform/blob-tree.ts";
import { makeFolder, syncFolder, writeAll, writeDurably } from "../../platform/durable-file.ts";
import { createKeyedMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";

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
	/** Of the disk: an upload that would leave less is not begun, nor gone on with. */
	readonly reserveBytes: number;
}

const GiB = 2 ** 30;
export const BLOB_LIMITS: BlobLimits = {
	...{ mostBytes: 32 * GiB, mostHeldBytes: 128 * GiB, mostUploads: 16, reserveBytes: 4 * GiB },
};

/** What a folder of blobs can do, here or behind the door of another process. */
export type Blobs = Pick<BlobStore, "begin" | "put" | "read" | "linkTo" | "share" | "shareAll" | "release" | "held">;

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

/** Throws FILE_UNWRITABLE. */
async function writePiece(path: string, bytes: Uint8Array, offset: number): Promise<void> {
	let file: FileHandle | undefined;
	try {
		// Never cut: what another process may have written behind it was checked too.
		file = await open(path, constants.O_CREAT | constants.O_RDWR, 0o600);
		await writeAll(file, bytes, offset);
		await file.sync();
		if (offset === 0) await syncFolder(dirname(path));
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `the store of blobs cannot be written: ${(cause as Error).message}`, {
			hint: "Check that its disk is not full.",
			cause,
		});
	} finally {
		await file?.close();
	}
}

/** `.bytes` of an upload, `.roots` beside it: those of its pieces. */
class Upload {
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

	rootOf(piece: number): Promise<Uint8Array> {
		return readBytes(`${this.path}.roots`, 32 * piece, 32);
	}

	/** Whole pieces on disk. After a crash the last one may be torn: it counts if it is what it must be. */
	async piecesDone(): Promise<number> {
		const length = (await lengthOf(`${this.path}.bytes`)) ?? 0;
		const done = length >= this.size ? pieceCount(this.size) : Math.floor(length / PIECE_BYTES);
		if (done === 0) return 0;
		const last = await readBytes(`${this.path}.bytes`, (done - 1) * PIECE_BYTES, pieceBytes(this.size, done - 1));
		return equalBytes(await pieceRoot(last), await this.rootOf(done - 1)) ? done : done - 1;
	}

	/** Whether so many pieces may be on disk. */
	async holds(pieces: number): Promise<boolean> {
		return ((await lengthOf(`${this.path}.bytes`)) ?? 0) >= Math.min(pieces * PIECE_BYTES, this.size);
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
}

async function readBytes(path: string, first: number, length: number): Promise<Uint8Array> {
	const file = await open(path, "r");
	try {
		const bytes = new Uint8Array(Math.max(0, length));
		if (bytes.length > 0) await file.read(bytes, 0, bytes.length, first);
		return bytes;
	} finally {
		await file.close();
	}
}

export async function openBlobStore(path: string, limits: BlobLimits = BLOB_LIMITS): Promise<BlobStore> {
	for (const name of ["whole", "parts", "holders"]) await makeFolder(join(path, name));
	return new BlobStore(path, limits);
}

export class BlobStore {
	private readonly path: string;
	private readonly limits: BlobLimits;
	/** By name: who links and unlinks the blob. By holder and name: who uploads it. */
	private readonly mutex = createKeyedMutex();
	/** Pieces that are on disk, of uploads that this process has seen. */
	private readonly known = new Map<string, number>();

	constructor(path: string, limits: BlobLimits) {
		this.path = path;
		this.limits = limits;
	}

	/**
	 * Begins an upload, or finds where it stands. `pieces`: the roots of its pieces, 32 bytes each, which fold
	 * to the blob's. The answer is the offset to go on at; the blob's size when this holder has it. Throws
	 * BLOB_TREE, BLOB_LARGE, BLOB_QUOTA.
	 */
	async begin(holder: string, blob: BlobName, pieces: readonly Uint8Array[]): Promise<number> {
		const [name, who] = [fileName(blob), holderName(holder)];
		const { mostBytes } = this.limits;
		if (blob.size < 1 || blob.size > mostBytes)
			throw refused("BLOB_LARGE", `a blob has 1 to ${mostBytes} bytes, not ${blob.size}`);
		if (pieces.length !== pieceCount(blob.size) || pieces.some((one) => one.length !== 32))
			throw refused("BLOB_TREE", `${blob.size} bytes are ${pieceCount(blob.size)} pieces, with 32 bytes of root each`);
		if (bytesToHex(foldPieces(pieces)) !== blob.root)
			throw refused("BLOB_TREE", "the roots of the pieces do not fold to the blob's");
		return this.mutex.run(`${who}/${name}`, async () => {
			if (await this.isHeld(who, name)) {
				await this.touch(who);
				return blob.size;
			}
			const upload = this.upload(who, name);
			// ATTACK: many that are begun at once would each find room for itself alone.
			if (!(await upload.isBegun()))
				await this.mutex.run(who, async () => {
					await this.mustHaveRoom(who, name);
					await makeFolder(join(this.path, "parts", who));
					await writeDurably(`${upload.path}.roots`, concatBytes(...pieces));
				});
			const done = await this.doneOf(upload);
			if (done < pieces.length) return PIECE_BYTES * done;
			await this.finish(upload, who, name);
			return blob.size;
		});
	}

	/**
	 * One whole piece, in order; `root` of who has computed it from these bytes. Durable when it resolves, with
	 * the offset of the next one; after the last the blob is held. Throws BLOB_UNKNOWN, BLOB_OFFSET,
	 * BLOB_WRONG, BLOB_QUOTA, FILE_UNWRITABLE; whatever it throws, what was acknowledged stays.
	 */
	async put(
		holder: string,
		blob: BlobName,
		offset: number,
		bytes: Uint8Array,
		root: Uint8Array | null = null,
	): Promise<number> {
		const [name, who] = [fileName(blob), holderName(holder)];
		return this.mutex.run(`${who}/${name}`, async () => {
			if (await this.isHeld(who, name)) return blob.size;
			const upload = this.upload(who, name);
			if (!(await upload.isBegun())) throw refused("BLOB_UNKNOWN", "this upload was not begun, or was given up");
			const done = await this.doneOf(upload);
			if (offset !== done * PIECE_BYTES)
				throw refused("BLOB_OFFSET", `the next piece begins at ${done * PIECE_BYTES}, not at ${offset}`);
			if (bytes.length !== pieceBytes(blob.size, done))
				throw refused("BLOB_OFFSET", `piece ${done} has ${pieceBytes(blob.size, done)} bytes, not ${bytes.length}`);
			if (!equalBytes(root ?? (await pieceRoot(bytes)), await upload.rootOf(done)))
				throw refused("BLOB_WRONG", `piece ${done} has other bytes than its root says`);
			await this.mustLeaveRoom(bytes.length);
			// Until it is on disk nobody knows how much is.
			this.known.delete(upload.path);
			await writePiece(`${upload.path}.bytes`, bytes, offset);
			this.known.set(upload.path, done + 1);
			if (done + 1 < pieceCount(blob.size)) return offset + bytes.length;
			await this.finish(upload, who, name);
			return blob.size;
		});
	}

	/** Bytes of a blob that this holder has. Throws BLOB_UNKNOWN; a range outside gives what lies inside. */
	async read(holder: string, blob: BlobName, first: number, length: number): Promise<Uint8Array> {
		const path = this.heldPath(holderName(holder), fileName(blob));
		return readBytes(path, first, Math.min(length, blob.size - first)).catch((error: NodeJS.ErrnoException) => {
			throw error.code === "ENOENT" ? refused("BLOB_UNKNOWN", "this holder has no such blob") : error;
		});
	}

	/**
	 * The blob under another path of this disk, for a program that reads files: a link, so that it stays
	 * whatever the holder does. Throws BLOB_UNKNOWN.
	 */
	async linkTo(holder: string, blob: BlobName, path: string): Promise<void> {
		const from = this.heldPath(holderName(holder), fileName(blob));
		await linkIfNew(from, path).catch((error: NodeJS.ErrnoException) => {
			throw error.code === "ENOENT" ? refused("BLOB_UNKNOWN", "this holder has no such blob") : error;
		});
	}

	/** `other` gets what `holder` has: a job its inputs, a customer its result. Throws BLOB_UNKNOWN. */
	async share(holder: string, blob: BlobName, other: string): Promise<void> {
		const name = fileName(blob);
		const from = this.heldPath(holderName(holder), name);
		await this.mutex.run(name, async () => {
			await this.addHolder(from, holderName(other), name).catch((error: NodeJS.ErrnoException) => {
				throw error.code === "ENOENT" ? refused("BLOB_UNKNOWN", "this holder has no such blob") : error;
			});
		});
	}

	/** The same of many, of which it gives those that `holder` has not. Durable together. */
	async shareAll(holder: string, blobs: readonly BlobName[], other: string): Promise<BlobName[]> {
		const to = join(this.path, "holders", holderName(other));
		const absent: BlobName[] = [];
		await makeFolder(to);
		for (const blob of blobs) {
			const name = fileName(blob);
			const from = this.heldPath(holderName(holder), name);
			await this.mutex.run(name, async () => {
				await linkIfNew(from, join(to, name)).catch((error: NodeJS.ErrnoException) => {
					if (error.code !== "ENOENT") throw error;
					absent.push(blob);
				});
			});
		}
		await syncFolder(to);
		return absent;
	}

	/** The holder has it no more; the last one's goes from the disk. */
	async release(holder: string, blob: BlobName): Promise<void> {
		const [name, who] = [fileName(blob), holderName(holder)];
		await this.mutex.run(name, async () => {
			await rm(this.heldPath(who, name), { force: true });
			await syncFolder(join(this.path, "holders", who)).catch(() => {});
			await this.removeUnheld(name, Number.POSITIVE_INFINITY);
		});
	}

	/** Everything that a holder has: a job that is over. */
	async releaseAll(holder: string): Promise<void> {
		for (const blob of await this.held(holder)) await this.release(holder, blob);
		// Not empty: it got something meanwhile.
		await rmdir(join(this.path, "holders", holderName(holder))).catch(() => {});
	}

	/** Ascending by name. */
	async held(holder: string): Promise<BlobName[]> {
		const names = await readdir(join(this.path, "holders", holderName(holder))).catch(() => []);
		return names
			.filter((name) => NAME.test(name))
			.sort()
			.map((name) => ({ root: name.slice(0, 64), size: sizeOfName(name) }));
	}

	/** Those that have got nothing and asked for nothing since `beforeMs`. */
	async idleHolders(beforeMs: number): Promise<string[]> {
		const holders = await readdir(join(this.path, "holders"));
		const found = await Promise.all(
			holders.map(async (holder) => ((await this.touchedMs(holder)) < beforeMs ? [holder] : [])),
		);
		return found.flat();
	}

	/**
	 * Gives up uploads that nobody went on with since `beforeMs`, and removes what a crash left without a
	 * holder.
	 */
	async sweep(beforeMs: number): Promise<void> {
		for (const holder of await readdir(join(this.path, "parts")))
			for (const file of await readdir(join(this.path, "parts", holder))) {
				const name = file.replace(/\.(roots|bytes)$/, "");
				const upload = this.upload(holder, name);
				await this.mutex.run(`${holder}/${name}`, async () => {
					if (((await upload.touchedMs()) ?? beforeMs) >= beforeMs) return;
					this.known.delete(upload.path);
					await upload.remove();
				});
			}
		for (const name of await readdir(join(this.path, "whole")))
			await this.mutex.run(name, () => this.removeUnheld(name, beforeMs));
	}

	private upload(holder: string, name: string): Upload {
		return new Upload(join(this.path, "parts", holder, name), sizeOfName(name));
	}

	private heldPath(holder: string, name: string): string {
		return join(this.path, "holders", holder, name);
	}

	private async isHeld(holder: string, name: string): Promise<boolean> {
		return (await lengthOf(this.heldPath(holder, name))) !== null;
	}

	private async touchedMs(holder: string): Promise<number> {
		const found = await stat(join(this.path, "holders", holder)).catch(() => null);
		return found?.mtimeMs ?? Number.POSITIVE_INFINITY;
	}

	/** It wants what it has: that is not yet given up. */
	private async touch(holder: string): Promise<void> {
		const now = new Date();
		await utimes(join(this.path, "holders", holder), now, now).catch(() => {});
	}

	private async doneOf(upload: Upload): Promise<number> {
		const known = this.known.get(upload.path);
		// Shorter than this process knows it: another one gave it up, and it was begun anew.
		const done = known !== undefined && (await upload.holds(known)) ? known : await upload.piecesDone();
		this.known.set(upload.path, done);
		return done;
	}

	private async mustHaveRoom(holder: string, name: string): Promise<void> {
		const { mostUploads, mostHeldBytes } = this.limits;
		const held = await readdir(join(this.path, "holders", holder)).catch(() => []);
		const begun = (await readdir(join(this.path, "parts", holder)).catch(() => []))
			.filter((one) => one.endsWith(".roots"))
			.map((one) => one.slice(0, -".roots".length))
			.filter((one) => one !== name);
		if (begun.length >= mostUploads)
			throw refused("BLOB_QUOTA", `${begun.length} uploads are under way, ${mostUploads} are allowed`);
		const bytes = [...held, ...begun, name].reduce((sum, one) => sum + sizeOfName(one), 0);
		if (bytes > mostHeldBytes)
			throw refused("BLOB_QUOTA", `that would be ${bytes} bytes in all, ${mostHeldBytes} are allowed`);
		await this.mustLeaveRoom(sizeOfName(name));
	}

	/**
	 * ATTACK: uploads that are begun take no room yet, so that all together may be more than there is. Whoever
	 * goes on must leave the reserve too.
	 */
	private async mustLeaveRoom(bytes: number): Promise<void> {
		const { bavail, bsize } = await statfs(this.path);
		if (bavail * bsize - bytes < this.limits.reserveBytes) throw refused("BLOB_QUOTA", "the disk has no room for it");
	}

	/** Durable: a link to the same bytes under the holder's name. */
	private async addHolder(from: string, holder: string, name: string): Promise<void> {
		const folder = join(this.path, "holders", holder);
		await makeFolder(folder);
		await linkIfNew(from, join(folder, name));
		await syncFolder(folder);
	}

	/** Everything is there: it gets its name and its holder, and only then the upload goes. */
	private async finish(upload: Upload, holder: string, name: string): Promise<void> {
		await this.mutex.run(name, async () => {
			const whole = join(this.path, "whole", name);
			// What may lie there already has the same bytes: both were checked.
			await linkIfNew(`${upload.path}.bytes`, whole);
			await syncFolder(join(this.path, "whole"));
			await this.addHolder(whole, holder, name).catch(async (error: NodeJS.ErrnoException) => {
				if (error.code !== "ENOENT") throw error;
				// Another process took the unheld one away in between.
				await this.addHolder(`${upload.path}.bytes`, holder, name);
			});
			this.known.delete(upload.path);
			await upload.remove();
		});
	}

	private async removeUnheld(name: string, beforeMs: number): Promise<void> {
		const path = join(this.path, "whole", name);
		const found = await stat(path).catch(() => null);
		if (found !== null && found.nlink === 1 && found.mtimeMs < beforeMs) await rm(path, { force: true });
	}
}

async function linkIfNew(from: string, to: string): Promise<void> {
	await link(from, to).catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "EEXIST") throw error;
	});
}
