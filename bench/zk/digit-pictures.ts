// Pictures of the ten digits, 28 x 28, drawn: each a few strokes that are turned, sheared, stretched, moved
// and bent by chance, with a pen of some width, and noise. The same numbers give the same pictures on every
// machine: nothing but +, −, ·, / and roots is used.

export const SIDE = 28;
const CLASSES = 10;

type Point = readonly [number, number];

/** Strokes in a square from −1 to 1, y downwards. */
const STROKES = [
	"0,-1 .45,-.8 .6,-.3 .6,.3 .45,.8 0,1 -.45,.8 -.6,.3 -.6,-.3 -.45,-.8 0,-1",
	"-.35,-.6 .1,-1 .1,1",
	"-.55,-.6 -.3,-.95 .2,-1 .55,-.65 .45,-.2 -.6,1 .65,1",
	"-.5,-.85 0,-1 .5,-.75 .45,-.25 -.1,-.05|-.1,-.05 .5,.2 .55,.65 .1,1 -.55,.8",
	".3,1 .3,-1 -.65,.35 .7,.35",
	".55,-1 -.45,-1 -.5,-.1 .1,-.25 .55,.1 .55,.6 .1,1 -.55,.85",
	".4,-1 -.2,-.6 -.55,.1 -.5,.7 0,1 .5,.7 .5,.25 .1,-.05 -.5,.25",
	"-.6,-1 .6,-1 -.1,1",
	"0,-.05 -.45,-.4 -.35,-.85 0,-1 .35,-.85 .45,-.4 0,-.05 -.55,.4 -.45,.85 0,1 .45,.85 .55,.4 0,-.05",
	".5,-.25 0,.05 -.5,-.3 -.45,-.8 0,-1 .5,-.7 .5,-.25 .35,.5 -.05,1",
].map((digit) =>
	digit.split("|").map((stroke) =>
		stroke.split(" ").map((point): Point => {
			const [x, y] = point.split(",").map(Number);
			return [x!, y!];
		}),
	),
);

/** Numbers from 0 to 1 that follow from a seed. */
function drawsOf(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x9e3779b9) >>> 0;
		let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
		z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
		return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
	};
}

function distanceTo([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
	const [dx, dy] = [bx - ax, by - ay];
	const along = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy + 1e-9)));
	const [px, py] = [x - ax - along * dx, y - ay - along * dy];
	return Math.sqrt(px * px + py * py);
}

/** Brightness 0 … 255, row by row, of picture `number`. */
function draw(digit: number, number: number, pixels: Uint8Array): void {
	const next = drawsOf(Math.imul(number + 1, 0x85ebca6b) ^ 0x5bd1e995);
	const around = (most: number) => (2 * next() - 1) * most;
	for (let i = 0; i < 8; i++) next();
	const turn = around(0.28);
	const norm = Math.sqrt(1 + turn * turn);
	const [wide, high] = [7.2 * (1 + around(0.22)), 8.6 * (1 + around(0.16))];
	const [shear, bend, dx, dy] = [around(0.22), around(0.18), around(2.4), around(2)];
	const pen = 1.15 + around(0.45);
	const strokes = STROKES[digit]!.map((stroke) =>
		stroke.map(([x, y]): Point => {
			const [u, v] = [(x + shear * y + bend * (y * y - 0.5) + around(0.07)) * wide, (y + around(0.06)) * high];
			return [(u - turn * v) / norm + SIDE / 2 + dx, (turn * u + v) / norm + SIDE / 2 + dy];
		}),
	);
	for (let i = 0; i < SIDE * SIDE; i++) {
		const at: Point = [(i % SIDE) + 0.5, Math.floor(i / SIDE) + 0.5];
		let nearest = SIDE;
		for (const stroke of strokes)
			for (let k = 1; k < stroke.length; k++) nearest = Math.min(nearest, distanceTo(at, stroke[k - 1]!, stroke[k]!));
		const ink = Math.min(1, Math.max(0, pen + 0.5 - nearest));
		pixels[i] = Math.min(255, Math.floor(ink * (200 + 55 * next()) + (next() < 0.1 ? 40 * next() : 0)));
	}
}

/** Pictures `first` … and their digits. */
export function digitPictures(
	first: number,
	count: number,
): { readonly pixels: Uint8Array; readonly labels: Uint8Array } {
	const pixels = new Uint8Array(count * SIDE * SIDE);
	const labels = new Uint8Array(count);
	const pick = drawsOf(0xd191);
	for (let i = 0; i < first; i++) pick();
	for (let i = 0; i < count; i++) {
		labels[i] = Math.floor(pick() * CLASSES);
		draw(labels[i]!, first + i, pixels.subarray(i * SIDE * SIDE, (i + 1) * SIDE * SIDE));
	}
	return { pixels, labels };
}
