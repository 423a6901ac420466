// Radiance pictures: written, read back by the letter of the format, and near to what they were made of.
import assert from "node:assert/strict";
import { test } from "node:test";
import { numbersFrom } from "../builder/samples.test-kit.ts";
import { rgbe, writeHdr } from "./write-hdr.ts";

type Light = readonly [number, number, number];

/** By the format's own rules: a head of lines, then rows, packed by channel when they say so. */
function readBack(bytes: Uint8Array): { width: number; height: number; light: Light[] } {
	const text = Buffer.from(bytes).toString("latin1");
	const [, height, width] = /^#\?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y (\d+) \+X (\d+)\n/.exec(text)!.map(Number);
	let at = text.indexOf("\n", text.indexOf("-Y")) + 1;
	const light: Light[] = [];
	for (let y = 0; y < height!; y++) {
		const row = new Uint8Array(4 * width!);
		if (width! >= 8) {
			assert.deepEqual([...bytes.subarray(at, at + 4)], [2, 2, width! >> 8, width! & 255]);
			at += 4;
			for (let channel = 0; channel < 4; channel++)
				for (let x = 0; x < width!; ) {
					const count = bytes[at++]!;
					if (count > 128)
						for (const byte = bytes[at++]!, end = x + count - 128; x < end; x++) row[4 * x + channel] = byte;
					else for (const end = x + count; x < end; x++) row[4 * x + channel] = bytes[at++]!;
				}
		} else {
			row.set(bytes.subarray(at, at + row.length));
			at += row.length;
		}
		for (let x = 0; x < width!; x++) {
			const [r, g, b, e] = row.subarray(4 * x, 4 * x + 4) as unknown as readonly [number, number, number, number];
			const scale = e === 0 ? 0 : 2 ** (e - 136);
			light.push([r * scale, g * scale, b * scale]);
		}
	}
	assert.equal(at, bytes.length);
	return { width: width!, height: height!, light };
}

test("light is read back, right to a part in 128 of each pixel's largest", () => {
	const draw = numbersFrom(4);
	for (const [width, height] of [
		[1, 1],
		[7, 3],
		[8, 2],
		[200, 5],
		[300, 2],
	] as const) {
		// Dark and bright pixels, runs of equal ones, and long stretches without any.
		const pixels = Array.from({ length: width * height }, (_, i): Light => {
			const size = 2 ** (draw(30) - 15);
			return i % 50 < 20 ? [1, 0.5, 0] : [draw(1000) * size, draw(1000) * size, draw(1000) * size];
		});
		const found = readBack(writeHdr({ width, height, light: (i) => pixels[i]! }));
		assert.deepEqual([found.width, found.height], [width, height]);
		for (const [i, pixel] of pixels.entries())
			for (let axis = 0; axis < 3; axis++)
				assert.ok(Math.abs(found.light[i]![axis]! - pixel[axis]!) <= Math.max(...pixel) / 128, `${i} ${axis}`);
	}
});

test("mantissas and exponents are the known ones; what no exponent reaches is black or the largest", () => {
	assert.deepEqual(rgbe([1, 0.5, 0.25]), [128, 64, 32, 129]);
	assert.deepEqual(rgbe([0, 0, 0]), [0, 0, 0, 0]);
	assert.deepEqual(rgbe([1e-300, 0, 0]), [0, 0, 0, 0]);
	assert.deepEqual(rgbe([1e300, 0, 0]), [255, 0, 0, 255]);
});
