// Are the commitments of a proven segment those of bytes that somebody holds? docs/zk.md §6. The statement has the bytes' roots, so they were fixed before the proof's random
// points were drawn: lists that agree there are the same. No powers are needed. Pure.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Code } from "../../protocol/codes.ts";
import { R } from "../../protocol/maths/bn254.ts";
import type { Elements, Interval } from "../../work/operators/tensor-type.ts";
import type { GroupName, ZkPlan } from "../../work/plan/compile-plan.ts";
import { enteringOf } from "../../work/plan/entering.ts";
import type { Program } from "../../work/program/shapes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import { mod } from "./scalars.ts";
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

/** eq(point, i) for all i. */
function eqs(point: readonly bigint[]): bigint[] {
	let list = [1n];
	for (const one of point) list = list.flatMap((e) => [mod(e * (1n - one)), mod(e * one)]);
	return list;
}

/** Σ of numbers at their places in a list of 2^(length of the point), as a multilinear polynomial at the point. */
class PointSum {
	readonly #low: readonly bigint[];
	readonly #high: readonly bigint[];
	#sum = 0n;
	/** Of the row that is being added to: small numbers times scalars, reduced once a row. */
	#row = 0;
	#part = 0n;

	constructor(point: readonly bigint[]) {
		const high = Math.floor(point.length / 2);
		[this.#high, this.#low] = [eqs(point.slice(0, high)), eqs(point.slice(high))];
	}

	add(at: number, value: number): void {
		const row = Math.floor(at / this.#low.length);
		if (row !== this.#row) this.#close(row);
		if (value !== 0) this.#part += BigInt(value) * this.#low[at % this.#low.length]!;
	}

	#close(next: number): void {
		if (this.#part !== 0n) this.#sum = mod(this.#sum + (this.#part % R) * this.#high[this.#row]!);
		[this.#row, this.#part] = [next, 0n];
	}

	end(): bigint {
		this.#close(this.#row);
		return this.#sum;
	}
}

/** A label outside the classes would stand for a class of another row, and no run of the program takes it. */
const isOutside = ({ lo, hi }: Interval, elements: Elements): boolean =>
	elements.some((one: number | bigint) => one < lo || one > hi);

function enteringSum(plan: ZkPlan, sum: PointSum, features: Elements): void {
	const { inputs, inputBits } = plan.links[0]!;
	const entering = enteringOf(plan, features);
	for (let row = 0; row < 2 ** plan.rowBits; row++)
		for (let k = 0; k < inputs; k++) sum.add(row * 2 ** inputBits + k, entering[row * inputs + k]!);
}

function classSum(plan: ZkPlan, sum: PointSum, labels: Elements): void {
	const { outputBits } = plan.links.at(-1)!;
	for (let row = 0; row < 2 ** plan.rowBits; row++)
		sum.add(row * 2 ** outputBits + Number(labels[row]!), 2 ** plan.activation);
}

function weightSum(plan: ZkPlan, name: "before" | "after", sum: PointSum, weights: readonly Elements[]): void {
	const start = plan.groups.find((one) => one.name === name)!.firstChunk * 2 ** plan.chunkBits;
	// As they stand: the sum goes from the first place to the last.
	for (const { at, of } of plan.blocks.filter(({ column }) => column === name)) {
		const { inputs, inputBits } = plan.links[of]!;
		for (const [e, value] of weights[of]!.entries())
			sum.add(at - start + Math.floor(e / inputs) * 2 ** inputBits + (e % inputs), Number(value));
	}
}

/** Null: all that is held is what the proof is about. `claims`: of a proof that verifySegment found valid. */
export function bindBytes(
	program: Program,
	plan: ZkPlan,
	statement: SegmentStatement,
	claims: ByteClaims,
	{ data, before, after }: HeldBytes,
): ByteFault | null {
	const isThere = (name: GroupName, add: (sum: PointSum) => void): boolean => {
		const i = plan.groups.findIndex((one) => one.name === name);
		const sum = new PointSum(claims.point.slice(claims.point.length - plan.groups[i]!.bits));
		add(sum);
		return sum.end() === claims.values[i];
	};
	const rootOf = (elements: Elements) => bytesToHex(tensorRoot(elements));
	const fault = (code: Code, detail: string): ByteFault => ({ code, detail });
	if (data !== undefined) {
		const { features, labels } = data;
		for (const [name, elements] of Object.entries({ features, labels }))
			if (isOutside(program.tensors.find((one) => one.name === name)!, elements))
				return fault("PROOF_DATA", `a number of ${name} is outside what the program takes`);
		if (rootOf(features) !== statement.features) return fault("PROOF_DATA", "the features have another root");
		if (rootOf(labels) !== statement.labels) return fault("PROOF_DATA", "the labels have another root");
		if (!isThere("features", (sum) => enteringSum(plan, sum, features)))
			return fault("PROOF_DATA", "the commitments to features are not those of these bytes");
		if (!isThere("labels", (sum) => classSum(plan, sum, labels)))
			return fault("PROOF_DATA", "the commitments to labels are not those of these bytes");
	}
	const segment = statement.firstStep / statement.steps + 1;
	const ends = [
		{ name: "before", state: statement.stateBefore, weights: before, segment, code: "PROOF_INITIAL" },
		{ name: "after", state: statement.stateAfter, weights: after, segment: segment + 1, code: "PROOF_RESULT" },
	] as const;
	for (const { name, state, weights, segment: number, code } of ends) {
		if (weights === undefined) continue;
		if (bytesToHex(stateHashOf(program, number, weights.map(tensorRoot), [])) !== state)
			return fault(code, "the weights have another state hash");
		if (!isThere(name, (sum) => weightSum(plan, name, sum, weights)))
			return fault(code, "the commitments to weights are not those of these bytes");
	}
	return null;
}
