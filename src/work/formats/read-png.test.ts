// PNG files of every kind are read; wrong ones are refused by their code, and none ends the process or takes
// more than its header says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { isDeep, scaled, seed } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { numbersFrom } from "../builder/samples.test-kit.ts";
import { chunk, headerChunk, mended, type PngParts, pngBytes, SIGNATURE } from "./png.test-kit.ts";
import { readPng } from "./read-png.ts";
import { writePng } from "./write-png.ts";

const rows = (...all: readonly (readonly number[])[]) => Uint8Array.from(all.flat());
const KINDS: Readonly<Record<string, readonly [PngParts, channels: number, pixels: readonly number[]]>> = {
	"gray, 1 bit": [
		{ width: 9, height: 1, depth: 1, kind: 0, rows: rows([0, 0b1010_0001, 0x80]) },
		1,
		[255, 0, 255, 0, 0, 0, 0, 255, 255],
	],
	"gray, 2 bits": [{ width: 4, height: 1, depth: 2, kind: 0, rows: rows([0, 0b0001_1011]) }, 1, [0, 85, 170, 255]],
	"gray, 4 bits": [{ width: 2, height: 1, depth: 4, kind: 0, rows: rows([0, 0x1f]) }, 1, [17, 255]],
	"gray, 8 bits, rows above": [
		{ width: 2, height: 3, depth: 8, kind: 0, rows: rows([1, 5, 6], [2, 1, 255], [3, 2, 3]) },
		1,
		[5, 11, 6, 10, 5, 10],
	],
	"gray, 16 bits": [
		{ width: 3, height: 1, depth: 16, kind: 0, rows: rows([0, 0, 128, 1, 129, 255, 255]) },
		1,
		[0, 1, 255],
	],
	"RGB, Paeth, in three pieces": [
		{ width: 2, height: 2, depth: 8, kind: 2, rows: rows([0, 1, 2, 3, 4, 5, 6], [4, 1, 1, 1, 1, 1, 1]), pieces: 3 },
		3,
		[1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7],
	],
	"RGB, 16 bits": [
		{ width: 1, height: 1, depth: 16, kind: 2, rows: rows([0, 255, 255, 0, 0, 128, 0]) },
		3,
		[255, 0, 128],
	],
	"palette, 4 bits": [
		{ width: 3, height: 1, depth: 4, kind: 3, palette: Uint8Array.of(1, 2, 3, 4, 5, 6), rows: rows([0, 0x10, 0x10]) },
		3,
		[4, 5, 6, 1, 2, 3, 4, 5, 6],
	],
	"gray with transparency": [{ width: 2, height: 1, depth: 8, kind: 4, rows: rows([1, 7, 0, 1, 9]) }, 1, [7, 8]],
	"RGB with transparency": [{ width: 1, height: 1, depth: 8, kind: 6, rows: rows([0, 1, 2, 3, 4]) }, 3, [1, 2, 3]],
};

for (const [what, [parts, channels, pixels]] of Object.entries(KINDS))
	test(`${what} is read`, async () => {
		const { width, height } = parts;
		assert.deepEqual(await readPng(pngBytes(parts), "p"), {
			width,
			height,
			channels,
			pixels: Uint8Array.from(pixels),
		});
	});

test("what is written is read", async () => {
	const draw = numbersFrom(3);
	for (const channels of [1, 3] as const) {
		const pixels = Uint8Array.from({ length: 37 * 21 * channels }, (_, i) => (draw(40) + i / 5) & 255);
		const picture = { width: 37, height: 21, channels, pixels };
		assert.deepEqual(await readPng(await writePng(picture), "p"), picture);
	}
});

const GRAY = { width: 2, height: 2, depth: 8, kind: 0, rows: rows([0, 1, 2], [0, 3, 4]) };
const whole = (...chunks: readonly Uint8Array[]) => new Uint8Array(Buffer.concat([SIGNATURE, ...chunks]));
const END = chunk("IEND", new Uint8Array());
const DATA = chunk("IDAT", deflateSync(GRAY.rows));
const WRONG: Readonly<Record<string, readonly [Uint8Array, string, code?: string]>> = {
	"no PNG": [Uint8Array.of(1, 2, 3), "is no PNG file"],
	"the signature alone": [whole(), "does not begin with its header"],
	"cut in a chunk": [pngBytes(GRAY).slice(0, -3), "ends in a chunk"],
	"a changed byte": [pngBytes(GRAY).with(20, 9), "the checksum of its chunk IHDR is another"],
	interlaced: [pngBytes({ ...GRAY, interlaced: 1 }), "is interlaced: save it without"],
	"a depth of 3": [pngBytes({ ...GRAY, depth: 3 }), "has a kind of pixels that PNG does not have"],
	"no width": [pngBytes({ ...GRAY, width: 0 }), "has a header that PNG does not have"],
	"no data": [whole(headerChunk(GRAY), END), "has no data"],
	"data with a gap": [
		whole(headerChunk(GRAY), DATA, chunk("tEXt", new Uint8Array()), DATA, END),
		"has other chunks between its data",
	],
	"a chunk after its end": [whole(headerChunk(GRAY), DATA, END, END), "does not end with its end"],
	"an unknown chunk that counts": [
		whole(headerChunk(GRAY), chunk("QQQQ", new Uint8Array()), DATA, END),
		"has a chunk QQQQ, which is not read",
	],
	"a row too few": [pngBytes({ ...GRAY, height: 3 }), "its data is not that of 9 bytes"],
	"a row too many": [pngBytes({ ...GRAY, height: 1 }), "its data is not that of 3 bytes"],
	"a filter of 5": [pngBytes({ ...GRAY, rows: rows([5, 1, 2], [0, 3, 4]) }), "has a row with a filter"],
	"data that is not packed": [whole(headerChunk(GRAY), chunk("IDAT", GRAY.rows), END), "cannot be unpacked"],
	"bytes after the packed ones": [
		whole(headerChunk(GRAY), DATA, chunk("IDAT", Uint8Array.of(1, 2, 3)), END),
		"cannot be unpacked",
	],
	"a palette without colors": [pngBytes({ ...GRAY, kind: 3 }), "has no palette"],
	"a color beyond the palette": [
		pngBytes({ ...GRAY, kind: 3, palette: Uint8Array.of(1, 2, 3) }),
		"has a pixel whose color is not in its palette",
	],
	"a palette of gray": [pngBytes({ ...GRAY, palette: Uint8Array.of(1, 2, 3) }), "has a palette that does not belong"],
	"1 GiB of pixels, in a file of some bytes": [
		pngBytes({ ...GRAY, width: 32_768, height: 32_768 }),
		"has 32768 x 32768 pixels",
		"IMAGE_SIZE",
	],
	"16 MiB behind a header of two pixels": [
		whole(headerChunk(GRAY), chunk("IDAT", deflateSync(Buffer.alloc(2 ** 24))), END),
		"its data is not that of 6 bytes",
	],
};

for (const [what, [bytes, words, code = "IMAGE_FORMAT"]] of Object.entries(WRONG))
	test(`refused: ${what}`, async () => {
		await assert.rejects(
			readPng(bytes, "p.png"),
			(error) =>
				error instanceof AssayError && error.code === code && error.hint !== "" && error.message.includes(words),
		);
	});

test("changed files are pictures of their header's size or refused", async () => {
	const files = Object.values(KINDS).map(([parts]) => pngBytes(parts));
	const draw = numbersFrom(seed);
	let read = 0;
	for (let n = 0; n < (isDeep ? 100_000 : scaled(2000)); n++) {
		const file = Uint8Array.from(files[draw(files.length)]!);
		for (let i = draw(3); i >= 0; i--) file[draw(file.length)] = draw(256);
		const cut = draw(8) === 0 ? file.slice(0, draw(file.length)) : file;
		try {
			const { width, height, channels, pixels } = await readPng(draw(4) === 0 ? cut : mended(cut), "p");
			assert.equal(pixels.length, width * height * channels);
			read++;
		} catch (error) {
			assert.ok(error instanceof AssayError && /^IMAGE_(FORMAT|SIZE)$/.test(error.code), String(error));
		}
	}
	assert.ok(read > 0);
});
