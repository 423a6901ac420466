// A window that slides over a picture, as a proof of a convolution takes it, docs/zk.md §14: which number of
// the picture stands in which column of a place's patch. Pictures are [height, width, channels]; a patch has
// the channels, each with the window's rows and columns, then one column for the bias. Square windows alone.

export interface PlanWindow {
	/** Of the picture that goes in. */
	readonly channels: number;
	readonly height: number;
	readonly width: number;
	/** Of the window, down and across; zeros around the picture. */
	readonly size: number;
	readonly stride: number;
	readonly pad: number;
}

/** Where the window stands: so many places down, so many across. */
export function windowPlaces({ height, width, size, stride, pad }: PlanWindow): {
	readonly down: number;
	readonly across: number;
	readonly places: number;
} {
	const along = (length: number) => Math.floor((length + 2 * pad - size) / stride) + 1;
	const [down, across] = [along(height), along(width)];
	return { down, across, places: down * across };
}

/** Of a patch, the bias among them. */
export const patchColumns = ({ channels, size }: PlanWindow): number => channels * size * size + 1;

/**
 * The number of the picture that stands in this column of this place's patch; null: the bias, or a zero
 * around the picture.
 */
export function pixelOf(window: PlanWindow, place: number, column: number): number | null {
	const { channels, height, width, size, stride, pad } = window;
	const { across } = windowPlaces(window);
	const channel = Math.floor(column / (size * size));
	if (channel === channels) return null;
	const inside = column % (size * size);
	const row = Math.floor(place / across) * stride + Math.floor(inside / size) - pad;
	const x = (place % across) * stride + (inside % size) - pad;
	if (row < 0 || row >= height || x < 0 || x >= width) return null;
	return (row * width + x) * channels + channel;
}
