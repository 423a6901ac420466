// Reads a picture from PNG (ISO/IEC 15948): gray, RGB and palette of every depth, as 8 bits a channel; 16
// bits are rounded, transparency is left out. Strict: sizes are bounded before anything is inflated, every
// checksum is compared, chunks stand in their order. Interlaced files are refused. Inflated by the web's own
// DecompressionStream. Not here: writing (write-png.ts).
import type { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { crc32, type Picture, PREDICTED, SIGNATURE } from "./write-png.ts";

/** Of the rows of a picture: what 4,096 x 4,096 pixels of RGBA take. */
const MOST_BYTES = 2 ** 26 + 4096;

const KINDS: Readonly<Record<number, { readonly samples: number; readonly depths: readonly number[] }>> = {
	0: { samples: 1, depths: [1, 2, 4, 8, 16] },
	2: { samples: 3, depths: [8, 16] },
	3: { samples: 1, depths: [1, 2, 4, 8] },
	4: { samples: 2, depths: [8, 16] },
	6: { samples: 4, depths: [8, 16] },
};
const PALETTE = 3;

interface Header {
	readonly width: number;
	readonly height: number;
	readonly depth: number;
	readonly kind: number;
	/** Numbers a pixel. */
	readonly samples: number;
	/** Bytes of one row, without its filter. */
	readonly rowBytes: number;
}

const wrong = (name: string, why: string): AssayError => codedError("IMAGE_FORMAT", `${name}: ${why}`);

interface Chunk {
	readonly type: string;
	readonly data: Uint8Array;
}

/** All chunks, each with its checksum compared. */
function chunksOf(bytes: Uint8Array, name: string): Chunk[] {
	if (SIGNATURE.some((byte, i) => bytes[i] !== byte)) throw wrong(name, "is no PNG file");
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const chunks: Chunk[] = [];
	let at = SIGNATURE.length;
	while (at < bytes.length) {
		if (at + 12 > bytes.length) throw wrong(name, "ends in a chunk");
		const length = view.getUint32(at);
		if (length > bytes.length - at - 12) throw wrong(name, "ends in a chunk");
		const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
		if (!/^[A-Za-z]{4}$/.test(type)) throw wrong(name, "has a chunk whose type is no word");
		if (crc32(bytes.subarray(at + 4, at + 8 + length)) !== view.getUint32(at + 8 + length))
			throw wrong(name, `the checksum of its chunk ${type} is another`);
		chunks.push({ type, data: bytes.subarray(at + 8, at + 8 + length) });
		at += length + 12;
	}
	return chunks;
}

function headerOf({ type, data }: Chunk, name: string): Header {
	if (type !== "IHDR" || data.length !== 13) throw wrong(name, "does not begin with its header");
	const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
	const [width, height, depth, kind] = [view.getUint32(0), view.getUint32(4), data[8]!, data[9]!];
	const known = Object.hasOwn(KINDS, kind) ? KINDS[kind]! : null;
	if (known === null || !known.depths.includes(depth)) throw wrong(name, "has a kind of pixels that PNG does not have");
	if (data[10] !== 0 || data[11] !== 0) throw wrong(name, "is packed in a way that PNG does not have");
	if (data[12] === 1) throw wrong(name, "is interlaced: save it without");
	if (data[12] !== 0 || width === 0 || height === 0) throw wrong(name, "has a header that PNG does not have");
	const rowBytes = Math.ceil((width * known.samples * depth) / 8);
	if (height * (rowBytes + 1) > MOST_BYTES)
		throw codedError("IMAGE_SIZE", `${name} has ${width} x ${height} pixels; that is more than is read`);
	return { width, height, depth, kind, samples: known.samples, rowBytes };
}

/**
 * What must stand between header and end: at most one palette, then the data without a gap; other chunks that
 * may be left out.
 */
function bodyOf(chunks: readonly Chunk[], header: Header, name: string) {
	const end = chunks.findIndex(({ type }) => type === "IEND");
	if (end !== chunks.length - 1 || chunks[end]!.data.length !== 0) throw wrong(name, "does not end with its end");
	let palette: Uint8Array | null = null;
	const data: Uint8Array[] = [];
	for (const [i, { type, data: own }] of chunks.slice(1, -1).entries())
		if (type === "IDAT") {
			if (data.length > 0 && chunks[i]!.type !== "IDAT") throw wrong(name, "has other chunks between its data");
			data.push(own);
		} else if (type === "PLTE") {
			const isAllowed = header.kind !== 0 && header.kind !== 4 && palette === null && data.length === 0;
			if (!isAllowed || own.length === 0 || own.length % 3 !== 0 || own.length > 768)
				throw wrong(name, "has a palette that does not belong");
			palette = own;
		} else if (type[0]! < "a") throw wrong(name, `has a chunk ${type}, which is not read`);
	if (data.length === 0) throw wrong(name, "has no data");
	if (header.kind === PALETTE && palette === null) throw wrong(name, "has no palette");
	return { palette, data };
}

/** Exactly `length` bytes. Stops as soon as there are more. */
async function inflated(parts: readonly Uint8Array[], length: number, name: string): Promise<Uint8Array> {
	const out = new Uint8Array(length);
	const packed = new Blob(parts as Uint8Array<ArrayBuffer>[]).stream();
	const reader = packed.pipeThrough(new DecompressionStream("deflate")).getReader();
	let at = 0;
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			if (at + value.length > length) {
				await reader.cancel();
				at = length + 1;
				break;
			}
			out.set(value, at);
			at += value.length;
		}
	} catch (cause) {
		throw codedError("IMAGE_FORMAT", `${name}: its data cannot be unpacked`, { cause });
	}
	if (at !== length) throw wrong(name, `its data is not that of ${length} bytes`);
	return out;
}

/** Rows without their filters, in place of the filtered ones: [height, rowBytes]. */
function unfiltered(rows: Uint8Array, { height, rowBytes, samples, depth }: Header, name: string): Uint8Array {
	const step = Math.max(1, (samples * depth) / 8);
	const out = new Uint8Array(height * rowBytes);
	for (let y = 0; y < height; y++) {
		const predict = PREDICTED[rows[y * (rowBytes + 1)]!];
		if (predict === undefined) throw wrong(name, "has a row with a filter that PNG does not have");
		const [from, to] = [y * (rowBytes + 1) + 1, y * rowBytes];
		for (let i = 0; i < rowBytes; i++) {
			const left = i < step ? 0 : out[to + i - step]!;
			const up = y === 0 ? 0 : out[to + i - rowBytes]!;
			const corner = i < step || y === 0 ? 0 : out[to + i - step - rowBytes]!;
			out[to + i] = rows[from + i]! + predict(left, up, corner);
		}
	}
	return out;
}

/** Number i of a row, by its depth: at its own size; 16 bits are rounded to 8. */
function sampleAt(row: Uint8Array, i: number, depth: number): number {
	if (depth === 8) return row[i]!;
	if (depth === 16) return (((row[2 * i]! << 8) + row[2 * i + 1]!) * 255 + 32_767) / 65_535;
	const perByte = 8 / depth;
	return (row[Math.floor(i / perByte)]! >> (8 - depth * ((i % perByte) + 1))) & (2 ** depth - 1);
}

function pixelsOf(rows: Uint8Array, header: Header, palette: Uint8Array | null, name: string): Picture {
	const { width, height, depth, kind, samples, rowBytes } = header;
	const channels = kind === 0 || kind === 4 ? 1 : 3;
	const pixels = new Uint8Array(width * height * channels);
	const factor = depth < 8 && kind !== PALETTE ? 255 / (2 ** depth - 1) : 1;
	for (let y = 0; y < height; y++) {
		const row = rows.subarray(y * rowBytes, (y + 1) * rowBytes);
		for (let x = 0; x < width; x++) {
			const to = (y * width + x) * channels;
			if (kind === PALETTE) {
				const from = 3 * sampleAt(row, x, depth);
				if (from >= palette!.length) throw wrong(name, "has a pixel whose color is not in its palette");
				pixels.set(palette!.subarray(from, from + 3), to);
			} else for (let c = 0; c < channels; c++) pixels[to + c] = sampleAt(row, x * samples + c, depth) * factor;
		}
	}
	return { width, height, channels, pixels };
}

/** `name` is what messages call the file. */
export async function readPng(bytes: Uint8Array, name: string): Promise<Picture> {
	const chunks = chunksOf(bytes, name);
	const header = headerOf(chunks[0] ?? { type: "", data: bytes }, name);
	const { palette, data } = bodyOf(chunks, header, name);
	const rows = await inflated(data, header.height * (header.rowBytes + 1), name);
	return pixelsOf(unfiltered(rows, header, name), header, palette, name);
}
