// A small curve of block characters. Pure.

const BARS = "▁▂▃▄▅▆▇█";
const MAX_BARS = 60;

/**
 * Bars from 0 to the best, so that a dip looks as deep as it is; neighbours are averaged when there are too
 * many.
 */
export function sparkline(values: readonly number[], width = MAX_BARS): string {
	const most = Math.max(...values);
	if (!(most > 0)) return "";
	const groups = Math.min(width, values.length);
	return Array.from({ length: groups }, (_, g) => {
		const part = values.slice(Math.floor((g * values.length) / groups), Math.floor(((g + 1) * values.length) / groups));
		const mean = part.reduce((sum, v) => sum + v, 0) / part.length;
		return BARS[Math.min(BARS.length - 1, Math.floor((mean / most) * BARS.length))];
	}).join("");
}
