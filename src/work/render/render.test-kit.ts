// For tests of the path tracer: small scenes from text, and a run of one op or of whole passes on the plain
// machine.
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine, type Machine } from "../program/run-program.ts";
import type { Mesh } from "./mesh.ts";
import { ONE } from "./numbers.ts";
import { type PathOptions, pathProgram } from "./path-program.ts";
import { placeScene } from "./place-scene.ts";
import { readScene, type Scene } from "./read-scene.ts";

export const sceneOf = (json: unknown): Scene => readScene(new TextEncoder().encode(JSON.stringify(json)));

export interface Rendered {
	/** Red, green, blue of each pixel, from 0 up, averaged over the passes. */
	readonly light: Float64Array;
	readonly machine: Machine;
}

/** A picture on the plain machine. */
export function rendered(
	scene: Scene,
	options: Partial<PathOptions> & { readonly passes: number },
	files: ReadonlyMap<string, Mesh> = new Map(),
	seed: Uint8Array = new Uint8Array(32),
): Rendered {
	const { passes, ...given } = options;
	const all = { width: 16, height: 16, bounces: 4, k: 1, exposure: 1, ...given };
	const { program, given: tensors } = pathProgram(placeScene(scene, files, all.width / all.height).scene, all);
	const machine = createMachine(orThrow(sealProgram(program)), seed, tensors);
	while (machine.next <= passes) machine.runSegment();
	const sums = machine.tensors[program.tensors.findIndex(({ name }) => name === "sums")]!;
	const pixels = all.width * all.height;
	const light = Float64Array.from(
		{ length: 3 * pixels },
		(_, i) => Number(sums[(i % 3) * pixels + Math.floor(i / 3)]!) / passes / ONE,
	);
	return { light, machine };
}
