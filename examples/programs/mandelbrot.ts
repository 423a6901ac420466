// The Mandelbrot set by `repeat`: each pixel runs z ← z² + c up to 100 times, in whole numbers at 2^24, and
// counts how long it stays near.
import { buildProgram } from "../../src/work/builder/build-program.ts";
import { type Expression, type Index, repeat } from "../../src/work/builder/expression.ts";
import { writeJob } from "./write-job.ts";

const [HEIGHT, WIDTH, TURNS] = [64, 96, 100];
const ONE = 2 ** 24;
const FAR = 4 * ONE;

const b = buildProgram();
const turns = b.tensor("result", "turns", "i16", [HEIGHT, WIDTH], 0, TURNS);

/** From −2 to 1, from −1 to 1. */
const place = (index: Index, pixels: number, from: number, length: number): Expression =>
	index
		.value()
		.mul(length * ONE)
		.div(pixels)
		.add(from * ONE);

b.step.map(
	[HEIGHT, WIDTH],
	(row, column) => {
		const [x, y] = [place(column!, WIDTH, -2, 3), place(row!, HEIGHT, -1, 2)];
		const [, , count] = repeat(
			TURNS,
			[
				{ from: 0, lo: -FAR, hi: FAR },
				{ from: 0, lo: -FAR, hi: FAR },
				{ from: 0, lo: 0, hi: TURNS },
			],
			(a, c, soFar) => {
				const [aa, cc] = [a!.mul(a!).rsh(24), c!.mul(c!).rsh(24)];
				const isNear = aa.add(cc).lt(4 * ONE);
				return [
					isNear.select(aa.sub(cc).add(x), FAR),
					isNear.select(a!.mul(c!).rsh(23).add(y), FAR),
					soFar!.add(isNear),
				];
			},
		);
		return count!;
	},
	{ to: turns },
);

writeJob({ name: "mandelbrot", program: b.program(), segments: 1 });
