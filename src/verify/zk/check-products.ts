// The second and third sum of a segment's proof, docs/zk.md §5: z and q are products with the weights of their step, and these are the weights at the start less what
// the steps before took away; so are the weights at the end. Weights inside a segment are committed nowhere.
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import type { LinkEnd } from "./check-lookups.ts";
import { eqAt, ltAt, mod, powers } from "./scalars.ts";
import { KIND, type SegmentRun } from "./segment-run.ts";
import { reduceSum } from "./sumcheck.ts";

/** A value of a weight matrix as it is at `step` (a point), or at the segment's end (null). */
export interface WeightUse {
	readonly link: number;
	readonly step: readonly bigint[] | null;
	readonly input: readonly bigint[];
	readonly output: readonly bigint[];
	readonly value: bigint;
}

const DEGREE = 3;

/** One product: z of a link, or the q of a link, which the next link's gradients give. */
interface Product {
	/** Whose weights. */
	readonly link: number;
	readonly isBack: boolean;
	readonly variables: number;
	/** Of z or q. */
	readonly point: readonly bigint[];
	readonly value: bigint;
}

function productsOf({ links, stepBits }: ZkPlan, ends: readonly LinkEnd[]): readonly Product[] {
	return ends.flatMap(({ point, z, q }, link) => [
		{ link, isBack: false, variables: stepBits + links[link]!.inputBits, point, value: z },
		...(q === null
			? []
			: [{ link: link + 1, isBack: true, variables: stepBits + links[link + 1]!.outputBits, point, value: q }]),
	]);
}

export const productVariables = ({ stepBits, links }: ZkPlan): number =>
	stepBits +
	Math.max(...links.map(({ inputBits }) => inputBits), ...links.slice(1).map(({ outputBits }) => outputBits));

/** z = Σ a_in·W and q = Σ d·W, over steps and the inner axis. Null: the sum is false. */
export function checkProducts(run: SegmentRun, ends: readonly LinkEnd[]): readonly WeightUse[] | null {
	const { plan, transcript, reader } = run;
	const { stepBits, batchBits } = plan;
	const products = productsOf(plan, ends);
	const mus = powers(transcript.challenge(), products.length);
	const { joint, claim } = reduceSum(transcript, reader, {
		...{ kind: KIND.productRound, rounds: productVariables(plan), degree: DEGREE },
		claim: products.reduce((sum, { value }, i) => mod(sum + mus[i]! * value), 0n),
	});
	const values = reader.message(KIND.productValues, 2 * products.length);
	let sum = 0n;
	const uses = products.map(({ link, isBack, variables, point }, i): WeightUse => {
		const end = joint.end(variables);
		const [step, inner] = [end.slice(0, stepBits), end.slice(stepBits)];
		const place = [...step, ...point.slice(stepBits, stepBits + batchBits)];
		const unit = point.slice(stepBits + batchBits);
		const [operand, value] = [values[2 * i]!, values[2 * i + 1]!];
		const same = eqAt(point.slice(0, stepBits), step);
		sum = mod(sum + mus[i]! * joint.share(variables) * same * mod(operand * value));
		if (isBack) run.claim("d", link, [...place, ...inner], operand);
		else run.claimEntering(link, place, inner, operand);
		return { link, step, value, ...(isBack ? { input: unit, output: inner } : { input: inner, output: unit }) };
	});
	return sum === claim ? uses : null;
}

export const afterUses = ({ links }: ZkPlan, ends: readonly LinkEnd[]): readonly WeightUse[] =>
	ends.map(({ weightPoint, after }, link) => {
		const { outputBits } = links[link]!;
		const [output, input] = [weightPoint.slice(0, outputBits), weightPoint.slice(outputBits)];
		return { link, step: null, input, output, value: after };
	});

/** W at a step = W at the start - Σ a_in·d over the steps before and the batch. False: it is not. */
export function checkWeights(run: SegmentRun, uses: readonly WeightUse[]): boolean {
	const { plan, transcript, reader } = run;
	const { stepBits, batchBits } = plan;
	const starts = reader.message(KIND.weightStart, uses.length);
	const nus = powers(transcript.challenge(), uses.length);
	const { point, claim } = reduceSum(transcript, reader, {
		...{ kind: KIND.weightRound, rounds: stepBits + batchBits, degree: DEGREE },
		claim: uses.reduce((sum, { value }, i) => mod(sum + nus[i]! * (starts[i]! - value)), 0n),
	});
	const values = reader.message(KIND.weightValues, 2 * uses.length);
	let sum = 0n;
	for (const [i, { link, step, input, output }] of uses.entries()) {
		const [entering, d] = [values[2 * i]!, values[2 * i + 1]!];
		const counts = step === null ? 1n : ltAt(point.slice(0, stepBits), step);
		sum = mod(sum + nus[i]! * counts * mod(entering * d));
		run.claim("before", link, [...output, ...input], starts[i]!);
		run.claimEntering(link, point, input, entering);
		run.claim("d", link, [...point, ...output], d);
	}
	return sum === claim;
}
