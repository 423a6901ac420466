// The layers of a convolutional network and the sizes between them, docs/training.md §4: what training,
// classifying and ONNX files share. Pictures lie as [height, width, channels] inside programs; files have
// channels first. Not here: numbers and programs.

export interface Picture {
	readonly channels: number;
	readonly height: number;
	readonly width: number;
}

/** Down, then across. */
type Pair = readonly [number, number];

/** What slides over a picture. */
export interface Window {
	readonly size: Pair;
	readonly stride: Pair;
	/** Rows above, columns at the left, rows below, columns at the right; each less than the size. */
	readonly pads: readonly [number, number, number, number];
}

interface Conv {
	readonly kind: "conv";
	readonly outputs: number;
	readonly window: Window;
}
interface Pool {
	readonly kind: "pool";
	/** `average`: places outside count as zeros. */
	readonly pool: "max" | "average";
	readonly window: Window;
}
interface Dense {
	readonly kind: "dense";
	readonly outputs: number;
}
export type Layer = (Conv | Pool | Dense) & { readonly isRelu: boolean };

/** A layer with what goes in and comes out. */
export interface Stage {
	readonly layer: Layer;
	readonly from: Picture;
	readonly to: Picture;
}

export const placesOf = ({ height, width }: Picture): number => height * width;
export const sizeOf = (picture: Picture): number => picture.channels * placesOf(picture);

/** Inputs of one output: the length of its sum. */
export function fanIn({ layer, from }: Stage): number {
	if (layer.kind === "conv") return from.channels * layer.window.size[0] * layer.window.size[1];
	return layer.kind === "dense" ? sizeOf(from) : 0;
}

/**
 * Of weights, as files have them: [outputs, channels, height, width] or [outputs, inputs]; null: it has none.
 */
export function weightDims({ layer, from }: Stage): readonly number[] | null {
	if (layer.kind === "conv") return [layer.outputs, from.channels, ...layer.window.size];
	return layer.kind === "dense" ? [layer.outputs, sizeOf(from)] : null;
}

/** The window fits at so many places; null: at none, or it could lie outside as a whole. */
function placesAlong(length: number, size: number, stride: number, before: number, after: number): number | null {
	const room = length + before + after - size;
	return room < 0 || before >= size || after >= size ? null : Math.floor(room / stride) + 1;
}

/** What a window makes of a picture; null when it does not fit. */
function slid({ height, width }: Picture, { size, stride, pads }: Window): Omit<Picture, "channels"> | null {
	const down = placesAlong(height, size[0], stride[0], pads[0], pads[2]);
	const across = placesAlong(width, size[1], stride[1], pads[1], pads[3]);
	return down === null || across === null ? null : { height: down, width: across };
}

/** Sizes between layers; the number of the first layer that does not fit otherwise. */
export function stagesOf(input: Picture, layers: readonly Layer[]): readonly Stage[] | number {
	const stages: Stage[] = [];
	let from = input;
	for (const [i, layer] of layers.entries()) {
		const places = layer.kind === "dense" ? { height: 1, width: 1 } : slid(from, layer.window);
		if (places === null) return i;
		const to = { channels: layer.kind === "pool" ? from.channels : layer.outputs, ...places };
		stages.push({ layer, from, to });
		from = to;
	}
	return stages;
}

/** A network with its weights, as files have them: one entry a stage, null where it has none. */
export interface Network {
	readonly stages: readonly Stage[];
	readonly weights: readonly (LayerWeights | null)[];
}

export interface LayerWeights {
	/** By `weightDims`. */
	readonly weight: Float32Array;
	readonly bias: Float32Array;
}
