// Pictures as a model takes them, docs/training.md §1. Not here: files (formats/read-png.ts, workloads/).

/** Bytes p of a pixel as p − 128, at 2^7; or floats at 2^11. One after the other, channels first; and the class of each. */
export interface Images {
	readonly pixels: Int8Array | Int16Array;
	readonly labels: Int16Array | Int32Array;
}

/** Scale of a pixel that came as a byte: from −1 up to 1. */
export const PIXEL = 7;

/** A byte of a picture as the program holds it. */
export const pixelOf = (byte: number): number => byte - 128;
