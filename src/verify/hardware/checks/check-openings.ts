// Are the opened places those that were drawn, no more and no fewer, in that order, and does each leaf lead
// to its committed root? What is in the leaves is judged in check-gemm.ts, check-stream.ts and check-fma.ts.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { leafHash, pathLength, rootFromPath } from "../../../protocol/hash/merkle.ts";
import { LEAF_BYTES } from "../../../protocol/probe/challenge-shape.ts";
import type { Opened } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";

export interface DrawnPlace {
	readonly round: number;
	readonly index: number;
}

/** `roots` by round (or pass), each over `leafCount` leaves (or groups). */
export function checkOpenings(
	open: Opened,
	drawn: readonly DrawnPlace[],
	roots: readonly Uint8Array[],
	leafCount: number,
): Fault | null {
	const found = checkPlaces(open, drawn);
	if (found !== null) return found;
	for (const [i, { round, index, leaf, path }] of open.openings.entries()) {
		const where = `${open.where}.record[${i}]`;
		if (leaf.length !== LEAF_BYTES) return fault("LEAF_LENGTH", where, `${leaf.length} bytes, not ${LEAF_BYTES}`);
		const root = rootFromPath(leafHash(leaf), index, leafCount, path);
		if (root === null) return fault("PATH_LENGTH", where, `${path.length} nodes, not ${pathLength(index, leafCount)}`);
		if (!equalBytes(root, roots[round]!)) return fault("ROOT_MISMATCH", where, `leaf ${index} of round ${round}`);
	}
	return null;
}

export function checkPlaces({ openings, where }: Opened, drawn: readonly DrawnPlace[]): Fault | null {
	const name = ({ round, index }: DrawnPlace) => `${round}/${index}`;
	const wanted = new Set(drawn.map(name));
	const seen = new Set<string>();
	for (const [i, opening] of openings.entries()) {
		const due = drawn[i];
		const here = name(opening);
		if (due === undefined || here !== name(due)) {
			const at = `${where}.record[${i}]`;
			if (due === undefined) return fault("OPENINGS_SURPLUS", at, `${drawn.length} places were drawn`);
			if (seen.has(here)) return fault("OPENING_REPEATED", at, `place ${here} was opened before`);
			if (!wanted.has(here)) return fault("OPENING_PLACE", at, `place ${here} was not drawn, ${name(due)} was`);
			if (openings.length < drawn.length) return fault("OPENINGS_MISSING", at, `place ${name(due)} was left out`);
			return fault("OPENING_ORDER", at, `place ${here} came where ${name(due)} was due`);
		}
		seen.add(here);
	}
	if (openings.length < drawn.length)
		return fault(
			"OPENINGS_MISSING",
			`${where}.record[${openings.length}]`,
			`${openings.length} of ${drawn.length} places`,
		);
	return null;
}
