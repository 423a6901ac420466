// The verdict on the public file of a roll call. A value, never an exception. What its figures are is in
// verify/roll-call/.
import type { Figure } from "../probe/evidence.ts";
import { type Confidence, type Finding, type Strength, type Verdict, WHO_COULD_LIE } from "../probe/verdict.ts";

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

/** By the finding that says why a file is not public. */
const LIARS: Readonly<Record<string, string>> = {
	CHAIN_UNASKED: "whoever made the file",
	CHAIN_EMBEDDED: "whoever makes the blocks of this chain",
	WINDOW_UNUSUAL: "whoever made the contract",
};

/** On whose word a file is; null: on nobody's. */
export const wordOf = ({ strength, findings: [why] }: ValidRollCall): string | null =>
	strength === "public" ? null : (LIARS[why?.code ?? ""] ?? "somebody");

/** Who would have to lie. */
export function whoCouldLie(verdict: ValidRollCall): string {
	const word = wordOf(verdict);
	return word === null ? WHO_COULD_LIE.public : `${word} could have made it up`;
}
