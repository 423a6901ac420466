// A mesh as its file has it: points, triangles between them, and the file's own name of each triangle's
// material. Its file is chosen by its name's end.
import type { Vector } from "./read-scene.ts";

export interface Mesh {
	readonly points: readonly Vector[];
	readonly triangles: readonly (readonly [number, number, number])[];
	/** One for each triangle; null: none. */
	readonly materials: readonly (string | null)[];
}

/** Three rows of four: what a point (x, y, z, 1) becomes. */
export type Transform = readonly number[];

export const IDENTITY: Transform = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

/** First `b`, then `a`. */
export function compose(a: Transform, b: Transform): Transform {
	const out: number[] = [];
	for (let row = 0; row < 3; row++)
		for (let column = 0; column < 4; column++) {
			let sum = column === 3 ? a[row * 4 + 3]! : 0;
			for (let i = 0; i < 3; i++) sum += a[row * 4 + i]! * b[i * 4 + column]!;
			out.push(sum);
		}
	return out;
}

function applyTransform(t: Transform, [x, y, z]: Vector): Vector {
	const row = (n: number) => t[n]! * x + t[n + 1]! * y + t[n + 2]! * z + t[n + 3]!;
	return [row(0), row(4), row(8)];
}

/** True when it turns left hands into right ones; then triangles turn the other way. */
function isMirrored(t: Transform): boolean {
	const minor = (a: number, b: number, c: number, d: number) => t[a]! * t[d]! - t[b]! * t[c]!;
	return t[0]! * minor(5, 6, 9, 10) - t[1]! * minor(4, 6, 8, 10) + t[2]! * minor(4, 5, 8, 9) < 0;
}

/** The mesh moved, its triangles turning as they did when seen from outside. */
export function moved({ points, triangles, materials }: Mesh, transform: Transform): Mesh {
	const isTurned = isMirrored(transform);
	return {
		points: points.map((point) => applyTransform(transform, point)),
		triangles: isTurned ? triangles.map(([a, b, c]) => [a, c, b] as const) : triangles,
		materials,
	};
}
