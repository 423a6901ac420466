// The evidence folder: files named by their SHA-256 (evidence/ab/cdef…) and, until a probe is counted, a note
// pending/<probe id> with the hash. Everything is durable before `put` resolves: written aside, fsynced,
// renamed, and the folder fsynced, so that a power cut leaves a whole file or none. Not here: whether the
// evidence is true. With a bucket, files go there and leave the folder once the bucket has acknowledged them;
// until then a note unsent/<hash> says that the only copy is here, and it is tried again. Page:
// docs/schedule.md §3.

import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BoundedMap } from "../../platform/bounded-map.ts";
import {
	isThere,
	makeFolder,
	readIfPresent,
	removeDrafts,
	syncFolder,
	writeDurably,
} from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Bucket } from "../bucket/bucket.ts";
import { hex } from "../check-input.ts";
import { corrupt, createBucketCopies } from "./bucket-copies.ts";

export type EvidenceFolder = Awaited<ReturnType<typeof openEvidenceFolder>>;

export async function openEvidenceFolder(
	dataDir: string,
	bucket: Bucket | null = null,
	onWarning: (message: string) => void = () => {},
) {
	const folders = ["evidence", "pending", "drafts", "unsent"].map((name) => join(dataDir, name));
	const [files, notes, drafts, unsent] = folders as [string, string, string, string];
	try {
		for (const folder of folders) await makeFolder(folder, 0o755);
	} catch (cause) {
		throw unwritable(dataDir, cause);
	}

	const fileOf = (sha256: string): string => {
		hex("an evidence hash", sha256, 64);
		return join(files, sha256.slice(0, 2), sha256.slice(2));
	};
	const noteOf = (probeId: string): string => join(notes, hex("a probe's id", probeId, 32));

	const write = (path: string, content: Uint8Array | string) => writeDurably(path, content, { mode: 0o644, drafts });

	const copies = createBucketCopies({ bucket, unsent, fileOf, write, onWarning });

	/** The newest files that were asked for, as they were when they were hashed. */
	const verified = new BoundedMap<string, { readonly state: string; readonly hash: Promise<string> }>(MOST_VERIFIED);

	return {
		store: {
			/** Step 3: durable under its hash, and noted in pending/<probe id>, before this resolves. */
			async put(probeId: string, bytes: Uint8Array): Promise<{ readonly sha256: string; readonly bytes: number }> {
				const note = noteOf(probeId);
				const sha256 = createHash("sha256").update(bytes).digest("hex");
				// The note first: whoever is killed here leaves a note without a file, which says nothing,
				// never a file without a note, which nobody would count.
				await write(note, `${sha256}\n`);
				await copies.keep(sha256, bytes);
				return { sha256, bytes: bytes.length };
			},
			/** A file that no probe is counted by: of a roll call. Durable under its hash before this resolves. */
			async keep(bytes: Uint8Array): Promise<string> {
				const sha256 = createHash("sha256").update(bytes).digest("hex");
				await copies.keep(sha256, bytes);
				return sha256;
			},
			async remove(sha256: string): Promise<void> {
				await rm(fileOf(sha256), { force: true });
				await copies.remove(sha256);
			},
			/** Verified by its hash: EVIDENCE_MISSING, EVIDENCE_CORRUPT. */
			async get(sha256: string): Promise<Uint8Array> {
				const path = fileOf(sha256);
				const bytes = (await readIfPresent(path)) ?? (await copies.get(sha256));
				if (bytes === null) throw missing(sha256);
				const found = createHash("sha256").update(bytes).digest("hex");
				if (found !== sha256) throw corrupt(sha256, found);
				return bytes;
			},
			/** In pieces, verified before the first one: EVIDENCE_MISSING, EVIDENCE_CORRUPT. */
			async stream(sha256: string): Promise<{ readonly sizeBytes: number; readonly bytes: AsyncIterable<Uint8Array> }> {
				const path = fileOf(sha256);
				const found = await stat(path).catch(() => null);
				if (found === null) {
					const bytes = await copies.get(sha256);
					if (bytes === null) throw missing(sha256);
					return { sizeBytes: bytes.length, bytes: whole(bytes) };
				}
				const state = `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
				const kept = verified.get(sha256);
				const entry = kept?.state === state ? kept : { state, hash: hashOf(path) };
				verified.set(sha256, entry);
				const hash = await entry.hash.catch((error) => {
					verified.delete(sha256);
					throw error;
				});
				if (hash !== sha256) throw corrupt(sha256, hash);
				return { sizeBytes: found.size, bytes: pieces(path) };
			},
			async has(sha256: string): Promise<boolean> {
				return (await isThere(fileOf(sha256))) || (await copies.has(sha256));
			},
			/** Takes a pending entry away without counting it: another database's, or no file of a probe. */
			async dropPending(probeId: string): Promise<void> {
				await rm(noteOf(probeId), { force: true });
				await syncFolder(notes);
			},
		},

		sendUnsent: copies.sendUnsent,

		/** Probe id → hash, for every whole note. */
		pending: () => readNotes(notes),

		/** Files that a killed process left half written. */
		sweep: (olderThanMs: number) => removeDrafts(drafts, olderThanMs),

		/** Whether evidence could be kept now; tried once in a while, for anybody may ask. */
		writable: onceInAWhile(() => mustBeWritable(drafts)),
	};
}

const missing = (sha256: string) => new AssayError("EVIDENCE_MISSING", `the file of the evidence ${sha256} is gone`);

const MOST_VERIFIED = 10_000;
const TRY_EVERY_MS = 5000;
/** A full disk still takes a file without content. */
const TRY_BYTES = 256 * 1024;

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
	yield bytes;
}

async function* pieces(path: string): AsyncGenerator<Uint8Array> {
	yield* createReadStream(path);
}

async function hashOf(path: string): Promise<string> {
	const hash = createHash("sha256");
	for await (const piece of pieces(path)) hash.update(piece);
	return hash.digest("hex");
}

function onceInAWhile(run: () => Promise<void>): () => Promise<void> {
	let last: { readonly atMs: number; readonly came: Promise<void> } | null = null;
	return () => {
		if (last === null || performance.now() - last.atMs > TRY_EVERY_MS) last = { atMs: performance.now(), came: run() };
		return last.came;
	};
}

async function mustBeWritable(drafts: string): Promise<void> {
	const probe = join(drafts, `${randomBytes(12).toString("hex")}.draft`);
	try {
		await writeFile(probe, Buffer.alloc(TRY_BYTES), { flag: "wx", mode: 0o600 });
	} catch (cause) {
		throw unwritable(drafts, cause);
	} finally {
		await rm(probe, { force: true });
	}
}

async function readNotes(notes: string) {
	const found: { readonly probeId: string; readonly sha256: string }[] = [];
	for (const probeId of await readdir(notes)) {
		if (!/^[0-9a-f]{32}$/.test(probeId)) continue;
		const sha256 = (await readFile(join(notes, probeId), "utf8").catch(() => "")).trim();
		if (/^[0-9a-f]{64}$/.test(sha256)) found.push({ probeId, sha256 });
	}
	return found;
}

function unwritable(path: string, cause: unknown): AssayError {
	return new AssayError("FILE_UNWRITABLE", `${path} cannot be written: ${(cause as Error).message}`, {
		hint: "Check the data folder's permissions and that its disk is not full.",
		cause,
	});
}
