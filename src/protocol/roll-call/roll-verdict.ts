// The verdict on the public file of a roll call. A value, never an exception. What its figures are is in verify/roll-call/.
import type { Figure } from "../probe/evidence.ts";
import type { Confidence, Finding, Strength, Verdict } from "../probe/verdict.ts";

export interface ValidRollCall {
	readonly status: "valid";
	/** `public` where the blocks are those of a chain that nobody makes alone; else `private`. */
	readonly strength: Strength;
	/** Lower bounds: `gemm.int8.least`, `memory.held`. */
	readonly figures: readonly Figure[];
	readonly confidence: readonly Confidence[];
	readonly findings: readonly Finding[];
	/** The host's key. */
	readonly host: string;
	readonly account: string;
	readonly validator: string;
	readonly chain: { readonly id: number; readonly contract: string };
	readonly call: number;
	/** By the chain: the work was done between these two seconds. */
	readonly calledAtS: number;
	readonly committedAtS: number;
}

export type RollVerdict = ValidRollCall | Extract<Verdict, { status: "invalid" }>;
