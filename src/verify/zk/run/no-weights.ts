// Whether the statement of a wrapped run commits to no weights where its program has some. The point at
// infinity commits to zeros alone, and a program's first weights are drawn. Honest commitments are there only
// where padding is: a chunk of which no weight of the model is a part. A wrapped run shows none of its sums,
// so a forger who knows its key could leave its weights out; of a single segment the sums are shown and the
// opening proves that such a commitment stands for zeros, so nothing is refused there (docs/zk.md §13).
import type { PlanBlock, PlanLink, ZkPlan } from "../../../work/plan/compile-plan.ts";
import type { SegmentStatement } from "../statement.ts";

const INFINITY = "00".repeat(64);
/** So many weights in a row that are drawn are never all zeros: each is with a chance of 2^-15. */
const MIN_WEIGHTS = 8;

/** Weights of the model among the places from..to of a link's block, which is padded to powers of two. */
function weightsWithin({ inputs, inputBits, outputs }: PlanLink, from: number, to: number): number {
	const width = 2 ** inputBits;
	let sum = 0;
	for (let row = Math.floor(from / width); row < outputs && row * width < to; row++) {
		const [left, right] = [Math.max(from - row * width, 0), Math.min(to - row * width, inputs)];
		sum += Math.max(0, right - left);
		if (sum >= MIN_WEIGHTS) break;
	}
	return sum;
}

export function saysNoWeights(plan: ZkPlan, { pointsBefore, pointsAfter }: SegmentStatement): boolean {
	const size = 2 ** plan.chunkBits;
	const ends = [
		{ name: "before", points: pointsBefore },
		{ name: "after", points: pointsAfter },
	] as const;
	return ends.some(({ name, points }) => {
		const { firstChunk } = plan.groups.find((group) => group.name === name)!;
		const blocks = plan.blocks.filter(({ column }) => column === name);
		return points.some((point, i) => {
			if (point !== INFINITY) return false;
			const start = (firstChunk + i) * size;
			const within = ({ of, at, bits }: PlanBlock) =>
				weightsWithin(plan.links[of]!, Math.max(start - at, 0), Math.min(start + size - at, 2 ** bits));
			return blocks.reduce((sum, block) => sum + within(block), 0) >= MIN_WEIGHTS;
		});
	});
}
