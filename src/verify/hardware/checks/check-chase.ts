// A chase's answer: opened intervals run again hop by hop, from the state that the labels before it fix, over
// leaves that the gemm had committed to. docs/hardware-proof.md §13.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { chaseFeed, hopFrom, hopTarget, INTERVAL_HOPS, leftSiblings, statesOf } from "../../../protocol/hash/chase.ts";
import { leafHash, pathLength, rootFromPath } from "../../../protocol/hash/merkle.ts";
import { mixKeys } from "../../../protocol/hash/mix.ts";
import { coveredLeaves, gemmLeaves, keptLeafPlace, LEAF_BYTES } from "../../../protocol/probe/challenge-shape.ts";
import type { ChaseSpec } from "../../../protocol/probe/evidence.ts";
import { chaseSamples } from "../../../protocol/probe/samples.ts";
import type { Answered } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import type { ProbeSeeds } from "../probe-seeds.ts";
import type { OnRight } from "./check-gemm.ts";
import { checkOpenings, checkPlaces } from "./check-openings.ts";
import type { StreamedGemm } from "./check-stream.ts";

const LABEL_BYTES = 32;

export function checkChase(
	answer: Answered,
	spec: ChaseSpec,
	gemm: StreamedGemm,
	seeds: ProbeSeeds,
	onRight: OnRight = () => {},
): Fault | null {
	const [labels, hops] = answer.opens as [Answered["opens"][number], Answered["opens"][number]];
	const samples = chaseSamples(seeds.open(answer.index), spec.intervals, spec.samples);
	const labelPlaces = samples.flatMap(({ interval }) => [interval - 1, interval].map((index) => ({ round: 0, index })));
	const root = answer.roots[0]!.root;
	const found = checkPlaces(labels, labelPlaces);
	if (found !== null) return found;
	for (const [i, { index, leaf, path }] of labels.openings.entries()) {
		const where = `${labels.where}.record[${i}]`;
		if (leaf.length !== LABEL_BYTES) return fault("LEAF_LENGTH", where, `${leaf.length} bytes, not ${LABEL_BYTES}`);
		const leads = rootFromPath(leafHash(leaf), index, spec.intervals, path);
		if (leads === null)
			return fault("PATH_LENGTH", where, `${path.length} nodes, not ${pathLength(index, spec.intervals)}`);
		if (!equalBytes(leads, root)) return fault("ROOT_MISMATCH", where, `label ${index}`);
	}
	const rounds = gemm.answer.roots.length;
	const leaves = coveredLeaves(gemm.spec, rounds, spec.newest);
	const nonce = seeds.first(answer.index);
	const keys = mixKeys(nonce);
	const gemmRoots = gemm.answer.roots.map(({ root: of }) => of);
	for (const [i, { interval, chain }] of samples.entries()) {
		const [before, after] = [labels.openings[2 * i]!, labels.openings[2 * i + 1]!];
		const feed = chaseFeed(nonce, interval - 1, leftSiblings(interval - 1, before.path));
		let state = statesOf(before.leaf)[chain]! ^ statesOf(feed)[chain]!;
		const openings = hops.openings.slice(INTERVAL_HOPS * i, INTERVAL_HOPS * (i + 1));
		const short = openings.findIndex(({ leaf }) => leaf.length !== LEAF_BYTES);
		if (short >= 0)
			return fault("LEAF_LENGTH", `${hops.where}.interval[${i}].record[${short}]`, `not ${LEAF_BYTES} bytes`);
		const places = openings.map((opening) => {
			const { round, leaf: index } = keptLeafPlace(gemm.spec, rounds, spec.newest, hopTarget(state, leaves));
			state = hopFrom(state, keys, opening.leaf);
			return { round, index };
		});
		while (places.length < INTERVAL_HOPS) places.push({ round: -1, index: -1 });
		const walked = { ...hops, openings, where: `${hops.where}.interval[${i}]` };
		const wrong = checkOpenings(walked, places, gemmRoots, gemmLeaves(gemm.spec));
		if (wrong !== null) return wrong;
		if (state !== statesOf(after.leaf)[chain])
			return fault("CHASE_WRONG", `${hops.where}.interval[${i}]`, `interval ${interval}, chain ${chain}`);
		onRight();
	}
	if (hops.openings.length > INTERVAL_HOPS * samples.length)
		return fault("OPENINGS_SURPLUS", hops.where, `${INTERVAL_HOPS * samples.length} hops were drawn`);
	return null;
}
