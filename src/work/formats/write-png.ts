// Writes a picture as PNG (ISO/IEC 15948): 8 bits a channel, gray or RGB, rows from the top. Compressed by
// the web's own CompressionStream, so the bytes may differ between machines where the pixels do not: compare
// pixels. Not here: reading (read-png.ts).
import { concatBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";

export interface Picture {
	readonly width: number;
	readonly height: number;
	/** 1: gray; 3: red, green, blue. */
	readonly channels: 1 | 3;
	/** Row by row, channels side by side. */
	readonly pixels: Uint8Array;
}

export const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const GRAY = 0;
const RGB = 2;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
	let value = n;
	for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
	return value;
});

/** CRC-32 as PNG has it. */
export function crc32(bytes: Uint8Array): number {
	let crc = 0xffffffff;
	for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 255]! ^ (crc >>> 8);
	return (crc ^ 0xffffffff) >>> 0;
}

const big32 = (value: number): Uint8Array => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);

function chunk(type: string, data: Uint8Array): Uint8Array {
	const body = concatBytes(utf8ToBytes(type), data);
	return concatBytes(big32(data.length), body, big32(crc32(body)));
}

/** The neighbour (left, up, upper left) nearest to left + up − upper left. */
function paeth(left: number, up: number, corner: number): number {
	const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
	if (a <= b && a <= c) return left;
	return b <= c ? up : corner;
}

/** By the codes of PNG's filters: none, sub, up, average, Paeth. */
export const PREDICTED: readonly ((left: number, up: number, corner: number) => number)[] = [
	() => 0,
	(left) => left,
	(_, up) => up,
	(left, up) => (left + up) >> 1,
	paeth,
];

/** Each row under the filter that leaves the smallest numbers, which is what compresses well. */
function filtered({ width, height, channels, pixels }: Picture): Uint8Array {
	const length = width * channels;
	const out = new Uint8Array(height * (length + 1));
	const tried = new Uint8Array(length);
	const none = new Uint8Array(length);
	for (let y = 0; y < height; y++) {
		const row = pixels.subarray(y * length, (y + 1) * length);
		const above = y === 0 ? none : pixels.subarray((y - 1) * length, y * length);
		let least = Number.POSITIVE_INFINITY;
		for (const [code, predict] of PREDICTED.entries()) {
			let size = 0;
			for (let i = 0; i < length; i++) {
				const hasLeft = i >= channels;
				const guess = predict(hasLeft ? row[i - channels]! : 0, above[i]!, hasLeft ? above[i - channels]! : 0);
				const left = (row[i]! - guess) & 255;
				tried[i] = left;
				size += left < 128 ? left : 256 - left;
			}
			if (size >= least) continue;
			least = size;
			out[y * (length + 1)] = code;
			out.set(tried, y * (length + 1) + 1);
		}
	}
	return out;
}

/** zlib's format, RFC 1950. */
async function deflated(bytes: Uint8Array): Promise<Uint8Array> {
	const whole = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream("deflate"));
	return new Uint8Array(await new Response(whole).arrayBuffer());
}

/** `pixels` has width · height · channels bytes, at least one. */
export async function writePng(picture: Picture): Promise<Uint8Array> {
	const { width, height, channels, pixels } = picture;
	if (pixels.length === 0 || pixels.length !== width * height * channels)
		throw new RangeError(`${pixels.length} bytes are not ${width} x ${height} pixels of ${channels} channels`);
	const kind = Uint8Array.of(8, channels === 1 ? GRAY : RGB, 0, 0, 0);
	return concatBytes(
		SIGNATURE,
		chunk("IHDR", concatBytes(big32(width), big32(height), kind)),
		chunk("IDAT", await deflated(filtered(picture))),
		chunk("IEND", new Uint8Array(0)),
	);
}
