// The second and third sum of a segment's proof, docs/zk.md §5: z and q are products with the weights of
// their step, and these are the weights at the start less what the steps before took away; so are the weights
// at the end. Weights inside a segment are committed nowhere.
import { type PlanLink, spotBits, type ZkPlan } from "../../work/plan/compile-plan.ts";
import type { LookupEnds } from "./check-lookups.ts";
import { eqAt, eqsAt, innerProduct, ltAt } from "./scalars.ts";
import { type ClaimTerm, KIND, type SegmentRun } from "./segment-run.ts";
import { listBits, reduceSum } from "./sumcheck.ts";
import { placeWeights } from "./window-kernel.ts";

/** Part of a sum: factor · (a weight matrix as it is at `step`, a point, or at the segment's end, null). */
interface WeightUse<F> {
	readonly link: number;
	readonly step: readonly F[] | null;
	readonly input: readonly F[];
	readonly output: readonly F[];
	readonly factor: F;
}

/** Σ of the uses has this value. */
export interface WeightUses<F> {
	readonly uses: readonly WeightUse<F>[];
	readonly value: F;
}

const DEGREE = 3;

/** One product: z of a link, or the q of a link, which the next link's gradients give. */
interface Product<F> {
	/** Whose weights. */
	readonly link: number;
	readonly isBack: boolean;
	readonly variables: number;
	/** Of z or q. */
	readonly point: readonly F[];
	readonly factor: F;
}

/** All z, then all q. */
function productsOf<F>(
	{ plan: { links, stepBits }, field }: SegmentRun<F>,
	{ units, among }: LookupEnds<F>,
	mu: F,
): readonly Product<F>[] {
	const forth = links.map(({ inputBits }, link) => ({
		...{ link, isBack: false, variables: stepBits + inputBits, point: units[link]!, factor: among[link]! },
	}));
	const back = links.slice(1).map((next, before) => ({
		...{ link: before + 1, isBack: true, variables: stepBits + backBits(next), point: units[before]! },
		factor: field.times(mu, among[before]!),
	}));
	return [...forth, ...back];
}

/** What q of the link before is summed over: outputs; of a convolution outputs and the columns of patches. */
const backBits = ({ outputBits, inputBits, window }: PlanLink): number =>
	window === undefined ? outputBits : outputBits + inputBits;

const productVariables = ({ stepBits, links }: ZkPlan): number =>
	stepBits + Math.max(...links.map(({ inputBits }) => inputBits), ...links.slice(1).map(backBits));

/**
 * What a weight changes by is summed over these, of each link: steps, batch and, of a convolution, places.
 */
const changeVariables = ({ stepBits, batchBits, links }: ZkPlan): readonly number[] =>
	links.map((one) => stepBits + batchBits + spotBits(one));

/** Rounds, and two values; rounds, two values and one more before them. */
export function productScalars(plan: ZkPlan): number {
	const links = plan.links.length;
	const products = productVariables(plan) + listBits(2 * links - 1);
	const weights = Math.max(...changeVariables(plan)) + listBits(3 * links - 1);
	return DEGREE * (products + weights) + 5;
}

/** z = Σ a_in·W and q = Σ d·W, over steps and the inner axis. Null: the sum is false. */
export function checkProducts<F>(run: SegmentRun<F>, ends: LookupEnds<F>): WeightUses<F> | null {
	const { plan, field, dialogue } = run;
	const { stepBits, batchBits } = plan;
	const mu = dialogue.challenge();
	const products = productsOf(run, ends, mu);
	const kind = KIND.productRound;
	const cube = reduceSum(dialogue, {
		...{ kind, rounds: productVariables(plan), degree: DEGREE, claim: field.sum([ends.z, field.times(mu, ends.q)]) },
	});
	const { point: place, claim } = reduceSum(dialogue, {
		...{ kind, rounds: listBits(products.length), degree: DEGREE, claim: cube.claim },
	});
	const among = eqsAt(field, place);
	const [operand, weight] = dialogue.message(KIND.productValues, 2) as [F, F];
	const kernels: F[] = [];
	const terms: ClaimTerm<F>[] = [];
	const uses = products.map(({ link, isBack, variables, point, factor }, i): WeightUse<F> => {
		const end = cube.joint.end(variables);
		const [step, inner] = [end.slice(0, stepBits), end.slice(stepBits)];
		const at = [...step, ...point.slice(stepBits, stepBits + batchBits)];
		const unit = point.slice(stepBits + batchBits);
		const same = field.scaled(eqAt(field, point.slice(0, stepBits), step), cube.joint.share(variables));
		kernels.push(field.times(factor, same));
		const own = plan.links[link]!;
		if (isBack && own.window !== undefined) {
			const [output, input] = [inner.slice(0, own.outputBits), inner.slice(own.outputBits)];
			const axis = { after: at.length, weights: placeWeights(field, own.window, unit, input) };
			terms.push(run.over("d", link, [...at, ...output], axis, among[i]!));
			return { link, step, input, output, factor: among[i]! };
		}
		if (isBack) {
			terms.push(run.at("d", link, [...at, ...inner], among[i]!));
			return { link, step, input: unit, output: inner, factor: among[i]! };
		}
		const [spot, output] = [unit.slice(0, spotBits(own)), unit.slice(spotBits(own))];
		terms.push(run.entering(link, at, spot, inner, among[i]!));
		return { link, step, input: inner, output, factor: among[i]! };
	});
	run.claim(operand, terms);
	const there = field.times(innerProduct(field, kernels, among), field.times(operand, weight));
	return field.areSame(there, claim) ? { uses, value: weight } : null;
}

/** Weights of products, and of the segment's end; drawn apart. */
function allUses<F>(
	{ plan: { links }, field }: SegmentRun<F>,
	{ weights, among, after }: LookupEnds<F>,
	known: WeightUses<F>,
	nu: F,
): WeightUses<F> {
	const ends = weights.map((point, link): WeightUse<F> => {
		const { outputBits } = links[link]!;
		const [output, input] = [point.slice(0, outputBits), point.slice(outputBits)];
		return { link, step: null, input, output, factor: field.times(nu, among[link]!) };
	});
	return { uses: [...known.uses, ...ends], value: field.sum([known.value, field.times(nu, after)]) };
}

/** W at a step = W at the start - Σ a_in·d over the steps before and the batch. False: it is not. */
export function checkWeights<F>(run: SegmentRun<F>, ends: LookupEnds<F>, known: WeightUses<F>): boolean {
	const { plan, field, dialogue } = run;
	const { stepBits, batchBits } = plan;
	const variables = changeVariables(plan);
	const { uses, value } = allUses(run, ends, known, dialogue.challenge());
	const [start] = dialogue.message(KIND.weightStart, 1) as [F];
	const kind = KIND.weightRound;
	const cube = reduceSum(dialogue, {
		...{ kind, rounds: Math.max(...variables), degree: DEGREE, claim: field.less(start, value) },
	});
	const { point, claim } = reduceSum(dialogue, {
		...{ kind, rounds: listBits(uses.length), degree: DEGREE, claim: cube.claim },
	});
	const among = eqsAt(field, point);
	const [entering, d] = dialogue.message(KIND.weightValues, 2) as [F, F];
	const ats = uses.map(({ link }) => cube.joint.end(variables[link]!));
	const kernels = uses.map(({ link, step, factor }, i) => {
		const own = field.scaled(factor, cube.joint.share(variables[link]!));
		return step === null ? own : field.times(own, ltAt(field, ats[i]!.slice(0, stepBits), step));
	});
	const starts = uses.map(({ link, input, output, factor }) => run.at("before", link, [...output, ...input], factor));
	run.claim(start, starts);
	const places = stepBits + batchBits;
	const entered = uses.map(({ link, input }, i) =>
		run.entering(link, ats[i]!.slice(0, places), ats[i]!.slice(places), input, among[i]!),
	);
	run.claim(entering, entered);
	const gradients = uses.map(({ link, output }, i) => run.at("d", link, [...ats[i]!, ...output], among[i]!));
	run.claim(d, gradients);
	return field.areSame(field.times(innerProduct(field, kernels, among), field.times(entering, d)), claim);
}
