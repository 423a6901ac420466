// Names of blobs and of those who hold them, as files: both come from strangers, and become paths only here.
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";

export interface BlobName {
	/** 64 hex digits. */
	readonly root: string;
	readonly size: number;
}

const HOLDER = /^[0-9a-z-]{1,80}$/;
const NAME = /^[0-9a-f]{64}-(0|[1-9]\d{0,15})$/;

type BlobCode =
	| "BLOB_NAME"
	| "BLOB_TREE"
	| "BLOB_OFFSET"
	| "BLOB_WRONG"
	| "BLOB_UNKNOWN"
	| "BLOB_QUOTA"
	| "BLOB_FULL"
	| "BLOB_LARGE";
export const refused = (code: BlobCode, message: string) => new AssayError(code, message, { hint: codes[code].hint });

export function fileName({ root, size }: BlobName): string {
	const name = `${root}-${size}`;
	if (!NAME.test(name) || !Number.isSafeInteger(size))
		throw refused("BLOB_NAME", "a blob is named by 64 hex digits and its size");
	return name;
}

export function holderName(holder: string): string {
	if (!HOLDER.test(holder)) throw refused("BLOB_NAME", "a holder's name has 1 to 80 of 0-9, a-z and -");
	return holder;
}

/** What else lies in a folder of ours was put there by its owner: it is left alone. */
export const isHolder = (name: string): boolean => HOLDER.test(name);
export const isBlob = (name: string): boolean => NAME.test(name);
export const sizeOfName = (name: string): number => Number(name.slice(65));
export const nameOfFile = (name: string): BlobName => ({ root: name.slice(0, 64), size: sizeOfName(name) });
