// The second and third sum of a segment's proof, docs/zk.md §5: z and q are products with the weights of their step, and these are the weights at the start less what
// the steps before took away; so are the weights at the end. Weights inside a segment are committed nowhere.
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { eqsOf } from "../../work/trace/evaluate-tensor.ts";
import type { LookupEnds } from "./check-lookups.ts";
import { eqAt, ltAt, mod } from "./scalars.ts";
import { type ClaimTerm, KIND, type SegmentRun } from "./segment-run.ts";
import { listBits, reduceSum } from "./sumcheck.ts";

/** Part of a sum: factor · (a weight matrix as it is at `step`, a point, or at the segment's end, null). */
interface WeightUse {
	readonly link: number;
	readonly step: readonly bigint[] | null;
	readonly input: readonly bigint[];
	readonly output: readonly bigint[];
	readonly factor: bigint;
}

/** Σ of the uses has this value. */
export interface WeightUses {
	readonly uses: readonly WeightUse[];
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
	readonly factor: bigint;
}

/** All z, then all q. */
function productsOf({ links, stepBits }: ZkPlan, { units, among }: LookupEnds, mu: bigint): readonly Product[] {
	const forth = links.map(({ inputBits }, link) => ({
		...{ link, isBack: false, variables: stepBits + inputBits, point: units[link]!, factor: among[link]! },
	}));
	const back = links.slice(1).map(({ outputBits }, before) => ({
		...{ link: before + 1, isBack: true, variables: stepBits + outputBits, point: units[before]! },
		factor: mod(mu * among[before]!),
	}));
	return [...forth, ...back];
}

const productVariables = ({ stepBits, links }: ZkPlan): number =>
	stepBits +
	Math.max(...links.map(({ inputBits }) => inputBits), ...links.slice(1).map(({ outputBits }) => outputBits));

/** Rounds, and two values; rounds, two values and one more before them. */
export function productScalars(plan: ZkPlan): number {
	const links = plan.links.length;
	const products = productVariables(plan) + listBits(2 * links - 1);
	const weights = plan.stepBits + plan.batchBits + listBits(3 * links - 1);
	return DEGREE * (products + weights) + 5;
}

/** z = Σ a_in·W and q = Σ d·W, over steps and the inner axis. Null: the sum is false. */
export function checkProducts(run: SegmentRun, ends: LookupEnds): WeightUses | null {
	const { plan, transcript, reader } = run;
	const { stepBits, batchBits } = plan;
	const mu = transcript.challenge();
	const products = productsOf(plan, ends, mu);
	const kind = KIND.productRound;
	const cube = reduceSum(transcript, reader, {
		...{ kind, rounds: productVariables(plan), degree: DEGREE, claim: mod(ends.z + mu * ends.q) },
	});
	const { point: place, claim } = reduceSum(transcript, reader, {
		...{ kind, rounds: listBits(products.length), degree: DEGREE, claim: cube.claim },
	});
	const among = eqsOf(place);
	const [operand, weight] = reader.message(KIND.productValues, 2) as [bigint, bigint];
	let kernel = 0n;
	const terms: ClaimTerm[] = [];
	const uses = products.map(({ link, isBack, variables, point, factor }, i): WeightUse => {
		const end = cube.joint.end(variables);
		const [step, inner] = [end.slice(0, stepBits), end.slice(stepBits)];
		const at = [...step, ...point.slice(stepBits, stepBits + batchBits)];
		const unit = point.slice(stepBits + batchBits);
		const same = mod(cube.joint.share(variables) * eqAt(point.slice(0, stepBits), step));
		kernel = mod(kernel + among[i]! * mod(factor * same));
		if (isBack) terms.push(run.at("d", link, [...at, ...inner], among[i]!));
		else terms.push(run.entering(link, at, inner, among[i]!));
		const [input, output] = isBack ? [unit, inner] : [inner, unit];
		return { link, step, input, output, factor: among[i]! };
	});
	run.claim(operand, terms);
	return mod(kernel * mod(operand * weight)) === claim ? { uses, value: weight } : null;
}

/** Weights of products, and of the segment's end; drawn apart. */
function allUses({ links }: ZkPlan, { weights, among, after }: LookupEnds, known: WeightUses, nu: bigint): WeightUses {
	const ends = weights.map((point, link): WeightUse => {
		const { outputBits } = links[link]!;
		const [output, input] = [point.slice(0, outputBits), point.slice(outputBits)];
		return { link, step: null, input, output, factor: mod(nu * among[link]!) };
	});
	return { uses: [...known.uses, ...ends], value: mod(known.value + nu * after) };
}

/** W at a step = W at the start - Σ a_in·d over the steps before and the batch. False: it is not. */
export function checkWeights(run: SegmentRun, ends: LookupEnds, known: WeightUses): boolean {
	const { plan, transcript, reader } = run;
	const { stepBits, batchBits } = plan;
	const { uses, value } = allUses(plan, ends, known, transcript.challenge());
	const [start] = reader.message(KIND.weightStart, 1) as [bigint];
	const kind = KIND.weightRound;
	const cube = reduceSum(transcript, reader, {
		...{ kind, rounds: stepBits + batchBits, degree: DEGREE, claim: mod(start - value) },
	});
	const { point, claim } = reduceSum(transcript, reader, {
		...{ kind, rounds: listBits(uses.length), degree: DEGREE, claim: cube.claim },
	});
	const among = eqsOf(point);
	const [entering, d] = reader.message(KIND.weightValues, 2) as [bigint, bigint];
	const at = cube.point;
	let kernel = 0n;
	for (const [i, { step, factor }] of uses.entries()) {
		const counts = step === null ? 1n : ltAt(at.slice(0, stepBits), step);
		kernel = mod(kernel + among[i]! * mod(factor * counts));
	}
	const starts = uses.map(({ link, input, output, factor }) => run.at("before", link, [...output, ...input], factor));
	run.claim(start, starts);
	const entered = uses.map(({ link, input }, i) => run.entering(link, at, input, among[i]!));
	run.claim(entering, entered);
	const gradients = uses.map(({ link, output }, i) => run.at("d", link, [...at, ...output], among[i]!));
	run.claim(d, gradients);
	return mod(kernel * mod(entering * d)) === claim;
}
