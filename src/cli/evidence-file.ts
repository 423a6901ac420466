// Files that a user names: an evidence file to read, bounded, and whatever a command leaves on disk. Errors say
// what to give instead. Looks at nothing inside.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { AssayError } from "../protocol/assay-error.ts";

/** The largest file worth reading; a default probe of an H200 leaves about 2 MB. */
const maxFileBytes = 64 * 1024 * 1024;

export function readEvidence(path: string): Uint8Array {
	try {
		const { size } = statSync(path);
		if (size > maxFileBytes) throw new Error(`it has ${size} bytes, at most ${maxFileBytes} are read`);
		return readFileSync(path);
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `cannot read ${path}: ${cause instanceof Error ? cause.message : cause}`, {
			hint: "Give the path of an evidence file, as `assay probe` writes it.",
			cause,
		});
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
