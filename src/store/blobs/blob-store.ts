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
// it done by another goes on. What guests hold each process counts by itself, and anew at each sweep.
//
// Not here: who may hold what for how long: its callers decide; whose part of the room goes first
// (guest-room.ts).
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, open, readdir, rename, rm, rmdir, stat, statfs, utimes } from "node:fs/promises";
import { join } from "node:path";
import { foldInSlices, PIECE_BYTES, pieceBytes, pieceCount, pieceRoot } from "../../platform/blob-tree.ts";
import { makeFolder, removeDrafts, syncFolder, writeDurably } from "../../platform/durable-file.ts";
import { createKeyedMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { type BlobName, fileName, holderName, isBlob, isHolder, nameOfFile, refused, sizeOfName } from "./blob-name.ts";
import { countHolder, FILES } from "./count-holder.ts";
import { createGuestRoom, type Guest, type Room, type Scarce } from "./guest-room.ts";
import { lengthOf, readBytes, Upload, unwritable } from "./upload.ts";

export type { BlobName };

export interface BlobLimits {
	readonly mostBytes: number;
	/** Of one holder, what it uploads now included. */
	readonly mostHeldBytes: number;
	readonly mostHeldBlobs: number;
	/** Begun uploads of one holder. */
	readonly mostUploads: number;
	/** Of the disk: an upload that would leave less is not begun, nor gone on with. */
	readonly reserveBytes: number;
	/** Of the disk's inodes. */
	readonly reserveFilesPpm: number;
	/** Of the disk, bytes and inodes: left free for providers at work. */
	readonly workPpm: number;
	/** Of the disk, bytes and inodes: what all guests may hold that are not at work. */
	readonly guestPpm: number;
}

const GiB = 2 ** 30;
const PPM = 1_000_000;
/** Shares of the disk are the validator's parameters (src/market/params.ts): here nobody is kept from it. */
export const BLOB_LIMITS: BlobLimits = {
	mostBytes: 32 * GiB,
	mostHeldBytes: 128 * GiB,
	mostHeldBlobs: 10_000,
	mostUploads: 16,
	reserveBytes: 4 * GiB,
	reserveFilesPpm: 10_000,
	workPpm: 0,
	guestPpm: PPM,
};

export interface BlobStoreOptions {
	readonly limits?: Partial<BlobLimits>;
	/** Those whose room is bounded and shared; others are jobs. Default: all. */
	readonly isGuest?: (holder: string) => boolean;
	readonly nowMs?: () => number;
	/** For tests: a disk that is small. */
	readonly disk?: Disk;
}

/** How much room there is, as statfs(2) says it. */
export type Disk = (path: string) => Promise<Record<"bavail" | "bsize" | "blocks" | "ffree" | "files", number>>;

/** What a folder of blobs can do, here or behind the door of another process. */
export type Blobs = Pick<
	BlobStore,
	"begin" | "put" | "read" | "linkTo" | "share" | "shareAll" | "release" | "held" | "list"
>;

/** Some of what is held, ascending by name; `next`: where to go on, null at the end. */
interface HeldPage {
	readonly rows: readonly BlobName[];
	readonly next: string | null;
}

/** A provider at work of which nothing was heard for so long is a guest like others. */
const WORK_MS = 3_600_000;
/** Folders of 10,000 names take 20 ms: what other processes did there is seen so much later. */
const COUNT_MS = 10_000;
/** Of fewer roots than this hashing costs less than asking whether they may be begun. */
const MANY_ROOTS = 256;
/** Room for an upload that is not there yet. */
interface Place {
	readonly size: number;
}
const UNKNOWN: Guest = { from: "", standing: "stranger" };

export async function openBlobStore(
	path: string,
	{ limits = {}, isGuest = () => true, nowMs = Date.now, disk = statfs }: BlobStoreOptions = {},
): Promise<BlobStore> {
	for (const name of ["whole", "parts", "holders"]) await makeFolder(join(path, name));
	const store = new BlobStore(path, { limits: { ...BLOB_LIMITS, ...limits }, isGuest, nowMs, disk });
	await store.countGuests();
	return store;
}

export class BlobStore {
	private readonly path: string;
	private readonly limits: BlobLimits;
	private readonly isGuest: (holder: string) => boolean;
	private readonly nowMs: () => number;
	private readonly disk: Disk;
	/**
	 * Taken in this order: `:room` (who gets room, who gives way), `up:WHO/NAME` (an upload), `who:WHO` (what a
	 * holder has), `blob:NAME` (links of a blob).
	 */
	private readonly mutex = createKeyedMutex();
	/** Pieces that are on disk, of uploads that this process has seen. */
	private readonly known = new Map<string, number>();
	private readonly room = createGuestRoom();
	/** Room that was given to uploads whose files are not there yet, by holder. */
	private readonly given = new Map<string, Set<Place>>();
	/** When a guest was counted from its folders. */
	private readonly countedMs = new Map<string, number>();

	constructor(path: string, options: Required<BlobStoreOptions> & { readonly limits: BlobLimits }) {
		this.path = path;
		this.limits = options.limits;
		this.isGuest = options.isGuest;
		this.nowMs = options.nowMs;
		this.disk = options.disk;
	}

	/**
	 * Begins an upload, or finds where it stands. `pieces`: the roots of its pieces, 32 bytes each, which fold
	 * to the blob's. The answer is the offset to go on at; the blob's size when this holder has it. Throws
	 * BLOB_TREE, BLOB_LARGE, BLOB_QUOTA, BLOB_FULL, FILE_UNWRITABLE.
	 */
	async begin(holder: string, blob: BlobName, pieces: readonly Uint8Array[], guest: Guest = UNKNOWN): Promise<number> {
		const [name, who] = [fileName(blob), holderName(holder)];
		const { mostBytes } = this.limits;
		if (blob.size < 1 || blob.size > mostBytes)
			throw refused("BLOB_LARGE", `a blob has 1 to ${mostBytes} bytes, not ${blob.size}`);
		if (pieces.length !== pieceCount(blob.size) || pieces.some((one) => one.length !== 32))
			throw refused("BLOB_TREE", `${blob.size} bytes are ${pieceCount(blob.size)} pieces, with 32 bytes of root each`);
		const upload = this.upload(who, name);
		const isNew = !(await this.isHeld(who, name)) && !(await upload.isBegun());
		this.meet(who, guest);
		// What may not be begun need not be hashed.
		if (isNew && pieces.length > MANY_ROOTS) await this.mustBeAllowed(who, blob.size);
		await this.mustFold(blob, pieces);
		const place: Place = { size: blob.size };
		try {
			if (isNew) await this.mutex.run(":room", () => this.giveRoom(who, guest, place));
			const roots = concatBytes(...pieces);
			return await this.mutex.run(`up:${who}/${name}`, () => this.beginOrGoOn(who, name, roots, place));
		} finally {
			if (this.endPlace(who, place)) this.countRoom(who, place.size, 0, -1);
		}
	}

	/**
	 * One whole piece, in order; `root` of who has computed it from these bytes. Durable when it resolves, with
	 * the offset of the next one; after the last the blob is held. Throws BLOB_UNKNOWN, BLOB_OFFSET,
	 * BLOB_WRONG, BLOB_FULL, FILE_UNWRITABLE; whatever it throws, what was acknowledged stays.
	 */
	async put(
		holder: string,
		blob: BlobName,
		offset: number,
		bytes: Uint8Array,
		root: Uint8Array | null = null,
	): Promise<number> {
		const [name, who] = [fileName(blob), holderName(holder)];
		return this.mutex.run(`up:${who}/${name}`, async () => {
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
			await this.mustLeaveRoom(who, bytes.length);
			// Until it is on disk nobody knows how much is.
			this.known.delete(upload.path);
			await upload.write(bytes, offset);
			this.known.set(upload.path, done + 1);
			if (this.isGuest(who)) this.room.use(who, this.nowMs());
			this.room.add(who, { bytes: 0, written: bytes.length, files: 0 });
			if (done + 1 < pieceCount(blob.size)) return offset + bytes.length;
			await this.finish(upload, who, name);
			return blob.size;
		});
	}

	/** Bytes of a blob that this holder has. Throws BLOB_UNKNOWN; a range outside gives what lies inside. */
	async read(holder: string, blob: BlobName, first: number, length: number): Promise<Uint8Array> {
		const path = this.heldPath(holderName(holder), fileName(blob));
		return readBytes(path, first, Math.min(length, blob.size - first)).catch(orUnknown);
	}

	/**
	 * The blob under another path, for a program that reads files: a link, or a copy on another disk, so that
	 * it stays whatever the holder does. Throws BLOB_UNKNOWN.
	 */
	async linkTo(holder: string, blob: BlobName, path: string): Promise<void> {
		const from = this.heldPath(holderName(holder), fileName(blob));
		await linkIfNew(from, path)
			.catch((error: NodeJS.ErrnoException) => {
				if (error.code !== "EXDEV" && error.code !== "EMLINK") throw error;
				return copyFile(from, path, constants.COPYFILE_EXCL).catch(unlessThere);
			})
			.catch(orUnknown);
	}

	/** `other` gets what `holder` has: a job its inputs, a customer its result. Throws BLOB_UNKNOWN. */
	async share(holder: string, blob: BlobName, other: string): Promise<void> {
		if ((await this.shareAll(holder, [blob], other)).length > 0) throw unknown();
	}

	/** The same of many, of which it gives those that `holder` has not. Durable together. */
	async shareAll(holder: string, blobs: readonly BlobName[], other: string): Promise<BlobName[]> {
		const to = join(this.path, "holders", holderName(other));
		const absent: BlobName[] = [];
		await makeFolder(to);
		for (const blob of blobs) {
			const name = fileName(blob);
			const from = this.heldPath(holderName(holder), name);
			await this.mutex.run(`blob:${name}`, async () => {
				await this.linkBlob(from, join(to, name), name).catch((error: NodeJS.ErrnoException) => {
					if (error.code !== "ENOENT") throw error;
					absent.push(blob);
				});
			});
		}
		await syncFolder(to);
		return absent;
	}

	/** The holder has it no more, nor uploads it; the last one's goes from the disk. */
	async release(holder: string, blob: BlobName): Promise<void> {
		const [name, who] = [fileName(blob), holderName(holder)];
		await this.giveUp(who, name);
		await this.mutex.run(`who:${who}`, () => this.drop(who, name));
	}

	/** Everything that a holder has: a job that is over. */
	async releaseAll(holder: string): Promise<void> {
		await this.releaseUnused(holder, Number.POSITIVE_INFINITY);
	}

	/** Everything that a holder has, unless it asked for something since `beforeMs`. */
	async releaseUnused(holder: string, beforeMs: number): Promise<void> {
		const who = holderName(holder);
		// Looked at again: it may have come back since it was found to be idle.
		await this.mutex.run(`who:${who}`, async () => {
			if ((await this.touchedMs(who)) >= beforeMs) return;
			for (const name of await this.namesOf(who)) await this.drop(who, name);
			// Not empty: it got something meanwhile.
			await rmdir(join(this.path, "holders", who)).catch(() => {});
		});
	}

	/** Ascending by name. */
	async held(holder: string): Promise<BlobName[]> {
		return (await this.namesOf(holderName(holder))).sort().map(nameOfFile);
	}

	/** At most `limit` of them, those after the name `after`. */
	async list(
		holder: string,
		{ after, limit }: { readonly after: string | null; readonly limit: number },
	): Promise<HeldPage> {
		const left = (await this.namesOf(holderName(holder))).filter((name) => after === null || name > after).sort();
		const rows = left.slice(0, limit).map(nameOfFile);
		return { rows, next: left.length > limit ? left[limit - 1]! : null };
	}

	/** Those that have got nothing and asked for nothing since `beforeMs`. */
	async idleHolders(beforeMs: number): Promise<string[]> {
		const idle: string[] = [];
		for (const holder of await this.foldersIn("holders"))
			if ((await this.touchedMs(holder)) < beforeMs) idle.push(holder);
		return idle;
	}

	/**
	 * Gives up uploads that nobody went on with since `beforeMs`, and removes what a crash left without a
	 * holder. What guests hold is counted anew.
	 */
	async sweep(beforeMs: number): Promise<void> {
		for (const holder of await this.foldersIn("parts")) {
			const folder = join(this.path, "parts", holder);
			// A killed process left them: of a list of roots that nobody was told of.
			await removeDrafts(folder);
			const names = new Set(
				(await readdir(folder).catch(() => [])).map((file) => file.replace(/\.(roots|bytes)$/, "")),
			);
			for (const name of names) if (isBlob(name)) await this.giveUp(holder, name, beforeMs);
			await this.mutex.run(`who:${holder}`, () => rmdir(folder).catch(() => {}));
		}
		for (const name of await readdir(join(this.path, "whole")))
			await this.mutex.run(`blob:${name}`, () => this.removeUnheld(name, beforeMs));
		await this.countGuests();
	}

	/** What this process did not do itself it did not see: others use the same folder. */
	async countGuests(): Promise<void> {
		this.room.endWork(this.nowMs() - WORK_MS);
		const there = new Set([...(await this.foldersIn("parts")), ...(await this.foldersIn("holders"))]);
		const found: { who: string; usedMs: number }[] = [];
		for (const who of there) if (this.isGuest(who)) found.push({ who, usedMs: await this.usedMs(who) });
		// Those that are new to this process take their places in this order.
		for (const { who, usedMs } of found.sort((one, other) => one.usedMs - other.usedMs)) await this.count(who, usedMs);
		for (const who of this.room.holders())
			if (!there.has(who) && (await this.count(who)).files === 0) {
				this.room.forget(who);
				this.countedMs.delete(who);
			}
	}

	private upload(holder: string, name: string): Upload {
		return new Upload(join(this.path, "parts", holder, name), sizeOfName(name));
	}

	private heldPath(holder: string, name: string): string {
		return join(this.path, "holders", holder, name);
	}

	private async foldersIn(name: "parts" | "holders"): Promise<string[]> {
		const found = await readdir(join(this.path, name), { withFileTypes: true });
		return found.flatMap((one) => (one.isDirectory() && isHolder(one.name) ? [one.name] : []));
	}

	private async namesOf(holder: string): Promise<string[]> {
		return (await readdir(join(this.path, "holders", holder)).catch(() => [])).filter(isBlob);
	}

	private async isHeld(holder: string, name: string): Promise<boolean> {
		return (await lengthOf(this.heldPath(holder, name))) !== null;
	}

	private async touchedMs(holder: string): Promise<number> {
		return (await mtimeMs(join(this.path, "holders", holder))) ?? Number.POSITIVE_INFINITY;
	}

	/** As far as the disk says: whatever became of its blobs and uploads. */
	private async usedMs(holder: string): Promise<number> {
		const times = ["holders", "parts"].map((name) => mtimeMs(join(this.path, name, holder)));
		return Math.max(...(await Promise.all(times)).map((time) => time ?? 0));
	}

	/** It asks for something, as whoever it is now. */
	private meet(who: string, guest: Guest): void {
		if (this.isGuest(who)) this.room.use(who, this.nowMs(), guest);
	}

	private isAtWork(who: string): boolean {
		return !this.isGuest(who) || this.room.isWorking(who);
	}

	private async count(who: string, usedMs = this.nowMs()): Promise<Room> {
		return this.mutex.run(`who:${who}`, async () => {
			const found = await countHolder(this.path, who);
			const places = [...(this.given.get(who) ?? [])];
			const all = {
				...found,
				bytes: places.reduce((sum, { size }) => sum + size, found.bytes),
				files: found.files + FILES * places.length,
			};
			if (!this.isGuest(who)) return all;
			this.room.set(who, all, usedMs);
			this.countedMs.set(who, this.nowMs());
			return all;
		});
	}

	private countRoom(who: string, bytes: number, written: number, sign: 1 | -1): void {
		this.room.add(who, { bytes, written, files: FILES }, sign);
	}

	/** Throws BLOB_QUOTA. */
	private async mustBeAllowed(who: string, size: number): Promise<void> {
		const { mostUploads, mostHeldBytes, mostHeldBlobs } = this.limits;
		const isKnown = this.nowMs() - (this.countedMs.get(who) ?? Number.NEGATIVE_INFINITY) < COUNT_MS;
		const { bytes, files } = isKnown ? this.room.of(who) : await this.count(who);
		const begun = await readdir(join(this.path, "parts", who)).catch(() => []);
		const uploads = begun.filter((one) => one.endsWith(".roots")).length + (this.given.get(who)?.size ?? 0);
		if (uploads >= mostUploads)
			throw refused("BLOB_QUOTA", `${uploads} uploads are under way, ${mostUploads} are allowed`);
		if (files / FILES >= mostHeldBlobs)
			throw refused("BLOB_QUOTA", `${files / FILES} blobs are held or under way, ${mostHeldBlobs} are allowed`);
		if (bytes + size > mostHeldBytes)
			throw refused("BLOB_QUOTA", `that would be ${bytes + size} bytes in all, ${mostHeldBytes} are allowed`);
	}

	private async mustFold({ root }: BlobName, pieces: readonly Uint8Array[]): Promise<void> {
		if (bytesToHex(await foldInSlices(pieces)) !== root)
			throw refused("BLOB_TREE", "the roots of the pieces do not fold to the blob's");
	}

	/**
	 * Room for one more upload, where it is too little from those who hold the most.
	 *
	 * ATTACK: many that are begun at once would each find room for itself alone; and uploads that are begun
	 * take no room of the disk yet, so what was announced counts.
	 */
	private async giveRoom(who: string, guest: Guest, place: Place): Promise<void> {
		this.meet(who, guest);
		await this.mustBeAllowed(who, place.size);
		const [isAtWork, bounds] = [this.isAtWork(who), await this.bounds(who)];
		const wanted = { bytes: place.size, files: FILES };
		for (const scarce of ["bytes", "files"] as const) {
			const tried = new Set<string>();
			for (;;) {
				const excess = this.room.total()[scarce] + wanted[scarce] - bounds[scarce];
				if (excess <= 0) break;
				const giver = this.room.whoGives(scarce, isAtWork ? null : who, wanted[scarce], tried);
				if (giver === null) throw refused("BLOB_FULL", "the disk has no room for it now");
				// What it was given a moment ago has no files yet that could go.
				if (!(await this.takeFrom(giver, scarce, excess))) tried.add(giver);
			}
		}
		this.given.set(who, (this.given.get(who) ?? new Set()).add(place));
		this.countRoom(who, place.size, 0, 1);
	}

	/** What guests and this one more may have in all. */
	private async bounds(who: string): Promise<Readonly<Record<Scarce, number>>> {
		const { bavail, bsize, blocks, ffree, files } = await this.disk(this.path);
		const { reserveBytes, reserveFilesPpm, workPpm, guestPpm } = this.limits;
		const isAtWork = this.isAtWork(who);
		const kept = isAtWork ? 0 : workPpm / PPM;
		const most = isAtWork ? Number.POSITIVE_INFINITY : guestPpm / PPM;
		const total = this.room.total();
		const spareBytes = bavail * bsize - reserveBytes - kept * blocks * bsize;
		const spareFiles = ffree - (reserveFilesPpm / PPM + kept) * files;
		return {
			bytes: Math.min(most * blocks * bsize, total.written + spareBytes),
			// A file system that makes inodes as it needs them says 0.
			files: files === 0 ? Number.POSITIVE_INFINITY : Math.min(most * files, total.files + spareFiles),
		};
	}

	/** Uploads first: of those nothing is done yet. False: it gave nothing. */
	private async takeFrom(who: string, scarce: Scarce, excess: number): Promise<boolean> {
		const before = this.room.of(who)[scarce];
		const isEnough = () => before - this.room.of(who)[scarce] >= excess;
		const files = await readdir(join(this.path, "parts", who)).catch(() => []);
		for (const name of new Set(files.map((file) => file.replace(/\.(roots|bytes)$/, ""))))
			if (isBlob(name) && !isEnough()) await this.giveUp(who, name);
		await this.mutex.run(`who:${who}`, async () => {
			for (const name of await this.namesOf(who)) if (!isEnough()) await this.drop(who, name);
		});
		// Another process may have taken it already.
		if (!isEnough()) await this.count(who);
		return this.room.of(who)[scarce] < before;
	}

	/** Whether the place was there still: then nothing came of it. */
	private endPlace(who: string, place: Place): boolean {
		const places = this.given.get(who);
		const wasThere = places?.delete(place) === true;
		if (places?.size === 0) this.given.delete(who);
		return wasThere;
	}

	private async beginOrGoOn(who: string, name: string, roots: Uint8Array, place: Place): Promise<number> {
		const size = sizeOfName(name);
		const isHeld = await this.mutex.run(`who:${who}`, async () => {
			if (!(await this.isHeld(who, name))) return false;
			await this.touch(who);
			return true;
		});
		if (isHeld) return size;
		const upload = this.upload(who, name);
		if (await upload.hasRoots(roots)) await upload.renew();
		else {
			// A disk may give other roots than were written: what came since was compared with those.
			if (await upload.isBegun()) await this.giveUpLocked(who, name);
			await this.mutex.run(`who:${who}`, async () => {
				await makeFolder(join(this.path, "parts", who)).catch(orUnwritable);
				await writeDurably(`${upload.path}.roots`, roots);
				if (!this.endPlace(who, place)) this.countRoom(who, size, 0, 1);
			});
		}
		const done = await this.doneOf(upload);
		if (done < pieceCount(size)) return PIECE_BYTES * done;
		await this.finish(upload, who, name);
		return size;
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

	/** What was announced may have been more than there is by now: the disk is others' too. */
	private async mustLeaveRoom(who: string, bytes: number): Promise<void> {
		const { bavail, bsize, blocks } = await this.disk(this.path);
		const { reserveBytes, workPpm } = this.limits;
		const kept = reserveBytes + (this.isAtWork(who) ? 0 : (workPpm / PPM) * blocks * bsize);
		if (bavail * bsize - bytes < kept) throw refused("BLOB_FULL", "the disk has no room for it now");
	}

	/** The upload, if nobody went on with it since `beforeMs`. */
	private async giveUp(who: string, name: string, beforeMs = Number.POSITIVE_INFINITY): Promise<void> {
		await this.mutex.run(`up:${who}/${name}`, async () => {
			const touchedMs = await this.upload(who, name).touchedMs();
			if (touchedMs !== null && touchedMs < beforeMs) await this.giveUpLocked(who, name);
		});
	}

	private async giveUpLocked(who: string, name: string): Promise<void> {
		await this.mutex.run(`who:${who}`, async () => {
			const upload = this.upload(who, name);
			const [isBegun, written] = [await upload.isBegun(), await upload.written()];
			await this.removeUpload(upload, who);
			if (isBegun) this.countRoom(who, upload.size, written, -1);
		});
	}

	/** Its folder too, unless there are others. */
	private async removeUpload(upload: Upload, who: string): Promise<void> {
		this.known.delete(upload.path);
		await upload.remove();
		await rmdir(join(this.path, "parts", who)).catch(() => {});
	}

	/** The holder has it no more. */
	private async drop(who: string, name: string): Promise<void> {
		await this.mutex.run(`blob:${name}`, async () => {
			const isGone = await rm(this.heldPath(who, name)).then(
				() => true,
				() => false,
			);
			if (isGone) this.countRoom(who, sizeOfName(name), sizeOfName(name), -1);
			const folder = join(this.path, "holders", who);
			await syncFolder(folder).catch(() => {});
			// An inode of its own, which keys that come and go would take for ever. A job's may be filled just now.
			if (this.isGuest(who)) await rmdir(folder).catch(() => {});
			await this.removeUnheld(name, Number.POSITIVE_INFINITY);
		});
	}

	/** Everything is there: it gets its name and its holder, and only then the upload goes. */
	private async finish(upload: Upload, who: string, name: string): Promise<void> {
		const whole = join(this.path, "whole", name);
		const bytes = `${upload.path}.bytes`;
		const folder = join(this.path, "holders", who);
		const hold = async (from: string) => {
			await makeFolder(folder);
			await linkIfNew(from, join(folder, name));
			await syncFolder(folder);
		};
		await this.mutex
			.run(`who:${who}`, async () => {
				await this.mutex.run(`blob:${name}`, async () => {
					// What may lie there already has the same bytes: both were checked.
					await linkIfNew(bytes, whole);
					await syncFolder(join(this.path, "whole"));
					await hold(whole).catch(async (error: NodeJS.ErrnoException) => {
						// As many names as a file can have: these bytes are what the next holders have.
						if (error.code === "EMLINK") await rename(bytes, whole);
						// Another process took the unheld one away in between.
						else if (error.code !== "ENOENT") throw error;
						await hold(error.code === "EMLINK" ? whole : bytes);
					});
				});
				await this.removeUpload(upload, who);
			})
			.catch(orUnwritable);
	}

	/**
	 * A link to the same bytes. A file can have 65,000 names on ext4: when it has, the blob gets a second body,
	 * to which those of the next holders belong.
	 */
	private async linkBlob(from: string, to: string, name: string): Promise<void> {
		const whole = join(this.path, "whole", name);
		const isLinked = (source: string) =>
			linkIfNew(source, to).then(
				() => true,
				(error: NodeJS.ErrnoException) => {
					if (error.code === "EMLINK" || (source === whole && error.code === "ENOENT")) return false;
					throw error;
				},
			);
		if ((await isLinked(from)) || (await isLinked(whole))) return;
		const draft = `${whole}.${randomBytes(8).toString("hex")}.draft`;
		try {
			await copyFile(from, draft, constants.COPYFILE_FICLONE);
			const file = await open(draft, "r");
			await file.sync().finally(() => file.close());
			await rename(draft, whole);
		} catch (error) {
			await rm(draft, { force: true });
			throw orGone(error as NodeJS.ErrnoException);
		}
		await syncFolder(join(this.path, "whole"));
		await linkIfNew(whole, to);
	}

	private async removeUnheld(name: string, beforeMs: number): Promise<void> {
		const path = join(this.path, "whole", name);
		const found = await stat(path).catch(() => null);
		if (found?.isFile() && found.nlink === 1 && found.mtimeMs < beforeMs) await rm(path, { force: true });
	}
}

const mtimeMs = async (path: string): Promise<number | null> => (await stat(path).catch(() => null))?.mtimeMs ?? null;

const unknown = () => refused("BLOB_UNKNOWN", "this holder has no such blob");

function orUnknown(error: NodeJS.ErrnoException): never {
	throw error.code === "ENOENT" ? unknown() : error;
}

function orUnwritable(error: unknown): never {
	throw error instanceof AssayError ? error : unwritable(error);
}

/** What is copied must be there to be given; of anything else the disk is the reason. */
const orGone = (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? error : unwritable(error));

function unlessThere(error: NodeJS.ErrnoException): void {
	if (error.code !== "EEXIST") throw error;
}

const linkIfNew = (from: string, to: string): Promise<void> => link(from, to).catch(unlessThere);
