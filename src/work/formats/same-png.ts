// Whether two PNG files show the same picture although they were packed by different machines. Strict: the
// same header, no chunks but header, data and end, every checksum right, the same pixels.
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { readPng } from "./read-png.ts";
import { SIGNATURE } from "./write-png.ts";

const HEADER_END = SIGNATURE.length + 25;

/** Of a file whose chunks are known to be whole. */
function isPlain(bytes: Uint8Array): boolean {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	for (let at = SIGNATURE.length; at < bytes.length; at += view.getUint32(at) + 12)
		if (!["IHDR", "IDAT", "IEND"].includes(String.fromCharCode(...bytes.subarray(at + 4, at + 8)))) return false;
	return true;
}

/** `other` may be anything; `right` is a file of write-png.ts. */
export async function isSamePng(other: Uint8Array, right: Uint8Array): Promise<boolean> {
	if (!equalBytes(other.subarray(0, HEADER_END), right.subarray(0, HEADER_END))) return false;
	try {
		const [a, b] = [await readPng(other, "the picture"), await readPng(right, "the picture")];
		return isPlain(other) && equalBytes(a.pixels, b.pixels);
	} catch (error) {
		if (error instanceof AssayError) return false;
		throw error;
	}
}
