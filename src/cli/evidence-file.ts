// Files that a user names: an evidence file to read, bounded, and whatever a command leaves on disk. Errors
// say what to give instead. Looks at nothing inside.
import { closeSync, existsSync, fstatSync, openSync, readSync, unlinkSync, writeFileSync } from "node:fs";
import { AssayError } from "../protocol/assay-error.ts";

/** The largest file worth reading; a default probe of an H200 leaves about 2 MB. */
const maxFileBytes = 64 * 1024 * 1024;

export const readEvidence = (path: string): Uint8Array =>
	readInput(path, maxFileBytes, "Give the path of an evidence file, as `assay probe` writes it.");

/** A file of at most so many bytes. Throws FILE_UNREADABLE with the hint. */
export function readInput(path: string, mostBytes: number, hint: string): Uint8Array {
	try {
		const file = openSync(path, "r");
		try {
			return readBounded(file, mostBytes);
		} finally {
			closeSync(file);
		}
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `cannot read ${path}: ${reasonOf(cause)}`, { hint, cause });
	}
}

const REASONS: Readonly<Record<string, string>> = {
	ENOENT: "there is no such file or folder",
	ENOTDIR: "a part of its path is a file",
	EISDIR: "it is a folder",
	EACCES: "no permission",
	EROFS: "the disk is read-only",
	ENOSPC: "the disk is full",
};

/** Without the path, which the sentence has already. */
function reasonOf(cause: unknown): string {
	if (!(cause instanceof Error)) return String(cause);
	return REASONS[(cause as NodeJS.ErrnoException).code ?? ""] ?? cause.message;
}

/** Pipes and devices say that they have no bytes, and some never end: what is read is counted. */
function readBounded(file: number, mostBytes: number): Uint8Array {
	const { size } = fstatSync(file);
	if (size > mostBytes) throw new Error(`it has ${size} bytes, at most ${mostBytes} are read`);
	let held = Buffer.alloc(Math.min(Math.max(size, 64 * 1024), mostBytes) + 1);
	let length = 0;
	for (;;) {
		const read = readSync(file, held, length, held.length - length, null);
		length += read;
		if (length > mostBytes) throw new Error(`it goes on after ${mostBytes} bytes, no more are read`);
		if (read === 0) return held.subarray(0, length);
		if (length === held.length) held = Buffer.concat([held, Buffer.alloc(Math.min(length, mostBytes + 1 - length))]);
	}
}

/** Before a long run: can its result be written there? Leaves no file. Throws FILE_UNWRITABLE. */
export function requireWritable(path: string, option: string): void {
	const isNew = !existsSync(path);
	try {
		closeSync(openSync(path, "a"));
		if (isNew) unlinkSync(path);
	} catch (cause) {
		throw unwritable(path, option, cause);
	}
}

/** `option` names the file. Throws FILE_UNWRITABLE. */
export function writeNamedFile(path: string, content: Uint8Array | string, option: string): void {
	try {
		writeFileSync(path, content);
	} catch (cause) {
		throw unwritable(path, option, cause);
	}
}

const unwritable = (path: string, option: string, cause: unknown): AssayError =>
	new AssayError("FILE_UNWRITABLE", `cannot write ${path}: ${reasonOf(cause)}`, {
		hint: `Choose another file with ${option}.`,
		cause,
	});
