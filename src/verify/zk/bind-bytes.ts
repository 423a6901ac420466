// Are the commitments of a proven segment those of bytes that somebody holds? docs/zk.md §6. The statement
// has the bytes' roots, so they were fixed before the proof's random points were drawn: lists that agree
// there are the same. No powers are needed. Each tensor is asked one question; `bindBytes` answers them here,
// an engine in a fraction of the time (provider/proofs/bind-by-engine.ts). Pure.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Code } from "../../protocol/codes.ts";
import { mod } from "../../protocol/maths/bn254.ts";
import type { Elements, Interval } from "../../work/operators/tensor-type.ts";
import { enteringBits, enteringUnits, type GroupName, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { enteringRule } from "../../work/plan/entering.ts";
import type { Program } from "../../work/program/shapes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { eqsOf, evaluateTensor, type TensorQuestion } from "../../work/trace/evaluate-tensor.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import type { SegmentStatement } from "./statement.ts";
import type { ByteClaims } from "./verify-segment.ts";

/** Elements of tensors as the program declares them. */
export interface HeldBytes {
	/** The inputs `features` and `labels`. */
	readonly data?: { readonly features: Elements; readonly labels: Elements };
	/** Every state tensor, in the program's order: before the segment, and after it. */
	readonly before?: readonly Elements[];
	readonly after?: readonly Elements[];
}

export interface ByteFault {
	readonly code: Code;
	readonly detail: string;
}

export interface TensorAnswer {
	readonly root: Uint8Array;
	readonly value: bigint;
}

/** One for each tensor, in the order of HeldBytes. */
interface OfBytes<T> {
	readonly data: readonly [features: T, labels: T];
	readonly before: readonly T[];
	readonly after: readonly T[];
}
export type ByteAnswers = Partial<OfBytes<TensorAnswer>>;

/** What a group's value is of its tensors' values: Σ factor · value. */
interface Placed extends TensorQuestion {
	readonly factor: bigint;
}

const NUMBERS = { reading: "numbers", shift: 0, add: 0, most: 0 } as const;

/** `claims`: of a proof that verifySegment found valid. */
export function byteQuestions(plan: ZkPlan, claims: ByteClaims): OfBytes<Placed> {
	const pointOf = (name: GroupName) =>
		claims.point.slice(claims.point.length - plan.groups.find((one) => one.name === name)!.bits);
	/** A block's own variables are the last ones; those before say where it stands. */
	const within = (name: GroupName, at: number, bits: number) => {
		const point = pointOf(name);
		const place = point.slice(0, point.length - bits);
		return { point: point.slice(point.length - bits), factor: eqsOf(place)[at / 2 ** bits]! };
	};
	const weights = (name: "before" | "after"): Placed[] => {
		const start = plan.groups.find((one) => one.name === name)!.firstChunk * 2 ** plan.chunkBits;
		return plan.links.map(({ inputs, inputBits, outputBits }, l) => {
			const { at } = plan.blocks.find(({ column, of }) => column === name && of === l)!;
			return { ...NUMBERS, columns: inputs, ...within(name, at - start, inputBits + outputBits) };
		});
	};
	const first = plan.links[0]!;
	const { outputBits } = plan.links.at(-1)!;
	const classes = { ...NUMBERS, reading: "classes", columns: 1, add: 2 ** plan.activation } as const;
	return {
		data: [
			{
				reading: "entering",
				columns: enteringUnits(first),
				...enteringRule(plan),
				...within("features", 0, plan.rowBits + enteringBits(first)),
			},
			{ ...classes, ...within("labels", 0, plan.rowBits + outputBits) },
		],
		before: weights("before"),
		after: weights("after"),
	};
}

/** A label outside the classes would stand for a class of another row, and no run of the program takes it. */
const isOutside = ({ lo, hi }: Interval, elements: Elements): boolean =>
	elements.some((one: number | bigint) => one < lo || one > hi);

const fault = (code: Code, detail: string): ByteFault => ({ code, detail });
export const outsideFault = (name: string): ByteFault =>
	fault("PROOF_DATA", `a number of ${name} is outside what the program takes`);

/**
 * Null: all that was answered is what the proof is about. The answers must be those of elements inside the
 * program's intervals.
 */
export function judgeBytes(
	program: Program,
	plan: ZkPlan,
	statement: SegmentStatement,
	claims: ByteClaims,
	answers: ByteAnswers,
): ByteFault | null {
	const questions = byteQuestions(plan, claims);
	const claimed = (name: GroupName) => claims.values[plan.groups.findIndex((one) => one.name === name)];
	for (const [i, name] of (["features", "labels"] as const).entries()) {
		const answer = answers.data?.[i];
		if (answer === undefined) continue;
		if (bytesToHex(answer.root) !== statement[name]) return fault("PROOF_DATA", `the ${name} have another root`);
		if (mod(questions.data[i]!.factor * answer.value) !== claimed(name))
			return fault("PROOF_DATA", `the commitments to ${name} are not those of these bytes`);
	}
	const segment = statement.firstStep / statement.steps + 1;
	const ends = [
		{ name: "before", state: statement.stateBefore, number: segment, code: "PROOF_INITIAL" },
		{ name: "after", state: statement.stateAfter, number: segment + 1, code: "PROOF_RESULT" },
	] as const;
	for (const { name, state, number, code } of ends) {
		const given = answers[name];
		if (given === undefined) continue;
		const roots = given.map(({ root }) => root);
		if (bytesToHex(stateHashOf(program, number, roots, [])) !== state)
			return fault(code, "the weights have another state hash");
		const sum = given.reduce((all, { value }, l) => all + questions[name][l]!.factor * value, 0n);
		if (mod(sum) !== claimed(name)) return fault(code, "the commitments to weights are not those of these bytes");
	}
	return null;
}

/** The same from the bytes themselves. */
export function bindBytes(
	program: Program,
	plan: ZkPlan,
	statement: SegmentStatement,
	claims: ByteClaims,
	{ data, before, after }: HeldBytes,
): ByteFault | null {
	const questions = byteQuestions(plan, claims);
	const answer = (question: TensorQuestion, elements: Elements): TensorAnswer => ({
		root: tensorRoot(elements),
		value: evaluateTensor(question, elements),
	});
	for (const name of ["features", "labels"] as const)
		if (data && isOutside(program.tensors.find((one) => one.name === name)!, data[name])) return outsideFault(name);
	return judgeBytes(program, plan, statement, claims, {
		...(data && { data: [answer(questions.data[0], data.features), answer(questions.data[1], data.labels)] }),
		...(before && { before: before.map((one, l) => answer(questions.before[l]!, one)) }),
		...(after && { after: after.map((one, l) => answer(questions.after[l]!, one)) }),
	});
}
