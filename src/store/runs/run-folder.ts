// The folder of a run, docs/jobs.md §2: job.json, program.bin, journal.jsonl, store/ (tensors by root), and
// at the end claim.json, states.bin and what came out. One run at a time has it, by a lock that goes with its
// process. Files only: what they mean is src/work/runs/.
import { closeSync, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { type FolderLock, lockFolder } from "../../platform/folder-lock.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";

const RUN_FILES = {
	job: "job.json",
	program: "program.bin",
	journal: "journal.jsonl",
	claim: "claim.json",
	states: "states.bin",
	/** Of inference, docs/inference.md §10. */
	generation: "generation.json",
	/** Signed reports of the host's devices, docs/attestation.md. */
	rounds: "rounds.bin",
} as const;
type RunFile = (typeof RUN_FILES)[keyof typeof RUN_FILES];

const BLOB = /^[0-9a-f]{64}$/;

/** What anyone may do with a run's folder, also with a stranger's. */
export interface RunReader {
	readonly path: string;
	/** What an engine gets as its --store. */
	readonly storePath: string;
	/** Null when there is none. Throws FILE_UNREADABLE. */
	read(file: RunFile): Promise<Uint8Array | null>;
	/** Roots of the tensors in the store, as hex. */
	blobs(): Promise<ReadonlySet<string>>;
	blob(root: string): Promise<Uint8Array | null>;
}

export interface RunWriter extends RunReader {
	/** A file of the run, or one that the customer takes home. Durable when it resolves. */
	write(file: string, content: Uint8Array | string): Promise<void>;
	/** Under its root; durable when it resolves. */
	putBlob(root: string, bytes: Uint8Array): Promise<void>;
	removeBlobs(roots: Iterable<string>): Promise<void>;
	/** In the file when it returns; durable after `sync`. */
	append(line: string): void;
	sync(): void;
	/** Cuts the journal off after so many bytes. */
	cutJournal(bytes: number): void;
	/** Gives the folder back. */
	close(): Promise<void>;
}

export function readRunFolder(path: string): RunReader {
	const storePath = join(path, "store");
	return {
		path,
		storePath,
		read: (file) => readIfPresent(join(path, file)),
		blobs: async () => new Set((await readdir(storePath).catch(() => [])).filter((name) => BLOB.test(name))),
		blob: (root) => readIfPresent(join(storePath, root)),
	};
}

function unwritable(path: string, cause: unknown): AssayError {
	return new AssayError("FILE_UNWRITABLE", `${path} cannot be written: ${(cause as Error).message}`, {
		hint: "Check the folder's permissions and that its disk is not full; the run goes on from its last state when started again.",
		cause,
	});
}

async function takeLock(path: string): Promise<FolderLock> {
	const lock = await lockFolder(path);
	if (lock !== null) return lock;
	throw new AssayError("RUN_BUSY", `${path} is in use by another run`, { hint: codes.RUN_BUSY.hint });
}

/** Makes the folder where it is missing. Throws RUN_BUSY, FILE_UNWRITABLE. */
export async function openRunFolder(path: string): Promise<RunWriter> {
	const reader = readRunFolder(path);
	await makeFolder(reader.storePath, 0o755).catch((cause) => {
		throw unwritable(path, cause);
	});
	const lock = await takeLock(path);
	const journalPath = join(path, RUN_FILES.journal);
	let journal: number;
	try {
		journal = openSync(journalPath, "a+", 0o644);
	} catch (cause) {
		await lock.release();
		throw unwritable(journalPath, cause);
	}
	const guarded = (act: () => void): void => {
		try {
			act();
		} catch (cause) {
			throw unwritable(journalPath, cause);
		}
	};
	const drafts = join(path, "drafts");
	const write = (file: string, content: Uint8Array | string) =>
		writeDurably(join(path, file), content, { mode: 0o644, drafts });
	// Nobody else writes here: what a killed run left is nobody's.
	await rm(drafts, { recursive: true, force: true });
	return {
		...reader,
		write,
		putBlob: (root, bytes) => write(join("store", root), bytes),
		async removeBlobs(roots) {
			for (const root of roots) await rm(join(reader.storePath, root), { force: true });
		},
		append: (line) =>
			guarded(() => {
				const bytes = Buffer.from(line);
				// A disk that fills takes a part of a line: the rest is not written, and the reader drops what has no
				// end.
				if (writeSync(journal, bytes) !== bytes.length) throw new Error("no space left on device");
			}),
		sync: () => guarded(() => fsyncSync(journal)),
		cutJournal: (bytes) =>
			guarded(() => {
				ftruncateSync(journal, bytes);
				fsyncSync(journal);
			}),
		async close() {
			closeSync(journal);
			await rm(drafts, { recursive: true, force: true });
			await lock.release();
		},
	};
}
