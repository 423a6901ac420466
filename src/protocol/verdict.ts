// The verdict on an evidence file. A value, never an exception; inconclusive is never punished.
// The codes and what they mean are in codes.ts.
import type { Figure } from "./evidence.ts";

/** Something worth telling that is no proof either way (e.g. an engine that answers much later than its host shakes hands). */
export interface Finding {
	readonly code: string;
	readonly detail: string;
}

/** With `samples` places checked, a prover that skipped the share f is caught with probability 1 − (1 − f)^samples. */
export interface Confidence {
	readonly challenge: number;
	readonly samples: number;
	/** The largest skipped share that would have passed with probability above 1 %. */
	readonly skippedShareAt99: number;
}

/** What a device proved itself to be. `unjudged` until there is a profile table to judge by. */
export interface Identity {
	readonly device: number;
	readonly claimed: string;
	readonly state: "unjudged";
}

export type Verdict =
	| {
			readonly status: "valid";
			readonly figures: readonly Figure[];
			readonly identity: readonly Identity[];
			readonly confidence: readonly Confidence[];
			readonly findings: readonly Finding[];
			readonly signer: string;
			readonly probeId: string;
	  }
	| { readonly status: "invalid"; readonly code: string; readonly where: string; readonly detail: string }
	| { readonly status: "inconclusive"; readonly code: string; readonly where: string; readonly detail: string };
