// Makes PNG files of every kind for tests, right and wrong ones: chunks, rows with any filter, packed by
// node:zlib.
import { crc32, deflateSync } from "node:zlib";

export function chunk(type: string, data: Uint8Array): Buffer {
	const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
	const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
	length.writeUInt32BE(data.length);
	crc.writeUInt32BE(crc32(body));
	return Buffer.concat([length, body, crc]);
}

export const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

export interface PngParts {
	readonly width: number;
	readonly height: number;
	readonly depth: number;
	readonly kind: number;
	readonly interlaced?: number;
	readonly palette?: Uint8Array;
	/** Rows, each with the number of its filter before it. */
	readonly rows: Uint8Array;
	/** The packed rows are cut into so many chunks. */
	readonly pieces?: number;
}

export function headerChunk({ width, height, depth, kind, interlaced = 0 }: Omit<PngParts, "rows">): Buffer {
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	header.set([depth, kind, 0, 0, interlaced], 8);
	return chunk("IHDR", header);
}

export function pngBytes(parts: PngParts): Uint8Array {
	const packed = deflateSync(parts.rows);
	const pieces = parts.pieces ?? 1;
	const size = Math.ceil(packed.length / pieces);
	return new Uint8Array(
		Buffer.concat([
			SIGNATURE,
			headerChunk(parts),
			...(parts.palette === undefined ? [] : [chunk("PLTE", parts.palette)]),
			chunk("tEXt", Buffer.from("Comment\0made for a test")),
			...Array.from({ length: pieces }, (_, i) => chunk("IDAT", packed.subarray(i * size, (i + 1) * size))),
			chunk("IEND", Buffer.alloc(0)),
		]),
	);
}

/** The file with the checksums that its chunks should have, as far as they can be told apart. */
export function mended(bytes: Uint8Array): Uint8Array {
	const file = Buffer.from(bytes);
	for (let at = 8; at + 12 <= file.length; ) {
		const end = at + 8 + file.readUInt32BE(at);
		if (end + 4 > file.length) break;
		file.writeUInt32BE(crc32(file.subarray(at + 4, end)), end);
		at = end + 4;
	}
	return new Uint8Array(file);
}
