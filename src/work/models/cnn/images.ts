// Pictures as a model takes them, docs/training.md §1. Not here: files (formats/read-png.ts, workloads/).
import type { PhaseBuilder, ProgramBuilder } from "../../builder/build-program.ts";
import { at, type Value, view } from "../../builder/expression.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { I16, SCALE } from "../numbers.ts";
import { type Picture, sizeOf } from "./layers.ts";

/**
 * Bytes p of a pixel as p − 128, at 2^7; or floats at 2^11. One after the other, channels first; and the
 * class of each.
 */
export interface Images {
	readonly pixels: Int8Array | Int16Array;
	readonly labels: Int16Array | Int32Array;
}

/** Scale of a pixel that came as a byte: from −1 up to 1. */
export const PIXEL = 7;

/** A byte of a picture as the program holds it. */
export const pixelOf = (byte: number): number => byte - 128;

/** The input `images`, [n, channels, height, width], and its scale. */
export function pixelsInput(
	{ b, given }: { readonly b: ProgramBuilder; readonly given: Record<string, Elements> },
	pixels: Images["pixels"],
	picture: Picture,
): { readonly all: Value; readonly scale: number } {
	const { channels, height, width } = picture;
	const dims = [pixels.length / sizeOf(picture), channels, height, width];
	given.images = pixels;
	return pixels instanceof Int8Array
		? { all: b.tensor("input", "images", "i8", dims, -128, 127), scale: PIXEL }
		: { all: b.tensor("input", "images", "i16", dims, -I16, I16), scale: SCALE.activation };
}

/**
 * From [batch, height, width, channels] to one row a picture, channels first as files have it: [batch,
 * channels · height · width].
 */
export function flat(s: PhaseBuilder, x: Value, { channels, height, width }: Picture): Value {
	const batch = x.dims[0]!;
	if (height * width === 1) return view(x, batch, channels);
	const turned = s.map([batch, channels, height, width], (b, c, row, column) => at(x, b!, row!, column!, c!));
	return view(turned, batch, channels * height * width);
}
