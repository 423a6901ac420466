// What shows how far a workload is, from the tensors that a provider's heartbeat names: a picture, the text
// so far. Proves nothing. Pure.
import { writePng } from "../formats/write-png.ts";
import { bytesToElements, elementCount } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { paint } from "../simulate/palette.ts";
import type { Workload } from "./workload.ts";

/** Files that show how far a workload is, from the tensors of a preview; null where they need others. */
export function previewFiles({
	program,
	files,
}: Workload): ((of: ReadonlyMap<number, Uint8Array>) => Promise<readonly [string, Uint8Array][]>) | null {
	const shown = files.filter(({ isPreview }) => isPreview);
	if (shown.length === 0) return null;
	return async (of) => {
		const made: [string, Uint8Array][] = [];
		const elementsOf = (name: string) => {
			const at = program.tensors.findIndex((tensor) => tensor.name === name);
			const { type, dims } = program.tensors[at]!;
			return bytesToElements(of.get(at) ?? new Uint8Array(), type, elementCount(dims));
		};
		for (const { name, tensors, make } of shown)
			if (tensors.every((tensor) => elementsOf(tensor) !== null))
				made.push([name, await make((tensor) => elementsOf(tensor)!)]);
		return made;
	};
}

/**
 * The same of a program alone, for whoever does not have the job file: a tensor `picture` of rows of pixels,
 * or of shades in a palette of ours. What has another shape is left out.
 */
export async function plainPreviews(
	{ tensors }: Program,
	of: ReadonlyMap<number, Uint8Array>,
): Promise<readonly [string, Uint8Array][]> {
	const at = tensors.findIndex(({ name, kind }) => name === "picture" && (kind === "state" || kind === "result"));
	const held = of.get(at);
	if (held === undefined) return [];
	const { type, dims } = tensors[at]!;
	const [height = 0, width = 0, channels] = dims;
	const elements = bytesToElements(held, type, elementCount(dims));
	if (elements === null || height * width === 0) return [];
	if (dims.length === 3 && channels === 3)
		return [["picture.png", await writePng({ width, height, channels, pixels: Uint8Array.from(elements, Number) })]];
	if (dims.length !== 2 || !(elements instanceof Int8Array)) return [];
	return [["picture.png", await writePng({ width, height, channels: 3, pixels: paint(elements, "tide") })]];
}
