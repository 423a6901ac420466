// The verdict on a fraud file. A value, never an exception. `valid` means: what is shown contradicts itself,
// so whoever made the claim and gave these answers is convicted. It never clears anybody.
import type { Code } from "../../../protocol/codes.ts";
import type { Finding, Verdict } from "../../../protocol/probe/verdict.ts";
import type { FaultShown } from "./fraud-file.ts";

export interface ValidFraud {
	readonly status: "valid";
	/** Hash of the claim that is convicted. */
	readonly accused: string;
	readonly kind: FaultShown["kind"];
	readonly segment: number;
	/** Null where the fault lies between segments. */
	readonly step: number | null;
	readonly phase: "init" | "step" | null;
	readonly op: number | null;
	readonly operator: string | null;
	/** Of a false element. */
	readonly element: number | null;
	/** Of a false wire. */
	readonly operand: number | null;
	readonly tensor: number | null;
	/**
	 * value, filling, chunk, load, turn, end; or where the root should come from: op, constant, input, state,
	 * zero; program: the op that was named; answers: two to one question.
	 */
	readonly shows: string;
	/** A number, or a root as hex. */
	readonly said: string;
	readonly right: string;
	/**
	 * The account that signed all answers that the file rests on; null: unsigned, or it rests on none. Whether
	 * it made the claim, the chain tells.
	 */
	readonly signer: string | null;
	readonly findings: readonly Finding[];
}

export type FraudVerdict = ValidFraud | Extract<Verdict, { status: "invalid" }>;

/** What is false, for people. */
export const FRAUD_SHOWS: Readonly<Record<ValidFraud["kind"], string>> = {
	element: "an element is not what the op gives",
	wire: "an op read something other than what its program says",
	end: "the state after a segment is not what its ops gave",
	start: "the run did not begin with zeros",
	result: "the claimed result is not that of the last state",
	writer: "what was said of the op that writes a tensor is not so",
	words: "two different answers were given to one question",
};

/** "segment 2, step 1, step op 3 (matmul), element 7" */
export function fraudPlace({ segment, phase, step, op, operator, element, operand, tensor }: ValidFraud): string {
	return [
		`segment ${segment}`,
		...(step === null ? [] : [`step ${step}`]),
		...(op === null ? [] : [`${phase} op ${op} (${operator})`]),
		...(element === null ? [] : [`element ${element}`]),
		...(operand === null ? [] : [`operand ${operand}`]),
		...(tensor === null ? [] : [`tensor ${tensor}`]),
	].join(", ");
}

/** Ends a judgement: nothing is proven, and this is why. Thrown inside src/verify/optimistic/ only. */
export class Unproven extends Error {
	readonly code: Code;
	readonly where: string;

	constructor(code: Code, where: string, detail: string) {
		super(detail);
		this.code = code;
		this.where = where;
	}
}
