// Writes light as a Radiance picture (.hdr, RGBE): three bytes of mantissa and one of exponent a pixel, rows
// from the top, packed in runs as Radiance does since 1991. Most programs for pictures and 3D read it. Each
// value is right to about 1/256 of the pixel's largest.
import { concatBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";

export interface LightPicture {
	readonly width: number;
	readonly height: number;
	/** Red, green, blue of a pixel, from 0 up; row by row. */
	readonly light: (pixel: number) => readonly [number, number, number];
}

/** Rows are packed when they have 8 to 32,767 pixels; else a row is plain pixels. */
const LEAST_PACKED = 8;
const MOST_PACKED = 32_767;
const LEAST_RUN = 4;

/** The exponent is that of the largest: v = m·2^(e − 136), m from 0 to 255. */
export function rgbe([r, g, b]: readonly [number, number, number]): readonly [number, number, number, number] {
	const largest = Math.max(r, g, b);
	let exponent = 0;
	// largest = f·2^exponent, ½ ≤ f < 1; what no exponent reaches is 0 or the largest there is.
	if (!(largest >= 2 ** -126)) return [0, 0, 0, 0];
	for (let rest = largest; rest >= 1 && exponent < 127; rest /= 2) exponent += 1;
	for (let rest = largest; rest < 0.5; rest *= 2) exponent -= 1;
	const byte = (value: number) => Math.min(255, Math.floor(value * 2 ** (8 - exponent)));
	return [byte(r), byte(g), byte(b), exponent + 128];
}

/** One channel of a row: runs as 128 + count and the byte, other bytes as their count and themselves. */
function packed(bytes: Uint8Array): number[] {
	const out: number[] = [];
	const runAt = (from: number) => {
		let count = 1;
		while (count < 127 && from + count < bytes.length && bytes[from + count] === bytes[from]) count += 1;
		return count;
	};
	for (let at = 0; at < bytes.length; ) {
		const run = runAt(at);
		if (run >= LEAST_RUN) {
			out.push(128 + run, bytes[at]!);
			at += run;
			continue;
		}
		let end = at + 1;
		while (end < bytes.length && end - at < 128 && runAt(end) < LEAST_RUN) end += 1;
		out.push(end - at, ...bytes.subarray(at, end));
		at = end;
	}
	return out;
}

export function writeHdr({ width, height, light }: LightPicture): Uint8Array {
	const head = utf8ToBytes(`#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y ${height} +X ${width}\n`);
	const isPacked = width >= LEAST_PACKED && width <= MOST_PACKED;
	const rows: Uint8Array[] = [];
	for (let y = 0; y < height; y++) {
		const pixels = Array.from({ length: width }, (_, x) => rgbe(light(y * width + x)));
		if (!isPacked) {
			rows.push(Uint8Array.from(pixels.flat()));
			continue;
		}
		const channels = [0, 1, 2, 3].map((channel) => packed(Uint8Array.from(pixels, (pixel) => pixel[channel]!)));
		rows.push(Uint8Array.from([2, 2, width >> 8, width & 255, ...channels.flat()]));
	}
	return concatBytes(head, ...rows);
}
