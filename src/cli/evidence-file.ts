// Files that a user names: an evidence file to read, bounded, and whatever a command leaves on disk. Errors say
// what to give instead. Looks at nothing inside.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { AssayError } from "../protocol/assay-error.ts";

/** The largest file worth reading; a default probe of an H200 leaves about 2 MB. */
const maxFileBytes = 64 * 1024 * 1024;

export const readEvidence = (path: string): Uint8Array =>
	readInput(path, maxFileBytes, "Give the path of an evidence file, as `assay probe` writes it.");

/** A file of at most so many bytes. Throws FILE_UNREADABLE with the hint. */
export function readInput(path: string, mostBytes: number, hint: string): Uint8Array {
	try {
		const { size } = statSync(path);
		if (size > mostBytes) throw new Error(`it has ${size} bytes, at most ${mostBytes} are read`);
		return readFileSync(path);
	} catch (cause) {
		const message = `cannot read ${path}: ${cause instanceof Error ? cause.message : cause}`;
		throw new AssayError("FILE_UNREADABLE", message, { hint, cause });
	}
}

/** `option` names the file. Throws FILE_UNWRITABLE. */
export function writeNamedFile(path: string, content: Uint8Array | string, option: string): void {
	try {
		writeFileSync(path, content);
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot write ${path}: ${cause instanceof Error ? cause.message : cause}`, {
			hint: `Choose another file with ${option}.`,
			cause,
		});
	}
}
