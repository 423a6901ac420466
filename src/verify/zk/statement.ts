// What a proof of a segment says, docs/zk.md §4: everything public, packed to 32 bytes with which the
// transcript begins. Not here: whether it is true.
import { hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import {
	hex,
	int,
	list as listOf,
	object,
	oneOf,
	pattern,
	type Shape,
	type Typed,
} from "../../protocol/bytes/shape.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { bytesOf } from "../../protocol/maths/bn254.ts";
import { planHash, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { ignitionId, isIgnition, srsWord } from "./srs.ts";

const digits = pattern(/^(0|[1-9][0-9]{0,77})$/, "must be a whole number as text");
/** Of 256 bits at most: one that has more would be packed as another. */
const decimal: Shape<string> = (value, where) => {
	const isLarge = digits(value, where) === null && BigInt(value as string) >> 256n !== 0n;
	return isLarge ? { where, detail: "must have 256 bits at most" } : digits(value, where);
};
const points = listOf(hex(64), 4096);

const shape = object({
	version: oneOf(1),
	/** 0 where no chain knows the job. */
	chainId: decimal,
	job: decimal,
	program: hex(32),
	plan: hex(32),
	/** Powers of tau: their id, or `dev`. */
	srs: pattern(/^(dev|[0-9a-f]{64})$/, "must be an id of powers"),
	/** Of the order of rows. */
	seed: hex(32),
	/** The first step, and how many. */
	firstStep: int(0, 2 ** 32),
	steps: int(1, 2 ** 16),
	/**
	 * Roots of the inputs `features` and `labels`, docs/work.md §1, and the commitments to what enters the
	 * first link, and to classes.
	 */
	features: hex(32),
	labels: hex(32),
	featurePoints: points,
	labelPoints: points,
	/** S_j before and after, docs/work.md §7, and the commitments to the weights. */
	stateBefore: hex(32),
	stateAfter: hex(32),
	pointsBefore: points,
	pointsAfter: points,
});

export interface SegmentStatement extends Typed<typeof shape> {}
export const statementShape = shape as Shape<SegmentStatement>;

/** 32 bytes. All fields have a fixed length, but for points, which stand as their hashes. */
export function statementHash(statement: SegmentStatement): Uint8Array {
	const bytes = (text: string) => hexToBytes(text)!;
	const hashed = (list: readonly string[]) => keccak(...list.map(bytes));
	const { chainId, job, program, plan, srs, seed, firstStep, steps } = statement;
	return keccak(
		utf8ToBytes("assay/zk/statement/1"),
		...[chainId, job].map((one) => bytesOf(BigInt(one))),
		...[program, plan].map(bytes),
		srsWord(srs),
		bytes(seed),
		...[firstStep, steps].map((one) => bytesOf(BigInt(one))),
		...[statement.features, statement.labels, statement.stateBefore, statement.stateAfter].map(bytes),
		...[statement.featurePoints, statement.labelPoints, statement.pointsBefore, statement.pointsAfter].map(hashed),
	);
}

/** What of a statement is not what the plan says; null: it fits. */
export function unfit(statement: SegmentStatement, plan: ZkPlan): string | null {
	const { firstStep, steps } = statement;
	const fits = (a: Uint8Array, text: string) => a.every((byte, i) => byte === hexToBytes(text)![i]);
	if (statement.program !== plan.programRoot) return "it is about another program";
	if (!fits(planHash(plan), statement.plan)) return "its plan is not that of the program";
	if (steps !== plan.steps) return `it is about ${steps} steps; a segment has ${plan.steps}`;
	if (firstStep % plan.steps !== 0) return `no segment begins with step ${firstStep}`;
	if ((firstStep + steps) * plan.batch > plan.epochs * 2 ** plan.rowBits) return "it goes on after the last epoch";
	// Powers of no known ceremony are another matter: tauOf says so.
	if (isIgnition(statement.srs) && statement.srs !== ignitionId(2 ** plan.chunkBits))
		return `its powers are not the first 2^${plan.chunkBits} of a ceremony`;
	const counts = [statement.featurePoints, statement.labelPoints, statement.pointsBefore, statement.pointsAfter];
	if (counts.some((list, i) => list.length !== plan.groups[i]!.chunks)) return "it has another number of points";
	return null;
}

interface Gap {
	/** PROOF_GAP: nothing false is shown, these two are just not neighbours of one run. */
	readonly code: "PROOF_CHAIN" | "PROOF_GAP";
	readonly detail: string;
}

/**
 * Null: the second segment goes on where the first one ended, with the same data and weights. Whose job it is
 * does not matter: a proof fetched from a chain names job and prover together, and neighbours may have
 * different provers.
 */
export function gapBetween(first: SegmentStatement, second: SegmentStatement): Gap | null {
	const missing = (detail: string): Gap => ({ code: "PROOF_GAP", detail });
	const contradiction = (detail: string): Gap => ({ code: "PROOF_CHAIN", detail });
	const same = ["program", "plan", "srs", "seed", "steps", "features", "labels"] as const;
	for (const name of same) if (first[name] !== second[name]) return missing(`they have another ${name}`);
	const next = first.firstStep + first.steps;
	if (next !== second.firstStep) return missing(`step ${next} comes next, not ${second.firstStep}`);
	const list = (one: readonly string[]) => one.join();
	if (list(first.featurePoints) !== list(second.featurePoints) || list(first.labelPoints) !== list(second.labelPoints))
		return contradiction("they have other commitments to the data");
	if (first.stateAfter !== second.stateBefore) return contradiction("the state between them differs");
	if (list(first.pointsAfter) !== list(second.pointsBefore))
		return contradiction("the commitments to weights between them differ");
	return null;
}

/** The same of segments that one proof joins: these are of one job, too. */
export function gapInRun(first: SegmentStatement, second: SegmentStatement): string | null {
	const other = (["chainId", "job"] as const).find((name) => first[name] !== second[name]);
	return other === undefined ? (gapBetween(first, second)?.detail ?? null) : `they have another ${other}`;
}
