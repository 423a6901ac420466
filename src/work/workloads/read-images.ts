// Pictures and their classes from the files of a job, docs/training.md §1: a list of PNG files, an array, or
// records as CIFAR has them. Not here: what a model makes of them.

import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { int, list, oneOf, type Typed } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { readNpy } from "../formats/npy.ts";
import { readPng } from "../formats/read-png.ts";
import { createTokens } from "../formats/tokens.ts";
import type { Picture as Pixels } from "../formats/write-png.ts";
import { type Images, pixelOf } from "../models/cnn/images.ts";
import { type Picture, placesOf, sizeOf } from "../models/cnn/layers.ts";
import { I16, SCALE } from "../models/numbers.ts";
import { file, partial, real, wrongField } from "./job-fields.ts";
import type { Files } from "./workload.ts";

/** Fields of a job's `data` that name pictures. */
export interface ImageData {
	/** A list of PNG files (.json), or an array (.npy). */
	readonly images?: string;
	/** An array of classes, for images that are an array. */
	readonly labels?: string;
	/** Records of label bytes, then pixels. */
	readonly records?: string;
	readonly labelBytes?: number;
	readonly normalise?: Normalise;
}

/** A byte p of channel c counts as (p/255 − mean[c]) / deviation[c]. */
const normalise = partial({ mean: list(real(-16, 16), 4096), deviation: list(real(1e-3, 1e3), 4096) });
type Normalise = Typed<typeof normalise>;

/** Shapes of these fields. */
export const IMAGE_FIELDS = { images: file, labels: file, records: file, labelBytes: oneOf(1, 2), normalise };

/** Labels may be missing where nothing is learnt. */
type MaybeLabelled = Pick<Images, "pixels"> & { readonly labels: Images["labels"] | null };

const MOST_IMAGES = 2 ** 20;
const MOST_BYTES = 2 ** 31;
const entries = list(partial({ file, label: int(0, 2 ** 31 - 1) }), MOST_IMAGES);

const sides = ({ channels, height, width }: Picture): string => `${channels} x ${height} x ${width}`;

function labelsOf(values: ArrayLike<number | bigint>, classes: number, name: string): Images["labels"] {
	const labels = createTokens(values.length, classes);
	for (let i = 0; i < labels.length; i++) {
		const value = Number(values[i]!);
		if (!Number.isInteger(value) || value < 0 || value >= classes)
			throw codedError("DATA_RANGE", `label ${i} of ${name} is ${values[i]}; the model has ${classes} classes`);
		labels[i] = value;
	}
	return labels;
}

/**
 * Channels first. Gray serves as three equal colors; colors become gray as (299·red + 587·green + 114·blue) /
 * 1000 to the nearest.
 */
function asInput({ width, height, channels, pixels }: Pixels, input: Picture, into: Int8Array, name: string): void {
	if (width !== input.width || height !== input.height)
		throw codedError(
			"IMAGE_SIZE",
			`${name} has ${width} x ${height} pixels; the model takes ${input.width} x ${input.height}`,
		);
	const places = width * height;
	for (let i = 0; i < places; i++)
		if (channels === 3 && input.channels === 1) {
			const [red, green, blue] = pixels.subarray(3 * i, 3 * i + 3) as unknown as [number, number, number];
			into[i] = pixelOf(Math.floor((299 * red + 587 * green + 114 * blue + 500) / 1000));
		} else
			for (let c = 0; c < input.channels; c++) into[c * places + i] = pixelOf(pixels[channels === 1 ? i : 3 * i + c]!);
}

async function fromList(name: string, input: Picture, classes: number, files: Files): Promise<MaybeLabelled> {
	let json: unknown;
	try {
		json = JSON.parse(bytesToUtf8(await files(name)) ?? "");
	} catch (cause) {
		throw codedError("DATA_FORMAT", `${name}: is no JSON`, { cause });
	}
	const found = entries(json, "");
	if (found !== null) throw codedError("DATA_FORMAT", `${name}: ${found.where} ${found.detail}`);
	const all = json as readonly { readonly file?: string; readonly label?: number }[];
	if (input.channels !== 1 && input.channels !== 3)
		throw codedError("DATA_FORMAT", `${name}: pictures have 1 or 3 channels, the model takes ${input.channels}`);
	const size = sizeOf(input);
	if (all.length * size > MOST_BYTES)
		throw codedError("DATA_FORMAT", `${name}: is more than ${MOST_BYTES} bytes of pixels`);
	const isLabelled = all.some(({ label }) => label !== undefined);
	const pixels = new Int8Array(all.length * size);
	const folder = name.slice(0, name.lastIndexOf("/") + 1);
	for (const [i, { file: own, label }] of all.entries()) {
		if (own === undefined || (label === undefined) === isLabelled)
			throw codedError("DATA_FORMAT", `${name}: [${i}] must have a file, and a label where others have one`);
		const path = `${folder}${own}`;
		asInput(await readPng(await files(path), path), input, pixels.subarray(i * size, (i + 1) * size), path);
	}
	const labels = isLabelled
		? labelsOf(
				all.map(({ label }) => label!),
				classes,
				name,
			)
		: null;
	return { pixels, labels };
}

/**
 * [n, channels, height, width], or [n, height, width] of one channel, or [n, features]: bytes, or floats
 * inside ±15.99.
 */
function pixelsOfArray(bytes: Uint8Array, name: string, input: Picture): Images["pixels"] {
	const { dims, type, values } = readNpy(bytes, name);
	const { channels, height, width } = input;
	const wanted = [channels, height, width];
	const isRows = dims.length === 2 && height * width === 1;
	const own = isRows ? [dims[1], 1, 1] : dims.length === 3 && channels === 1 ? [1, ...dims.slice(1)] : dims.slice(1);
	if (own.length !== 3 || own.some((dim, i) => dim !== wanted[i]))
		throw codedError(
			"DATA_FORMAT",
			`${name} has dims [${dims.join(",")}]; the model takes pictures of ${sides(input)}`,
		);
	if (type === "u8") return Int8Array.from(values as Uint8Array, pixelOf);
	if (type !== "f32" && type !== "f64") throw codedError("DATA_FORMAT", `${name}: pixels are u1, f4 or f8`);
	const pixels = new Int16Array(values.length);
	for (let i = 0; i < pixels.length; i++) {
		const value = Math.round(Number(values[i]!) * 2 ** SCALE.activation);
		if (Math.abs(value) > I16)
			throw codedError("DATA_RANGE", `element ${i} of ${name} is ${values[i]}, outside ±15.99`);
		pixels[i] = value;
	}
	return pixels;
}

function fromRecords(bytes: Uint8Array, name: string, labelBytes: number, input: Picture, classes: number): Images {
	const size = sizeOf(input);
	const record = labelBytes + size;
	if (bytes.length % record !== 0)
		throw codedError("DATA_CUT", `${name} has ${bytes.length} bytes, not a multiple of ${labelBytes} + ${size}`);
	const count = bytes.length / record;
	const pixels = new Int8Array(count * size);
	// Of two label bytes the second is the finer one.
	const classOf = Array.from({ length: count }, (_, i) => bytes[i * record + labelBytes - 1]!);
	for (let i = 0; i < count; i++)
		for (let j = 0; j < size; j++) pixels[i * size + j] = pixelOf(bytes[i * record + labelBytes + j]!);
	return { pixels, labels: labelsOf(classOf, classes, name) };
}

/** At least one picture. */
export async function readImages(
	data: ImageData,
	input: Picture,
	classes: number,
	files: Files,
): Promise<MaybeLabelled> {
	const name = data.images ?? data.records!;
	const made = await imagesOf(data, name, input, classes, files);
	const count = made.pixels.length / sizeOf(input);
	if (count === 0) throw codedError("DATA_SHORT", `${name} has no pictures`);
	if (made.labels !== null && made.labels.length !== count)
		throw codedError("DATA_FORMAT", `${data.labels} has ${made.labels.length} labels for ${count} pictures`);
	return data.normalise === undefined
		? made
		: { ...made, pixels: normalised(made.pixels, data.normalise, input, name) };
}

/** Bytes as floats at 2^11. */
function normalised(pixels: Images["pixels"], { mean = [], deviation = [] }: Normalise, input: Picture, name: string) {
	if (!(pixels instanceof Int8Array)) throw wrongField("data.normalise", `is for bytes; ${name} has floats`);
	const { channels } = input;
	if (mean.length !== channels || deviation.length !== channels)
		throw wrongField("data.normalise", `must have ${channels} means and deviations, one a channel`);
	const places = placesOf(input);
	const table = Int16Array.from({ length: 256 * channels }, (_, i) => {
		const [c, byte] = [Math.floor(i / 256), i % 256];
		const value = Math.round(((byte / 255 - mean[c]!) / deviation[c]!) * 2 ** SCALE.activation);
		return Math.max(-I16, Math.min(I16, value));
	});
	return Int16Array.from(pixels, (pixel, i) => table[256 * (Math.floor(i / places) % channels) + pixel + 128]!);
}

async function imagesOf(
	{ images, labels, labelBytes }: ImageData,
	name: string,
	input: Picture,
	classes: number,
	files: Files,
): Promise<MaybeLabelled> {
	if (images === undefined) return fromRecords(await files(name), name, labelBytes ?? 1, input, classes);
	if (!name.endsWith(".npy")) return await fromList(name, input, classes, files);
	const pixels = pixelsOfArray(await files(name), name, input);
	if (labels === undefined) return { pixels, labels: null };
	const { dims, values } = readNpy(await files(labels), labels);
	if (dims.length !== 1) throw codedError("DATA_FORMAT", `${labels} has dims [${dims.join(",")}]; labels are one row`);
	return { pixels, labels: labelsOf(values, classes, labels) };
}
