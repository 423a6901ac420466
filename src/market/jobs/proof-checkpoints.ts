// Which states of a claimed part of a zk job its worker gives to provers, docs/zk.md §12: so many that a
// prover has little to run before it proves, so few that nobody who asks fills a disk. Pure.
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program } from "../../work/program/shapes.ts";

/** Of a part, whatever a state's size is; more where all of them together stay below so many bytes. */
const CHECKPOINTS = 16;
const MOST_BYTES = 256 * 2 ** 20;

export interface PartSegments {
	readonly first: number;
	readonly segments: number;
}

/** Segments from one of them to the next. */
export function checkpointEvery({ tensors }: Pick<Program, "tensors">, { segments }: PartSegments): number {
	const sizes = tensors.map(({ kind, type, dims }) =>
		kind === "state" || kind === "result" ? elementCount(dims) * bytesOf(type) : 0,
	);
	const stateBytes = sizes.reduce((sum, one) => sum + one, 1);
	return Math.ceil(segments / Math.max(CHECKPOINTS, Math.floor(MOST_BYTES / stateBytes)));
}

/** Whether the state before this segment is one of them. A part's ends are none: they are shown anyway. */
export const isCheckpoint = (program: Pick<Program, "tensors">, part: PartSegments, segment: number): boolean =>
	segment > part.first &&
	segment < part.first + part.segments &&
	(segment - part.first) % checkpointEvery(program, part) === 0;
