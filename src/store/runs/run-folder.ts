// The folder of a run, docs/jobs.md §2: job.json, program.bin, journal.jsonl, store/ (tensors by root),
// data/ (what the job file names), and at the end claim.json, states.bin and what came out. One run at a
// time has it, by a lock that goes with its process. Whoever reads a stranger's folder follows no links, and
// reads no more than a file of its name may have. Files only: what they mean is src/work/runs/.
import { hash } from "node:crypto";
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { type FileHandle, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, writeDurably } from "../../platform/durable-file.ts";
import { type FolderLock, lockFolder } from "../../platform/folder-lock.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";

/** The files that are no output of the work, and how many bytes each may have. */
const RUN_FILES = {
	"job.json": 2 ** 20,
	"program.bin": 2 ** 20,
	/** Longer ones are no text that Node can hold. */
	"journal.jsonl": 2 ** 29 - 64,
	"claim.json": 2 ** 16,
	"states.bin": 2 ** 31 - 1,
	/** Only in a fetched result: the states before the last part's. */
	"earlier-states.bin": 2 ** 31 - 1,
	/** Of inference, docs/inference.md §10. */
	"generation.json": 2 ** 20,
	/** Signed reports of the host's devices, docs/attestation.md. */
	"rounds.bin": 2 ** 26,
} as const;
export type RunFile = keyof typeof RUN_FILES;
const JOURNAL = "journal.jsonl" satisfies RunFile;

const BLOB = /^[0-9a-f]{64}$/;
/** What Node reads at once. */
const MAX_BYTES = 2 ** 31 - 1;
/** Folders that hold no output. */
const OWN_FOLDERS: ReadonlySet<string> = new Set(["store", "data", "drafts"]);
const MAX_ENTRIES = 100_000;
const MAX_DEPTH = 4;

/** Something that lies in a run's folder. */
export interface FolderEntry {
	/** Relative to the folder: `frames/0012.png`. */
	readonly name: string;
	/** `unread`: a folder that has too many files, or that lies too deep. */
	readonly kind: "file" | "link" | "folder" | "unread" | "other";
}

/** What anyone may do with a run's folder, also with a stranger's. */
export interface RunReader {
	readonly path: string;
	/** What an engine gets as its --store. */
	readonly storePath: string;
	/** Null when there is none. Throws FILE_UNREADABLE. */
	read(file: RunFile): Promise<Uint8Array | null>;
	/** Everything in it but store, data and drafts; folders by what is in them. Follows no links. */
	list(): Promise<readonly FolderEntry[]>;
	/** A listed file; null when it has more bytes than that. Throws FILE_UNREADABLE. */
	readListed(name: string, maxBytes: number): Promise<Uint8Array | null>;
	/** Bytes that the job file names, as they were when the run began; null when they were not kept. */
	data(name: string): Promise<Uint8Array | null>;
	/** Roots of the tensors in the store, as hex. */
	blobs(): Promise<ReadonlySet<string>>;
	blob(root: string): Promise<Uint8Array | null>;
}

export interface RunWriter extends RunReader {
	/** A file of the run, or one that the customer takes home. Durable when it resolves. */
	write(file: string, content: Uint8Array | string): Promise<void>;
	/** Under its root; durable when it resolves. */
	putBlob(root: string, bytes: Uint8Array): Promise<void>;
	/** What the job file names, for `data`. */
	putData(name: string, bytes: Uint8Array): Promise<void>;
	removeBlobs(roots: Iterable<string>): Promise<void>;
	/** In the file when it returns; durable after `sync`. */
	append(line: string): void;
	sync(): void;
	/** Cuts the journal off after so many bytes. */
	cutJournal(bytes: number): void;
	/** Gives the folder back. */
	close(): Promise<void>;
}

const unreadable = (path: string, why: string, cause?: unknown): AssayError =>
	codedError("FILE_UNREADABLE", `${path} cannot be read: ${why}`, { cause });

/** Opens a plain file; null when there is none. Never follows a link, never waits for a pipe. */
async function openPlain(path: string): Promise<FileHandle | null> {
	let file: FileHandle;
	try {
		file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		if (code === "ENOENT") return null;
		throw unreadable(path, code === "ELOOP" || code === "EMLINK" ? "it is a link" : message, cause);
	}
	const found = await file.stat();
	if (found.isFile()) return file;
	await file.close();
	throw unreadable(path, found.isDirectory() ? "it is a folder" : "it is no plain file");
}

/** Null when there is none. Throws FILE_UNREADABLE; what a larger file is, `tooLarge` says. */
async function readPlain(
	path: string,
	maxBytes: number,
	tooLarge: (size: number) => null = (size) => {
		throw unreadable(path, `it has ${size} bytes, more than ${maxBytes}`);
	},
): Promise<Uint8Array | null> {
	const file = await openPlain(path);
	if (file === null) return null;
	try {
		const { size } = await file.stat();
		return size <= maxBytes ? await file.readFile() : tooLarge(size);
	} finally {
		await file.close();
	}
}

async function listFolder(path: string): Promise<FolderEntry[]> {
	const found: FolderEntry[] = [];
	const walk = async (folder: string, depth: number): Promise<void> => {
		const held = await readdir(join(path, folder), { withFileTypes: true });
		if (depth > MAX_DEPTH || found.length + held.length > MAX_ENTRIES) {
			found.push({ name: folder, kind: "unread" });
			return;
		}
		if (held.length === 0 && depth > 0) found.push({ name: folder, kind: "folder" });
		for (const one of held) {
			const name = folder === "" ? one.name : `${folder}/${one.name}`;
			if (depth === 0 && OWN_FOLDERS.has(name) && one.isDirectory()) continue;
			if (one.isDirectory()) await walk(name, depth + 1);
			else found.push({ name, kind: one.isFile() ? "file" : one.isSymbolicLink() ? "link" : "other" });
		}
	};
	await walk("", 0);
	return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function readRunFolder(path: string): RunReader {
	const storePath = join(path, "store");
	return {
		path,
		storePath,
		read: (file) => readPlain(join(path, file), RUN_FILES[file]),
		list: () => listFolder(path),
		readListed: (name, maxBytes) => readPlain(join(path, name), maxBytes, () => null),
		data: (name) => readPlain(join(path, dataName(name)), MAX_BYTES),
		blobs: async () => new Set((await readdir(storePath).catch(() => [])).filter((name) => BLOB.test(name))),
		blob: (root) => readPlain(join(storePath, root), MAX_BYTES),
	};
}

/** By the hash of the name, which may be any path. */
const dataName = (name: string): string => `data/${hash("sha256", name, "hex")}`;

/** Whether a run or a result lies there, finished or not. */
export async function holdsRun(path: string): Promise<boolean> {
	for (const file of [JOURNAL, "claim.json"]) if (await stat(join(path, file)).catch(() => null)) return true;
	return false;
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
	throw codedError("RUN_BUSY", `${path} is in use by another run`);
}

/** Makes the folder where it is missing. Throws RUN_BUSY, FILE_UNWRITABLE. */
export async function openRunFolder(path: string): Promise<RunWriter> {
	const reader = readRunFolder(path);
	await makeFolder(reader.storePath, 0o755).catch((cause) => {
		throw unwritable(path, cause);
	});
	const lock = await takeLock(path);
	const journalPath = join(path, JOURNAL);
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
		putData: (name, bytes) => write(dataName(name), bytes),
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
