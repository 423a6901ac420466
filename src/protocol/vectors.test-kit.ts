// Reads the golden rows of vectors/ for the tests of this folder. Node only; never imported by what runs in a
// browser.
import { readFileSync } from "node:fs";
import { hexToBytes } from "./bytes/bytes.ts";
import { philoxBlock, philoxKey } from "./hash/philox.ts";

export function vectorRows<Row>(name: string): Row[] {
	return JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), "utf8")) as Row[];
}

export function fromHex(hex: string): Uint8Array {
	const bytes = hexToBytes(hex);
	if (bytes === null) throw new Error(`not hex: ${hex}`);
	return bytes;
}

/** The 1 KiB leaf of vectors/README.md's rule. */
export function vectorLeaf(seed: Uint8Array, leaf: number): Uint8Array {
	const words = new Uint32Array(256);
	for (let block = 0; block < 64; block++) philoxBlock(philoxKey(seed), block, 9, leaf, 0, words, 4 * block);
	const bytes = new Uint8Array(1024);
	const view = new DataView(bytes.buffer);
	words.forEach((word, i) => {
		view.setUint32(4 * i, word, true);
	});
	return bytes;
}
