// An fma's answer: one lane of each opened leaf is run again, bit for bit. docs/hardware-proof.md §6, §7.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { laneBytes } from "../../../protocol/maths/recurrence.ts";
import { fmaLeaves, lanesPerLeaf } from "../../../protocol/probe/challenge-shape.ts";
import type { FmaSpec } from "../../../protocol/probe/evidence.ts";
import { fmaSamples } from "../../../protocol/probe/samples.ts";
import type { Answered } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import type { ProbeSeeds } from "../probe-seeds.ts";
import type { OnRight } from "./check-gemm.ts";
import { checkOpenings } from "./check-openings.ts";

export function checkFma(
	answer: Answered,
	spec: FmaSpec,
	seeds: ProbeSeeds,
	onRight: OnRight = () => {},
): Fault | null {
	const roots = answer.roots.map(({ root }) => root);
	const perLeaf = lanesPerLeaf(spec.precision);
	const leaves = fmaLeaves(spec);
	const samples = fmaSamples(seeds.open(answer.index), roots.length, leaves, perLeaf, spec.samples);
	const open = answer.opens[0]!;
	const places = samples.map(({ round, leaf }) => ({ round, index: leaf }));
	const found = checkOpenings(open, places, roots, leaves);
	if (found !== null) return found;
	const chain = seeds.chain(answer.index);
	const size = 1024 / perLeaf;
	for (const [i, { round, leaf: index, lane: inLeaf }] of samples.entries()) {
		const lane = index * perLeaf + inLeaf;
		const bits = laneBytes(spec.precision, chain[round]!, lane, spec.steps);
		const opened = open.openings[i]!.leaf.subarray(inLeaf * size, inLeaf * size + size);
		if (!equalBytes(bits, opened))
			return fault("LANE_WRONG", `${open.where}.record[${i}]`, `lane ${lane} of round ${round}`);
		onRight();
	}
	return null;
}
