// Colours for the shades of a picture: straight lines between a few stops. For eyes only; nothing is computed
// from it.
const PALETTES = {
	fire: ["000000", "8b1a0a", "f08c00", "ffe66b", "ffffff"],
	tide: ["08306b", "4292c6", "f7f7f7", "d6604d", "67001f"],
	reef: ["0b1d2a", "15616d", "f2e9d8", "ff7d00", "78290f"],
	ink: ["101418", "f4f1e8"],
	night: ["05060d", "3b3b98", "c27ba0", "ffe9b0", "ffffff"],
} as const;
export type PaletteName = keyof typeof PALETTES;

/** RGB of the 256 shades. */
function coloursOf(name: PaletteName): Uint8Array {
	const stops = PALETTES[name].map((hex) => [0, 2, 4].map((i) => Number.parseInt(hex.slice(i, i + 2), 16)));
	const colours = new Uint8Array(3 * 256);
	for (let i = 0; i < colours.length; i++) {
		const place = (Math.floor(i / 3) / 255) * (stops.length - 1);
		const before = Math.min(Math.floor(place), stops.length - 2);
		const [low, high] = [stops[before]![i % 3]!, stops[before + 1]![i % 3]!];
		colours[i] = Math.round(low + (high - low) * (place - before));
	}
	return colours;
}

/** Shades as the program keeps them, minus 128, to RGB pixels. */
export function paint(shades: Int8Array, name: PaletteName): Uint8Array {
	const colours = coloursOf(name);
	const pixels = new Uint8Array(3 * shades.length);
	for (const [i, shade] of shades.entries()) pixels.set(colours.subarray(3 * (shade + 128), 3 * (shade + 129)), 3 * i);
	return pixels;
}
