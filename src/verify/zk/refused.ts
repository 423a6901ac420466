// What a verifier of proofs of training says of a proof that is not valid.
import type { Code } from "../../protocol/codes.ts";

export interface Refused {
	/** invalid: something false was shown. inconclusive: nothing is proven, and nothing false was shown. */
	readonly status: "invalid" | "inconclusive";
	readonly code: Code;
	readonly detail: string;
}

export const invalid = (code: Code, detail: string): Refused => ({ status: "invalid", code, detail });
export const inconclusive = (code: Code, detail: string): Refused => ({ status: "inconclusive", code, detail });
