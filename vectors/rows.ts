// What the generators share: rows, hex, and numbers that come from a label and never change.
import { type Bytes, drawer, type GemmPrecision, sha256 } from "./naive-maths.ts";

export type Row = Readonly<Record<string, string | number>>;

export const hex = (bytes: Bytes) => Buffer.from(bytes).toString("hex");
export const label = (text: string) => sha256(Buffer.from(text));

/** Whole numbers below `range` from a label, one after the other. */
export function numbers(text: string): (range: number) => number {
	return drawer(label(text));
}

export interface Product {
	readonly precision: GemmPrecision;
	readonly m: number;
	readonly n: number;
	readonly k: number;
	readonly seed: Bytes;
	readonly leaves: readonly Bytes[];
	readonly root: Bytes;
}
