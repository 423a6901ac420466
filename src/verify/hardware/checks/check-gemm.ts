// A gemm's answer: seeds chained through the roots, places drawn anew from the secret, and two elements of
// each opened leaf recomputed from the seed alone. docs/hardware-proof.md §4, §7.
import { readU16 } from "../../../protocol/bytes/bytes.ts";
import { gemmElements, type RowScratch } from "../../../protocol/maths/gemm-element.ts";
import { gemmLeafPlace, gemmLeaves } from "../../../protocol/probe/challenge-shape.ts";
import type { GemmSpec } from "../../../protocol/probe/evidence.ts";
import { gemmSamples } from "../../../protocol/probe/samples.ts";
import type { Committed, Opened } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import type { Seeds } from "../probe-seeds.ts";
import { checkOpenings } from "./check-openings.ts";

/** Told after each spot check that was found right, in the order of the file. */
export type OnRight = () => void;

export function checkGemm(
	answer: Committed,
	spec: GemmSpec,
	seeds: Seeds,
	scratch: RowScratch,
	onRight: OnRight = () => {},
): Fault | null {
	const roots = answer.roots.map(({ root }) => root);
	const leaves = gemmLeaves(spec);
	const samples = gemmSamples(seeds.open(answer.index), roots.length, leaves, spec.samples);
	const open = answer.opens[0]!;
	const places = samples.map(({ round, leaf }) => ({ round, index: leaf }));
	return (
		checkOpenings(open, places, roots, leaves) ??
		checkElements(
			open,
			spec,
			seeds.chain(answer.index),
			samples.map(({ columns }) => columns),
			scratch,
			onRight,
		)
	);
}

/** `columns[i]` are those of opening i, inside its leaf. */
export function checkElements(
	open: Opened,
	spec: GemmSpec,
	seeds: readonly Uint8Array[],
	columns: readonly (readonly [number, number])[],
	scratch: RowScratch,
	onRight: OnRight = () => {},
): Fault | null {
	for (const [i, { round, index, leaf }] of open.openings.entries()) {
		const { row, column } = gemmLeafPlace(spec, index);
		const inLeaf = columns[i]!;
		const elements = gemmElements(
			spec.precision,
			seeds[round]!,
			spec.k,
			row,
			inLeaf.map((c) => column + c),
			scratch,
		);
		for (const [e, c] of inLeaf.entries())
			if (readU16(leaf, 2 * c) !== elements[e])
				return fault(
					"ELEMENT_WRONG",
					`${open.where}.record[${i}]`,
					`element (${row}, ${column + c}) of round ${round}`,
				);
		onRight();
	}
	return null;
}
