// PNG files: what is written is read back by a second reader (zlib and the five filters, undone); CRCs are
// PNG's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateSync, crc32 as zlibCrc } from "node:zlib";
import { drawn } from "../builder/samples.test-kit.ts";
import { crc32, type Picture, writePng } from "./write-png.ts";

/** Chunks by type, with their CRCs checked; the pixels, unfiltered by the letter of the standard. */
function readBack(bytes: Uint8Array): { header: number[]; pixels: Uint8Array; filters: Set<number> } {
	const file = Buffer.from(bytes);
	assert.equal(file.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
	const chunks = new Map<string, Buffer>();
	for (let at = 8; at < file.length; ) {
		const length = file.readUInt32BE(at);
		const body = file.subarray(at + 4, at + 8 + length);
		assert.equal(file.readUInt32BE(at + 8 + length), zlibCrc(body));
		chunks.set(body.subarray(0, 4).toString(), body.subarray(4));
		at += 12 + length;
	}
	assert.deepEqual([...chunks.keys()], ["IHDR", "IDAT", "IEND"]);
	const header = chunks.get("IHDR")!;
	const [width, height, channels] = [header.readUInt32BE(0), header.readUInt32BE(4), header[9] === 0 ? 1 : 3];
	const raw = inflateSync(chunks.get("IDAT")!);
	const length = width * channels;
	assert.equal(raw.length, height * (length + 1));
	const pixels = new Uint8Array(height * length);
	const filters = new Set<number>();
	for (let y = 0; y < height; y++) {
		const filter = raw[y * (length + 1)]!;
		filters.add(filter);
		for (let i = 0; i < length; i++) {
			const a = i >= channels ? pixels[y * length + i - channels]! : 0;
			const b = y > 0 ? pixels[(y - 1) * length + i]! : 0;
			const c = i >= channels && y > 0 ? pixels[(y - 1) * length + i - channels]! : 0;
			const p = a + b - c;
			const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
			const near = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
			pixels[y * length + i] = raw[y * (length + 1) + 1 + i]! + [0, a, b, (a + b) >> 1, near][filter]!;
		}
	}
	return { header: [...header.subarray(8)], pixels, filters };
}

const random = (count: number, seed: number) => Uint8Array.from(drawn("i16", [count], 0, 255, seed), Number);
const smooth = (width: number, height: number, channels: number) =>
	Uint8Array.from({ length: width * height * channels }, (_, i) => {
		const [x, y] = [Math.floor(i / channels) % width, Math.floor(i / channels / width)];
		return (x * 3 + y * 2 + (x * y) / 9 + (i % channels) * 40) & 255;
	});

test("gray and RGB pictures are read back pixel for pixel", async () => {
	const pictures: readonly Picture[] = [
		{ width: 1, height: 1, channels: 1, pixels: Uint8Array.of(7) },
		{ width: 5, height: 1, channels: 3, pixels: random(15, 1) },
		{ width: 31, height: 17, channels: 1, pixels: random(31 * 17, 2) },
		{ width: 64, height: 48, channels: 1, pixels: smooth(64, 48, 1) },
		{ width: 64, height: 48, channels: 3, pixels: smooth(64, 48, 3) },
	];
	const used = new Set<number>();
	for (const picture of pictures) {
		const { header, pixels, filters } = readBack(await writePng(picture));
		assert.deepEqual(header, [8, picture.channels === 1 ? 0 : 2, 0, 0, 0]);
		assert.deepEqual(pixels, picture.pixels);
		for (const one of filters) used.add(one);
	}
	assert.ok(used.size >= 3, "several filters were used");
});

test("a smooth picture becomes small, and CRC-32 is the known one", async () => {
	const bytes = await writePng({ width: 64, height: 48, channels: 3, pixels: smooth(64, 48, 3) });
	assert.ok(bytes.length < (64 * 48 * 3) / 4);
	assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});

test("pixels that are not the picture's are refused", async () => {
	for (const pixels of [new Uint8Array(0), new Uint8Array(5), new Uint8Array(7)])
		await assert.rejects(writePng({ width: 2, height: 1, channels: 3, pixels }), RangeError);
	await assert.rejects(writePng({ width: 0, height: 9, channels: 1, pixels: new Uint8Array(0) }), RangeError);
});
